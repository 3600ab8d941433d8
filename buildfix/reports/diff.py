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
    before, after = split_lines(change.before), split_lines(change.after)
    lines: list[bytes] = []
    # Not difflib.unified_diff: it takes lines that occur often for junk, and then shows whole calls as rewritten.
    for group in difflib.SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(context):
        lines.append(_hunk(group))
        for kind, i, i_end, j, j_end in group:
            if kind == "equal":
                lines += [b" " + line for line in before[i:i_end]]
            else:
                lines += [b"-" + line for line in before[i:i_end]]
                lines += [b"+" + line for line in after[j:j_end]]
    if not lines:
        return b""
    name = change.path.encode("utf-8", "surrogateescape")
    tab = b"\t" if b" " in name else b""  # ends a name that holds a space, as git and GNU diff write it
    lines[:0] = [b"--- a/" + name + tab + b"\n", b"+++ b/" + name + tab + b"\n"]
    return b"".join(line if line.endswith(b"\n") else line + _NO_NEWLINE for line in lines)


def _hunk(group: Sequence[tuple[str, int, int, int, int]]) -> bytes:
    (_, i, _, j, _), (_, _, i_end, _, j_end) = group[0], group[-1]
    return f"@@ -{_range(i, i_end)} +{_range(j, j_end)} @@\n".encode()


def _range(start: int, end: int) -> str:
    """A hunk's range as unified diffs write it: lines from 1; an empty one names the line before it."""
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def count(change: FileChange) -> tuple[int, int]:
    """How many lines a change adds and how many it removes."""
    body = split_lines(unified(change, context=0))[2:]
    return sum(line.startswith(b"+") for line in body), sum(line.startswith(b"-") for line in body)


def split_lines(content: bytes) -> list[bytes]:
    """The lines with their ends. Only a newline ends a line: a form feed or a lone carriage return does not."""
    lines = content.split(b"\n")
    return [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
