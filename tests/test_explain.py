"""The texts are complete and true: every code and reason has one, the examples are what buildfix says."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Run

from buildfix import explain, policy
from buildfix.explain.codes import CODES
from buildfix.explain.reasons import REASONS
from buildfix.findings import Code, Confidence, Reason

ROOT = Path(__file__).parent.parent
REPOSITORY = ROOT / "fixtures/one-of-each-finding/before"
EXAMPLES = ROOT / "buildfix/explain/examples.txt"
DOCUMENT = ROOT / "docs/findings.md"


def test_every_code_and_every_reason_has_a_text() -> None:
    assert {code.value for code in Code} <= CODES.keys()
    assert {explain.slug(reason) for reason in Reason} <= REASONS.keys()
    assert all(text.what and text.why and text.repair for text in CODES.values())


def test_the_texts_agree_with_the_policy_about_unsafe_fixes() -> None:
    tables = (policy.MISSING, policy.UNUSED)
    unsafe = {reason for table in tables for reason, (weight, _) in table.items() if weight is Confidence.UNSAFE}
    told = {reason for reason in Reason if "--unsafe-fixes" in REASONS[explain.slug(reason)]}
    assert told == unsafe


def test_the_examples_and_the_document_are_up_to_date(buildfix: Run, request: pytest.FixtureRequest) -> None:
    report = buildfix("--root", REPOSITORY, "--select", "ALL").stdout
    shown = said(report)
    assert shown.keys() == {code.value for code in Code}, "the fixture shows each finding"
    if request.config.getoption("--update-fixtures"):
        EXAMPLES.write_text(explain.dump(shown), "utf-8")
        explain.examples.cache_clear()
        DOCUMENT.write_text(explain.document(), "utf-8")
    hint = "`make docs` brings examples.txt and docs/findings.md up to date"
    assert explain.examples() == shown, hint
    assert DOCUMENT.read_text("utf-8") == explain.document(), hint


def said(report: str) -> dict[str, tuple[str, ...]]:
    """The first finding of each code in a report, with the line of its target."""
    found: dict[str, tuple[str, ...]] = {}
    for group in report.split("\n\n"):
        target, *lines = group.splitlines()
        starts = [i for i, line in enumerate(lines) if line.startswith("  ") and line[2] != " "]
        for start, end in itertools.pairwise([*starts, len(lines)]):
            code = lines[start].split(": ")[1].split()[0]
            found.setdefault(code, (target, *lines[start:end]))
    return found


def test_the_generator_prints_the_document() -> None:
    done = subprocess.run([sys.executable, "-m", "buildfix.explain"], cwd=ROOT, capture_output=True, check=True)
    assert done.stdout == DOCUMENT.read_bytes()


@pytest.mark.parametrize("word", ["BF002", "bf002", "unused-dep", "UNUSED_DEP"])
def test_a_finding_by_any_of_its_names(word: str, buildfix: Run) -> None:
    done = buildfix("explain", word)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("## BF002 unused-dep\n")
    assert 'would drop ":keel" from deps' in done.stdout


def test_a_code_comes_before_a_reason(buildfix: Run) -> None:
    assert buildfix("explain", "would-cycle").stdout.startswith("## BF006 would-cycle\n")
    assert buildfix("explain", "of-macro").stdout.startswith("### of-macro: a macro gives it to all its targets\n")


def test_without_a_word_everything_is_listed(buildfix: Run) -> None:
    lines = buildfix("explain").stdout.splitlines()
    assert "BF001 missing-dep" in lines
    assert "BF013 orphan-target (off unless selected)" in lines
    assert "shared: the entry is shared with targets that need it" in lines
    assert len(lines) == len(Code) + len(Reason) + 2


def test_an_unknown_word_names_the_near_ones(buildfix: Run) -> None:
    done = buildfix("explain", "unused-deps")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean unused-dep" in done.stderr
    assert "did you mean BF0" in buildfix("explain", "bf099").stderr


def test_explaining_is_quick_to_start() -> None:
    code = (
        "import sys; from buildfix.cli import main; main(['explain', 'BF001'], standalone_mode=False); "
        "print(sorted({'buildfix.engine', 'buildfix.pipeline', 'msgspec', 'yaml', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\n[]\n")
