"""What is kept between runs: reports, for as long as nothing that they rest on has changed, and where the engine keeps
what it saw of each source.

A report rests on the tree, of which the engine makes a fingerprint (names, sizes, times and inodes of all that it
walks), on the few files that are read elsewhere (disk.py), on the command line, and on the program. It is found by the
last two, and valid if the first two are as they were. Whatever is odd about an entry (torn, foreign, of another
version), it counts as none; whatever keeps one from being written, the run goes on without.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from buildfix import __version__, disk
from buildfix.roots import engine_path

FORMAT = 1
MAX_ENTRIES = 32
"""How many reports are kept of one repository; the least recently used go first."""

_TICK = 50_000_000
_COARSE_TICK = 2_100_000_000
"""How old, in nanoseconds, the newest change must be when a run begins for the system's clock to tell a later one from
it; the second where a file system keeps whole seconds only."""


def folder() -> Path:
    """Where what is kept lies: `$BUILDFIX_CACHE_DIR`, else `buildfix` in the user's cache folder."""
    named = os.environ.get("BUILDFIX_CACHE_DIR")
    if named:
        return Path(named)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local", "buildfix", "cache")
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/buildfix"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "buildfix")


@dataclass(frozen=True, slots=True)
class Report:
    """What a run printed, and its exit status."""

    text: bytes
    status: int


@dataclass(frozen=True, slots=True)
class Basis:
    """What a report rests on: the engine's request for a fingerprint, what that gave (with the time of the newest
    change and of the walk itself, in nanoseconds since 1970), and what else was read."""

    request: bytes
    fingerprint: str
    newest: int
    now: int
    read: Mapping[str, disk.Signature]

    @property
    def is_settled(self) -> bool:
        """Whether a change after the run began would be seen as one."""
        times = [self.newest, *(max(one[-2:]) for one in self.read.values() if one)]
        tick = _COARSE_TICK if any(time % 1_000_000_000 == 0 for time in times) else _TICK
        return max(times) < self.now - tick


def place(root: Path) -> Path:
    """The folder for what is kept of one repository."""
    return folder() / _digest([str(root)])


def program() -> str:
    """A text that is another one for every version, build and environment of buildfix."""
    engine = engine_path()
    parts = [FORMAT, __version__, sys.version, str(engine), disk.signature(engine)]
    return _digest([*parts, *(disk.signature(path) for path in sys.path if "-packages" in path)])  # what is installed


class Shelf:
    """The place of one report: that of a repository, asked for with certain words."""

    def __init__(self, root: Path, words: Mapping[str, Any]) -> None:
        self._folder = place(root)
        self._path = self._folder / f"{_digest([program(), words])}.report"

    def find(self) -> Report | None:
        """The report, if there is one and it is valid."""
        try:
            head, _, text = self._path.read_bytes().partition(b"\n")
            entry = json.loads(head)
            if entry["text"] != hashlib.sha256(text).hexdigest():
                return None
            if any(list(disk.signature(path)) != was for path, was in entry["read"].items()):
                return None
            if _fingerprint(entry["request"].encode()) != entry["fingerprint"]:
                return None
            with contextlib.suppress(OSError):
                os.utime(self._path)
            return Report(text, int(entry["status"]))
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return None

    def keep(self, report: Report, basis: Basis) -> None:
        """Keep a report, if what it rests on is old enough to be told from what comes after, and the system says when a
        file last changed in any way: its time of writing can be put back."""
        if not basis.is_settled or sys.platform not in ("linux", "darwin"):
            return
        head = json.dumps(
            {
                "status": report.status,
                "text": hashlib.sha256(report.text).hexdigest(),
                "request": basis.request.decode(),
                "fingerprint": basis.fingerprint,
                "read": basis.read,
            }
        )
        from buildfix import write  # not where a report is found: that is to cost no more than it must

        with contextlib.suppress(OSError, ValueError, write.WriteError):
            self._folder.mkdir(parents=True, exist_ok=True)
            write.write_file(self._path, head.encode("utf-8", "surrogateescape") + b"\n" + report.text)
            self._tidy()

    def _tidy(self) -> None:
        entries = sorted(self._folder.glob("*.report"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
        for path in entries[MAX_ENTRIES:]:
            path.unlink()


def _digest(parts: Sequence[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, default=str, sort_keys=True).encode()).hexdigest()[:32]


def _fingerprint(request: bytes) -> str | None:
    """What the engine says of the tree now; None if it says nothing. Done by hand: engine.py, which decodes every kind
    of record, takes longer to import than the engine takes to answer."""
    done = subprocess.run([engine_path()], input=request, capture_output=True, check=False)
    lines: Iterable[bytes] = done.stdout.splitlines() if done.returncode == 0 else ()
    for line in lines:
        if line.startswith(b'{"t":"fingerprint"'):
            value: str = json.loads(line)["value"]
            return value
    return None
