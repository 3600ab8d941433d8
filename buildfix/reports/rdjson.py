"""The Reviewdog Diagnostic Format, for reviewdog and what else reads it: one object for all findings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from buildfix.findings import FileChange, Finding, Place, Repair, Result
from buildfix.reports import diff, severity, wording
from buildfix.reports.plain import printable, unicode_only
from buildfix.reports.view import PLAIN, View

_SOURCE = {"name": "buildfix"}


def render(result: Result, view: View = PLAIN) -> bytes:
    """The result of a run as one JSON object."""
    return json.dumps({"source": _SOURCE, "diagnostics": list(diagnostics(result))}, indent=2).encode() + b"\n"


def diagnostics(result: Result) -> Iterator[dict[str, Any]]:
    """The findings as plain values."""
    repairs = {repair.finding: repair for repair in result.repairs}
    for index, finding in enumerate(result.findings):
        related = [{"message": printable(item.text), "location": _location(item.place)} for item in finding.evidence]
        suggestion = _suggestion(finding, repairs.get(index)) if not result.applied else None
        yield {
            "message": wording.account(finding, result.applied),
            "location": _location(finding.place),
            "severity": severity.of(finding, result.applied).reviewdog,
            "source": _SOURCE,
            "code": {"value": finding.code.value},
            **({"suggestions": [suggestion]} if suggestion else {}),
            **({"related_locations": related} if related else {}),
        }


def _location(place: Place) -> dict[str, Any]:
    where = {"path": unicode_only(place.file)}
    return where | ({"range": {"start": {"line": place.line}}} if place.line else {})


def _suggestion(finding: Finding, repair: Repair | None) -> dict[str, Any] | None:
    """The whole repair, if it lies in the finding's own file: half of one may break somebody."""
    if repair is None or [change.path for change in repair.changes] != [finding.place.file]:
        return None
    return suggestion(repair.changes[0])


def suggestion(change: FileChange) -> dict[str, Any] | None:
    """A change as one replacement of whole lines, from the first to the last that changes.

    A range without columns is of whole lines less the last line's end. It can neither be empty nor remove a line, so
    that a neighbour that stays is replaced by itself where lines are only inserted or removed.
    """
    blocks = list(diff.blocks(change))
    if not blocks:
        return None
    before, after = diff.split_lines(change.before), diff.split_lines(change.after)
    first, last = blocks[0].start, blocks[-1].end
    behind = len(before) - last  # lines that stay
    if first == last or first == len(after) - behind:
        first, behind = (first - 1, behind) if first else (first, behind - 1)
    old, new = before[max(first, 0) : len(before) - behind], after[max(first, 0) : len(after) - behind]
    if not old or not new or behind < 0 or _end(old[-1]) != _end(new[-1]):
        return None
    text = b"".join(new).decode().removesuffix(_end(new[-1]).decode())
    return {"range": {"start": {"line": first + 1}, "end": {"line": len(before) - behind}}, "text": text}


def _end(line: bytes) -> bytes:
    return b"\r\n" if line.endswith(b"\r\n") else b"\n" if line.endswith(b"\n") else b""
