"""The report for machines, described in docs/json.md and schemas/report-1.json.

`VERSION` grows when a field changes its meaning or goes.
"""

from __future__ import annotations

import json
from typing import Any

from buildfix import __version__
from buildfix.findings import Dependent, Evidence, FileChange, Finding, Place, Result, Summary
from buildfix.reports import diff, severity, wording
from buildfix.reports.plain import unicode_only
from buildfix.reports.view import PLAIN, View

VERSION = 1


def render(result: Result, view: View = PLAIN) -> bytes:
    """The report as one JSON object, in ASCII: what a terminal would obey is escaped."""
    return json.dumps(report(result), indent=2).encode() + b"\n"


def report(result: Result) -> dict[str, Any]:
    """The report as plain values."""
    return {
        "version": VERSION,
        "tool": {"name": "buildfix", "version": __version__},
        "applied": result.applied,
        "summary": _summary(result.summary),
        "findings": findings(result),
        "changes": [_change(change) for change in result.changes],
    }


def findings(result: Result) -> list[dict[str, Any]]:
    """The findings as plain values."""
    known = zip(result.findings, wording.fingerprints(result.findings), strict=True)
    return [clean(_finding(finding, own, severity.of(finding, result.applied))) for finding, own in known]


def plain(value: Finding | Dependent | Evidence | Place) -> dict[str, Any]:
    """One of the values that a report is made of, as the report has it."""
    match value:
        case Finding():
            return _finding(value, value.fingerprint, severity.of(value, False))
        case Dependent():
            return _dependent(value)
        case Evidence():
            return _evidence(value)
    return _place(value)


def clean(value: Any) -> Any:
    """The same value without what JSON cannot carry: the bytes of paths that are not UTF-8."""
    match value:
        case str():
            return unicode_only(value)
        case list():
            return [clean(item) for item in value]
        case dict():
            return {key: clean(item) for key, item in value.items()}
    return value


def _finding(finding: Finding, fingerprint: str, weight: severity.Severity) -> dict[str, Any]:
    return {
        "code": finding.code.value,
        "name": finding.code.slug,
        "fingerprint": fingerprint,
        "severity": weight.name,
        "target": finding.target,
        "place": _place(finding.place),
        "message": finding.message,
        "confidence": finding.confidence.value,
        "fails": finding.fails,
        "dep": finding.dep,
        "dep_label": finding.dep_label,
        "attribute": finding.attribute,
        "module": finding.module,
        "evidence": [_evidence(item) for item in finding.evidence],
        "reasons": [
            {"code": reason.name.lower().replace("_", "-"), "text": reason.value} for reason in finding.reasons
        ],
        "detail": finding.detail,
        "path": list(finding.path),
        "dependents": [_dependent(item) for item in finding.dependents],
        "choices": list(finding.choices),
        "fix": finding.fix,
        "rescue": finding.rescue,
        "outside": finding.outside,
        "edits": [_place(place) for place in finding.edits],
        "after": list(finding.after),
    }


def _dependent(item: Dependent) -> dict[str, Any]:
    return {
        "target": item.target,
        "place": _place(item.place),
        "module": item.module,
        "evidence": _evidence(item.evidence),
        "path": list(item.path),
        "rescued": item.rescued,
    }


def _evidence(item: Evidence) -> dict[str, Any]:
    return {"place": _place(item.place), "text": item.text}


def _place(place: Place) -> dict[str, Any]:
    return {"file": place.file, "line": place.line}


def _change(change: FileChange) -> dict[str, Any]:
    added, removed = diff.count(change)
    return {
        "path": unicode_only(change.path),
        "outside": change.outside,
        "lines_added": added,
        "lines_removed": removed,
        "diff": diff.unified(change).decode("utf-8", "backslashreplace"),
    }


def _summary(summary: Summary) -> dict[str, Any]:
    return {
        "packages": summary.packages,
        "packages_incomplete": summary.packages_incomplete,
        "targets": summary.targets,
        "python_targets": summary.python_targets,
        "sources": summary.sources,
        "sources_broken": summary.sources_broken,
        "notes": [unicode_only(note) for note in summary.notes],
    }
