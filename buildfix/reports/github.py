"""Workflow commands of GitHub Actions: annotations at the lines of the findings.

GitHub shows ten errors and ten warnings of a step, fifty annotations of a job, and drops the rest in silence. The
heaviest findings therefore come first, and one notice says how many are not shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from buildfix.findings import Finding, Place, Result
from buildfix.reports import severity, wording
from buildfix.reports.plain import printable
from buildfix.reports.severity import Severity
from buildfix.reports.view import PLAIN, View

_MOST = 10
"""Annotations of one kind in a step."""


def render(result: Result, view: View = PLAIN) -> bytes:
    """A command on each line."""
    return "".join(line + "\n" for line in _lines(result)).encode()


def _lines(result: Result) -> Iterator[str]:
    weighed = [(severity.of(finding, result.applied), finding) for finding in result.findings]
    weighed.sort(key=lambda one: (one[0].rank, not one[1].fix))
    shown: Counter[Severity] = Counter()
    left: Counter[Severity] = Counter()
    for weight, finding in weighed:
        most = _MOST - 1 if weight is severity.NOTE else _MOST  # the last notice is for what is left
        if shown[weight] < most:
            shown[weight] += 1
            yield _annotation(weight, finding, result.applied)
        else:
            left[weight] += 1
    if left:
        counts = ", ".join(wording.count(number, weight.name) for weight, number in left.items())
        said = f"{counts} more, of {wording.count(len(weighed), 'finding')} in all. GitHub shows no more from one step;"
        yield f"::notice title=buildfix::{_data(f'{said} run `buildfix` to see them.')}"


def _annotation(weight: Severity, finding: Finding, applied: bool) -> str:
    where = _where(finding.place)
    properties = ",".join(f"{key}={_property(value)}" for key, value in where.items())
    title = _property(wording.title(finding))
    return f"::{weight.github} {properties},title={title}::{_data(wording.account(finding, applied))}"


def _where(place: Place) -> dict[str, str]:
    return {"file": printable(place.file)} | ({"line": str(place.line)} if place.line else {})


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
