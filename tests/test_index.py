"""`buildfix index`: who provides a module, and which criteria choose among several."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Run

ROOT = Path(__file__).parent.parent
Make = Callable[[dict[str, str]], Path]

# One module, five targets that have it.
SAWS = {
    "kit/BUCK": """\
python_library(name = "old", srcs = ["saw.py"], labels = ["avoid_dep"])
python_library(name = "saw", srcs = ["saw.py"])
python_library(name = "twin", srcs = ["saw.py"])
python_binary(name = "tool", srcs = ["saw.py"])
python_library(name = "secret", srcs = ["saw.py"], visibility = ["//kit/..."])
""",
    "kit/saw.py": "",
    "yard/BUCK": """\
python_library(name = "hut", srcs = ["hut.py"])
python_library(name = "barn", srcs = ["barn.py"], deps = ["//kit:twin"])
python_library(name = "shed", srcs = ["shed.py"], deps = [":barn"])
""",
    "yard/hut.py": "import kit.saw\n",
    "yard/barn.py": "import kit.saw\n",
    "yard/shed.py": "import kit.saw\nimport yard.barn\n",
}


def ask(buildfix: Run, root: Path, *words: str, status: int = 0) -> dict[str, Any]:
    done = buildfix("index", "--root", root, "--output-format", "json", *words, cwd=root)
    assert (done.returncode, done.stderr) == (status, ""), done
    (entry,) = json.loads(done.stdout)["modules"]
    return entry


def test_the_criteria_in_their_order(workspace: Make, buildfix: Run) -> None:
    root = workspace(SAWS)
    done = buildfix("index", "--root", root, "kit.saw", "--for", "//yard:shed", cwd=root)
    assert (
        done.stdout
        == """\
kit.saw
  kit/saw.py
  imported from the root
  provided by
    //kit:old (kit/BUCK:1): python_library, a dep of 0 of those who import it
    //kit:saw (kit/BUCK:2): python_library, a dep of 0 of those who import it
    //kit:secret (kit/BUCK:5): python_library, a dep of 0 of those who import it
    //kit:tool (kit/BUCK:4): python_binary, a dep of 0 of those who import it
    //kit:twin (kit/BUCK:3): python_library, a dep of 1 of those who import it
  a rule on which others may depend: //kit:old, //kit:saw, //kit:secret, //kit:twin
  visible: //kit:old, //kit:saw, //kit:twin
  not marked as to be avoided: //kit:saw, //kit:twin
  the one by which the target gets the module today: //kit:twin
  a dep of //yard:shed would name //kit:twin
  imported by 3 other targets, 2 of them without a dep that provides it
"""
    )


def test_the_choice_is_the_one_that_a_repair_makes(workspace: Make, buildfix: Run) -> None:
    root = workspace(SAWS)
    report = json.loads(buildfix("--root", root, "--output-format", "json").stdout)
    added = {finding["target"]: finding["dep_label"] for finding in report["findings"] if finding["code"] == "BF001"}
    assert added.keys() == {"//yard:hut", "//yard:shed"}
    for target, dep in added.items():
        assert ask(buildfix, root, "kit.saw", "--for", target)["chosen"] == dep


def test_without_a_target_only_what_holds_for_everybody_counts(workspace: Make, buildfix: Run) -> None:
    entry = ask(buildfix, workspace(SAWS), "kit.saw")
    assert [step["criterion"] for step in entry["steps"]] == [
        "a rule on which others may depend",
        "not marked as to be avoided",
        "what at least two thirds of those who import the module have",
    ]
    assert entry["chosen"] == "//kit:twin"


def test_where_nothing_prefers_one(workspace: Make, buildfix: Run) -> None:
    build = 'python_library(name = "a", srcs = ["saw.py"])\npython_library(name = "b", srcs = ["saw.py"])\n'
    yard = {"yard/BUCK": 'python_library(name = "hut", srcs = ["hut.py"])\n', "yard/hut.py": "import kit.saw\n"}
    root = workspace({"kit/BUCK": build, "kit/saw.py": ""} | yard)
    assert ask(buildfix, root, "kit.saw", "--for", "yard:hut")["chosen"] == ""
    assert "depends on who imports it (--for TARGET)" in buildfix("index", "--root", root, "kit.saw").stdout
    assert "none is better" in buildfix("index", "--root", root, "kit.saw", "--for", "//yard:hut", cwd=root).stdout


def test_a_target_that_has_it_already(workspace: Make, buildfix: Run) -> None:
    entry = ask(buildfix, workspace(SAWS), "kit.saw", "--for", "//yard:barn")
    assert entry["declared"] == ["//kit:twin"]


def test_import_roots_are_named(workspace: Make, buildfix: Run) -> None:
    root = workspace(SAWS | {"buildfix.yaml": "import_roots: [kit, {path: '', prefix: farm}]\n"})
    assert ask(buildfix, root, "saw")["roots"] == [{"path": "kit", "prefix": ""}]
    assert ask(buildfix, root, "farm.kit.saw")["roots"] == [{"path": "", "prefix": "farm"}]


def test_a_module_from_outside_with_its_origin(workspace: Make, buildfix: Run) -> None:
    root = workspace(SAWS | {"buildfix.yaml": "third_party: {plough: //pip:plough}\n"})
    outside = ask(buildfix, root, "plough.share")["outside"]
    assert (outside["label"], outside["origin"], outside["guessed"]) == (
        "//pip:plough",
        "buildfix.yaml says so",
        False,
    )


def test_of_the_standard_library(workspace: Make, buildfix: Run) -> None:
    assert ask(buildfix, workspace(SAWS), "json")["standard"]


def test_a_file_that_no_target_has(workspace: Make, buildfix: Run) -> None:
    root = workspace(SAWS | {"kit/loose.py": "", "torn/BUCK": "fail('no')\n", "torn/loose.py": ""})
    assert ask(buildfix, root, "kit.loose")["providers"] == []
    assert ask(buildfix, root, "torn.loose", status=3)["incomplete"]


def test_everything_one_on_a_line(workspace: Make, buildfix: Run) -> None:
    root = workspace(SAWS)
    done = buildfix("index", "--root", root)
    lines = done.stdout.splitlines()
    assert lines[0] == "kit.saw\t//kit:old"
    assert lines == sorted(lines) and len(lines) == 8
    every = json.loads(buildfix("index", "--root", root, "--output-format", "json").stdout)["modules"]
    assert [one["module"] for one in every] == ["kit.saw", "yard.barn", "yard.hut", "yard.shed"]


@pytest.mark.parametrize("words", [("kit.sow",), ("kit.saw", "--for", "//yard:hat")])
def test_what_is_unknown(words: tuple[str, ...], workspace: Make, buildfix: Run) -> None:
    root = workspace(SAWS)
    done = buildfix("index", "--root", root, *words, cwd=root)
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean" in done.stderr


def test_a_reader_that_has_seen_enough_is_no_error(workspace: Make) -> None:
    """`buildfix index | head` ends quietly."""
    root = workspace(SAWS)
    command = f"{sys.executable} -m buildfix index --root {root} | head -n 1"
    done = subprocess.run(
        command, shell=True, cwd=Path(__file__).parent.parent, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("kit.saw\t//kit:old\n", "")
