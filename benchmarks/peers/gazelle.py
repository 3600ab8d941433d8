"""Gazelle's own test data as a test of buildfix: take the deps out of what Gazelle wrote, and see which come back.

usage: gazelle.py CHECKOUT [FOLDER ...]

CHECKOUT is a checkout of rules_python. Each folder of gazelle/python/testdata is a small repository: `BUILD.out` is
what Gazelle makes of it. The `deps` of every target there are taken out, `buildfix --apply --unsafe-fixes` is run, and
the deps that the targets have then are compared with those that they had, as labels. `differences.yaml` beside this
file says why a folder is left out, or what differs in it.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from buildfix import pipeline

HERE = Path(__file__).resolve().parent


def main(arguments: list[str]) -> int:
    data = Path(arguments[0], "gazelle/python/testdata") if arguments else Path()
    if not arguments or not data.is_dir():
        print(__doc__, file=sys.stderr)
        return 2
    known = yaml.safe_load((HERE / "differences.yaml").read_text("utf-8"))
    wanted = arguments[1:] or sorted(path.name for path in data.iterdir() if path.is_dir())
    total = back = more = 0
    for name in wanted:
        if name in known["left_out"]:
            print(f"{name}: left out: {known['left_out'][name]}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            expected, found = compare(data / name, Path(folder))
        missing = [(t, d) for t, deps in expected.items() for d in deps if d not in found.get(t, ())]
        extra = [(t, d) for t, deps in found.items() for d in deps if d not in expected.get(t, ())]
        count = sum(map(len, expected.values()))
        total, back, more = total + count, back + count - len(missing), more + len(extra)
        if missing or extra:
            print(f"{name}: {count - len(missing)} of {count}{f', {len(extra)} more' if extra else ''}")
            print(
                "".join(f"    - {t} {d}\n" for t, d in missing) + "".join(f"    + {t} {d}\n" for t, d in extra), end=""
            )
            if name in known["differs"]:
                print(f"    {known['differs'][name]}")
    print(f"{back} of {total} deps came back ({back / max(1, total):.1%}); {more} others were added")
    return 0


Deps = dict[str, set[str]]


def compare(source: Path, folder: Path) -> tuple[Deps, Deps]:
    """The deps that the targets of a folder have by Gazelle, and those that buildfix gives them."""
    root = folder / "repository"
    shutil.copytree(source, root)
    for file in list(root.rglob("BUILD.in")):
        file.unlink()
    for file in list(root.rglob("BUILD.out")):
        file.rename(file.with_name("BUILD.bazel"))
    (root / "buildfix.yaml").write_text("conftest: require\ntype_checking: require\n", "utf-8")  # as Gazelle does
    expected = deps(root)
    for file in root.rglob("BUILD.bazel"):
        file.write_text(without_deps(file.read_text("utf-8")), "utf-8")
    command = [
        sys.executable,
        "-m",
        "buildfix",
        "--root",
        str(root),
        "--apply",
        "--unsafe-fixes",
        "--add-only",
        "--no-cache",
    ]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    return expected, deps(root)


def deps(root: Path) -> Deps:
    """The labels in the `deps` of every target."""
    known, _ = pipeline.look(root)
    return {
        str(label): {str(edge.label) for edge in target.edges if edge.attribute == target.rule.deps}
        for label, target in known.graph.targets.items()
        if target.rule.python
    }


def without_deps(text: str) -> str:
    """A build file as Gazelle writes it, less the lines of every `deps`."""
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        for keyword in node.keywords if isinstance(node, ast.Call) else ():
            if keyword.arg == "deps":
                assert keyword.end_lineno is not None
                for line in range(keyword.lineno - 1, keyword.end_lineno):
                    lines[line] = ""
    return "".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
