"""From findings and changes to what can be offered: suggestions that may be taken alone, and patches.

A suggestion is offered only if whoever takes it, and nothing else, is left with a build that works: it makes the whole
repair of its finding, and all that this repair must come with, and nothing of any other.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from buildfix.github import diffs
from buildfix.github.artefact import Artefact, ArtefactError, Finding, Place
from buildfix.github.diffs import DiffError, Edit, Hunk, Shown
from buildfix.github.visible import plain

MAX_SUGGESTED_LINES = 40
_STRING = re.compile(r'"([^"\n]*)"|\'([^\'\n]*)\'')
_BUILD_FILE = re.compile(r"(?:.*/)?(?:BUCK|TARGETS|BUILD|BUILD\.bazel)(?:\.v2)?|.*\.bzl")
_ESCAPED_BYTE = re.compile(r"\\x[0-9a-f]{2}")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Lines to put in place of the lines from `start` to `end` of a file at the pull request's head."""

    path: str
    start: int
    end: int
    lines: tuple[str, ...]

    def overlaps(self, other: Suggestion) -> bool:
        """Whether both touch a line."""
        return self.path == other.path and self.start <= other.end and other.start <= self.end


@dataclass(frozen=True, slots=True)
class Fix:
    """What is offered for one finding: a suggestion; or one that repairs it too, `by` its finding's fingerprint; or a
    patch. None of them where the finding has no repair, or where it cannot be shown as text."""

    suggestion: Suggestion | None = None
    by: str = ""
    patch: str = ""


@dataclass(frozen=True, slots=True)
class Fixes:
    """What is offered for each finding, by its fingerprint, and the patch that makes what no suggestion does."""

    of: Mapping[str, Fix]
    leftover: str


class _Taken(NamedTuple):
    """A suggestion, the edits that it makes, and the findings that it repairs; it stands at the first."""

    marks: tuple[str, ...]
    edits: frozenset[Edit]
    suggestion: Suggestion


def find(artefact: Artefact, files: Mapping[str, Shown]) -> Fixes:
    """What to offer, where `files` is what the pull request's diff shows. Raises ArtefactError."""
    return _Finder(artefact, files).fixes()


class _Finder:
    def __init__(self, artefact: Artefact, files: Mapping[str, Shown]) -> None:
        self._shown = files
        self._findings = {finding.fingerprint: finding for finding in artefact.findings}
        self._hunks, self._complete = _hunks(artefact)
        self._edits = {path: diffs.edits(path, hunks) for path, hunks in self._hunks.items()}
        self._of = {mark: self._placed(finding) for mark, finding in self._findings.items() if finding.fix}
        self._users: dict[Edit, list[str]] = {}
        for mark, own in self._of.items():
            for edit in own or ():
                self._users.setdefault(edit, []).append(mark)

    def fixes(self) -> Fixes:
        patches: dict[str, str] = {}
        taken: list[_Taken] = []
        for mark, finding in self._findings.items():
            whole = self._whole(mark)
            if whole is None:
                patches[mark] = self._everything if finding.fix else ""
            elif not self._take(mark, whole, taken):
                patches[mark] = self._patch(whole)
        of = {mark: Fix(patch=patch) for mark, patch in patches.items()}
        for one in taken:
            of |= {mark: Fix(by=one.marks[0]) for mark in one.marks}
            of[one.marks[0]] = Fix(suggestion=one.suggestion)
        done = frozenset(edit for one in taken for edit in one.edits)
        return Fixes(of, self._rest(done) if done else self._everything)

    def _take(self, mark: str, whole: frozenset[Edit], taken: list[_Taken]) -> bool:
        """Offer the repair as a suggestion; one with those whose lines it touches. Says whether that can be."""
        made = self._suggestion(whole)
        if made is None:
            return False
        near = [one for one in taken if one.suggestion.overlaps(made)]
        others = [one for one in taken if one not in near]
        edits = whole.union(*(one.edits for one in near))
        united = self._suggestion(edits)
        if united is None or any(one.suggestion.overlaps(united) for one in others):
            return False
        taken[:] = [*others, _Taken((*(m for one in near for m in one.marks), mark), edits, united)]
        return True

    @functools.cached_property
    def _everything(self) -> str:
        return self._rest(frozenset())

    def _rest(self, done: frozenset[Edit]) -> str:
        """The patch for all that is not done yet; a part of what belongs together is not offered."""
        everything = frozenset(edit for edits in self._edits.values() for edit in edits)
        return self._patch(everything - done, done) if self._complete else ""

    def _patch(self, wanted: frozenset[Edit], done: frozenset[Edit] = frozenset()) -> str:
        """The patch, if it can be pasted: what people see must be what they get."""
        text = diffs.patch(self._hunks, wanted, done)
        return text if all(_plain(line) for line in text.split("\n")) else ""

    # Which edits repair a finding

    def _placed(self, finding: Finding) -> tuple[Edit, ...] | None:
        """The edits that make a finding's own repair; None if they cannot be told for certain."""
        first, rest = (finding.edits[:1], finding.edits[1:]) if finding.fix == "add" else ((), finding.edits)
        found = [self._adding(place, finding.dep) for place in first] + [self._dropping(place) for place in rest]
        edits = tuple(dict.fromkeys(edit for edit in found if edit is not None))
        return edits if edits and None not in found else None

    def _adding(self, place: Place, dep: str) -> Edit | None:
        for edit in self._edits.get(place.file, ()):
            behind = max(edit.end - 1, edit.start) >= place.line
            if behind and any(_stands_for(text, dep) for text in _gained(edit)):
                return edit
        return None

    def _dropping(self, place: Place) -> Edit | None:
        return next((e for e in self._edits.get(place.file, ()) if e.start <= place.line < e.end), None)

    def _whole(self, mark: str) -> frozenset[Edit] | None:
        """All edits that must be made together with a finding's own; None if that is not known for certain."""
        seen, todo, edits = set[str](), [mark], set[Edit]()
        while todo:
            here = todo.pop()
            if here in seen:
                continue
            seen.add(here)
            own = self._of.get(here)
            if own is None:
                return None
            edits |= set(own)
            todo += [*self._findings[here].after, *(user for edit in own for user in self._users[edit])]
        return frozenset(edits) if all(self._accounted(edit) for edit in edits) else None

    def _accounted(self, edit: Edit) -> bool:
        """Whether the strings that an edit adds and drops are those of the findings that it repairs."""
        findings = [self._findings[mark] for mark in self._users[edit]]
        gains = [finding.dep for finding in findings if finding.fix == "add"]
        drops = [finding.dep for finding in findings]
        return all(any(_stands_for(text, dep) for dep in gains) for text in _gained(edit)) and all(
            any(_stands_for(text, dep) for dep in drops) for text in _lost(edit)
        )

    # Suggestions

    def _suggestion(self, edits: frozenset[Edit]) -> Suggestion | None:
        path, *others = {edit.path for edit in edits}
        shown = self._shown.get(path)
        if others or shown is None or not all(_suggestible(edit, shown) for edit in edits):
            return None
        ordered = sorted(edits)
        start, end = ordered[0].start, max(edit.end for edit in ordered) - 1
        if end < start:  # nothing goes: what comes needs a neighbour to stand beside
            start, end = (end, end) if shown.together(end, end) else (start, start)
        if not shown.together(start, end) or end - start >= MAX_SUGGESTED_LINES:
            return None
        lines: list[str] = []
        for line in range(start, end + 2):
            for edit in ordered:
                if edit.start == line:
                    lines += [item.text for item in edit.added]
            if line <= end and not any(edit.start <= line < edit.end for edit in ordered):
                lines.append(shown.lines[line])
        return Suggestion(path, start, end, tuple(lines)) if all(map(_plain, lines)) else None


