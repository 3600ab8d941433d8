"""write.py: all files or none, whatever goes wrong and whenever."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from buildfix import write
from buildfix.findings import FileChange
from buildfix.write import PREFIX, WriteError, write_all

# From 3.12 on, Python warns of a fork beside pytest-xdist's threads; the children here start none.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")

NAMES = ("a/BUCK", "a/defs.bzl", "b/BUCK")


def before(name: str) -> bytes:
    return f"old {name}\n".encode()


def after(name: str) -> bytes:
    return f"new {name}, a little longer\r\n".encode()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return fill(tmp_path / "root")


def fill(root: Path) -> Path:
    for name in NAMES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(before(name))
    return root


def changes() -> list[FileChange]:
    return [FileChange(name, before(name), after(name)) for name in NAMES]


def contents(root: Path) -> dict[str, bytes]:
    """Every file below `root`, temporary ones included."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


OLD = {name: before(name) for name in NAMES}
NEW = {name: after(name) for name in NAMES}


def test_writes_every_file_and_leaves_nothing_else(root: Path) -> None:
    write_all(root, changes())
    assert contents(root) == NEW


def test_no_changes_is_no_work(root: Path) -> None:
    write_all(root, [])
    assert contents(root) == OLD


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o664, 0o200 | 0o444])
def test_keeps_the_mode(root: Path, mode: int) -> None:
    os.chmod(root / "a/BUCK", mode)
    write_all(root, changes())
    assert stat.S_IMODE((root / "a/BUCK").stat().st_mode) == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
def test_keeps_the_owner(root: Path) -> None:
    os.chown(root / "a/BUCK", 12345, 54321)
    write_all(root, changes())
    meta = (root / "a/BUCK").stat()
    assert (meta.st_uid, meta.st_gid) == (12345, 54321)


def test_a_file_changed_meanwhile_stops_everything(root: Path) -> None:
    (root / "b/BUCK").write_bytes(b"somebody else\n")
    with pytest.raises(WriteError, match=r"^b/BUCK: was changed while buildfix ran; nothing was written"):
        write_all(root, changes())
    assert contents(root) == OLD | {"b/BUCK": b"somebody else\n"}


def test_a_file_changed_while_the_others_are_staged(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = write._stage

    def stage(change: FileChange, target: Path, temporary: list[Path]) -> object:
        (root / "a/BUCK").write_bytes(b"somebody else\n")
        return real(change, target, temporary)

    monkeypatch.setattr(write, "_stage", stage)
    with pytest.raises(WriteError, match=r"^a/BUCK: was changed"):
        write_all(root, changes())
    assert contents(root) == OLD | {"a/BUCK": b"somebody else\n"}


def test_a_file_that_is_gone(root: Path) -> None:
    (root / "b/BUCK").unlink()
    with pytest.raises(WriteError, match=r"^b/BUCK: cannot be found any more"):
        write_all(root, changes())


def test_a_folder_in_place_of_the_file(root: Path) -> None:
    (root / "b/BUCK").unlink()
    (root / "b/BUCK").mkdir()
    with pytest.raises(WriteError, match=r"^b/BUCK: is not a regular file"):
        write_all(root, changes())


def test_a_read_only_file_is_respected_even_for_root(root: Path) -> None:
    os.chmod(root / "b/BUCK", 0o444)
    with pytest.raises(WriteError, match=r"^b/BUCK: is read-only; nothing was written$"):
        write_all(root, changes())
    assert contents(root) == OLD


def test_a_link_out_of_the_root_is_refused(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(before("b/BUCK"))
    (root / "b/BUCK").unlink()
    (root / "b/BUCK").symlink_to(outside)
    with pytest.raises(WriteError, match=r"^b/BUCK: is a link to .*outside the repository"):
        write_all(root, changes())
    assert outside.read_bytes() == before("b/BUCK")


def test_a_folder_that_links_out_of_the_root_is_refused(root: Path, tmp_path: Path) -> None:
    (root / "b").rename(tmp_path / "elsewhere")
    (root / "b").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WriteError, match=r"^b/BUCK: .*outside the repository"):
        write_all(root, changes())


def test_a_path_out_of_the_root_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"x")
    with pytest.raises(WriteError, match="outside the repository"):
        write_all(root, [FileChange("../victim", b"x", b"y")])


def test_a_link_inside_the_root_is_written_through(root: Path) -> None:
    (root / "b/BUCK").rename(root / "b/real")
    (root / "b/BUCK").symlink_to("real")
    write_all(root, changes())
    assert (root / "b/BUCK").is_symlink()
    assert (root / "b/real").read_bytes() == after("b/BUCK")


def test_two_names_of_one_file_are_refused(root: Path) -> None:
    (root / "b/other").symlink_to("BUCK")
    twice = [*changes(), FileChange("b/other", before("b/BUCK"), b"?")]
    with pytest.raises(WriteError, match=r"^b/other: is the same file as b/BUCK"):
        write_all(root, twice)
    assert (root / "b/BUCK").read_bytes() == before("b/BUCK")


def test_a_root_that_is_itself_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    write_all(tmp_path / "link", changes())
    assert contents(root) == NEW


