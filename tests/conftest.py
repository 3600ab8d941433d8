"""What the tests share: the real command, run as people run it."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from buildfix import cli

# No test asserts a time: machines are noisy.
settings.register_profile("buildfix", deadline=None)
settings.load_profile("buildfix")


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What is kept between runs is kept between those of the tests only."""
    os.environ["BUILDFIX_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))


Run = Callable[..., "subprocess.CompletedProcess[str]"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-fixtures", action="store_true", help="write what buildfix does into fixtures/")


def buildfix(*args: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run buildfix as a process of its own, with the real engine; no terminal, no colours, one locale."""
    return subprocess.run(
        [sys.executable, "-m", "buildfix", *map(str, args)],
        cwd=cwd,
        env=os.environ | {"LC_ALL": "C.UTF-8", "PYTHONPATH": str(Path(__file__).parent.parent)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        timeout=120,
        check=False,
    )


def buildfix_inside(*args: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run buildfix's command in this process, with the real engine: the same, but for the start of an interpreter."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape", newline="") for _ in range(2))
    words = [str(arg) for arg in args]
    try:
        with contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            cli.main.main(words, prog_name="buildfix")
    except SystemExit as ended:
        status = ended.code
    finally:
        gc.enable()
    said = []
    for stream in (out, err):
        stream.flush()
        assert isinstance(stream.buffer, io.BytesIO)
        said.append(stream.buffer.getvalue().decode("utf-8", "surrogateescape"))
    return subprocess.CompletedProcess(words, status if isinstance(status, int) else 1, *said)


@pytest.fixture(name="buildfix")
def buildfix_fixture() -> Run:
    return buildfix


@pytest.fixture
def workspace(tmp_path: Path) -> Callable[[dict[str, str | bytes]], Path]:
    """Makes a repository below the test's own folder out of {path: content}."""

    def make(files: dict[str, str | bytes]) -> Path:
        root = tmp_path / "repository"
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return root

    return make


def snapshot(root: Path) -> dict[str, bytes]:
    """Every file below `root` with its bytes; a symlink counts as the text of its target."""
    return {
        path.relative_to(root).as_posix(): os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_symlink() or path.is_file()
    }
