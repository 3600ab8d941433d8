"""`buildfix why`: the answers for every kind of edge, the spellings of a question, and what cannot be answered."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, snapshot

FIXTURES = Path(__file__).parent.parent / "fixtures"
ORCHARD = FIXTURES / "unused-edge-others-live-on/before"
EACH = FIXTURES / "one-of-each-finding/before"
Make = Callable[[dict[str, str]], Path]

YARD = {
    "kit/BUCK": """\
python_library(name = "saw", srcs = ["saw.py"])
python_library(name = "axe", srcs = ["axe.py"])
python_library(name = "bench", srcs = ["bench.py"], deps = [":saw"])
python_library(name = "all", deps = [":axe"])
cxx_library(name = "engine")
""",
    "kit/saw.py": "",
    "kit/axe.py": "",
    "kit/bench.py": "import kit.saw\n",
    "yard/BUCK": """\
python_library(
    name = "hut",
    srcs = ["hut.py"],
    deps = [
        "//kit:all",
        "//kit:bench",
        "//kit:engine",
        "//kit:saw",  # @manual
        "//pip:plough",
    ],
)
""",
    "yard/hut.py": """\
import json
import kit.axe
import kit.bench
import plough.share
import hay  # @manual

try:
    import kit.saw
except ImportError:
    pass
""",
}


def ask(buildfix: Run, root: Path, *words: str, status: int = 0) -> dict[str, Any]:
    before = snapshot(root)
    done = buildfix("why", "--root", root, "--output-format", "json", *words, cwd=root)
    assert (done.returncode, done.stderr) == (status, ""), done
    assert snapshot(root) == before
    (answer,) = json.loads(done.stdout)["answers"]
    return answer


def test_an_unused_edge_that_others_live_on(buildfix: Run) -> None:
    done = buildfix("why", "--root", ".", "cellar/press:lib", "//cellar/press:gauge", cwd=ORCHARD)
    assert (
        done.stdout
        == """\
//cellar/press:lib (cellar/press/BUCK:16) -> //cellar/press:gauge (cellar/press/BUCK:6)
  declared at cellar/press/BUCK:20: ":gauge" in deps
  nothing in the target uses it
  relied on by 2 other targets, which would lose a module with it:
    //cellar/tests:test_pressing -> //cellar:lib -> //cellar/press:lib -> //cellar/press:gauge
      cellar/tests/test_pressing.py:4: import of orchard.cellar.press._gauge.mean_pressure
    //market/stall:recipe -> //cellar:lib -> //cellar/press:lib -> //cellar/press:gauge
      market/stall/recipe.py:2: import of orchard.cellar.press._gauge.mean_pressure
  BF002 unused-dep: nothing in it uses :gauge
  would drop ":gauge" from deps (the target is public: dependents outside the repository cannot be seen)
"""
    )
    assert done.returncode == 0


def test_a_missing_dep_shows_the_way_by_which_it_arrives(buildfix: Run) -> None:
    done = buildfix("why", "--root", ".", "//barn:work", "kit.saw", cwd=EACH)
    assert (
        done.stdout
        == """\
//barn:work (barn/BUCK:1) -> //kit:saw (kit/BUCK:1)
  which provides kit.saw
  not declared
  used by
    barn/work.py:2: import of kit.saw
  arrives today through //barn:work -> //kit:bench -> //kit:saw
  BF001 missing-dep: imports kit.saw without a dep on //kit:saw
  would add "//kit:saw" to deps
