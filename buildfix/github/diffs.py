"""Unified diffs, read strictly: the artefact's changes, and what the pull request did to each file."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_HEADER = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(?: .*)?$")
# A line that is one entry of a list, whatever stands around it: it can come or go alone.
_ENTRY = re.compile(r"""\s*(?:\w+\()?(?P<quote>["'])[^"'\\]*(?P=quote)\)?,\s*(?:#.*)?""")
_NO_NEWLINE = "\\ No newline at end of file"


class DiffError(Exception):
    """A text that is no unified diff."""


class DiffLine(NamedTuple):
    """A line of a hunk: its tag (space, + or -), its text, and whether a newline ends it."""

    tag: str
    text: str
    newline: bool = True


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines from line `old` of the file before and line `new` of the file after (of an empty side: from the next)."""

    old: int
    new: int
    lines: tuple[DiffLine, ...]


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Lines that go and lines that take their place, before line `start` of the old file if none go.

    `order` counts the edits that add something before the same line.
    """

    path: str
    start: int
    order: int
    removed: tuple[DiffLine, ...]
    added: tuple[DiffLine, ...]

    @property
    def end(self) -> int:
        """The line after the last one that goes."""
        return self.start + len(self.removed)


def parse(text: str) -> tuple[Hunk, ...]:
    """The hunks of one file's diff, without its header. Raises DiffError."""
    lines = text.removesuffix("\n").split("\n") if text else []
    hunks: list[Hunk] = []
    index = last = 0
    while index < len(lines):
        found = _HEADER.match(lines[index])
        if found is None:
            raise DiffError(f"line {index + 1} begins no hunk")
        old, old_count, new, new_count = (1 if part is None else int(part) for part in found.groups())
        body, index = _body(lines, index + 1, old_count, new_count)
        hunk = Hunk(old + (old_count == 0), new + (new_count == 0), body)
        if hunk.old < last:
            raise DiffError("the hunks are not in order")
        last = hunk.old + old_count
        hunks.append(hunk)
    return tuple(hunks)


def _body(lines: Sequence[str], index: int, old: int, new: int) -> tuple[tuple[DiffLine, ...], int]:
    body: list[DiffLine] = []
    while index < len(lines) and (old > 0 or new > 0 or lines[index] == _NO_NEWLINE):
        line = lines[index]
        if line == _NO_NEWLINE and body:
            body[-1] = body[-1]._replace(newline=False)
        elif line[:1] in {" ", "+", "-"}:
            body.append(DiffLine(line[0], line[1:]))
            old -= line[0] != "+"
            new -= line[0] != "-"
        else:
            raise DiffError(f"line {index + 1} is none of a hunk")
        index += 1
    if old or new:
        raise DiffError("a hunk has not as many lines as it says")
    return tuple(body), index


def parse_file(path: str, text: str) -> tuple[Hunk, ...]:
    """The hunks of a diff of the file `path`, with its two header lines. Raises DiffError."""
    tab = "\t" if " " in path else ""
    header = f"--- a/{path}{tab}\n+++ b/{path}{tab}\n"
    if not text.startswith(header):
        raise DiffError("does not begin with the file's name")
    return parse(text[len(header) :])


def edits(path: str, hunks: Sequence[Hunk]) -> tuple[Edit, ...]:
    """The single edits that hunks make: runs of lines that go or come, and each line by itself that is an entry."""
    return tuple(edit for hunk in hunks for edit, _ in _parts(path, hunk) if edit is not None)


def _parts(path: str, hunk: Hunk) -> Iterator[tuple[Edit | None, tuple[DiffLine, ...]]]:
    """A hunk's lines in runs, each with the edit that it makes, None if it makes none."""
    line = hunk.old
    for changes, group in itertools.groupby(hunk.lines, key=lambda item: item.tag != " "):
        run = tuple(group)
        removed = tuple(item for item in run if item.tag == "-")
        added = tuple(item for item in run if item.tag == "+")
        if not changes:
            yield None, run
        elif (removed and added) or not all(item.newline and _ENTRY.fullmatch(item.text) for item in run):
            yield Edit(path, line, 0, removed, added), run
        else:
            for i, item in enumerate(run):
                own = (item,)
                yield (Edit(path, line + i, 0, own, ()) if removed else Edit(path, line, i, (), own)), own
        line += sum(item.tag != "+" for item in run)


def patch(files: Mapping[str, Sequence[Hunk]], wanted: Collection[Edit], done: Collection[Edit] = frozenset()) -> str:
    """The diff that makes the edits of `wanted` where those of `done` are made already.

    Lines of other edits in the same hunks stay as they are.
    """
    parts = []
    touched = {edit.path for edit in wanted}
    for path, hunks in files.items():
        if path not in touched:
            continue
        moved, shift, body = 0, 0, list[str]()
        for hunk in hunks:
            lines, more = list[DiffLine](), 0
            for edit, run in _parts(path, hunk):
                if edit is None or edit in wanted:
                    lines += run
                    continue
                lines += [item._replace(tag=" ") for item in (edit.added if edit in done else edit.removed)]
                more += (len(edit.added) - len(edit.removed)) if edit in done else 0
            if any(item.tag != " " for item in lines):
                body += _written(hunk.old + moved, shift, lines)
                shift += sum((item.tag == "+") - (item.tag == "-") for item in lines)
            moved += more
        if body:
            tab = "\t" if " " in path else ""
            parts += [f"--- a/{path}{tab}", f"+++ b/{path}{tab}", *body]
    return "".join(f"{line}\n" for line in parts)


def _written(start: int, shift: int, lines: Sequence[DiffLine]) -> Iterator[str]:
    old = sum(item.tag != "+" for item in lines)
    new = sum(item.tag != "-" for item in lines)
    yield f"@@ -{_range(start, old)} +{_range(start + shift, new)} @@"
    for item in lines:
        yield f"{item.tag}{item.text}"
        if not item.newline:
            yield _NO_NEWLINE


def _range(start: int, length: int) -> str:
    return str(start) if length == 1 else f"{start if length else start - 1},{length}"


@dataclass(frozen=True, slots=True)
class Shown:
    """The lines of one file that a pull request's diff shows on its right side, as they are at the head, by line."""

    lines: Mapping[int, str]
    hunk_of: Mapping[int, int]

    def together(self, start: int, end: int) -> bool:
        """Whether the lines from `start` to `end` all stand in one hunk."""
        return start in self.hunk_of and self.hunk_of[start] == self.hunk_of.get(end)


def shown(patch_text: str) -> Shown:
    """What a file's patch shows, as GitHub gives it. Raises DiffError."""
    lines: dict[int, str] = {}
    hunk_of: dict[int, int] = {}
    for number, hunk in enumerate(parse(patch_text)):
        line = hunk.new
        for item in hunk.lines:
            if item.tag != "-":
                lines[line], hunk_of[line] = item.text, number
                line += 1
    return Shown(lines, hunk_of)
