"""Every format over what every fixture really gives, and over strings that mean harm."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import formats
import pytest
from click.testing import CliRunner
from conftest import Run, snapshot
from formats import CHECKS
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_fixtures import FIXTURES, NAMES, read

from buildfix import cli, reports, write
from buildfix.findings import (
    OFF_BY_DEFAULT,
    Code,
    Confidence,
    Dependent,
    Evidence,
    FileChange,
    Finding,
    Place,
    Reason,
    Repair,
    Result,
    Summary,
)
from buildfix.reports import FORMATS, github, rdjson, rules, severity, statistics, wording
from buildfix.reports.plain import printable, unicode_only
from buildfix.reports.view import View


def run(name: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Result, View] | None:
    """What a check of a fixture finds, taken from the real command in this process; None if it makes no report."""
    fixture = read(name)
    seen: list[tuple[Result, View]] = []
    render = reports.render

    def keep(output_format: str, result: Result, view: View) -> bytes:
        seen.append((result, view))
        return render(output_format, result, view)

    monkeypatch.setattr(reports, "render", keep)
    monkeypatch.chdir(root)
    given = ["check", "--root", str(root), *fixture.options, *(str(root / path) for path in fixture.args)]
    done = CliRunner().invoke(cli.main, [*given, "--output-format", "sarif"], catch_exceptions=False)
    monkeypatch.undo()
    assert "Traceback" not in done.output
    return seen[0] if seen else None


@pytest.mark.parametrize("name", NAMES)
def test_every_format_of_every_fixture(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "repository"
    shutil.copytree(FIXTURES / name / "before", root, symlinks=True)
    found = run(name, root, monkeypatch)
    if found is None:
        return
    result, view = found
    assert {i for i, f in enumerate(result.findings) if f.fix} == {one.finding for one in result.repairs}
    for output_format, check in CHECKS.items():
        check(reports.render(output_format, result, view), result, view)
    write.write_all(root, result.changes)
    applied = dataclasses.replace(result, applied=True)
    for output_format, check in CHECKS.items():
        check(reports.render(output_format, applied, view), applied, view)


@pytest.mark.parametrize("name", NAMES)
def test_each_repair_stands_alone(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After one repair without the others nobody lacks a module that he had before, and what it repairs is gone."""
    root = tmp_path / "repository"
    shutil.copytree(FIXTURES / name / "before", root, symlinks=True)
    found = run(name, root, monkeypatch)
    result = found[0] if found else Result((), (), Summary())
    if len(result.repairs) < 2:
        return
    for repair in result.repairs[:6]:
        alone = tmp_path / f"alone{repair.finding}"
        shutil.copytree(FIXTURES / name / "before", alone, symlinks=True)
        write.write_all(alone, repair.changes)
        again = run(name, alone, monkeypatch)
        after = again[0].findings if again else ()
        assert lacking(after) <= lacking(result.findings)
        gone = {result.findings[i].key for i in (repair.finding, *repair.others)}
        assert not gone & {finding.key for finding in after if finding.fix}


def lacking(findings: tuple[Finding, ...]) -> set[tuple[str, str]]:
    """Who imports what without receiving it from anywhere, and what is wrong otherwise than by a dep too many."""
    quiet = {Code.UNUSED_DEP, Code.DUPLICATE_DEP, Code.UNUSED_MARKER, *OFF_BY_DEFAULT}
    told = (f for f in findings if f.code not in quiet)
    return {(f.target, f.module or f.message) for f in told if not f.path}