def test_a_loop_of_links(root: Path) -> None:
    (root / "b/BUCK").unlink()
    (root / "b/BUCK").symlink_to("BUCK")
    with pytest.raises(WriteError, match=r"^b/BUCK: cannot be found any more"):
        write_all(root, changes())


# --- faults at every step


def calls(monkeypatch: pytest.MonkeyPatch, name: str, at: int, fault: Callable[[], None]) -> None:
    """Run `fault` in place of the `at`-th call (from 0) of `os.name`."""
    real = getattr(os, name)
    count = iter(range(10**6))

    def faulty(*args: object) -> object:
        if next(count) == at:
            fault()
        return real(*args)

    monkeypatch.setattr(os, name, faulty)


def full_disk() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


STEPS = [("fsync", 0), ("fsync", 2), ("chmod", 1), ("replace", 0), ("replace", 1), ("replace", 2)]


@pytest.mark.parametrize(("name", "at"), STEPS)
def test_an_error_at_any_step_leaves_everything_as_before(
    root: Path, monkeypatch: pytest.MonkeyPatch, name: str, at: int
) -> None:
    calls(monkeypatch, name, at, full_disk)
    with pytest.raises(WriteError, match=r"(cannot be written|cannot be replaced): No space left.*nothing was written"):
        write_all(root, changes())
    assert contents(root) == OLD


@pytest.mark.parametrize(("name", "at"), STEPS)
def test_an_interrupt_at_any_step_leaves_everything_as_before(
    root: Path, monkeypatch: pytest.MonkeyPatch, name: str, at: int
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    calls(monkeypatch, name, at, interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_all(root, changes())
    assert contents(root) == OLD


def test_a_file_system_without_hard_links(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", no_links)
    with monkeypatch.context() as patch:
        calls(patch, "replace", 2, full_disk)
        with pytest.raises(WriteError, match="nothing was written"):
            write_all(root, changes())
    assert contents(root) == OLD
    write_all(root, changes())
    assert contents(root) == NEW


def test_what_cannot_be_put_back_is_named_and_kept(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.replace
    count = iter(range(10**6))

    def broken(*args: str) -> None:
        if next(count) >= 1:
            full_disk()
        real(*args)

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(WriteError, match=r"a/defs.bzl: cannot be replaced.*could not be put back: a/BUCK \(its old"):
        write_all(root, changes())
    saved = [path for path in (root / "a").iterdir() if path.name.startswith(PREFIX)]
    assert [path.read_bytes() for path in saved] == [before("a/BUCK")]


def in_child(act: Callable[[], None]) -> int:
    """Run `act` in a forked child; returns what waitpid says of it."""
    child = os.fork()
    if child == 0:
        status = 70
        try:
            act()
            status = 0
        except WriteError as error:
            status = 71 if "nothing was written" in str(error) else 72
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1]


@pytest.mark.parametrize(("name", "at"), [("open", n) for n in range(3)] + [*STEPS, ("link", 1), ("fsync", 4)])
def test_a_kill_leaves_each_file_whole_and_the_next_run_finishes(root: Path, name: str, at: int) -> None:
    def act() -> None:
        with pytest.MonkeyPatch.context() as patch:
            calls(patch, name, at, lambda: os.kill(os.getpid(), signal.SIGKILL))
            write_all(root, changes())

    assert os.WTERMSIG(in_child(act)) == signal.SIGKILL
    now = {path: text for path, text in contents(root).items() if PREFIX not in path}
    assert now.keys() == OLD.keys()
    assert all(text in (OLD[path], NEW[path]) for path, text in now.items())
    # The next run plans afresh from what is there, and clears away what the killed one left.
    write_all(root, [FileChange(path, text, NEW[path]) for path, text in now.items()])
    assert contents(root) == NEW


def test_leftovers_of_a_run_that_still_goes_on_are_left_alone(root: Path) -> None:
    alive = root / "a" / f"{PREFIX}{os.getppid()}-0123456789abcdef"
    foreign = root / "a" / f"{PREFIX}notes"
    alive.touch()
    foreign.touch()
    write_all(root, changes())
    assert alive.exists()
    assert foreign.exists()


def test_a_disk_that_is_really_full(root: Path) -> None:
    def act() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8))
        write_all(root, changes())

    assert os.waitstatus_to_exitcode(in_child(act)) == 71
    assert contents(root) == OLD


@pytest.fixture
def public_root() -> Iterator[Path]:
    """A root that any user can reach, as pytest's own folders are not."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield fill(folder / "root")
    shutil.rmtree(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("which", ["file", "folder"])
def test_without_permission_nothing_is_written(public_root: Path, which: str) -> None:
    for path in (public_root, *public_root.rglob("*")):
        os.chown(path, 65534, 65534)
    os.chown(public_root / ("b/BUCK" if which == "file" else "b"), 0, 0)
    os.chmod(public_root / ("b/BUCK" if which == "file" else "b"), 0o644 if which == "file" else 0o755)

    def act() -> None:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        write_all(public_root, changes())

    assert os.waitstatus_to_exitcode(in_child(act)) == 71
    assert contents(public_root) == OLD
