"""Unified diffs of what changes, for `patch -p1` and `git apply`; the other reports use them too."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from buildfix.findings import FileChange, Result
from buildfix.reports.plain import path_bytes
from buildfix.reports.view import PLAIN, View

_NO_NEWLINE = b"\n\\ No newline at end of file\n"


_ESCAPES = {7: b"a", 8: b"b", 9: b"t", 10: b"n", 11: b"v", 12: b"f", 13: b"r", 34: b'"', 92: b"\\"}


class Block(NamedTuple):
    """Lines of a file that are replaced: those from `start` on and before `end`, from 0, by others."""

    start: int
    end: int
    lines: tuple[bytes, ...]


def render(result: Result, view: View = PLAIN) -> bytes:
    """The diffs of all changes, one file after the other."""
    return patch(result.changes)


def patch(changes: Sequence[FileChange]) -> bytes:
    """The diffs of some changes, one file after the other."""
    return b"".join(unified(change) for change in changes)


def blocks(change: FileChange) -> Iterator[Block]:
    """The lines that a change replaces, inserts or removes."""
    before, after = split_lines(change.before), split_lines(change.after)
    pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))
    same = sum(1 for _ in pairs)  # most of a file: difflib need not look at it
    before, after = before[same:], after[same:]
    for kind, i, i_end, j, j_end in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            yield Block(same + i, same + i_end, tuple(after[j:j_end]))


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
    name = path_bytes(change.path)
    lines[:0] = [b"--- " + _header(b"a/" + name) + b"\n", b"+++ " + _header(b"b/" + name) + b"\n"]
    return b"".join(line if line.endswith(b"\n") else line + _NO_NEWLINE for line in lines)


def _header(name: bytes) -> bytes:
    """A name as git and GNU diff write it: in quotes if it needs them, and ended by a tab if it holds a space."""
    if any(c < 32 or c in b'"\\\x7f' for c in name):
        return b'"' + b"".join(_quoted(c) for c in name) + b'"'
    return name + (b"\t" if b" " in name else b"")


def _quoted(c: int) -> bytes:
    if c in _ESCAPES:
        return b"\\" + _ESCAPES[c]
    return bytes((c,)) if 32 <= c < 127 else b"\\%03o" % c


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