def _suggestible(edit: Edit, shown: Shown) -> bool:
    """Whether the lines that go are those at the head, and nothing about any line is invisible."""
    same = all(shown.lines.get(edit.start + i) == item.text for i, item in enumerate(edit.removed))
    return same and all(item.newline and _plain(item.text) for item in (*edit.removed, *edit.added))


def _plain(text: str) -> bool:
    """Whether a line shows all that is in it, and stands for the same bytes in a file."""
    return plain(text) and not _ESCAPED_BYTE.search(text)


def _gained(edit: Edit) -> list[str]:
    return _without(_strings(edit.added), _strings(edit.removed))


def _lost(edit: Edit) -> list[str]:
    return _without(_strings(edit.removed), _strings(edit.added))


def _strings(lines: Iterable[diffs.DiffLine]) -> list[str]:
    return [double or single for line in lines for double, single in _STRING.findall(line.text)]


def _without(texts: Sequence[str], others: Sequence[str]) -> list[str]:
    left = list(texts)
    for other in others:
        if other in left:
            left.remove(other)
    return left


def _stands_for(text: str, dep: str) -> bool:
    """Whether a string in a file is a label, or the part of it that a macro completes."""
    return text == dep or (bool(text) and text in dep and not text.startswith((":", "//", "@")))


def _hunks(artefact: Artefact) -> tuple[dict[str, tuple[Hunk, ...]], bool]:
    """The hunks of each changed file, and whether all changes are here: nothing but build files is ever offered."""
    found: dict[str, tuple[Hunk, ...]] = {}
    for change in artefact.changes:
        if not _harmless(change.path) or change.path in found:
            raise ArtefactError(f"the artefact changes {change.path!r}, which can be no build file of the repository")
        if not _BUILD_FILE.fullmatch(change.path):
            continue
        try:
            found[change.path] = diffs.parse_file(change.path, change.diff)
        except DiffError as error:
            raise ArtefactError(f"the artefact's change of {change.path!r} {error}") from error
    return found, len(found) == len(artefact.changes)


def _harmless(path: str) -> bool:
    parts = path.split("/")
    return _plain(path) and not {"", ".", "..", ".git"} & set(parts)
