"""The API for programs: it does what the command does, and raises what it says."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Run, snapshot

import buildfix

FIXTURES = Path(__file__).parent.parent / "fixtures"
ORCHARD = FIXTURES / "unused-edge-others-live-on"


@pytest.fixture
def orchard(tmp_path: Path) -> Path:
    shutil.copytree(ORCHARD / "before", tmp_path / "orchard")
    return tmp_path / "orchard"


def test_it_finds_and_repairs_what_the_command_does(orchard: Path, buildfix: Run) -> None:
    import buildfix as api

    result = api.check(orchard, [orchard / "cellar"])
    said = json.loads(buildfix("cellar", "--output-format", "json", cwd=orchard).stdout)
    assert [(one.code, one.target) for one in result.findings] == [
        (one["code"], one["target"]) for one in said["findings"]
    ]
    assert not result.applied
    assert api.apply(orchard, result).applied
    for path, data in snapshot(ORCHARD / "after").items():
        assert (orchard / path).read_bytes() == data
    assert not [one for one in api.check(orchard).findings if one.fails]


def test_codes_are_chosen_by_word(orchard: Path) -> None:
    codes = {one.code for one in buildfix.check(orchard, select=["unused-dep"]).findings}
    assert codes == {buildfix.Code.UNUSED_DEP, buildfix.Code.MISSING_DEP}  # an add that a drop asks for is told with it
    assert buildfix.Code.UNUSED_DEP not in {one.code for one in buildfix.check(orchard, ignore=["BF002"]).findings}


def test_what_is_wrong_is_said_by_errors_of_two_kinds(orchard: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in (
        lambda: buildfix.check(orchard, select=["BF999"]),
        lambda: buildfix.check(orchard, [orchard / "nowhere"]),
        lambda: buildfix.check(orchard, since="no-such-revision"),
        lambda: buildfix.check(orchard.parent / "nowhere"),
    ):
        with pytest.raises(buildfix.UsageError):
            wrong()
    (orchard / "buildfix.yaml").write_text("nonsense: 1\n")
    with pytest.raises(buildfix.UsageError, match=r"buildfix\.yaml:1"):
        buildfix.check(orchard)
    (orchard / "buildfix.yaml").unlink()
    result = buildfix.check(orchard)
    (orchard / result.changes[-1].path).write_text("# changed meanwhile\n")
    before = snapshot(orchard)
    with pytest.raises(buildfix.IncompleteError, match="changed"):
        buildfix.apply(orchard, result)
    assert snapshot(orchard) == before
    monkeypatch.setenv("BUILDFIX_ENGINE", str(orchard / "nowhere"))
    with pytest.raises(buildfix.IncompleteError, match="cannot start the engine"):
        buildfix.check(orchard)


def test_every_name_is_there_and_none_is_imported_before_it_is_asked_for() -> None:
    for name in buildfix.__all__:
        assert getattr(buildfix, name) is not None
    with pytest.raises(AttributeError):
        _ = buildfix.nonsense
    script = "import buildfix, sys; print([name for name in sys.modules if name.startswith('buildfix.')])"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=FIXTURES.parent, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_a_program_is_type_checked_against_it(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import buildfix\n"
        "result: buildfix.Result = buildfix.check('.', ['x'], select=['BF001'])\n"
        "texts: list[str] = [f'{one.place}: {one.code.slug}' for one in result.findings]\n"
        "buildfix.check(1)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(program)],
        cwd=FIXTURES.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert 'program.py:4: error: Argument 1 to "check" has incompatible type "int"' in done.stdout
    assert "Found 1 error" in done.stdout
