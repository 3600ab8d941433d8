"""JSON Lines: the findings of the JSON report, one on a line; docs/json.md describes them."""

from __future__ import annotations

import json

from buildfix.findings import Result
from buildfix.reports import json_report
from buildfix.reports.view import PLAIN, View


def render(result: Result, view: View = PLAIN) -> bytes:
    """One line for each finding, with the version of the format in each."""
    lines = ({"version": json_report.VERSION, **finding} for finding in json_report.findings(result))
    return "".join(json.dumps(line) + "\n" for line in lines).encode()
