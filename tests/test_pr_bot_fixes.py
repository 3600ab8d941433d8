"""What the bot offers makes the whole repair, and each suggestion alone leaves a build that works."""

from __future__ import annotations

import difflib
import random
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from conftest import snapshot
from hypothesis import given
from hypothesis import strategies as st

from buildfix import pipeline
from buildfix.findings import Code, Finding, Result
from buildfix.github import artefact, comment, diffs, fixes
from buildfix.github.diffs import Shown
from buildfix.github.fixes import Suggestion
from buildfix.policy import Policy
from buildfix.reports import json_report

FIXTURES = Path(__file__).parent.parent / "fixtures"
REPAIRED = sorted(path.parent.name for path in FIXTURES.glob("*/after"))
HEAD = "a" * 40


def judged(root: Path) -> tuple[Result, artefact.Artefact]:
    unsafe = "--unsafe-fixes" in (root.parent / "fixture.yaml").read_text("utf-8")
    result = pipeline.check(root, options=pipeline.Options(policy=Policy(unsafe=unsafe)))
    report = msgspec.json.encode(json_report.report(result))
    return result, artefact.decode(artefact.pack(report, HEAD))


def shown(root: Path, result: Result, chance: random.Random | None) -> dict[str, Shown]:
    """What the diff of a made-up pull request shows: all lines of the changed files, or those near some of them."""
    found = {}
    for change in result.changes:
        try:
            after = change.before.decode().split("\n")
        except UnicodeDecodeError:
            continue
        before = [line for line in after if chance and chance.random() < 0.8]
        patch = "\n".join(list(difflib.unified_diff(before, after, n=2, lineterm=""))[2:])
        found[change.path] = diffs.shown(patch)
    return found


def take(root: Path, suggestions: Sequence[Suggestion]) -> None:
    """Commit suggestions as GitHub does: all at once, each in place of its lines."""
    for one in sorted(suggestions, key=lambda one: -one.start):
        lines = (root / one.path).read_bytes().decode().split("\n")
        lines[one.start - 1 : one.end] = one.lines
        (root / one.path).write_bytes("\n".join(lines).encode())


def apply_patch(root: Path, patch: str) -> None:
    if patch:
        subprocess.run(["git", "apply", "-"], cwd=root, input=patch.encode(), check=True)


def offered(found: fixes.Fixes) -> list[Suggestion]:
    return [fix.suggestion for fix in found.of.values() if fix.suggestion]


@pytest.mark.parametrize("name", REPAIRED)
def test_suggestions_and_the_leftover_patch_are_the_repair(name: str, tmp_path: Path) -> None:
    before = FIXTURES / name / "before"
    result, known = judged(before)
    if not result.changes:
        pytest.skip("without the fixture's options there is nothing to repair")
    expected = snapshot(before) | {change.path: change.after for change in result.changes}
    chance = random.Random(name)
    for number, view in enumerate((None, chance, chance, chance)):
        found = fixes.find(known, shown(before, result, view))
        suggestions = offered(found)
        if not found.leftover and can_not_be_shown(result):
            return  # the comments name the command
        root = tmp_path / str(number)
        shutil.copytree(before, root, symlinks=True)
        take(root, suggestions)
        apply_patch(root, found.leftover)
        assert snapshot(root) == expected


def can_not_be_shown(result: Result) -> bool:
    """Whether the repair touches lines that a comment cannot carry."""
    return any(b"\r" in change.before or not change.before.isascii() for change in result.changes)


def starved(findings: Sequence[Finding]) -> set[tuple[str, str]]:
    """(target, module) of each import whose module does not come along at all."""
    return {(f.target, f.module) for f in findings if f.code is Code.MISSING_DEP and f.fails and not f.path}


@pytest.mark.parametrize("name", REPAIRED)
def test_each_suggestion_alone_breaks_nothing(name: str, tmp_path: Path) -> None:
    before = FIXTURES / name / "before"
    result, known = judged(before)
    hungry = starved(result.findings)
    for number, one in enumerate(offered(fixes.find(known, shown(before, result, None)))):
        root = tmp_path / str(number) / "before"
        shutil.copytree(before, root, symlinks=True)
        shutil.copy(before.parent / "fixture.yaml", root.parent)
        take(root, [one])
        after, _ = judged(root)
        assert starved(after.findings) <= hungry, one
        assert not [f for f in after.findings if f.code is Code.NOT_ANALYSED] or Code.NOT_ANALYSED in {
            f.code for f in result.findings
        }


def test_there_are_suggestions_in_many_fixtures() -> None:
    found = 0
    for name in REPAIRED[:40]:
        result, known = judged(FIXTURES / name / "before")
        found += bool(offered(fixes.find(known, shown(FIXTURES / name / "before", result, None))))
    assert found > 20


def test_a_drop_that_others_live_on_is_no_suggestion() -> None:
    before = FIXTURES / "unused-edge-others-live-on" / "before"
    result, known = judged(before)
    found = fixes.find(known, shown(before, result, None))
    by_code = {(f.code, f.target): found.of[f.fingerprint] for f in known.findings}
    drop = by_code["BF002", "//cellar/press:lib"]
    assert drop.suggestion is None and drop.patch.count("+++ b/") == 3
    adds = [fix for (code, _), fix in by_code.items() if code == "BF001"]
    assert len(adds) == 2 and all(fix.suggestion for fix in adds)


