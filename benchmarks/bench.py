"""Time and peak memory of whole runs of buildfix, beside yardsticks that are measured in the same rounds.

usage: bench.py [PATH ...] [--files N,N] [--runs N]

PATHs are repositories; --files makes synthetic ones (benchmarks/synthetic.py) of so many Python files. Every round runs
each command once, so that a busy machine slows all alike; what is printed are medians, and how many times the median of
`ruff analyze graph` (the import graph and no more) that is. Peak memory is that of all processes of a run together.

A repository is copied, so that a file of the copy can be changed; nothing is written to PATH.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import synthetic

SUFFIXES = (".py", ".pyi", ".bzl")
NAMES = ("BUCK", "TARGETS", "BUILD", "BUILD.bazel")
HERE = Path(__file__).resolve().parent
BUILDFIX = [sys.executable, "-m", "buildfix"]
RUFF = "ruff analyze graph"


@dataclass
class Row:
    """One command: how it is called, what is done before each run, and what its runs took (seconds, MB, status)."""

    name: str
    command: Sequence[str]
    before: Callable[[], None] = lambda: None
    stdin: bytes = b""
    runs: list[tuple[float, float, int]] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The median of its seconds."""
        return statistics.median(seconds for seconds, _, _ in self.runs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--files", default="", help="sizes of synthetic repositories, e.g. 1000,25000")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, {_processor()}, {platform.system()} {platform.release()}, ", end="")
    print(f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(prefix="buildfix-bench-") as folder:
        starting(options.runs)
        for path in options.paths:
            copy = Path(folder, path.resolve().name)
            shutil.copytree(path, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", "buck-out", ".venv"))
            measure(copy, str(path), options.runs)
        for files in [int(part) for part in options.files.split(",") if part]:
            made = Path(folder, f"synthetic{files}")
            arguments = [str(made), "--files", str(files), "--packages", str(max(1, files // 5))]
            synthetic.main(arguments)
            measure(made, f"synthetic, {files} files", options.runs)
            shutil.rmtree(made)
    return 0


def starting(runs: int) -> None:
    """What a run costs before it does anything."""
    rows = [Row("python -c pass", [sys.executable, "-c", "pass"]), Row("buildfix --help", [*BUILDFIX, "--help"])]
    rounds(rows, 3 * runs)
    print(f"\nstart\n{rows[0].name:34} {rows[0].median:8.3f} s")
    print(f"{rows[1].name:34} {rows[1].median:8.3f} s  {rows[1].median / rows[0].median:6.2f} times")
    said = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import buildfix.pipeline"],
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    slowest = sorted(
        (int(line.split("|")[0].split(":")[1]), line.split("|")[2].strip()) for line in said.splitlines()[1:]
    )
    print("slowest imports (ms): " + ", ".join(f"{name} {us / 1000:.1f}" for us, name in slowest[:-7:-1]))


def measure(root: Path, name: str, runs: int) -> None:
    """All rows of one repository; `root` may be changed."""
    git = ["git", "-C", str(root), "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    for words in (["init", "-q"], ["add", "-A", "-f"], ["commit", "-q", "-m", "as it is"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    files = sources(root)
    size = sum(path.stat().st_size for path in files)
    changed = next(path for path in files if path.suffix == ".py" and path.stat().st_size > 1000)
    text = changed.read_bytes()
    request = _request(root)
    check = [*BUILDFIX, "--root", str(root), "--output-format", "json"]
    names = b"\0".join(os.fsencode(path) for path in files)

    def edit() -> None:
        changed.write_bytes(text + b"\nimport collections.abc  # %d\n" % time.time_ns())

    def restore() -> None:
        changed.write_bytes(text)
        time.sleep(0.1)
        subprocess.run(check, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)

    rows = [
        Row("cat of all files", ["xargs", "-0", "cat"], stdin=names),
        Row(RUFF, [shutil.which("ruff") or "ruff", "analyze", "graph", str(root)]),
        Row("the engine's evaluation alone", [_engine()], stdin=request),
        Row("buildfix, cold (--no-cache)", [*check, "--no-cache"]),
        Row("buildfix, nothing changed", check, before=restore),
        Row("buildfix --since, one file changed", [*check, "--since", "HEAD"], before=edit),
    ]
    print(f"\n{name}: {len(files)} Python and build files, {size / 1e6:.1f} MB; medians of {runs} rounds")
    rounds(rows, runs)
    yardstick = next(row.median for row in rows if row.name == RUFF)
    for row in rows:
        statuses = ",".join(str(status) for status in sorted({status for _, _, status in row.runs}))
        memory = max(megabytes for _, megabytes, _ in row.runs)
        print(
            f"{row.name:34} {row.median:8.3f} s  {row.median / yardstick:6.2f} times  {memory:6.0f} MB  exit {statuses}"
        )


def rounds(rows: Sequence[Row], runs: int) -> None:
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"BUILDFIX_CACHE_DIR": cache}
        for _ in range(runs):
            for row in rows:
                os.environ["BUILDFIX_CACHE_DIR"] = cache
                row.before()
                row.runs.append(run(row, environment))
        os.environ.pop("BUILDFIX_CACHE_DIR")


def run(row: Row, environment: dict[str, str]) -> tuple[float, float, int]:
    start = time.perf_counter()
    process = subprocess.Popen(
        row.command,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with memory_of(process.pid) as peak:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(row.stdin)
            process.stdin.close()
        status = process.wait()
        seconds = time.perf_counter() - start
    return seconds, peak[0], status


@contextlib.contextmanager
def memory_of(pid: int) -> Iterator[list[float]]:
    """The most memory, in MB, that a process and its children have at one time, looked at every 20 ms."""
    peak, stop = [0.0], threading.Event()

    def watch() -> None:
        while not stop.wait(0.02):
            pids = [pid, *_children(pid)]
            peak[0] = max(peak[0], sum(_resident(one) for one in pids))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        stop.set()
        watcher.join()


def _children(pid: int) -> list[int]:
    found = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child), *_children(int(child))]
    return found


def _resident(pid: int) -> float:
    with contextlib.suppress(OSError, StopIteration):
        status = Path(f"/proc/{pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1000
    return 0.0


def sources(root: Path) -> list[Path]:
    """The files that a check has to look at, hidden folders excepted."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [Path(folder, name) for name in sorted(names) if name in NAMES or name.endswith(SUFFIXES)]
    return [path for path in found if path.is_file()]


def _engine() -> str:
    from buildfix.roots import engine_path

    return str(engine_path())


def _request(root: Path) -> bytes:
    """What buildfix asks of the engine, less the scan."""
    import msgspec

    from buildfix import config, pipeline, workspace

    settings = config.load(root)
    space = workspace.read(root, settings)
    return msgspec.json.encode(pipeline.request(space, settings, pipeline.Options(), overlay={}))


def _processor() -> str:
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line for line in lines if line.startswith("model name")).partition(": ")[2]
    return platform.processor()


if __name__ == "__main__":
    sys.exit(main())
