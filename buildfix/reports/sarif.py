"""SARIF 2.1.0, for code scanning and editors: one run, a rule for each code, fixes over several files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from buildfix import __version__
from buildfix.findings import Code, Evidence, FileChange, Finding, Place, Repair, Result
from buildfix.reports import diff, severity, wording
from buildfix.reports.plain import path_bytes, printable
from buildfix.reports.rules import RULES
from buildfix.reports.view import PLAIN, View

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
_LINK = re.compile(r"\[(?=[^\[\]]*\]\()")


def render(result: Result, view: View = PLAIN) -> bytes:
    """The log as one JSON object."""
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [_run(result)]}
    return json.dumps(log, indent=2).encode() + b"\n"


def _run(result: Result) -> dict[str, Any]:
    prints = wording.fingerprints(result.findings)
    repairs = {repair.finding: repair for repair in result.repairs}
    return {
        "tool": {"driver": {"name": "buildfix", "semanticVersion": __version__, "rules": [_rule(c) for c in Code]}},
        "automationDetails": {"id": "buildfix/"},
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not any(f.code is Code.NOT_ANALYSED for f in result.findings)}],
        "results": [
            _result(finding, prints[index], repairs.get(index), result.applied)
            for index, finding in enumerate(result.findings)
        ],
    }


def _rule(code: Code) -> dict[str, Any]:
    rule = RULES[code]
    return {
        "id": code.value,
        "name": code.slug,
        "shortDescription": {"text": rule.short},
        "fullDescription": {"text": rule.short},
        "help": {"text": rule.help, "markdown": rule.help},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["dependencies"]},
    }


def _result(finding: Finding, fingerprint: str, repair: Repair | None, applied: bool) -> dict[str, Any]:
    related = list(_related(finding))
    found: dict[str, Any] = {
        "ruleId": finding.code.value,
        "ruleIndex": list(Code).index(finding.code),
        "level": severity.of(finding, applied).sarif,
        "message": _message(wording.account(finding, applied)),
        "locations": [_location(finding.place) | _logical(finding.target)],
        # Code scanning on GitHub looks at the second one only.
        "partialFingerprints": {"buildfix/v1": fingerprint, "primaryLocationLineHash": f"{fingerprint}:1"},
    }
    if related:
        found["relatedLocations"] = [_location(place, text, number) for number, (place, text) in enumerate(related, 1)]
    if repair and not applied:
        found["fixes"] = [_fix(finding, repair)]
    return found


def _related(finding: Finding) -> Iterator[tuple[Place, str]]:
    yield from ((item.place, item.text) for item in finding.evidence)
    for item in finding.dependents:
        yield item.place, f"{item.target} would break if this edge alone went"
        yield item.evidence.place, _evidence(item.evidence, item.module)


def _evidence(item: Evidence, module: str) -> str:
    return item.text or f"import of {module}"


def _location(place: Place, text: str = "", number: int = 0) -> dict[str, Any]:
    where: dict[str, Any] = {"artifactLocation": _artifact(place.file)}
    if place.line:
        where["region"] = {"startLine": place.line}
    location: dict[str, Any] = {"physicalLocation": where}
    if number:
        location |= {"id": number, "message": _message(printable(text))}
    return location


def _logical(target: str) -> dict[str, Any]:
    name = printable(target)
    return {"logicalLocations": [{"fullyQualifiedName": name, "kind": "module"}]} if name else {}


def _artifact(path: str) -> dict[str, str]:
    return {"uri": quote(path_bytes(path)), "uriBaseId": _ROOT}


def _fix(finding: Finding, repair: Repair) -> dict[str, Any]:
    others = len(repair.others)
    also = f", and repair {wording.count(others, 'other finding')} that it asks for" if others else ""
    return {
        "description": _message(f'{finding.fix.capitalize()} "{printable(finding.dep)}"{also}'),
        "artifactChanges": [_change(change) for change in repair.changes],
    }


def _change(change: FileChange) -> dict[str, Any]:
    before = diff.split_lines(change.before)
    return {
        "artifactLocation": _artifact(change.path),
        "replacements": [_replacement(before, block) for block in diff.blocks(change)],
    }


def _replacement(before: list[bytes], block: diff.Block) -> dict[str, Any]:
    """Whole lines with their ends; where the last line has none, the region ends behind its last character."""
    region = {"startLine": block.start + 1, "startColumn": 1, "endLine": block.end + 1, "endColumn": 1}
    if block.end == len(before) and before and not before[-1].endswith(b"\n"):
        region |= {"endLine": len(before), "endColumn": len(before[-1].decode()) + 1}
    inserted = b"".join(block.lines).decode()
    return {"deletedRegion": region} | ({"insertedContent": {"text": inserted}} if inserted else {})


def _message(text: str) -> dict[str, str]:
    """A message as SARIF writes it: braces doubled, and nothing that looks like a link."""
    return {"text": _LINK.sub(r"\\[", text.replace("{", "{{").replace("}", "}}"))}
