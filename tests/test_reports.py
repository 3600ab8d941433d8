"""The reports are functions of a Result: what must be said, and that nothing is lost on the way."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildfix import reports
from buildfix.findings import (
    Code,
    Confidence,
    Dependent,
    Evidence,
    FileChange,
    Finding,
    Place,
    Reason,
    Result,
    Summary,
)
from buildfix.reports import diff, json_report, text
from buildfix.reports.view import View, wants_color, wants_links

DROP = Finding(
    Code.UNUSED_DEP,
    "//press:lib",
    Place("press/BUCK", 20),
    "nothing in it uses :gauge",
    Confidence.SAFE,
    dep=":gauge",
    attribute="deps",
    dependents=(
        Dependent(
            "//stall:recipe",
            Place("stall/targets.bzl", 10),
            "press._gauge",
            Evidence(Place("stall/recipe.py", 2), "import of press._gauge"),
            ("//stall:recipe", "//press:lib", "//press:gauge"),
            rescued=True,
        ),
    ),
    fix="drop",
)
RESCUE = Finding(
    Code.MISSING_DEP,
    "//stall:recipe",
    Place("stall/targets.bzl", 10),
    "imports press._gauge without a dep on //press:gauge",
    Confidence.SAFE,
    dep="//press:gauge",
    attribute="deps",
    module="press._gauge",
    evidence=(Evidence(Place("stall/recipe.py", 2), "import of press._gauge"),),
    path=("//stall:recipe", "//press:lib", "//press:gauge"),
    fix="add",
    rescue=True,
    outside=True,
)
CYCLE = Finding(
    Code.MISSING_DEP,
    "//ops:rudder",
    Place("ops/BUCK", 1),
    "imports ops.wheel without a dep on :wheel",
    Confidence.DISPLAY,
    dep=":wheel",
    reasons=(Reason.WOULD_CYCLE,),
    detail=":wheel -> :rudder -> :wheel",
    choices=(":wheel", ":spoke"),
)
HELD = dataclasses.replace(
    DROP,
    fix="",
    confidence=Confidence.DISPLAY,
    reasons=(Reason.RELIED_ON,),
    dependents=tuple(dataclasses.replace(item, rescued=False) for item in DROP.dependents),
)
CHANGES = (
    FileChange("press/BUCK", b"a\n    :gauge\nb\n", b"a\nb\n"),
    FileChange("stall/targets.bzl", b"deps\n", b"deps\n//press:gauge\n", outside=True),
)
SUMMARY = Summary(packages=3, targets=7, python_targets=6, sources=5)
RESULT = Result((DROP, RESCUE), CHANGES, SUMMARY)


def test_text_says_everything_a_reviewer_would() -> None:
    said = text.render(RESULT).decode()
    for part in (
        "press/BUCK:20: BF002 unused-dep: nothing in it uses :gauge",
        "dropping this edge alone would break 1 target:",
        "//stall:recipe (stall/targets.bzl:10)",
        "stall/recipe.py:2: import of press._gauge",
        "receives press._gauge only through\n          //stall:recipe -> //press:lib -> //press:gauge\n",
        "is given the dep in the same run",
        'would drop ":gauge" from deps',
        'would add "//press:gauge" to deps, so that the drop of another edge does not break this target',
        "Would also write outside the paths given:\n  stall/targets.bzl\n",
        '//stall:recipe imports press._gauge, which it loses when //press:lib drops ":gauge"',
        "2 findings; 2 would be repaired in 2 files (--apply) (3 packages, 7 targets, 5 sources)",
    ):
        assert part in said, said


def test_text_after_apply_says_what_was_done() -> None:
    said = text.render(dataclasses.replace(RESULT, applied=True)).decode()
    assert 'dropped ":gauge" from deps' in said
    assert "Also written outside the paths given:" in said
    assert "2 findings; 2 repaired in 2 files" in said
    assert "would drop" not in said
    assert "would add" not in said


def test_text_says_why_an_edge_is_held_back_and_whom_dropping_it_would_break() -> None:
    said = text.render(Result((HELD, CYCLE), (), SUMMARY)).decode()
    assert "not repaired: a target that gets a module through it cannot be given the dep directly" in said
    assert "cannot be given the dep, so the edge stays" in said
    assert "not repaired: the dep would close a cycle (:wheel -> :rudder -> :wheel)" in said
    assert "the choices are :wheel, :spoke" in said
    assert "2 findings; 2 left" in said


def test_text_counts_apart_what_fails_no_check_and_what_was_not_seen() -> None:
    shown = dataclasses.replace(CYCLE, fails=False)
    broken = Finding(
        Code.NOT_ANALYSED, "//x", Place("x/BUCK", 2), "syntax: no", Confidence.DISPLAY, detail="so it goes"
    )
    looked = dataclasses.replace(SUMMARY, packages_incomplete=1)
    said = text.render(Result((shown, broken), (), looked)).decode()
    assert "2 findings; 1 left; 1 for information; not analysed: 1 package (3 packages" in said
    assert "x/BUCK:2: BF011 not-analysed: syntax: no\n    so it goes\n" in said


def test_text_of_a_clean_run_is_one_line() -> None:
    assert text.render(Result((), (), SUMMARY)).decode() == ("nothing to repair (3 packages, 7 targets, 5 sources)\n")


def test_color_is_only_paint() -> None:
    painted = text.render(RESULT, View(color=True)).decode()
    assert "\x1b[" in painted
    bare = painted
    for code in ("0", *text._STYLES.values()):
        bare = bare.replace(f"\x1b[{code}m", "")
    assert bare == text.render(RESULT).decode()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_color_needs_a_terminal_and_no_objection() -> None:
    assert wants_color(Terminal(), {"TERM": "xterm"})
    assert not wants_color(io.StringIO(), {"TERM": "xterm"})
    assert not wants_color(Terminal(), {"TERM": "dumb"})
    assert not wants_color(Terminal(), {"TERM": "xterm", "NO_COLOR": "1"})
    assert wants_color(Terminal(), {"TERM": "xterm", "NO_COLOR": ""})


@pytest.mark.parametrize(
    ("env", "links"),
    [
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "foot"}, True),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, True),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "vscode"}, True),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, False),
        ({"TERM": "xterm-256color", "WT_SESSION": "1"}, True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "6800"}, True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "4205"}, False),
        ({"TERM": "xterm-256color", "VTE_VERSION": "new"}, False),
        ({"TERM": "screen-256color", "KITTY_WINDOW_ID": "1"}, False),
        ({"TERM": "tmux-256color", "VTE_VERSION": "6800"}, False),
        ({"TERM": "xterm-kitty", "CI": "true"}, False),
        ({"TERM": "xterm-kitty", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb", "FORCE_HYPERLINK": "1"}, False),
        ({"TERM": "xterm-256color", "FORCE_HYPERLINK": "1"}, True),
        ({"TERM": "xterm-kitty", "FORCE_HYPERLINK": "0"}, False),
    ],
)
def test_links_need_a_terminal_that_shows_them(env: dict[str, str], links: bool) -> None:
    assert wants_links(Terminal(), env) is links
    assert not wants_links(io.StringIO(), env)


def test_links_lead_to_the_line_and_change_no_word() -> None:
    said = text.render(RESULT, View(Path("/odd path/100%"), links=True)).decode()
    assert "\x1b]8;;file:///odd%20path/100%25/press/BUCK#L20\x1b\\press/BUCK:20\x1b]8;;\x1b\\: BF002" in said
    assert re.sub("\x1b]8;;.*?\x1b\\\\", "", said) == text.render(RESULT).decode()


def test_text_says_how_to_go_on() -> None:
    view = View(command=("--root", "my place", "cellar/"))
    assert text.render(RESULT, view).decode().endswith("\nnext: buildfix --apply --root 'my place' cellar/\n")
    assert "next:" not in text.render(dataclasses.replace(RESULT, applied=True), view).decode()
    assert "next:" not in text.render(Result((CYCLE,), (), SUMMARY), view).decode()


def test_json_has_every_field_of_a_finding() -> None:
    report = json.loads(reports.render("json", RESULT))
    assert report["version"] == json_report.VERSION
    for finding, told in zip(RESULT.findings, report["findings"], strict=True):
        assert {field.name for field in dataclasses.fields(Finding)} <= told.keys()
        assert told["fingerprint"] == finding.fingerprint
    assert report["findings"][0]["dependents"][0]["path"] == ["//stall:recipe", "//press:lib", "//press:gauge"]
    assert report["summary"] == dataclasses.asdict(SUMMARY) | {"notes": []}
    change = report["changes"][1]
    assert (change["path"], change["outside"], change["lines_added"], change["lines_removed"]) == (
        "stall/targets.bzl",
        True,
        1,
        0,
    )


def test_json_names_reasons_in_words_and_in_codes() -> None:
    told = json_report.report(Result((CYCLE,), (), SUMMARY))["findings"][0]["reasons"]
    assert told == [{"code": "would-cycle", "text": "the dep would close a cycle"}]


def test_json_is_described() -> None:
    page = (Path(__file__).parent.parent / "docs" / "json.md").read_text("utf-8")
    report = json_report.report(RESULT)
    keys = {*report, *report["summary"], *report["findings"][0], *report["findings"][0]["dependents"][0]}
    keys |= {*report["changes"][0]}
    assert {key for key in keys if f"`{key}`" not in page} == set()


def test_paths_that_are_not_utf8_come_out() -> None:
    path = b"caf\xe9/BUCK".decode("utf-8", "surrogateescape")
    result = Result((dataclasses.replace(DROP, place=Place(path, 3)),), (FileChange(path, b"a\n", b"b\n"),), SUMMARY)
    assert b"caf\\xe9/BUCK:3" in reports.render("text", result)
    assert json.loads(reports.render("json", result))["changes"][0]["path"] == "caf\\xe9/BUCK"
    assert b"--- a/caf\xe9/BUCK" in diff.render(result)


lines = st.lists(st.sampled_from(["a", "b", "", " x", "-- y", "++ z", "\x0c", "c\r", "é", "\\ q"]), max_size=12)
content = st.tuples(lines, st.booleans()).map(
    lambda made: ("\n".join(made[0]) + ("\n" if made[1] and made[0] else "")).encode()
)


@given(before=content, after=content)
def test_a_diff_turns_before_into_after(tmp_path_factory: pytest.TempPathFactory, before: bytes, after: bytes) -> None:
    """The patch is read by git, not by us."""
    change = FileChange("pkg/BUCK file", before, after)
    patch = diff.unified(change)
    if before == after:
        assert patch == b""
        return
    root = tmp_path_factory.mktemp("patch")
    (root / "pkg").mkdir()
    (root / "pkg/BUCK file").write_bytes(before)
    if not before or not after:
        return  # git takes an empty file for one that is created or removed
    subprocess.run(["git", "apply", "--unsafe-paths", "-"], cwd=root, input=patch, check=True, capture_output=True)
    assert (root / "pkg/BUCK file").read_bytes() == after


@pytest.mark.parametrize(
    "name",
    [
        b"caf\xe9/BUCK",
        "café/BUCK".encode(),
        b"a b/BUCK",
        b'say "hi"/BUCK',
        b"tab\there/BUCK",
        b"line\nbreak/BUCK",
        b"back\\slash",
    ],
)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nb\r\n", b"a\r\nc\r\n"),
        (b"a\nb", b"a\nc"),
        (b"a\nb", b"a\nb\n"),
        (b"a\nb\n", b"a\nb"),
        (b"\xff\n", b"\xfe\n"),
    ],
)
def test_git_applies_a_patch_of_any_name(name: bytes, before: bytes, after: bytes, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(name)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(before)
    patch = diff.patch([FileChange(os.fsdecode(name), before, after)])
    subprocess.run(["git", "apply", "--check", "-"], cwd=tmp_path, input=patch, check=True, capture_output=True)
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=patch, check=True, capture_output=True)
    assert path.read_bytes() == after


def test_counts_of_lines() -> None:
    assert diff.count(FileChange("x", b"a\n-- b\nc", b"a\n++ d\ne\nc\n")) == (3, 2)
