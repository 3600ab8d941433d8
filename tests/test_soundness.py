"""The independent checker finds no fault with the repair of any fixture, and finds each kind of fault where it is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
import soundness

FIXTURES = Path(__file__).parent.parent / "fixtures"
# What the configuration says that nobody uses, whatever the sources say.
DENIED = {"conftest-is-ignored"}
NAMES = sorted({path.parent.name for path in FIXTURES.glob("*/fixture.yaml")} - DENIED)

Make = Callable[[dict[str, str | bytes]], Path]


@pytest.mark.parametrize("name", NAMES)
def test_no_repair_of_a_fixture_takes_anything_from_anyone(name: str, tmp_path: Path) -> None:
    args = yaml.safe_load((FIXTURES / name / "fixture.yaml").read_text("utf-8")).get("args", ())
    before = FIXTURES / name / "before"
    for number, paths in enumerate(dict.fromkeys(((), tuple(args)))):
        folder = tmp_path / str(number)
        folder.mkdir()
        violations, counts = soundness.compare(before, soundness.applied(before, paths, folder))
        assert violations == []
        assert counts["targets"], "nothing was looked at"


GOOD: dict[str, str | bytes] = {
    ".buckconfig": "",
    "mill/BUCK": """\
python_library(name = "wheel", srcs = ["wheel.py"], deps = [])
python_library(name = "stone", srcs = ["stone.py"], deps = [":wheel"])
python_library(
    name = "mill",
    srcs = ["mill.py"],
    deps = [":stone"] + select({"DEFAULT": [], "windy": [":wheel", "//outside:sails"]}),
)
""",
    "mill/wheel.py": "",
    "mill/stone.py": "",
    "mill/mill.py": "import sails\n\nfrom mill import stone\nfrom .wheel import turn\n",
}

# What becomes of the build file: old text, new text, and the kinds of violation that it is.
FAULTS: dict[str, tuple[str, str, set[str]]] = {
    "lost, by a path": ('"stone.py"], deps = [":wheel"]', '"stone.py"], deps = []', {"lost"}),
    "lost, outside the repository": (', "//outside:sails"', "", {"lost"}),
    "errors": ("deps = []", "deps = [] + 1", {"errors", "targets"}),
    "cycles": ("deps = []", 'deps = [":mill"]', {"cycles"}),
    "targets": ('name = "wheel"', 'name = "water_wheel"', {"targets", "lost"}),
    "changed": ("deps = [])", "deps = [], licenses = [])", {"changed"}),
    "no fault, where a dep is only added": ("    deps = [", '    deps = [":wheel"] + [', set()),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_checker_sees(name: str, tmp_path: Path, workspace: Make) -> None:
    old, new, kinds = FAULTS[name]
    before = workspace(GOOD)
    after = tmp_path / "after"
    text = str(GOOD["mill/BUCK"])
    assert old in text
    for path, content in (GOOD | {"mill/BUCK": text.replace(old, new)}).items():
        (after / path).parent.mkdir(parents=True, exist_ok=True)
        (after / path).write_text(str(content))
    violations, _ = soundness.compare(before, after)
    assert {violation.kind for violation in violations} == kinds


def test_the_command_says_what_was_lost(tmp_path: Path, workspace: Make, capsys: pytest.CaptureFixture[str]) -> None:
    before = workspace(GOOD)
    after = soundness.applied(before, (), tmp_path / "copy")
    assert soundness.main([str(before), str(after)]) == 0
    (after / "mill/BUCK").write_text(str(GOOD["mill/BUCK"]).replace('["stone.py"], deps = [":wheel"]', '["stone.py"]'))
    assert soundness.main([str(before), str(after)]) == 1
    said = capsys.readouterr().out
    assert "lost: //mill:mill: mill.wheel (mill/mill.py:4) came by" in said
