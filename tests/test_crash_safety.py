"""`--apply` stopped at each step of its writing, by a kill or an error: no file is torn, a further run completes."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import buildfix_inside, snapshot
from test_fixtures import FIXTURES, Fixture, read

from buildfix import write

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")

# Each writes to several files; between them they add, drop, rescue, open visibility, and meet other line ends.
NAMES = ["rescue", "dep-is-made-visible-buck", "rescue-in-bazel", "windows-line-ends"]

CALLS = ("open", "link", "fsync", "chmod", "replace", "unlink")
"""What of `os` changes a disk, or makes sure of it, when files are written. Half a text is a step of its own."""

OPENS = {"open", "link"}
GROWS = OPENS | {"write", "fsync"}
"""What a full disk refuses; names it can still change."""

FAULTS: dict[str, tuple[int, set[str] | None, bool]] = {
    "full for good": (errno.ENOSPC, GROWS, True),
    "full once": (errno.ENOSPC, None, False),
    "forbidden for good": (errno.EACCES, OPENS | {"chmod", "replace", "unlink"}, True),
    "read-only for good": (errno.EROFS, None, True),
    "broken once": (errno.EIO, None, False),
}
"""An error, the steps that it may strike (None: all), and whether it goes on from the step where it begins."""

Strike = Callable[[int, str], None]


class Torn:
    """A file whose text is written in two halves, each of them a step."""

    def __init__(self, file: Any, step: Callable[[str], None]) -> None:
        self._file, self._step = file, step

    def __enter__(self) -> Torn:
        self._file.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._file.__exit__(*error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, content: bytes) -> None:
        for half in (content[: len(content) // 2], content[len(content) // 2 :]):
            self._step("write")
            self._file.write(half)
            self._file.flush()


def stepping(patch: pytest.MonkeyPatch, strike: Strike) -> None:
    """Call `strike` with the number and the name of each step while files are written, and not before or after."""
    numbers = iter(range(10**6))
    writing = write.write_all

    def step(name: str) -> None:
        strike(next(numbers), name)

    def before(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            step(name)
            return real(*args, **kwargs)

        return call

    def torn(*args: Any, **kwargs: Any) -> Torn:
        return Torn(open(*args, **kwargs), step)

    def write_all(*args: Any) -> None:
        with pytest.MonkeyPatch.context() as inner:
            for name in CALLS:
                inner.setattr(os, name, before(name, getattr(os, name)))
            inner.setattr(write, "open", torn, raising=False)
            writing(*args)

    patch.setattr(write, "write_all", write_all)


def apply(fixture: Fixture, root: Path, strike: Strike) -> subprocess.CompletedProcess[str]:
    with pytest.MonkeyPatch.context() as patch:
        stepping(patch, strike)
        words = ("--root", root, "--apply", *fixture.options, *(root / path for path in fixture.args))
        return buildfix_inside(*words, cwd=root)


def killed(fixture: Fixture, root: Path, at: int) -> None:
    """Run it in a child that is killed at a step."""

    def strike(number: int, _: str) -> None:
        if number == at:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        try:
            apply(fixture, root, strike)
        finally:
            os._exit(70)  # it was not killed
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


class Case:
    """A fixture's repository, over and over."""

    def __init__(self, name: str, folder: Path) -> None:
        self.fixture, self._folder, self._count = read(name), folder, 0
        self.before, self.after = snapshot(FIXTURES / name / "before"), self.fixture.after()
        steps: list[str] = []
        done = apply(self.fixture, self.fresh(), lambda _, step: steps.append(step))
        assert done.returncode == self.fixture.exit[1], done
        self.steps = steps

    def fresh(self) -> Path:
        self._count += 1
        root = self._folder / str(self._count) / "repository"
        shutil.copytree(self.fixture.folder / "before", root, symlinks=True)
        return root

    def check_whole(self, root: Path) -> dict[str, bytes]:
        """Every file is as before or as after, and what else there is has a name of ours."""
        now = {name: text for name, text in snapshot(root).items() if write.PREFIX not in name}
        assert now.keys() == self.before.keys() | self.after.keys()
        for name, text in now.items():
            assert text in (self.before.get(name), self.after[name]), f"{name} is torn: {text!r}"
        return now

    def check_completes(self, root: Path) -> None:
        """A further run makes the repository what it would have been, and leaves nothing of its own where it wrote."""
        unfinished = {Path(name).parent for name, text in self.check_whole(root).items() if text != self.after[name]}
        apply(self.fixture, root, lambda *_: None)
        assert self.check_whole(root) == self.after
        left = [path for path in root.rglob(f"{write.PREFIX}*") if path.parent.relative_to(root) in unfinished]
        assert left == []


