"""The report for people at a terminal: findings grouped by target, each with its evidence and what becomes of it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from buildfix.findings import Code, Confidence, Dependent, Evidence, FileChange, Finding, Place, Result
from buildfix.reports import severity, wording
from buildfix.reports.plain import path_bytes, printable
from buildfix.reports.view import PLAIN, View
from buildfix.reports.wording import count

_SHOWN = 5
"""How many pieces of evidence of one finding are printed; the JSON report has them all."""

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


_COLORS = {severity.ERROR: "red", severity.WARNING: "yellow", severity.NOTE: "cyan"}


def render(result: Result, view: View = PLAIN) -> bytes:
    """The report; it ends with a line of counts."""
    return "".join(line + "\n" for line in _Text(result, view).lines()).encode()


@dataclass(frozen=True, slots=True)
class _Text:
    result: Result
    view: View

    def lines(self) -> Iterator[str]:
        for target, findings in _by_target(self.result.findings).items():
            yield self._paint("bold", printable(target))
            for finding in findings:
                yield from self._finding(finding)
            yield ""
        yield from self._outside()
        yield from (f"note: {printable(note)}" for note in self.result.summary.notes)
        unsafe = sum(f.confidence is Confidence.UNSAFE and not f.fix for f in self.result.findings)
        if unsafe:
            yield f"note: {count(unsafe, 'finding')} might be repaired with --unsafe-fixes"
        yield self._summary()
        yield from self._next()

    def _finding(self, finding: Finding) -> Iterator[str]:
        code = self._paint(_COLORS[severity.of(finding, self.result.applied)], wording.title(finding))
        yield f"  {self._place(finding.place)}: {code}: {printable(finding.message)}"
        yield from self._evidence(finding.evidence)
        if finding.path:
            yield f"    received so far through {_arrows(finding.path)}"
        if finding.dependents:
            yield from self._dependents(finding)
        if len(finding.choices) > 1:
            yield f"    the choices are {printable(', '.join(finding.choices))}"
        yield from self._outcome(finding)

    def _evidence(self, evidence: Sequence[Evidence]) -> Iterator[str]:
        for item in evidence[:_SHOWN]:
            yield f"    {self._place(item.place)}: {printable(item.text)}"
        if len(evidence) > _SHOWN:
            yield f"    and {len(evidence) - _SHOWN} more"

    def _dependents(self, finding: Finding) -> Iterator[str]:
        yield f"    dropping this edge alone would break {count(len(finding.dependents), 'target')}:"
        for item in finding.dependents:
            yield from self._dependent(item)

    def _dependent(self, item: Dependent) -> Iterator[str]:
        yield f"      {printable(item.target)} ({self._place(item.place)})"
        said = item.evidence.text or f"import of {item.module}"
        yield f"        {self._place(item.evidence.place)}: {printable(said)}"
        if item.path:
            yield f"        receives {printable(item.module)} only through"
            yield f"          {_arrows(item.path)}"
        if item.rescued:
            yield self._paint(
                "green", f"        {'was' if self.result.applied else 'is'} given the dep in the same run"
            )
        else:
            yield self._paint("yellow", "        cannot be given the dep, so the edge stays")

    def _outcome(self, finding: Finding) -> Iterator[str]:
        why = "; ".join(finding.reasons)
        detail = printable(finding.detail)
        detail = f" ({detail})" if detail and why else detail
        if finding.fix:
            remark = f" ({why}{detail})" if why or detail else ""
            yield self._paint("green", f"    {wording.repair(finding, self.result.applied)}") + remark
        elif finding.code is Code.NOT_ANALYSED:
            yield f"    {detail}"
        elif finding.confidence is Confidence.UNSAFE:
            yield self._paint("yellow", "    not repaired, for it may not be safe") + f": {why}{detail}"
        elif why or detail:
            yield self._paint("yellow", "    not repaired") + f": {why}{detail}"

    def _outside(self) -> Iterator[str]:
        changes = [change for change in self.result.changes if change.outside]
        if not changes:
            return
        yield self._paint(
            "bold", f"{'Also written' if self.result.applied else 'Would also write'} outside the paths given:"
        )
        for change in changes:
            yield f"  {self._place(Place(change.path))}"
            yield from dict.fromkeys(f"    {printable(why)}" for why in self._why_outside(change))
        yield ""

    def _why_outside(self, change: FileChange) -> Iterator[str]:
        """Why a file outside the paths changes: whose drop elsewhere would break a target written there."""
        for finding in self.result.findings:
            if not finding.fix or finding.place.file != change.path:
                continue
            drops = [(drop, item) for drop, item in self._rescues() if _same_gift(finding, item)]
            for drop, item in drops:
                yield f'{finding.target} imports {item.module}, which it loses when {drop.target} drops "{drop.dep}"'
            if not drops:
                yield f"{finding.target}: {finding.message}"

    def _rescues(self) -> Iterator[tuple[Finding, Dependent]]:
        for drop in self.result.findings:
            if drop.fix == "drop":
                yield from ((drop, item) for item in drop.dependents if item.rescued)

    def _summary(self) -> str:
        looked = self.result.summary
        parts = [*self._counts(), *self._not_analysed()]
        seen = ((looked.packages, "package"), (looked.targets, "target"), (looked.sources, "source"))
        return f"{'; '.join(parts)} ({', '.join(count(number, what) for number, what in seen)})"

    def _counts(self) -> Iterator[str]:
        """How many findings there are, and what becomes of them; those that fail no check are counted apart."""
        findings = self.result.findings
        if not findings:
            yield self._paint("green", "nothing to repair")
            return
        repaired = sum(bool(finding.fix) for finding in findings)
        failing = sum(not finding.fix and finding.fails for finding in findings)
        rest = len(findings) - repaired - failing
        yield count(len(findings), "finding")
        files = count(len(self.result.changes), "file")
        if repaired:
            done = f"{repaired} repaired in {files}"
            yield self._paint(
                "green", done if self.result.applied else f"{repaired} would be repaired in {files} (--apply)"
            )
        if failing:
            yield f"{failing} left"
        if rest:
            yield f"{rest} for information"

    def _not_analysed(self) -> Iterator[str]:
        looked = self.result.summary
        broken = ((looked.packages_incomplete, "package"), (looked.sources_broken, "source"))
        if any(number for number, _ in broken):
            counts = ", ".join(count(number, what) for number, what in broken if number)
            yield self._paint("yellow", f"not analysed: {counts}")

    def _next(self) -> Iterator[str]:
        """The commands that go on from here: how to ask about an edge, for the first that remains, and the repair."""
        command, applied = self.view.command, self.result.applied
        if command is None:
            return
        open_edges = (f for f in self.result.findings if f.dep_label and f.fails and not (f.fix and applied))
        first = next(open_edges, None)
        if first is not None:
            words = ("buildfix", "why", *_root_of(command), first.target, first.dep_label)
            yield self._paint("dim", f"more: {printable(shlex.join(words))}")
        if not applied and any(finding.fix for finding in self.result.findings):
            yield self._paint("dim", f"next: {printable(shlex.join(('buildfix', '--apply', *command)))}")

    def _place(self, place: Place) -> str:
        """A place, as a link to the file where the terminal shows links."""
        shown = printable(str(place))
        if not self.view.links:
            return shown
        path = quote(path_bytes(str(self.view.root / place.file)))
        line = f"#L{place.line}" if place.line else ""
        return f"\x1b]8;;file://{path}{line}\x1b\\{shown}\x1b]8;;\x1b\\"

    def _paint(self, style: str, text: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.view.color else text


def _by_target(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.target or str(Place(finding.place.file)), []).append(finding)
    return groups


def _root_of(command: Sequence[str]) -> Sequence[str]:
    """The option of a command that names the root, which other commands take, too."""
    at = command.index("--root") if "--root" in command else len(command)
    return command[at : at + 2]


def _same_gift(add: Finding, item: Dependent) -> bool:
    """Whether a dep that is added is what a dependent of some drop is given."""
    same = add.module == item.module or (bool(add.path) and add.path[-1:] == item.path[-1:])
    return same and add.target == item.target


def _arrows(path: Sequence[str]) -> str:
    return printable(" -> ".join(path))