"""
    )


def test_a_used_edge_and_what_would_be_left_without_it(workspace: Make, buildfix: Run) -> None:
    answer = ask(buildfix, workspace(YARD), "//yard:hut", "//kit:bench")
    assert answer["verdict"] == "keeps it: it is imported"
    assert answer["uses"][0]["evidence"] == [
        {"place": {"file": "yard/hut.py", "line": 3}, "text": "import of kit.bench"}
    ]
    assert answer["otherwise"] == [{"module": "kit.bench", "path": []}]
    assert answer["relied_on"] == []


def test_a_guarded_use_below_a_marker(workspace: Make, buildfix: Run) -> None:
    answer = ask(buildfix, workspace(YARD), "//yard:hut", "kit.saw")
    assert [use["need"] for use in answer["uses"]] == ["guarded"]
    assert {"text": "a marker keeps it", "where": "yard/BUCK:8"} in answer["markers"]
    assert answer["otherwise"] == [{"module": "kit.saw", "path": ["//yard:hut", "//kit:bench", "//kit:saw"]}]
    assert answer["verdict"].startswith("keeps it: ")


def test_a_target_that_only_gathers(workspace: Make, buildfix: Run) -> None:
    answer = ask(buildfix, workspace(YARD), "//yard:hut", "//kit:axe")
    assert answer["dep"] == "//kit:all"
    assert [entry["text"] for entry in answer["declared"]] == ["//kit:all"]
    assert [use["module"] for use in answer["uses"]] == ["kit.axe"]
    assert answer["path"] == ["//yard:hut", "//kit:all", "//kit:axe"]


def test_a_dep_that_is_there_for_more_than_imports(workspace: Make, buildfix: Run) -> None:
    answer = ask(buildfix, workspace(YARD), "//yard:hut", "//kit:engine")
    assert answer["verdict"] == "leaves it alone: a cxx_library may be there for more than imports"


@pytest.mark.parametrize("word", ["plough", "plough.share", "//pip:plough"])
def test_a_module_from_outside(word: str, workspace: Make, buildfix: Run) -> None:
    root = workspace(YARD | {"buildfix.yaml": "third_party: {plough: //pip:plough}\n"})
    answer = ask(buildfix, root, "//yard:hut", word)
    assert answer["dep"] == "//pip:plough"
    assert [use["module"] for use in answer["uses"]] == ["plough.share"]
    assert answer["verdict"] == "keeps it: it is imported"


def test_an_import_that_is_marked_asks_for_nothing(workspace: Make, buildfix: Run) -> None:
    answer = ask(buildfix, workspace(YARD), "//yard:hut", "hay")
    assert answer["markers"] == [{"text": "the import asks for no dep", "where": "yard/hut.py:5"}]
    assert (answer["dep"], answer["findings"]) == ("", [])


@pytest.mark.parametrize(
    ("word", "verdict"),
    [
        ("json", "asks for no dep: the module is the standard library's"),
        ("yard.hut", "asks for no dep: the module is the target's own"),
        ("//yard:hut", "asks for no dep"),
    ],
)
def test_what_needs_no_dep(word: str, verdict: str, workspace: Make, buildfix: Run) -> None:
    assert ask(buildfix, workspace(YARD), "//yard:hut", word)["verdict"] == verdict


@pytest.mark.parametrize("target", ["//yard:hut", "yard:hut", "yard/hut.py", "root//yard:hut", "@root//yard:hut"])
@pytest.mark.parametrize("dep", ["//kit:bench", "kit:bench", "kit.bench", "kit/bench.py", "kit.bench.height"])
def test_every_spelling_is_the_same_question(target: str, dep: str, workspace: Make, buildfix: Run) -> None:
    root = workspace(YARD | {".buckconfig": "[cells]\n  root = .\n"})
    answer = ask(buildfix, root, target, dep)
    assert (answer["target"], answer["dep"]) == ("//yard:hut", "//kit:bench")


def test_labels_count_from_the_current_folder(workspace: Make, buildfix: Run) -> None:
    root = workspace(YARD | {".buckconfig": "[cells]\n  root = .\n"})
    done = buildfix("why", ":bench", "saw.py", cwd=root / "kit")
    assert done.stdout.startswith("//kit:bench (kit/BUCK:3) -> //kit:saw (kit/BUCK:1)\n")
    assert buildfix("why", "bench", ":saw", cwd=root / "kit").returncode == 0


def test_a_source_of_two_targets_has_two_answers(workspace: Make, buildfix: Run) -> None:
    twice = YARD["kit/BUCK"] + 'python_library(name = "stool", srcs = ["bench.py"])\n'
    root = workspace(YARD | {"kit/BUCK": twice})
    done = buildfix("why", "--root", root, "kit/bench.py", "kit.saw", "--output-format", "json", cwd=root)
    answers = json.loads(done.stdout)["answers"]
    assert [(one["target"], bool(one["declared"])) for one in answers] == [
        ("//kit:bench", True),
        ("//kit:stool", False),
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("//yard:hat", "kit.saw"), "no target //yard:hat; did you mean //yard:hut?"),
        (("//yrd:hut", "kit.saw"), "no target //yrd:hut; did you mean //yard:hut?"),
        (("//yard:hut", "//kit:sow"), "no target //kit:sow; did you mean //kit:saw?"),
        (("//yard:hut", "kit.sow"), "no module kit.sow; did you mean kit.saw?"),
        (("//yard:hut", "kit:zzz"), "no target //kit:zzz; its package has //kit:all, //kit:axe"),
        (("yard/BUCK", "kit.saw"), "no target has yard/BUCK among its sources"),
    ],
)
def test_what_is_unknown_names_what_is_near(
    words: tuple[str, str], message: str, workspace: Make, buildfix: Run
) -> None:
    root = workspace(YARD)
    done = buildfix("why", "--root", root, *words, cwd=root)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_what_could_not_be_analysed_is_said(workspace: Make, buildfix: Run) -> None:
    torn = workspace(YARD | {"yard/hut.py": "import kit.bench\nx = (\n"})
    answer = ask(buildfix, torn, "//yard:hut", "//kit:bench", status=3)
    assert answer["not_analysed"] == ["yard/hut.py could not be wholly analysed"]


def test_a_target_that_may_be_where_nobody_could_look(workspace: Make, buildfix: Run) -> None:
    root = workspace(YARD | {"yard/BUCK": YARD["yard/BUCK"] + "fail('no')\n"})
    done = buildfix("why", "--root", root, "//yard:barn", "kit.saw", cwd=root)
    assert done.returncode == 3
    assert "its package could not be wholly analysed, so it may be there" in done.stderr


def test_in_bazel(workspace: Make, buildfix: Run) -> None:
    root = workspace(
        {
            "MODULE.bazel": 'module(name = "farm")\n',
            "kit/BUILD": 'py_library(name = "saw", srcs = ["saw.py"], visibility = ["//visibility:public"])\n',
            "kit/saw.py": "",
            "yard/BUILD": 'py_library(name = "yard", srcs = ["hut.py"], deps = ["@farm//kit:saw"])\n',
            "yard/hut.py": "import kit.saw\n",
        }
    )
    for target in ("//yard", "yard", "@farm//yard", "yard/hut.py"):
        answer = ask(buildfix, root, target, "@//kit:saw")
        assert (answer["target"], answer["declared"][0]["text"]) == ("//yard:yard", "@farm//kit:saw")
