"""The Reviewdog Diagnostic Format, a line for each finding."""

from __future__ import annotations

import json

from buildfix.findings import Result
from buildfix.reports import rdjson
from buildfix.reports.view import PLAIN, View


def render(result: Result, view: View = PLAIN) -> bytes:
    """JSON Lines."""
    return "".join(json.dumps(one) + "\n" for one in rdjson.diagnostics(result)).encode()
