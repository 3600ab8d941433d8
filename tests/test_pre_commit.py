"""The hooks of .pre-commit-hooks.yaml, run by the real pre-commit, which builds buildfix from this repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import snapshot

PROJECT = Path(__file__).parent.parent
FIXTURE = PROJECT / "fixtures" / "rescue"


@pytest.mark.skipif(not (PROJECT / ".git").exists(), reason="not a checkout: pre-commit clones this repository")
def test_the_hooks(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    shutil.copytree(FIXTURE / "before", root)
    environment = os.environ | {"PRE_COMMIT_HOME": str(tmp_path / "home")}
    for command in (("init", "--quiet"), ("add", "--all")):
        subprocess.run(["git", "-C", root, *command], check=True)
    done = subprocess.run(
        # Only a source is given: the repair is in build files elsewhere.
        [sys.executable, "-m", "pre_commit", "try-repo", PROJECT, "--verbose", "--files", "mid/deck.py"],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    check, _, fix = done.stdout.partition("buildfix --apply...")
    assert "mid/BUCK:5: BF002 unused-dep" in check and "exit code: 1" in check, said
    assert "files were modified by this hook" in fix, said
    after = snapshot(FIXTURE / "before") | snapshot(FIXTURE / "after")
    assert {path: text for path, text in snapshot(root).items() if not path.startswith(".git/")} == after
