"""What Python reads of a repository, and a record of it: a result holds as long as each answer is the same.

The engine answers for the tree that it walks; this is for what lies outside of it, and for the files that say what the
tree is. Like the engine it opens nothing outside the root, waits for no pipe, and reads no file that is too large.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

Signature = tuple[int, ...]
"""What tells a file from what it was before: kind, size, inode, times of change in nanoseconds; () if there is none."""

MAX_BYTES = 16 << 20  # the engine's own limit

_recorded: dict[str, Signature] | None = None


class OutsideError(OSError):
    """The path, or the link that stands there, leads out of the repository."""

    def __init__(self) -> None:
        super().__init__(0, "it leads outside the repository")


def signature(path: str | Path) -> Signature:
    """What a file or folder is now. A change of its content, or another one in its place, changes it."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):  # ValueError: a name that no file can have
        return ()
    return (found.st_mode, found.st_size, found.st_ino, found.st_mtime_ns, found.st_ctime_ns)


def read(root: Path, path: str | Path) -> bytes:
    """The bytes of a file below `root`. Raises OSError, which is an OutsideError where it lies elsewhere."""
    _note(root / path)
    with open(_inside(root, path), "rb", opener=_without_waiting) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(0, "it is not a regular file")
        if found.st_size > MAX_BYTES:
            raise OSError(0, f"it is larger than {MAX_BYTES} bytes")
        return file.read(MAX_BYTES)


def text(root: Path, path: str | Path) -> str | None:
    """The text of a file below `root`; None if there is none, or if it lies elsewhere. Raises OSError."""
    if not is_file(root / path):
        return None
    try:
        return read(root, path).decode("utf-8", "replace")
    except OutsideError:
        return None


def is_file(path: Path) -> bool:
    """Whether there is such a file."""
    _note(path)
    return os.path.isfile(path)


def is_there(path: Path) -> bool:
    """Whether there is anything of that name, be it a symlink that leads nowhere."""
    _note(path)
    return os.path.lexists(path)


def entries(folder: Path) -> list[Path]:
    """What lies in a folder, in order; [] if there is none."""
    _note(folder)
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _inside(root: Path, path: str | Path) -> str:
    home = os.path.realpath(root)
    try:
        real = os.path.realpath(os.path.join(home, path))
    except ValueError as error:
        raise FileNotFoundError(0, str(error)) from error
    if not real.startswith(os.path.join(home, "")):
        raise OutsideError
    return real


def _without_waiting(path: str, flags: int) -> int:
    """Open a pipe that nobody writes to at once, and find out then that it is none of ours."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def note(path: str) -> None:
    """Record a file or folder that somebody else reads."""
    _note(path)


def _note(path: str | Path) -> None:
    if _recorded is not None:
        _recorded.setdefault(os.path.abspath(path), signature(path))


@contextmanager
def recording() -> Iterator[dict[str, Signature]]:
    """A record of all that is asked meanwhile: absolute paths, and what they were when they were first asked for."""
    global _recorded
    before, _recorded = _recorded, {}
    try:
        yield _recorded
    finally:
        _recorded = before
