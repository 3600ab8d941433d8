"""Ctrl-C: the command and its engine end at once, say so, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import snapshot

SLOW = "def slow():\n    for i in range(100000):\n        for j in range(100000):\n            pass\nslow()\n"


def children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listed.read_text().split()] if listed.exists() else []


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes below /proc")
@pytest.mark.parametrize("group", [True, False], ids=["as a terminal sends it", "to the command alone"])
def test_an_interrupt_ends_the_command_and_its_engine(
    group: bool, workspace: Callable[[dict[str, str]], Path], tmp_path: Path
) -> None:
    root = workspace({".buckconfig": "", **{f"p{i}/BUCK": SLOW for i in range(40)}})
    before = snapshot(root)
    process = subprocess.Popen(
        [sys.executable, "-m", "buildfix", "--apply", "--root", root],
        env=os.environ
        | {"PYTHONPATH": str(Path(__file__).parent.parent), "BUILDFIX_CACHE_DIR": str(tmp_path / "kept")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    )
    while not children(process.pid):
        assert process.poll() is None
        time.sleep(0.01)
    (engine,) = children(process.pid)
    time.sleep(0.2)
    os.kill(-process.pid if group else process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)  # without the interrupt it takes minutes
    assert (process.returncode, out, err) == (130, "", "buildfix: interrupted; nothing was written\n")
    assert not Path(f"/proc/{engine}").exists()
    assert snapshot(root) == before
    assert [path for path in (tmp_path / "kept").rglob("*") if path.is_file()] == []
