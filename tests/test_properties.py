"""What must hold for every repository, tried on made-up ones: the real engine, the real decisions, real files.

The judge here knows nothing of buildfix: it reads the build files with `ast` and computes who reaches whom.
"""

from __future__ import annotations

import ast
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from buildfix import pipeline

Graph = dict[int, set[int]]


@dataclass(frozen=True)
class Made:
    """Targets //p<i>:t with one module each: their deps as written, their imports, how the files look."""

    deps: tuple[frozenset[int], ...]
    imports: tuple[frozenset[int], ...]
    frozen: frozenset[int]
    layout: tuple[str, ...]

    def files(self) -> dict[str, str]:
        files = {".buckconfig": "[cells]\n  root = .\n"}
        for i, imported in enumerate(self.imports):
            files[f"p{i}/m{i}.py"] = f"N = {i}\n" + "".join(f"import p{j}.m{j}\n" for j in sorted(imported))
            files[f"p{i}/BUCK"] = self.build_file(i)
        return files

    def build_file(self, i: int) -> str:
        labels = [f'"//p{j}:t"' for j in sorted(self.deps[i])]
        layout = self.layout[i]
        mark = "# keep\n" if i in self.frozen else "# the target\n"
        if layout == "absent" and not labels:
            deps = ""
        elif layout == "lines":
            entries = "".join(f"        {label},\n" for label in labels)
            deps = f"    # what it needs\n    deps = [\n{entries}    ],\n"
        else:
            deps = f"    deps = [{', '.join(labels)}],  # what it needs\n"
        return (
            f'{mark}python_library(\n    name = "t",\n    srcs = ["m{i}.py"],\n{deps}    labels = ["x"],  # last\n)\n'
        )


@st.composite
def made(draw: st.DrawFn, orderly: bool = False) -> Made:
    """A repository whose deps have no cycle. An orderly one has no imports that would need one, and nothing frozen."""
    count = draw(st.integers(2, 6))
    everyone = range(count)

    def some(of: range) -> frozenset[int]:
        return draw(st.frozensets(st.sampled_from(of), max_size=3)) if len(of) else frozenset()

    deps = tuple(some(range(i)) for i in everyone)
    imports = tuple(some(range(i)) if orderly else some(range(count)) - {i} for i in everyone)
    frozen = frozenset() if orderly else draw(st.frozensets(st.sampled_from(everyone), max_size=2))
    layout = tuple(draw(st.sampled_from(("line", "lines", "absent"))) for _ in everyone)
    return Made(deps, imports, frozen, layout)


def repair(root: Path) -> bool:
    """Repair the repository; returns whether anything changed."""
    result = pipeline.apply(root, pipeline.check(root))
    return bool(result.changes)


def deps_of(root: Path, count: int) -> Graph:
    graph: Graph = {}
    for i in range(count):
        call = ast.parse((root / f"p{i}/BUCK").read_text()).body[0]
        assert isinstance(call, ast.Expr)
        assert isinstance(call.value, ast.Call)
        lists = [ast.literal_eval(keyword.value) for keyword in call.value.keywords if keyword.arg == "deps"]
        labels = lists[0] if lists else []
        assert len(labels) == len(set(labels))
        graph[i] = {int(label.removeprefix("//p").removesuffix(":t")) for label in labels}
    return graph


def reached(graph: Graph, start: int) -> set[int]:
    seen: set[int] = set()
    todo = [start]
    while todo:
        new = graph[todo.pop()] - seen
        seen |= new
        todo += new
    return seen


def in_a_repository(case: Made) -> tempfile.TemporaryDirectory[str]:
    folder = tempfile.TemporaryDirectory()
    for name, text in case.files().items():
        path = Path(folder.name, name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder


few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@few
@given(made())
def test_a_repair_breaks_nothing_and_is_finished(case: Made) -> None:
    count = len(case.deps)
    with in_a_repository(case) as folder:
        root = Path(folder)
        before = deps_of(root, count)
        repair(root)
        after = deps_of(root, count)
        for i in range(count):
            assert case.imports[i] & reached(before, i) <= reached(after, i), f"//p{i}:t lost a module"
            assert i not in reached(after, i), f"//p{i}:t is in a cycle"
            if i in case.frozen:
                assert (root / f"p{i}/BUCK").read_text() == case.build_file(i)
            assert comments((root / f"p{i}/BUCK").read_text()) == comments(case.build_file(i))
            assert (root / f"p{i}/m{i}.py").read_text() == case.files()[f"p{i}/m{i}.py"]
        assert not repair(root), "a second run changed something"


@few
@given(made(orderly=True))
def test_where_nothing_stands_in_the_way_deps_become_the_imports(case: Made) -> None:
    count = len(case.deps)
    with in_a_repository(case) as folder:
        root = Path(folder)
        repair(root)
        assert deps_of(root, count) == {i: set(case.imports[i]) for i in range(count)}


def comments(text: str) -> list[str]:
    return [line.partition("#")[2] for line in text.splitlines() if "#" in line]