@pytest.fixture(params=NAMES)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    return Case(request.param, tmp_path)


def test_there_are_steps_of_every_kind(case: Case) -> None:
    assert {"open", "write", "link", "fsync", "chmod", "replace", "unlink"} == set(case.steps)
    changed = sum(text != case.before.get(name) for name, text in case.after.items())
    assert case.steps.count("replace") == changed
    assert case.steps.count("write") == 2 * changed


def test_killed_at_each_step(case: Case) -> None:
    for at in range(len(case.steps)):
        root = case.fresh()
        killed(case.fixture, root, at)
        case.check_completes(root)


@pytest.mark.parametrize("kind", FAULTS)
def test_an_error_at_each_step(kind: str, case: Case) -> None:
    code, struck, lasting = FAULTS[kind]
    for at in range(len(case.steps)):
        begun = False

        def strike(number: int, step: str, at: int = at) -> None:
            nonlocal begun
            begun = begun or number == at
            if (number == at or (lasting and begun)) and (struck is None or step in struck):
                raise OSError(code, os.strerror(code))

        root = case.fresh()
        done = apply(case.fixture, root, strike)
        now = case.check_whole(root)
        if done.returncode == case.fixture.exit[1]:  # it struck where nothing depends on it any more
            assert now == case.after
        else:
            assert done.returncode == 3, (case.steps[at], done)
            assert os.strerror(code) in done.stderr
            assert "Traceback" not in done.stderr
            assert now == case.before or "these could not be put back" in done.stderr
        case.check_completes(root)


def test_a_file_that_may_not_grow(case: Case) -> None:
    """The system itself refuses, in the middle of a text."""
    smallest = min(len(text) for name, text in case.after.items() if text != case.before.get(name))
    for limit in (0, 1, smallest // 2, smallest - 1):
        root = case.fresh()

        def strike(number: int, _: str, limit: int = limit) -> None:
            if number == 0:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

        was = resource.getrlimit(resource.RLIMIT_FSIZE)
        try:
            done = apply(case.fixture, root, strike)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, was)
        assert done.returncode == 3, done
        assert f"{os.strerror(errno.EFBIG)}; nothing was written" in done.stderr
        assert snapshot(root) == case.before
        case.check_completes(root)


def test_two_runs_at_a_time(case: Case) -> None:
    """Each leaves the repository whole, whatever it sees of the others' work; one more completes it."""
    for _ in range(3):
        root = case.fresh()
        words = [sys.executable, "-m", "buildfix", "--root", str(root), "--apply", *case.fixture.options]
        runs = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
        said = [run.communicate()[1] for run in runs]
        # 1: what the engine evaluated was another text than the one that was edited then, so that the proof refuses it.
        assert all(run.returncode in (0, 1, 3) for run in runs), said
        assert not any("Traceback" in text or "fault of buildfix" in text for text in said)
        case.check_completes(root)


def test_somebody_writes_while_files_are_written(case: Case) -> None:
    """What another program has put there by the time a file is looked at for the last time is never lost."""
    target = next(name for name, text in case.after.items() if text != case.before.get(name))
    for at in range(case.steps.index("replace") - 1):
        root = case.fresh()

        def strike(number: int, _: str, at: int = at, root: Path = root) -> None:
            if number == at:
                (root / target).write_bytes(b"# somebody else\n")

        done = apply(case.fixture, root, strike)
        assert done.returncode == 3, done
        assert f"{target}: was changed while buildfix ran; nothing was written" in done.stderr
        assert snapshot(root) == case.before | {target: b"# somebody else\n"}
