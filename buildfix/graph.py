"""The dependency graph around some targets, and what a check says of its edges: what `buildfix graph` draws."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from buildfix import diagnose, pipeline
from buildfix.contexts import Need
from buildfix.findings import Code, Evidence, Finding, Place
from buildfix.knowledge import Knowledge
from buildfix.labels import Label, canonical
from buildfix.targets import Target
from buildfix.uses import TargetUses


class State(StrEnum):
    """What is to be said of an edge; the value is what people read."""

    USED = "used"
    DECLARED = "declared"
    UNUSED = "unused"
    TRANSITIVE = "transitive-only"
    MISSING = "missing"

    @property
    def meaning(self) -> str:
        """The state in a sentence."""
        return _MEANINGS[self]


_MEANINGS = {
    State.USED: "declared, and the target uses it",
    State.DECLARED: "declared, and nothing is known to use it, but it may be there for more than imports",
    State.UNUSED: "declared, and nothing uses it",
    State.TRANSITIVE: "not declared, but imported; it arrives only through other edges",
    State.MISSING: "not declared, but imported; it does not arrive at all",
}

_NOT_DECLARED = frozenset((State.MISSING, State.TRANSITIVE))
_UNDECLARED = frozenset((Code.MISSING_DEP, Code.WOULD_CYCLE, Code.NOT_VISIBLE))


@dataclass(frozen=True, slots=True)
class Node:
    """A target, or a label that no target of the repository has: then `kind` is "" and `place` None.

    `distance` counts the edges from the nearest target that was asked about; `hidden` its edges that are not drawn,
    since they lead further away than was asked for.
    """

    label: Label
    kind: str
    place: Place | None
    distance: int
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class Arrow:
    """An edge from the target that has it, or should have it, to the dep."""

    source: Label
    dep: Label
    state: State
    evidence: tuple[Evidence, ...] = ()
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes by distance and label, arrows by source and dep, and what could not be analysed of the packages drawn."""

    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]
    not_analysed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """How far to look: `depth` in edges from the targets asked about, to their deps, their dependents, or both."""

    depth: int = 1
    deps: bool = True
    dependents: bool = True


def draw(centres: Iterable[Label], view: View, known: Knowledge, rerun: pipeline.Rerun) -> Graph:
    """The graph around some targets, with the edges between all that is drawn, as a check of these would judge them."""
    near = _surroundings(tuple(centres), view, known)
    folders = {known.graph.targets[label].folder for label in near if label in known.graph.targets}
    asked = replace(known, selected=lambda one: one.label in near, selected_folder=lambda folder: folder in folders)
    said = _Said(pipeline.weigh(asked, rerun).findings)
    arrows = {label: tuple(said.arrows(label, known)) for label in near}
    for label in list(near) if view.deps else ():
        for arrow in arrows[label]:
            if arrow.state in _NOT_DECLARED and arrow.dep not in near and near[label] < view.depth:
                near[arrow.dep] = near[label] + 1
                arrows[arrow.dep] = tuple(said.arrows(arrow.dep, known))
    drawn = (one for several in arrows.values() for one in several if one.dep in near)
    return Graph(
        nodes=tuple(
            _node(label, near[label], sum(one.dep not in near for one in arrows[label]), known)
            for label in sorted(near, key=lambda label: (near[label], label))
        ),
        arrows=tuple(sorted(drawn, key=lambda one: (one.source, one.dep))),
        not_analysed=tuple(f"//{folder}" for folder in sorted(folders & known.graph.incomplete)),
    )


def _surroundings(centres: tuple[Label, ...], view: View, known: Knowledge) -> dict[Label, int]:
    """Every label within the view's depth, with its distance: deps of deps, dependents of dependents."""
    deps: dict[Label, list[Label]] = {}
    users: dict[Label, list[Label]] = {}
    for label, target in known.graph.targets.items():
        for edge in target.edges:
            deps.setdefault(label, []).append(edge.label)
            users.setdefault(edge.label, []).append(label)
    found = dict.fromkeys(centres, 0)
    for directed in (*((deps,) if view.deps else ()), *((users,) if view.dependents else ())):
        seen, front = set(centres), list(centres)
        for distance in range(1, view.depth + 1):
            front = [end for label in front for end in directed.get(label, ()) if end not in seen]
            seen.update(front)
            for end in front:
                found[end] = min(distance, found.get(end, distance))
    return found


def _node(label: Label, distance: int, hidden: int, known: Knowledge) -> Node:
    target = known.graph.targets.get(label)
    if target is None:
        return Node(label, "", None, distance)
    return Node(label, target.rule.kind, target.place, distance, hidden)


_NO_USES = TargetUses(needs={})


class _Said:
    """What a check found of edges, by target and dep."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self._of: dict[str, dict[str, Finding]] = {}
        for one in findings:
            if one.dep_label and (one.code in _UNDECLARED or (one.code is Code.UNUSED_DEP and one.fails)):
                self._of.setdefault(one.target, {})[one.dep_label] = one

    def arrows(self, label: Label, known: Knowledge) -> Iterator[Arrow]:
        """The edges that a target has, then those that it should have. A finding is told of one of the targets that
        one call makes, and holds for all."""
        target = known.graph.targets.get(label)
        if target is None:
            return
        findings: dict[str, Finding] = {}
        for one in known.graph.kin(label):
            findings |= self._of.get(str(one), {})
        for dep in dict.fromkeys(edge.label for edge in target.edges):
            finding = findings.pop(str(dep), None)
            if finding is not None and finding.code is Code.UNUSED_DEP:
                yield Arrow(label, dep, State.UNUSED, finding.evidence, _remark(finding))
            else:
                yield _declared(target, dep, known)
        for text, finding in findings.items():
            wanted = canonical(text)
            if finding.code in _UNDECLARED and wanted != label:
                state = State.TRANSITIVE if finding.path else State.MISSING
                way = f"received so far through {' -> '.join(finding.path)}" if finding.path else ""
                remark = "; ".join(filter(None, (way, _remark(finding))))
                yield Arrow(label, wanted, state, finding.evidence, remark)


def _remark(finding: Finding) -> str:
    """What a check would do about it."""
    if finding.fix:
        return "--apply repairs it"
    return f"not repaired: {'; '.join(finding.reasons)}" if finding.reasons else ""


def _declared(target: Target, dep: Label, known: Knowledge) -> Arrow:
    uses = known.uses.get(target.label, _NO_USES)
    evidence = [
        one
        for label in known.behind(dep)
        for use in diagnose.uses_of(target, label, uses, known)
        if use.need is not Need.IMPLIED
        for one in use.evidence
    ]
    for module, (_, places) in uses.externals.items():
        provider = known.third_party.provider(module)
        if provider is not None and provider.label == dep:
            evidence += places
    return Arrow(target.label, dep, State.USED if evidence else State.DECLARED, tuple(dict.fromkeys(evidence)))
