"""`buildfix doctor`: what it sees of a repository, and that it hides no failure."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from conftest import buildfix_inside

Make = Callable[[dict[str, str]], Path]

SHED = {
    ".buckconfig": "[cells]\n  shed = .\n  tools = tools\n[cell_aliases]\n  t = tools\n",
    "buildfix.yaml": "third_party: {plough: '//pip:plough'}\ntype_checking: require\n",
    "kit/BUCK": 'load("@far//away:x.bzl", "odd")\n'
    'python_library(name = "saw", srcs = ["saw.py"], deps = ["//pip:harrow"])  # keep\n'
    'odd(name = "axe")\n',
    "kit/saw.py": "import plough\nimport harrow\nimport kit.axe  # @manual\n",
    "torn/BUCK": "fail('no \x1b[31m')\n",
    "torn/x.py": "def (\n",
}


def sections(root: Path) -> dict[str, list[tuple[str, str]]]:
    done = buildfix_inside("doctor", "--root", root, "--output-format", "json", cwd=root)
    assert (done.returncode, done.stderr) == (3, "")
    return {one["title"]: [tuple(row) for row in one["rows"]] for one in json.loads(done.stdout)["sections"]}


def test_it_says_what_is_seen(workspace: Make) -> None:
    seen = sections(workspace(SHED))
    assert ("dialect", "buck") in seen["repository"]
    assert ("cell tools", "tools: BUCK.v2, BUCK, TARGETS.v2, TARGETS") in seen["repository"]
    assert ("alias t", "tools") in seen["repository"]
    assert seen["configuration"] == [
        ("third_party", "{'plough': '//pip:plough'}"),
        ("type_checking", "require"),
    ]
    assert ("loads that cannot be resolved", "1") in seen["build files"]
    assert ("//torn", "torn/BUCK:1: eval: fail: no \x1b[31m") in seen["packages that could not be wholly analysed"]
    assert ("python_library", "1") in seen["targets"]
    assert ("odd", "1, a kind that is not known") in seen["targets"]
    assert [name for name, _ in seen["sources"]] == ["Python files", "torn/x.py"]
    outside = dict(seen["modules from outside"])
    assert outside["plough"] == "//pip:plough, buildfix.yaml says so"
    assert outside["harrow"].startswith("//pip:harrow, guessed: ")
    assert ("imports that ask for no dep", "1") in seen["markers"]


def test_the_text_says_the_same_and_steers_no_terminal(workspace: Make) -> None:
    root = workspace(SHED)
    said = buildfix_inside("doctor", "--root", root, cwd=root).stdout
    for title, rows in sections(root).items():
        assert f"{title}\n" in said
        for name, text in rows:
            assert f"  {name}: {text}\n".replace("\x1b", "\\x1b") in said
    assert "\x1b" not in said


def test_a_repository_without_faults_has_none(workspace: Make) -> None:
    root = workspace({"MODULE.bazel": "", "BUILD.bazel": ""})
    done = buildfix_inside("doctor", "--root", root, cwd=root)
    assert (done.returncode, done.stderr) == (0, "")
    assert "packages that could not be wholly analysed\n  none\n" in done.stdout
