"""Write changed files: all or none, each one either as before or as after at any moment.

Every new text is first written to a temporary file beside its target, and a second name is kept for every old one.
Only then are the targets replaced, each by one rename. A run that is killed leaves each file whole, and at most
some `.buildfix-*` files, which the next run that writes there removes.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from buildfix.errors import IncompleteError
from buildfix.findings import FileChange

PREFIX = ".buildfix-"
_TEMPORARY = re.compile(re.escape(PREFIX) + r"(?P<process>\d+)-[0-9a-f]{16}$")


class WriteError(IncompleteError):
    """A file could not be written; the message names it and says in what state the files are."""


@dataclass(frozen=True, slots=True)
class _Staged:
    """A change that is ready: `new` becomes `target` by a rename, and `old` would put it back."""

    change: FileChange
    target: Path
    new: Path
    old: Path


def write_all(root: Path, changes: Sequence[FileChange]) -> None:
    """Write every change below `root`, or raise WriteError and leave every file as it was.

    A file must still hold the change's `before`. Its mode is kept; a symlink inside the root is written through.
    """
    targets = _targets(root, changes)
    _remove_leftovers({target.parent for target in targets})
    temporary: list[Path] = []
    kept: set[Path] = set()
    try:
        staged = [_stage(change, target, temporary) for change, target in zip(changes, targets, strict=True)]
        for item in staged:
            _check_unchanged(item.change, item.target)
        _swap(staged, kept)
    finally:
        for path in temporary:
            if path not in kept:
                _unlink(path)
    for folder in {target.parent for target in targets}:
        _sync_folder(folder)


def write_file(path: Path, content: bytes) -> None:
    """Write one file that nobody else depends on, new or in place of an old one, whole or not at all."""
    new = _temporary_name(path.parent)
    try:
        with open(new, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    except OSError as error:
        _unlink(new)
        raise WriteError(f"{path}: cannot be written: {_why(error)}; it is as it was") from error
    _sync_folder(path.parent)


def _targets(root: Path, changes: Sequence[FileChange]) -> list[Path]:
    """The file behind each change, once all of them are known to be writable."""
    home = root.resolve()
    found: dict[Path, str] = {}
    for change in changes:
        target = _target(home, change)
        if target in found:
            raise WriteError(f"{change.path}: is the same file as {found[target]}; nothing was written")
        _check_unchanged(change, target)
        found[target] = change.path
    return list(found)


def _target(home: Path, change: FileChange) -> Path:
    try:
        target = (home / change.path).resolve(strict=True)
        mode = target.stat().st_mode
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of symlinks, before Python 3.13
        raise WriteError(f"{change.path}: cannot be found any more: {_why(error)}; nothing was written") from error
    if not target.is_relative_to(home):
        raise WriteError(f"{change.path}: is a link to {target}, outside the repository; nothing was written")
    if not stat.S_ISREG(mode):
        raise WriteError(f"{change.path}: is not a regular file; nothing was written")
    if not mode & 0o222 or not os.access(target, os.W_OK):
        raise WriteError(f"{change.path}: is read-only; nothing was written")
    return target


def _check_unchanged(change: FileChange, target: Path) -> None:
    try:
        now = target.read_bytes()
    except OSError as error:
        raise WriteError(f"{change.path}: cannot be read: {_why(error)}; nothing was written") from error
    if now != change.before:
        raise WriteError(f"{change.path}: was changed while buildfix ran; nothing was written, run it again")


def _stage(change: FileChange, target: Path, temporary: list[Path]) -> _Staged:
    try:
        meta = target.stat()
        new = _create(target, change.after, meta, temporary)
        old = _temporary_name(target.parent)
        temporary.append(old)
        try:
            os.link(target, old)
        except OSError:  # a file system without hard links
            temporary.remove(old)
            old = _create(target, change.before, meta, temporary)
    except OSError as error:
        raise WriteError(f"{change.path}: cannot be written: {_why(error)}; nothing was written") from error
    return _Staged(change, target, new, old)


def _create(target: Path, content: bytes, like: os.stat_result, temporary: list[Path]) -> Path:
    """A new file beside `target` that holds `content` for good, with the mode and owner of `like`."""
    path = _temporary_name(target.parent)
    temporary.append(path)
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(content)
        file.flush()
        own = os.fstat(file.fileno())
        if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
            with contextlib.suppress(OSError):  # only root may give a file away
                os.chown(path, like.st_uid, like.st_gid)
        os.chmod(path, stat.S_IMODE(like.st_mode))
        os.fsync(file.fileno())
    return path


def _swap(staged: Sequence[_Staged], kept: set[Path]) -> None:
    """Rename every new file into place; on any error, put back those that were already replaced."""
    item = None
    try:
        for item in staged:
            os.replace(item.new, item.target)
    except BaseException as error:
        lost = _put_back(staged, kept)
        if item is None or not (isinstance(error, OSError) or lost):
            raise
        state = f"these could not be put back: {'; '.join(lost)}" if lost else "nothing was written"
        raise WriteError(f"{item.change.path}: cannot be replaced: {_why(error)}; {state}") from error


def _put_back(staged: Sequence[_Staged], kept: set[Path]) -> list[str]:
    lost = []
    for item in staged:
        if item.new.exists():
            continue  # was not replaced
        try:
            os.replace(item.old, item.target)
        except OSError as error:
            kept.add(item.old)
            lost.append(f"{item.change.path} (its old text is in {item.old}): {_why(error)}")
    return lost


def _temporary_name(folder: Path) -> Path:
    return folder / f"{PREFIX}{os.getpid()}-{secrets.token_hex(8)}"


def _remove_leftovers(folders: Iterable[Path]) -> None:
    """Remove what runs that were killed left behind, but nothing of a run that is still going on."""
    for folder in folders:
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            found = _TEMPORARY.match(name)
            if found and not _runs(int(found["process"])):
                _unlink(folder / name)


def _runs(process: int) -> bool:
    if os.name == "nt":  # there is no harmless way to ask; os.kill would end it
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return process != os.getpid()


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _why(error: BaseException) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
