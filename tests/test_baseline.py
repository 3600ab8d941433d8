"""Writing a baseline, reading it back, and what is no baseline."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Run, snapshot

from buildfix import baseline
from buildfix.findings import Key

REPOSITORY = {
    "kit/BUCK": 'python_library(name = "saw", srcs = ["saw.py"])\n',
    "kit/saw.py": "",
    "yard/BUCK": 'python_library(name = "hut", srcs = ["hut.py"])\n',
    "yard/hut.py": "import kit.saw\n",
}
Make = Callable[[dict[str, str]], Path]


def test_what_was_written_is_known(workspace: Make, buildfix: Run) -> None:
    root = workspace(REPOSITORY)
    before = snapshot(root)
    known = root.parent / "known.json"
    written = buildfix("--root", root, "--baseline", known, "--write-baseline")
    assert (written.returncode, written.stdout) == (0, f"{known}: 1 known finding\n")
    assert baseline.read(known) == {Key("BF001", "//yard:hut", "//kit:saw")}
    again = buildfix("--root", root, "--baseline", known, "--apply")
    assert again.returncode == 0
    assert "1 known finding: not shown" in again.stdout
    assert snapshot(root) == before


def test_moved_lines_change_nothing(workspace: Make, buildfix: Run) -> None:
    root = workspace(REPOSITORY)
    known = root.parent / "known.json"
    buildfix("--root", root, "--baseline", known, "--write-baseline")
    (root / "yard/BUCK").write_text("# moved\n\n" + REPOSITORY["yard/BUCK"])
    assert buildfix("--root", root, "--baseline", known).returncode == 0


def test_entries_outside_the_paths_are_not_judged(workspace: Make, buildfix: Run) -> None:
    root = workspace(REPOSITORY)
    known = root.parent / "known.json"
    known.write_bytes(baseline.dump([Key("BF002", "//kit:saw", "//yard:hut")]))
    assert "no longer occurs" not in buildfix("--root", root, "--baseline", known, root / "yard").stdout
    assert "no longer occurs" in buildfix("--root", root, "--baseline", known, root / "kit").stdout


def test_what_could_not_be_analysed_is_never_known(workspace: Make, buildfix: Run) -> None:
    root = workspace(REPOSITORY | {"yard/hut.py": "import kit.saw\ndef\n"})
    known = root.parent / "known.json"
    buildfix("--root", root, "--baseline", known, "--write-baseline")
    assert buildfix("--root", root, "--baseline", known).returncode == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a baseline"),
        ("[]", "not a baseline of version 1"),
        ('{"version": 7, "findings": []}', "not a baseline of version 1"),
        ('{"version": 1, "findings": {}}', "`findings` is no list"),
        ('{"version": 1, "findings": [["BF001", "//a"]]}', "entry 1 of `findings`"),
        ("[" * 100_000, "not a baseline"),
    ],
)
def test_what_is_no_baseline(text: str, message: str, workspace: Make, buildfix: Run) -> None:
    root = workspace(REPOSITORY)
    known = root.parent / "known.json"
    known.write_text(text)
    done = buildfix("--root", root, "--baseline", known)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr and str(known) in done.stderr


def test_a_file_that_is_not_there(workspace: Make, buildfix: Run) -> None:
    done = buildfix("--root", workspace(REPOSITORY), "--baseline", "no.json")
    assert done.returncode == 2
    assert "no.json: cannot be read" in done.stderr


def test_writing_needs_a_file_and_the_whole_repository(workspace: Make, buildfix: Run) -> None:
    root = workspace(REPOSITORY)
    assert buildfix("--root", root, "--write-baseline").returncode == 2
    assert buildfix("--root", root, "--baseline", "x.json", "--write-baseline", root / "yard").returncode == 2


def test_entries_stand_one_on_a_line() -> None:
    text = baseline.dump([Key("BF002", "//b", "//c"), Key("BF001", "//é", "m")]).decode()
    assert text.splitlines()[3:5] == ['    ["BF001", "//\\u00e9", "m"],', '    ["BF002", "//b", "//c"]']
    assert len(json.loads(text)["findings"]) == 2
