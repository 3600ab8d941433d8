"""What Python reads of a repository, and a record of it: a result holds as long as each answer is the same.

The engine answers for the tree that it walks; this is for what lies outside of it, and for the files that say what the
tree is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

Signature = tuple[int, ...]
"""What tells a file from what it was before: kind, size, inode, times of change in nanoseconds; () if there is none."""

_recorded: dict[str, Signature] | None = None


def signature(path: str | Path) -> Signature:
    """What a file or folder is now. A change of its content, or another one in its place, changes it."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return (found.st_mode, found.st_size, found.st_ino, found.st_mtime_ns, found.st_ctime_ns)


def read(path: Path) -> bytes:
    """A file's bytes. Raises OSError."""
    _note(path)
    return path.read_bytes()


def is_file(path: Path) -> bool:
    """Whether there is such a file."""
    _note(path)
    return path.is_file()


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
