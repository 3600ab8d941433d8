"""JUnit XML, for whatever shows test results: a test case for each finding, grouped by target."""

from __future__ import annotations

from xml.etree import ElementTree

from buildfix.findings import Code, Finding, Result
from buildfix.reports import severity, wording
from buildfix.reports.plain import printable
from buildfix.reports.view import PLAIN, View


def render(result: Result, view: View = PLAIN) -> bytes:
    """One suite. What fails a check is a failure, what could not be analysed an error, all else has passed."""
    suite = ElementTree.Element("testsuite", name="buildfix")
    for finding in result.findings:
        _case(suite, finding, result.applied)
    if not result.findings:
        ElementTree.SubElement(suite, "testcase", classname="buildfix", name="nothing to repair", time="0")
    suite.attrib |= {
        "tests": str(len(suite)),
        "failures": str(len(suite.findall("testcase/failure"))),
        "errors": str(len(suite.findall("testcase/error"))),
        "skipped": "0",
        "time": "0",
    }
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    text: bytes = ElementTree.tostring(suites, "utf-8", xml_declaration=True)
    return text + b"\n"


def _case(suite: ElementTree.Element, finding: Finding, applied: bool) -> None:
    subject = finding.dep or finding.module or finding.place.file
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=printable(finding.target or finding.place.file),
        name=printable(f"{wording.title(finding)} {subject}"),
        file=printable(finding.place.file),
        line=str(finding.place.line),
        time="0",
    )
    told = f"{printable(str(finding.place))}: {wording.account(finding, applied)}"
    if finding.code is Code.NOT_ANALYSED:
        inner = ElementTree.SubElement(case, "error", type=finding.code.slug, message=wording.headline(finding))
    elif severity.of(finding, applied) is severity.ERROR:
        inner = ElementTree.SubElement(case, "failure", type=finding.code.slug, message=wording.headline(finding))
    else:
        inner = ElementTree.SubElement(case, "system-out")
    inner.text = told
