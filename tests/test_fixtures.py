"""Every folder of fixtures/ is one behaviour: a repository before and after, and what is to be said about it.

`pytest --update-fixtures` rewrites after/ and fixture.yaml from what buildfix does now; read the diff.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import buildfix_inside, snapshot

FIXTURES = Path(__file__).parent.parent / "fixtures"
NAMES = sorted(path.parent.name for path in FIXTURES.glob("*/fixture.yaml"))
KEYS = {"about", "args", "options", "exit", "findings", "info", "text", "stderr"}


@dataclass(frozen=True)
class Fixture:
    """A fixture.yaml; CONTRIBUTING.md describes the keys."""

    name: str
    args: tuple[str, ...]
    options: tuple[str, ...]
    exit: tuple[int, int, int]
    findings: tuple[str, ...]
    info: tuple[str, ...]
    text: tuple[str, ...]
    stderr: tuple[str, ...]

    @property
    def folder(self) -> Path:
        return FIXTURES / self.name

    def after(self) -> dict[str, bytes]:
        """What the repository must be once it is repaired: before/, with the files of after/ over it."""
        after = self.folder / "after"
        return snapshot(self.folder / "before") | (snapshot(after) if after.is_dir() else {})


def read(name: str) -> Fixture:
    data = yaml.safe_load((FIXTURES / name / "fixture.yaml").read_text("utf-8"))
    assert data.keys() <= KEYS, f"unknown keys: {data.keys() - KEYS}"
    check, apply, again = data.get("exit", [0, 0, 0])
    lists = {key: tuple(data.get(key, ())) for key in ("args", "options", "findings", "info", "text", "stderr")}
    return Fixture(name=name, exit=(check, apply, again), **lists)


@pytest.mark.parametrize("name", NAMES)
def test_fixture(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    fixture = read(name)
    root = tmp_path / "repository"
    shutil.copytree(fixture.folder / "before", root, symlinks=True)
    before = snapshot(root)

    check = run(fixture, root, "--check", "--output-format", "json")
    assert snapshot(root) == before, "--check wrote something"
    report = json.loads(check.stdout) if check.stdout else {"findings": []}
    said = run(fixture, root, "--check").stdout if fixture.text else ""
    apply = run(fixture, root, "--apply")
    after = snapshot(root)
    times = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    again = run(fixture, root, "--apply")

    status = (check.returncode, apply.returncode, again.returncode)
    if request.config.getoption("--update-fixtures"):
        update(fixture, report["findings"], status, before, after)
        return

    context = f"--- check\n{check.stdout}{check.stderr}\n--- apply\n{apply.stdout}{apply.stderr}"
    assert unmatched(fixture.findings, [line(f) for f in report["findings"] if f["fails"]]) == ([], []), context
    assert unmatched(fixture.info, [line(f) for f in report["findings"] if not f["fails"]])[0] == [], context
    assert after == fixture.after(), context
    assert status == fixture.exit, context
    assert [part for part in fixture.text if part not in said] == [], said
    assert [part for part in fixture.stderr if part not in check.stderr] == [], check.stderr
    assert snapshot(root) == after, f"a second run changed something\n{again.stdout}"
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == times, "a second run wrote something"


def run(fixture: Fixture, root: Path, *options: str) -> Any:
    done = buildfix_inside(
        "--root", root, *options, *fixture.options, *(root / path for path in fixture.args), cwd=root
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def line(finding: dict[str, Any]) -> str:
    """A finding on one line: code, target, dep (or module, or file), confidence, what is done, why not more."""
    parts = [
        finding["code"],
        finding["target"] or "-",
        finding["dep"] or finding["module"] or finding["place"]["file"],
        finding["confidence"],
        finding["fix"] or "-",
        *(word for word in ("rescue", "outside") if finding[word]),
        *(reason["code"] for reason in finding["reasons"]),
    ]
    return " ".join(parts)


def unmatched(expected: tuple[str, ...], found: list[str]) -> tuple[list[str], list[str]]:
    """The expected lines that are not among the found ones, and the other way round.

    An expected line may leave out words at the end, and `*` stands for any word.
    """
    left, missing = list(found), []
    for want in expected:
        match = next((have for have in left if _agree(want.split(), have.split())), None)
        if match is None:
            missing.append(want)
        else:
            left.remove(match)
    return missing, left


def _agree(want: list[str], have: list[str]) -> bool:
    return len(want) <= len(have) and all(w in ("*", h) for w, h in zip(want, have, strict=False))


def update(
    fixture: Fixture,
    findings: list[dict[str, Any]],
    status: tuple[int, int, int],
    before: dict[str, bytes],
    after: dict[str, bytes],
) -> None:
    shutil.rmtree(fixture.folder / "after", ignore_errors=True)
    for name, content in after.items():
        if before.get(name) != content:
            path = fixture.folder / "after" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    path = fixture.folder / "fixture.yaml"
    data = yaml.safe_load(path.read_text("utf-8"))
    data["exit"] = list(status)
    data["findings"] = [line(finding) for finding in findings if finding["fails"]]
    data["info"] = [line(finding) for finding in findings if not finding["fails"]]
    kept = {key: value for key, value in data.items() if value and not (key == "exit" and status == (0, 0, 0))}
    path.write_text(yaml.safe_dump(kept, sort_keys=False, width=112), "utf-8")


def test_there_are_fixtures() -> None:
    assert len(NAMES) > 50


@pytest.mark.skipif(not (FIXTURES.parent / ".git").exists(), reason="not a checkout")
def test_git_takes_every_file_of_a_fixture() -> None:
    """.gitignore is for our own build folders; a fixture may not have one of that name."""
    command = ["git", "status", "--porcelain", "--ignored", "--", "fixtures"]
    status = subprocess.run(command, cwd=FIXTURES.parent, capture_output=True, text=True, check=True).stdout
    ignored = [line for line in status.splitlines() if line.startswith("!!")]
    assert [line for line in ignored if not line.rstrip("/").endswith("__pycache__")] == []