@pytest.mark.parametrize("dialect", ["bazel", "buck"])
def test_a_dep_that_has_to_be_made_visible_is_no_suggestion(dialect: str) -> None:
    before = FIXTURES / f"dep-is-made-visible-{dialect}" / "before"
    result, known = judged(before)
    found = fixes.find(known, shown(before, result, None))
    opened = [found.of[f.fingerprint] for f in known.findings if f.code == "BF007" and f.fix]
    assert opened and not any(fix.suggestion or fix.by for fix in opened)


def test_without_the_adds_a_drop_is_not_offered_at_all() -> None:
    """An artefact that lost the findings which must come first, or says nothing of what they need."""
    before = FIXTURES / "unused-edge-others-live-on" / "before"
    result, known = judged(before)
    (drop,) = [f for f in known.findings if f.code == "BF002"]
    alone = msgspec.structs.replace(known, findings=(drop,))
    fix = fixes.find(alone, shown(before, result, None)).of[drop.fingerprint]
    assert fix.suggestion is None and fix.patch.count("+++ b/") == 3


def test_adds_come_before_drops() -> None:
    _, known = judged(FIXTURES / "unused-edge-others-live-on" / "before")
    assert [f.fix for f in comment.in_order(known.findings)] == ["add", "add", "drop"]


LINES = st.lists(st.sampled_from(["a", "b", "", "    c,", "-- x", "++ y", "@@ -1 +1 @@"]), max_size=12)


@given(LINES, LINES, st.randoms(use_true_random=False))
def test_parts_of_a_diff_are_diffs(before: list[str], after: list[str], chance: random.Random) -> None:
    """Making some edits first and the rest then is the same as making all; each part is a sound diff by itself."""
    text = "\n".join(list(difflib.unified_diff(before, after, n=2, lineterm=""))[2:])
    hunks = diffs.parse(text)
    edits = diffs.edits("x", hunks)
    first = {edit for edit in edits if chance.random() < 0.5}
    files = {"x": hunks}
    middle = applied(before, diffs.patch(files, first))
    assert applied(middle, diffs.patch(files, set(edits) - first, first)) == after


def applied(lines: Sequence[str], patch: str) -> list[str]:
    """The lines after a patch, applied strictly: every line must be where the patch says."""
    if not patch:
        return list(lines)
    out, at = list[str](), 0
    for hunk in diffs.parse_file("x", patch):
        out += lines[at : hunk.old - 1]
        at = hunk.old - 1
        assert len(out) == hunk.new - 1
        for item in hunk.lines:
            if item.tag != "+":
                assert lines[at] == item.text
                at += 1
            if item.tag != "-":
                out.append(item.text)
    return out + list(lines[at:])


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "@@ -1,2 +1 @@\n a",
        "@@ -1 +1 @@\n-a\n+b\nrest",
        "@@ -1 +1 @@\n?a",
        "@@ -5 +5 @@\n a\n@@ -1 +1 @@\n a",
        "@@ -1 +1,9999999999 @@\n a",
    ],
)
def test_what_is_no_diff_is_refused(text: str) -> None:
    with pytest.raises(diffs.DiffError):
        diffs.parse(text)


def test_what_the_diff_shows() -> None:
    view: Mapping[int, str] = diffs.shown("@@ -1,3 +1,3 @@ def f():\n a\n-b\n+c\n d\n@@ -9 +9,2 @@\n e\n+f").lines
    assert view == {1: "a", 2: "c", 3: "d", 9: "e", 10: "f"}


def test_entries_beside_each_other_share_a_suggestion_and_have_patches_of_their_own(
    workspace: Callable[[dict[str, str | bytes]], Path],
) -> None:
    root = workspace(
        {
            ".buckconfig": "[cells]\n  root = .\n",
            "kit/BUCK": "".join(f'python_library(name = "{n}", srcs = ["{n}.py"])\n' for n in ("awl", "saw", "vice")),
            **{f"kit/{n}.py": "X = 1\n" for n in ("awl", "saw", "vice")},
            "yard/BUCK": 'python_library(\n    name = "work",\n    srcs = ["work.py"],\n    deps = [\n'
            '        "//kit:awl",\n    ],\n)\n',
            "yard/work.py": "import kit.awl, kit.saw, kit.vice\n",
        }
    )
    (root.parent / "fixture.yaml").write_text("about: made up\n")
    result, known = judged(root)
    saw, vice = known.findings
    near = fixes.find(known, shown(root, result, None)).of
    assert near[saw.fingerprint].suggestion == Suggestion(
        "yard/BUCK", 5, 5, ('        "//kit:awl",', '        "//kit:saw",', '        "//kit:vice",')
    )
    assert near[vice.fingerprint].by == saw.fingerprint
    far = fixes.find(known, {}).of
    assert [f'+        "{one.dep}"' in far[one.fingerprint].patch for one in (saw, vice)] == [True, True]
    assert all(fix.patch.count("\n+  ") == 1 for fix in far.values())