def test_what_a_repair_asks_for_comes_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A drop brings the adds of those who lived on the edge; an add brings a drop where it would close a cycle."""
    for name, alone, together in (
        ("rescue", Code.MISSING_DEP, Code.UNUSED_DEP),
        ("add-that-a-drop-makes-room-for", Code.UNUSED_DEP, Code.MISSING_DEP),
    ):
        root = Path(shutil.copytree(FIXTURES / name / "before", tmp_path / name))
        found = run(name, root, monkeypatch)
        assert found is not None
        others = {found[0].findings[one.finding].code: one.others for one in found[0].repairs}
        assert (len(others[alone]), len(others[together])) == (0, 1)


# Strings that mean harm

HOSTILE = (
    "two\nlines",
    "carriage\rreturn\ttab",
    "\x1b[31mred\x1b[0m",
    "\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\",
    "\x1b]0;title\x07",
    "\x9b31m",
    "back\b\b\b\bspace\x7f",
    "nul\0byte",
    "::error file=x::boom",
    "  ::set-output name=x::y",
    "x\n::stop-commands::token",
    "##[command]x ##vso[task.setvariable]y ##teamcity[z]",
    "a,line=1,title=b:c%0A::d",
    "100%25 %0A",
    "</testcase><script>alert(1)</script>&amp;<![CDATA[x]]>",
    "]]>",
    '"quoted" \\ back\\slash',
    "\u202eright to left\u202c \u2066isolate\u2069",
    "zero\u200bwidth \ufeff \u2028line\u2029paragraph",
    "\udce9 byte",
    "\ud800 lone surrogate",
    "{0} {braces}",
    "[link](http://evil) [x](1)",
    "`code` **bold** <img src=x onerror=y> @everyone",
    "$(touch ran) `touch ran` ; rm -rf",
    "😀 astral \U000e0041 tag",
    "\ufffe\uffff nonchar",
    "",
    " ",
    "x" * 5000,
)


def hostile(text: str, fails: bool = True) -> Result:
    """A result in which every string is hostile."""
    place = Place(text.replace("\0", "") or "BUCK", 3)
    evidence = Evidence(place, text)
    finding = Finding(
        Code.UNUSED_DEP,
        text,
        place,
        text,
        Confidence.SAFE,
        dep=text,
        dep_label=text,
        attribute=text,
        module=text,
        evidence=(evidence,) * 7,
        reasons=(Reason.RELIED_ON,),
        detail=text,
        path=(text, text),
        dependents=(Dependent(text, place, text, evidence, (text, text), False),),
        choices=(text, text + "x"),
        fix="drop",
        fails=fails,
    )
    left = dataclasses.replace(finding, fix="", confidence=Confidence.DISPLAY)
    broken = Finding(Code.NOT_ANALYSED, text, Place(place.file), text, Confidence.DISPLAY, detail=text)
    change = FileChange(place.file, b"a\nb\nc\n", b"a\nc\n", outside=True)
    return Result((finding, left, broken), (change,), Summary(notes=(text,)), repairs=(Repair(0, (), (change,)),))


@pytest.mark.parametrize("output_format", [name for name in FORMATS if name not in ("diff", "lintrunner")])
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_strings(text: str, output_format: str) -> None:
    for applied, fails in itertools.product((False, True), repeat=2):
        result = dataclasses.replace(hostile(text, fails), applied=applied)
        view = View(Path("/repository"), command=("--root", text, text))
        CHECKS[output_format](reports.render(output_format, result, view), result, view)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_paths_in_patches_and_whole_files(text: str, tmp_path: Path) -> None:
    """These two are about files that exist."""
    name = text.replace("\0", "").replace("/", "_").strip()[:60] or "BUCK"
    if name == "\ud800 lone surrogate":
        return  # no file has such a name
    (tmp_path / name).write_bytes(b"a\nb\nc\n")
    result = hostile(name)
    for output_format in ("diff", "lintrunner"):
        CHECKS[output_format](reports.render(output_format, result, View(tmp_path)), result, View(tmp_path))


@given(st.text(st.characters(), max_size=30))
def test_what_is_printable_can_be_printed(text: str) -> None:
    said = printable(text)
    said.encode()
    assert not formats.CONTROL.search(said)
    assert "\n" not in said
    assert not said.lstrip().startswith("::")
    assert printable(said) == said
    unicode_only(text).encode()


def test_plain_text_stays_as_it_is() -> None:
    for text in ("//a/b:c[d]", "@repo//x:y", "cell//päckage:名前", 'it\'s "so" -> \\ {x} ::', "# 1 ## [x]"):
        assert printable(text) == text


# Each format


def many(*counts: tuple[Confidence, bool, int]) -> Result:
    findings = [
        Finding(
            Code.MISSING_DEP, f"//p:t{n}", Place(f"p{n}/BUCK", 1), "imports x", confidence, dep=f"d{n}", fails=fails
        )
        for confidence, fails, number in counts
        for n in range(number)
    ]
    return Result(tuple(findings), (), Summary())


def test_github_shows_the_heaviest_and_says_how_many_are_left() -> None:
    result = many((Confidence.DISPLAY, False, 30), (Confidence.UNSAFE, False, 3), (Confidence.SAFE, True, 12))
    lines = github.render(result).decode().splitlines()
    kinds = [line.split()[0] for line in lines]
    assert kinds == ["::error"] * 10 + ["::warning"] * 3 + ["::notice"] * 10
    assert "2 errors, 21 notes more, of 45 findings in all" in lines[-1]


def test_gitlab_tells_apart_findings_that_differ_in_nothing_but_the_line() -> None:
    place = Place("x/BUCK", 3)
    one = Finding(Code.UNUSED_MARKER, "//x:y", place, "keeps nothing", Confidence.DISPLAY)
    moved = dataclasses.replace(one, place=Place("x/BUCK", 9))
    both, later = wording.fingerprints((one, moved)), wording.fingerprints((moved, one))
    assert len(set(both)) == 2
    assert both == later, "a line number is in it"
    assert both[0] == one.fingerprint


LINES = st.lists(st.sampled_from(["a", "b", "", "é", "c\r", "😀"]), max_size=8)
CONTENT = st.tuples(LINES, st.booleans()).map(
    lambda made: ("\n".join(made[0]) + ("\n" if made[1] and made[0] else "")).encode()
)


@settings(max_examples=150)
@given(before=CONTENT, after=CONTENT)
def test_replacements_and_suggestions_make_the_file(before: bytes, after: bytes) -> None:
    assume(before != after)
    change = FileChange("x/BUCK", before, after)
    finding = Finding(Code.MISSING_DEP, "//x:y", Place("x/BUCK", 1), "m", Confidence.SAFE, dep=":z", fix="add")
    result = Result((finding,), (change,), Summary(), repairs=(Repair(0, (), (change,)),))
    for output_format in ("sarif", "rdjson"):
        CHECKS[output_format](reports.render(output_format, result), result, View())
    if before.endswith(b"\n") and after.endswith(b"\n") and b"\r" not in before + after:
        assert rdjson.suggestion(change) is not None


def test_a_repair_of_several_files_is_no_suggestion() -> None:
    """Half of it might break somebody."""
    changes = (FileChange("x/BUCK", b"a\nb\n", b"a\n"), FileChange("y/BUCK", b"a\n", b"a\nb\n"))
    finding = Finding(Code.UNUSED_DEP, "//x:y", Place("x/BUCK", 2), "m", Confidence.SAFE, dep=":z", fix="drop")
    result = Result((finding,), changes, Summary(), repairs=(Repair(0, (), changes),))
    assert "suggestions" not in json.loads(rdjson.render(result))["diagnostics"][0]


def test_every_code_has_a_rule_and_every_format_a_check() -> None:
    assert set(rules.RULES) == set(Code)
    assert set(CHECKS) == set(FORMATS)


def test_what_fails_a_check_is_an_error_everywhere() -> None:
    """No report may look better than the exit status."""
    for confidence in Confidence:
        finding = Finding(Code.MISSING_DEP, "//x:y", Place("x", 1), "m", confidence, fix="add")
        assert severity.of(finding, applied=False) is severity.ERROR
        assert severity.of(dataclasses.replace(finding, fails=False), applied=False) is not severity.ERROR
        assert severity.of(finding, applied=True) is severity.NOTE


# The command


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURES / "rescue" / "before", tmp_path / "repository"))


@pytest.mark.parametrize("output_format", FORMATS)
def test_exit_status(output_format: str, repository: Path, buildfix: Run) -> None:
    done = buildfix("--root", repository, "--output-format", output_format)
    assert done.returncode == (0 if output_format == "lintrunner" else 1), done
    assert done.stdout
    assert buildfix("--root", repository, "--apply", "--output-format", output_format).returncode == 0
    clean = buildfix("--root", repository, "--output-format", output_format)
    assert clean.returncode == 0, clean
    assert snapshot(repository).items() >= snapshot(FIXTURES / "rescue" / "after").items()


def test_diff_is_a_format_too(repository: Path, buildfix: Run) -> None:
    done = buildfix("--root", repository, "--output-format", "diff")
    assert done.stdout == buildfix("--root", repository, "--diff").stdout
    subprocess.run(["git", "apply", "-"], cwd=repository, input=done.stdout, text=True, check=True)
    assert snapshot(repository).items() >= snapshot(FIXTURES / "rescue" / "after").items()


def test_statistics(repository: Path, buildfix: Run) -> None:
    done = buildfix("--root", repository, "--statistics")
    assert done.returncode == 1
    assert done.stdout == (
        "1  BF001  [*] missing-dep\n1  BF002  [*] unused-dep\n2 findings; 2 can be repaired\n"
        "[*] can be repaired with --apply, [-] some of them\n"
    )
    table = json.loads(buildfix("--root", repository, "--statistics", "--output-format", "json").stdout)
    assert table[0] == {"code": "BF001", "name": "missing-dep", "count": 1, "repairable": 1, "failing": 1}
    for wrong in (("--diff",), ("--output-format", "sarif")):
        assert buildfix("--root", repository, "--statistics", *wrong).returncode == 2
    assert buildfix("--root", repository, "--statistics", "--apply").stdout.endswith("2 findings; 2 repaired\n")
    assert buildfix("--root", repository, "--statistics").stdout == "nothing to repair\n"


def test_statistics_sort_by_number() -> None:
    result = many((Confidence.SAFE, True, 2), (Confidence.UNSAFE, False, 10))
    other = Finding(Code.UNUSED_DEP, "//x:y", Place("x", 1), "m", Confidence.SAFE, dep=":z", fix="drop")
    table: Any = statistics.rows(dataclasses.replace(result, findings=(*result.findings, other)))
    assert [(row.code, row.count, row.repairable, row.failing) for row in table] == [
        ("BF001", 12, 0, 2),
        ("BF002", 1, 1, 1),
    ]


def test_the_next_command(repository: Path, buildfix: Run) -> None:
    """What the report tells people to run does what it says."""
    (repository / "odd name").mkdir()
    args = ["--add-only", "--only-under", "top", "--ignore", "BF012", "top", "odd name"]
    said = buildfix(*args, cwd=repository).stdout.splitlines()[-1]
    assert said == "next: buildfix --apply --ignore BF012 --add-only --only-under top top 'odd name'"
    assert buildfix(*shlex.split(said)[2:], cwd=repository).returncode == 0
    again = buildfix("--paths-from", "-", cwd=repository)
    assert "next:" not in again.stdout


# lintrunner itself

LINTRUNNER = """
[[linter]]
code = 'BUILDFIX'
include_patterns = ['**/*.py', '**/BUCK']
command = ['python3', '-m', 'buildfix', '--output-format', 'lintrunner', '--paths-from', '{{PATHSFILE}}']
"""


def test_lintrunner_repairs_build_files_when_only_a_source_changed(repository: Path) -> None:
    git = ["git", "-C", str(repository), "-c", "user.name=x", "-c", "user.email=x@x.invalid"]
    (repository / ".lintrunner.toml").write_text(LINTRUNNER)
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join((str(FIXTURES.parent), os.environ.get("PYTHONPATH", ""))),
        "XDG_DATA_HOME": str(repository.parent / "data"),
    }

    def lint(*args: str) -> subprocess.CompletedProcess[str]:
        command = ["lintrunner", *args]
        return subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, check=False)

    for command in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "one")):
        subprocess.run([*git, *command], check=True)
    (repository / "mid/deck.py").write_bytes((repository / "mid/deck.py").read_bytes() + b"\n")
    subprocess.run([*git, "commit", "--quiet", "--all", "--message", "two"], check=True)
    checked = lint()
    assert checked.returncode == 1, checked
    assert "Lint for mid/BUCK" in checked.stdout and "Lint for top/BUCK" in checked.stdout
    assert "Linter failed" not in checked.stdout
    repaired = lint("-a")
    assert repaired.returncode == 0, repaired
    assert snapshot(repository).items() >= snapshot(FIXTURES / "rescue" / "after").items()
    assert lint().returncode == 0
