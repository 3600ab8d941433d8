"""GitLab's code quality report, which merge requests show."""

from __future__ import annotations

import json

from buildfix.findings import Result
from buildfix.reports import severity, wording
from buildfix.reports.plain import unicode_only
from buildfix.reports.view import PLAIN, View


def render(result: Result, view: View = PLAIN) -> bytes:
    """The report as one JSON list; what has been repaired is not in it."""
    known = zip(result.findings, wording.fingerprints(result.findings), strict=True)
    report = [
        {
            "description": f"{wording.title(finding)}: {wording.headline(finding)}",
            "check_name": finding.code.slug,
            "fingerprint": fingerprint,
            "severity": severity.of(finding, result.applied).gitlab,
            "location": {"path": unicode_only(finding.place.file), "lines": {"begin": max(finding.place.line, 1)}},
        }
        for finding, fingerprint in known
        if not severity.repaired(finding, result.applied)
    ]
    return json.dumps(report, indent=2).encode() + b"\n"
