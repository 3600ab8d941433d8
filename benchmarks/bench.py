"""Time and peak memory of a whole `buildfix --check`, beside reading the same files with nothing done to them.

usage: bench.py PATH [RUNS]

The yardstick, `cat` of every Python and build file below PATH, runs in the same loop, so that a busy machine slows
both alike. What is printed is the best and the median run of each.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SUFFIXES = (".py", ".pyi", ".bzl")
NAMES = ("BUCK", "TARGETS", "BUILD", "BUILD.bazel")


@dataclass(frozen=True)
class Run:
    """One process: wall seconds, peak memory in MB (of the largest process in it), exit status."""

    seconds: float
    megabytes: float
    status: int


def main() -> int:
    if len(sys.argv) not in (2, 3) or not Path(sys.argv[1]).is_dir():
        print(__doc__, file=sys.stderr)
        return 2
    root = Path(sys.argv[1]).resolve()
    runs = int(sys.argv[2]) if len(sys.argv) == 3 else 5
    files = sources(root)
    size = sum(path.stat().st_size for path in files)
    print(f"{root}: {len(files)} Python and build files, {size / 1e6:.1f} MB; {runs} runs on {os.cpu_count()} cores")
    check = [sys.executable, "-m", "buildfix", "--root", str(root), "--check", "--output-format", "json"]
    cat = ["xargs", "-0", "cat"]
    names = b"\0".join(os.fsencode(path) for path in files)
    measured = [(measure(cat, names), measure(check)) for _ in range(runs)]
    report("cat", [run for run, _ in measured])
    report("buildfix --check", [run for _, run in measured])
    return 0


def sources(root: Path) -> list[Path]:
    """The files that a check has to look at, hidden folders excepted."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(folder, name) for name in names if name in NAMES or name.endswith(SUFFIXES)]
    return [path for path in found if path.is_file()]


def measure(command: Sequence[str], stdin: bytes = b"") -> Run:
    start = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert process.stdin is not None
    process.stdin.write(stdin)
    process.stdin.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Run(
        time.perf_counter() - start, usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3), process.returncode
    )


def report(name: str, runs: Sequence[Run]) -> None:
    seconds = [run.seconds for run in runs]
    memory = max(run.megabytes for run in runs)
    statuses = ", ".join(str(status) for status in sorted({run.status for run in runs}))
    print(
        f"{name:18} best {min(seconds):7.3f} s   median {statistics.median(seconds):7.3f} s   "
        f"peak {memory:6.1f} MB   exit status {statuses}"
    )


if __name__ == "__main__":
    sys.exit(main())
