"""action.yml, its steps run by bash as a runner would."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

PROJECT = Path(__file__).parent.parent
ACTION: dict[str, Any] = yaml.safe_load((PROJECT / "action.yml").read_text("utf-8"))
INSTALL, CHECK = ACTION["runs"]["steps"]


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that a runner calls RUNNER_TEMP, with buildfix installed by the action's first step."""
    temp = tmp_path_factory.mktemp("runner")
    done = step(INSTALL, {}, temp, PROJECT)
    assert done.returncode == 0, done.stderr
    return temp


def step(one: dict[str, Any], inputs: dict[str, str], temp: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run one step, with the inputs that it names filled in."""
    given = {name: value["default"] for name, value in ACTION["inputs"].items()} | inputs
    wanted = {key: re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", text) for key, text in one.get("env", {}).items()}
    own = {key: given[match[1]] for key, match in wanted.items() if match}
    assert len(own) == len(wanted), "an expression is not a plain input"
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", one["run"]],
        cwd=cwd,
        env=os.environ | own | {"RUNNER_TEMP": str(temp), "GITHUB_ACTION_PATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PROJECT / "fixtures" / "rescue" / "before", tmp_path / "repository"))


def test_no_expression_stands_in_a_script() -> None:
    """An expression in a script would be run: a branch may be named `$(...)`."""
    assert not any("${{" in one["run"] for one in (INSTALL, CHECK))


def test_findings_fail_the_step(runner: Path, repository: Path) -> None:
    done = step(CHECK, {"output-format": "text"}, runner, repository)
    assert done.returncode == 1, done.stderr
    assert "BF002 unused-dep" in done.stdout


def test_inputs(runner: Path, repository: Path) -> None:
    done = step(CHECK, {"output-format": "json", "paths": "base", "options": "--jobs 1 --add-only"}, runner, repository)
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_in_an_input_is_run(runner: Path, repository: Path) -> None:
    done = step(CHECK, {"since": "$(touch ran); `touch ran`", "output-format": "text"}, runner, repository)
    assert done.returncode == 2
    assert not (repository / "ran").exists()
