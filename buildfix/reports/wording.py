"""What several formats say of a finding in words, made fit to be shown, and how they tell two findings apart."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from buildfix.findings import Finding
from buildfix.reports.plain import printable

_SHOWN = 5


def title(finding: Finding) -> str:
    """The code and the name: `BF001 missing-dep`."""
    return f"{finding.code.value} {finding.code.slug}"


def headline(finding: Finding) -> str:
    """What is wrong with which target, on one line."""
    return printable(f"{finding.target}: {finding.message}" if finding.target else finding.message)


def account(finding: Finding, applied: bool = False) -> str:
    """All that matters about a finding, several lines for a reader who sees it alone."""
    return "\n".join((headline(finding), *explanation(finding, applied)))


def explanation(finding: Finding, applied: bool = False) -> Iterator[str]:
    """The evidence, who would break, what becomes of it: a line each."""
    yield from (printable(f"{item.place}: {item.text}") for item in finding.evidence[:_SHOWN])
    if len(finding.evidence) > _SHOWN:
        yield f"and {len(finding.evidence) - _SHOWN} more"
    if finding.path:
        yield "received so far through " + _arrows(finding.path)
    for item in finding.dependents:
        saved = "is given the dep in the same run" if item.rescued else "cannot be given the dep"
        way = f" only through {_arrows(item.path)}" if item.path else ""
        yield printable(f"dropping this edge alone would break {item.target}, which imports {item.module}")
        yield printable(f"  ({item.evidence.place}) and receives it{way or ' so far'}; it {saved}")
    if len(finding.choices) > 1:
        yield printable(f"the choices are {', '.join(finding.choices)}")
    yield from outcome(finding, applied)


def outcome(finding: Finding, applied: bool) -> Iterator[str]:
    """What the plan does, or why it does nothing."""
    why = "; ".join(reason.value for reason in finding.reasons)
    detail = printable(finding.detail)
    remark = f"{why} ({detail})" if why and detail else why or detail
    if finding.fix:
        yield f"{repair(finding, applied)}{f' ({remark})' if remark else ''}"
    elif remark:
        yield f"not repaired: {remark}"


def repair(finding: Finding, applied: bool) -> str:
    """What the plan does, in words."""
    verbs = {"add": ("would add", "added", "to"), "drop": ("would drop", "dropped", "from")}
    would, done, preposition = verbs[finding.fix]
    where = f" {preposition} {printable(finding.attribute)}" if finding.attribute else ""
    said = f'{done if applied else would} "{printable(finding.dep)}"{where}'
    return said + (", so that the drop of another edge does not break this target" if finding.rescue else "")


def fingerprints(findings: Sequence[Finding]) -> list[str]:
    """A fingerprint for each finding, no two the same and none with a line number in it."""
    seen: Counter[str] = Counter()
    found = []
    for finding in findings:
        own = finding.fingerprint
        number = seen[own]
        seen[own] += 1
        found.append(hashlib.sha256(f"{own} {number}".encode()).hexdigest()[:16] if number else own)
    return found


def count(number: int, what: str) -> str:
    """So many of something, in words."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _arrows(path: Iterable[str]) -> str:
    return printable(" -> ".join(path))
