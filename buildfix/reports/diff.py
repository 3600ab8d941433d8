"""Unified diffs of what changes, for `patch -p1` and `git apply`; the other reports use them too."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from buildfix.findings import FileChange

_NO_NEWLINE = b"\n\\ No newline at end of file\n"


def render(changes: Sequence[FileChange]) -> bytes:
    """The diffs of all changes, one file after the other."""
    return b"".join(unified(change) for change in changes)


def unified(change: FileChange, context: int = 3) -> bytes:
    """The diff of one file, byte for byte; empty if nothing changed."""
    name = change.path.encode("utf-8", "surrogateescape")
    tab = b"\t" if b" " in name else b""  # ends a name that holds a space, as git and GNU diff write it
    lines = difflib.diff_bytes(
        difflib.unified_diff,
        split_lines(change.before),
        split_lines(change.after),
        b"a/" + name + tab,
        b"b/" + name + tab,
        n=context,
        lineterm=b"\n",
    )
    return b"".join(line if line.endswith(b"\n") else line + _NO_NEWLINE for line in lines)


def count(change: FileChange) -> tuple[int, int]:
    """How many lines a change adds and how many it removes."""
    body = split_lines(unified(change, context=0))[2:]
    return sum(line.startswith(b"+") for line in body), sum(line.startswith(b"-") for line in body)


def split_lines(content: bytes) -> list[bytes]:
    """The lines with their ends. Only a newline ends a line: a form feed or a lone carriage return does not."""
    lines = content.split(b"\n")
    return [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
