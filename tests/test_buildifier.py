"""What buildifier accepted before an edit, it accepts after it: with the real buildifier, which make installs."""

from __future__ import annotations

import ast
import json
import os
import random
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
import random_build_files

from buildfix import edits
from buildfix.buildfile import BuildFile

FIXTURES = Path(__file__).parent.parent / "fixtures"
TYPES = {"BUCK": "build", "TARGETS": "build", "BUILD": "build", "BUILD.bazel": "build"}
COUNT = int(os.environ.get("BUILDIFIER_FILES", "300"))

buildifier = shutil.which("buildifier")
pytestmark = pytest.mark.skipif(buildifier is None, reason="buildifier is not on PATH (make test installs it)")


def type_of(path: Path) -> str:
    """What buildifier is to take a file for."""
    return TYPES.get(path.name.removesuffix(".v2"), "bzl")


def run(mode: str, paths: Iterable[Path]) -> dict[Path, bool]:
    """Whether buildifier takes each file for well formatted; with mode `fix` it makes them so."""
    found: dict[Path, bool] = {}
    by_type: dict[str, list[Path]] = {}
    for path in paths:
        by_type.setdefault(type_of(path), []).append(path)
    for kind, files in by_type.items():
        assert buildifier is not None
        command = [buildifier, f"-mode={mode}", "-lint=off", f"-type={kind}", "-format=json", *map(str, files)]
        if mode == "fix":
            subprocess.run([*command[:4], *command[5:]], capture_output=True, check=False)
            continue
        said = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
        found |= {Path(one["filename"]): one["valid"] and one["formatted"] for one in said["files"]}
    return found


def difference(path: Path) -> str:
    assert buildifier is not None
    command = [buildifier, "-mode=diff", "-diff_command=diff -u", f"-type={type_of(path)}", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def test_fixtures() -> None:
    """Every file that a fixture changes."""
    after = [p for p in FIXTURES.glob("*/after/**/*") if p.is_file() and (p.name in TYPES or p.suffix == ".bzl")]
    before = {
        p: FIXTURES / p.relative_to(FIXTURES).parts[0] / "before" / Path(*p.relative_to(FIXTURES).parts[2:])
        for p in after
    }
    accepted = run("check", before.values())
    now = run("check", [p for p in after if accepted[before[p]]])
    assert len(now) > 100
    assert [difference(p) for p, well in now.items() if not well] == []


def test_random_files(tmp_path: Path) -> None:
    """Files that buildifier formatted, then edited."""
    paths = []
    for seed in range(COUNT):
        path = tmp_path / str(seed) / "BUCK"
        path.parent.mkdir()
        data = random_build_files.Writer(seed).file()
        if b"\r" in data.replace(b"\r\n", b""):
            continue  # a lone carriage return ends no line for buildifier
        path.write_bytes(data)
        paths.append(path)
    run("fix", paths)
    accepted = [path for path, well in run("check", paths).items() if well]
    assert len(accepted) > COUNT // 2
    edited = 0
    for path in accepted:
        file = BuildFile.parse("BUCK", path.read_bytes())
        path.write_bytes(edits.edit(file, changes(file, random.Random(path.parent.name))))
        edited += path.read_bytes() != file.data
    assert edited > COUNT // 4, edited
    now = run("check", accepted)
    wrong = [path for path, well in now.items() if not well]
    assert not wrong, f"{len(wrong)} of {len(accepted)}\n" + "\n".join(difference(path) for path in wrong[:5])


def changes(file: BuildFile, chance: random.Random) -> list[edits.Change]:
    """Some of what buildfix does: entries in their places, attributes that were not there, entries that go."""
    found: list[edits.Change] = []
    lists = random_build_files.lists(file)
    for node in file.nodes:
        match node:
            case ast.keyword(arg="deps" | "exported_deps", value=value) if chance.random() < 0.7:
                inside = set(ast.walk(value))
                found += [list_change(file, one, chance) for one in lists if one in inside and not odd(file, one)]
                if isinstance(value, ast.BinOp) and chance.random() < 0.3:
                    found.append(edits.Extend(file.span(value), ("//new:x", "//new:y")[: chance.randint(1, 2)]))
            case ast.Call(func=ast.Name(id="rule"), keywords=keywords) if chance.random() < 0.3:
                if not {"deps", None} & {keyword.arg for keyword in keywords}:
                    add = tuple(f"//new/{i}:x" for i in range(chance.randint(1, 3)))
                    found.append(edits.NewAttribute(file.opening(node), "deps", add))
    return found


def odd(file: BuildFile, node: ast.List) -> bool:
    """Whether buildifier would do to a changed list what buildfix never does: take out an entry that is there twice,
    give the lines of its only entry another indentation, or part an entry from the comment behind the list."""
    texts = [ast.unparse(element) for element in node.elts]
    hugged = any(e.lineno == node.lineno < (e.end_lineno or 0) for e in node.elts)
    commented = file.comments_between(file.end(node), file.line_span(file.line(file.end(node))).end)
    return len(texts) > len(set(texts)) or hugged or (node.lineno == node.end_lineno and bool(commented))


def list_change(file: BuildFile, node: ast.List, chance: random.Random) -> edits.ListChange:
    # What parts two groups stays: buildifier would sort them into one, and buildfix moves nothing.
    strings = [e for e in node.elts if isinstance(e, ast.Constant) and file.data[file.start(e) - 1 :][:1] != b"("]
    plain = [e for e in strings if not any(comment.own_line for comment in file.element_comments(e))]
    drop = tuple(file.start(e) for e in plain if not chance.randrange(3))
    add = tuple(f"//new/{chance.randrange(5)}:n{i}" for i in range(chance.randrange(3)))
    order = chance.choice([edits.Order.NEIGHBOURS, edits.Order.SORTED])
    return edits.ListChange(file.start(node), add, drop, order, chance.choice(list(edits.WhenEmpty)))
