"""The demo runs, and the README shows what it prints."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Run

ROOT = Path(__file__).parent.parent


def test_the_demo_does_what_it_says() -> None:
    done = subprocess.run([sys.executable, ROOT / "fixtures/demo.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done


@pytest.mark.parametrize(("part", "args"), [("check", ["cellar/"]), ("diff", ["--diff", "cellar/"])])
def test_the_readme_shows_what_the_demo_prints(
    part: str, args: list[str], tmp_path: Path, buildfix: Run, request: pytest.FixtureRequest
) -> None:
    orchard = tmp_path / "orchard"
    shutil.copytree(ROOT / "fixtures/unused-edge-others-live-on/before", orchard)
    printed = "".join(f"    {line}\n" if line else "\n" for line in buildfix(*args, cwd=orchard).stdout.splitlines())
    begin, end = f"<!-- demo: {part} -->\n", "<!-- end -->"
    readme = (ROOT / "README.md").read_text("utf-8")
    shown = re.search(f"{re.escape(begin)}(.*?){re.escape(end)}", readme, re.DOTALL)
    assert shown is not None
    if request.config.getoption("--update-fixtures"):
        updated = readme[: shown.start(1)] + printed + readme[shown.end(1) :]
        (ROOT / "README.md").write_text(updated, "utf-8")
        return
    assert shown[1] == printed
