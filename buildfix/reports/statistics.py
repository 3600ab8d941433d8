"""How many findings there are of each code, and how many of them are repaired: a table, or JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from buildfix.findings import Code, Finding, Result
from buildfix.reports import wording

FORMATS = ("text", "json")


@dataclass(frozen=True, slots=True)
class Row:
    """The counts of one code: all findings, those that a repair makes go away, those that fail a check."""

    code: str
    name: str
    count: int
    repairable: int
    failing: int


def rows(result: Result) -> list[Row]:
    """A row for each code that occurs, the most frequent first."""
    by_code: dict[Code, list[Finding]] = {}
    for finding in result.findings:
        by_code.setdefault(finding.code, []).append(finding)
    found = [
        Row(code.value, code.slug, len(same), sum(bool(f.fix) for f in same), sum(f.fails for f in same))
        for code, same in by_code.items()
    ]
    return sorted(found, key=lambda row: (-row.count, row.code))


def render(result: Result, output_format: str) -> bytes:
    """The table in one of FORMATS."""
    table = rows(result)
    if output_format == "json":
        return json.dumps([asdict(row) for row in table], indent=2).encode() + b"\n"
    if not table:
        return b"nothing to repair\n"
    width, done = len(str(table[0].count)), "repaired" if result.applied else "can be repaired"
    lines = [f"{row.count:>{width}}  {row.code}  {_mark(row)} {row.name}" for row in table]
    total, repairable = sum(row.count for row in table), sum(row.repairable for row in table)
    lines.append(f"{wording.count(total, 'finding')}; {repairable} {done}")
    if repairable and not result.applied:
        lines.append("[*] can be repaired with --apply, [-] some of them")
    return "".join(line + "\n" for line in lines).encode()


def _mark(row: Row) -> str:
    return "[*]" if row.repairable == row.count else "[-]" if row.repairable else "[ ]"
