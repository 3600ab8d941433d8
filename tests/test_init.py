"""`buildfix init`: the file that it writes, and what that file makes of the next check."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from conftest import Run, snapshot

FIXTURE = Path(__file__).parent.parent / "fixtures" / "third-party-by-name" / "before"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURE, tmp_path / "repository"))


def test_what_was_learnt_holds_once_it_is_written_down(repository: Path, buildfix: Run) -> None:
    guess = buildfix("--root", repository, "--ignore", "BF011").stdout
    assert 'would add "far//snakes:slough"' not in guess
    done = buildfix("init", "--root", repository)
    assert (done.returncode, done.stderr) == (0, "")
    written = yaml.safe_load((repository / "buildfix.yaml").read_text())
    assert written["third_party"] == {"cog_gear_box": "//third-party:cog-gear.box", "python_skin": "far//snakes:slough"}
    assert 'would add "far//snakes:slough"' in buildfix("--root", repository).stdout


def test_it_says_what_each_entry_rests_on(repository: Path, buildfix: Run) -> None:
    text = buildfix("init", "--print", "--root", repository).stdout
    assert "  # the targets that import the module have it: 4 of the 6 targets that import it have it\n" in text


def test_printing_writes_nothing(repository: Path, buildfix: Run) -> None:
    before = snapshot(repository)
    assert buildfix("init", "--print", "--root", repository).returncode == 0
    assert snapshot(repository) == before


def test_a_file_that_is_there_stays(repository: Path, buildfix: Run) -> None:
    (repository / ".buildfix.yaml").write_text("dialect: buck\n")
    before = snapshot(repository)
    done = buildfix("init", "--root", repository)
    assert (done.returncode, done.stdout) == (2, "")
    assert ".buildfix.yaml: is there already; --force" in done.stderr
    assert snapshot(repository) == before
    assert buildfix("init", "--force", "--root", repository).returncode == 0
    assert "third_party:" in (repository / ".buildfix.yaml").read_text()
