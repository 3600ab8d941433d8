"""A plan in parts: for each finding the edits that repair it and can be made without the rest.

A drop asks for the adds by which those who lived on the edge keep what they use. An add asks for nothing, unless it
closes a cycle as long as nothing is dropped. Whichever parts are carried out, in whatever order, nobody loses anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from buildfix.findings import FileChange, Finding, Repair
from buildfix.knowledge import Knowledge
from buildfix.permits import Permits
from buildfix.proof import Writer
from buildfix.reach import Loss, Pair, Reach
from buildfix.repair import Plan
from buildfix.sites import Sites
from buildfix.spelling import Speller


class _Edit(NamedTuple):
    """One entry of a plan."""

    kind: Literal["add", "drop", "single"]
    pair: Pair


def split(
    known: Knowledge, plan: Plan, findings: Sequence[Finding], sites: Sites, permits: Permits, reach: Reach
) -> tuple[Repair, ...]:
    """A repair for each finding that the plan repairs, and that can be repaired by itself."""
    writer = Writer(known, sites, permits, Speller(known.graph))
    needs = _needs(known, plan, reach)
    edits = {_told(edit): edit for edit in needs}
    repaired = {i: edits[key] for i, one in enumerate(findings) if (key := _key(one)) in edits}
    finding_of = {edit: i for i, edit in reversed(repaired.items())}
    found = []
    for i, edit in repaired.items():
        together = _closure(needs, edit)
        others = sorted({finding_of[one] for one in together if one in finding_of} - {i})
        changes = _changes(writer, plan, together)
        if not writer.failed:
            found.append(Repair(i, tuple(others), changes))
        writer.failed.clear()
    return tuple(found)


def _closure(needs: Mapping[_Edit, set[_Edit]], edit: _Edit) -> set[_Edit]:
    found, queue = {edit}, [edit]
    while queue:
        new = needs[queue.pop()] - found
        found |= new
        queue += new
    return found


def _key(finding: Finding) -> tuple[str, str, str]:
    return finding.fix, finding.target, finding.dep_label


def _told(edit: _Edit) -> tuple[str, str, str]:
    """An edit as a finding tells it."""
    return "add" if edit.kind == "add" else "drop", str(edit.pair.target), str(edit.pair.dep)


def _changes(writer: Writer, plan: Plan, group: Iterable[_Edit]) -> tuple[FileChange, ...]:
    chosen: dict[str, set[Pair]] = {}
    for edit in group:
        chosen.setdefault(edit.kind, set()).add(edit.pair)
    return writer.changes(
        Plan(
            adds={pair: plan.adds[pair] for pair in chosen.get("add", ())},
            drops={pair: plan.drops[pair] for pair in chosen.get("drop", ())},
            singled={pair: plan.singled[pair] for pair in chosen.get("single", ())},
            held={},
        )
    )


# Which edits need which


def _needs(known: Knowledge, plan: Plan, reach: Reach) -> dict[_Edit, set[_Edit]]:
    """For each edit of the plan those that it asks for."""
    needs: dict[_Edit, set[_Edit]] = {_Edit("add", pair): set() for pair in plan.adds}
    needs |= {_Edit("drop", pair): set() for pair in plan.drops}
    needs |= {_Edit("single", pair): set() for pair in plan.singled}
    for same in _inseparable(known, plan, list(needs)):
        for edit in same:
            needs[edit] |= same
    added = {gained: _Edit("add", pair) for pair, add in plan.adds.items() for gained in (pair, *add.also)}
    for loss in {(one.target, one.user, one.providers): one for one in plan.naive}.values():
        givers = _givers(reach, loss, added)
        for pair in plan.drops:
            if _lies_between(reach, loss, pair):
                needs[_Edit("drop", pair)] |= givers
    for pair in reach.cycles(tuple(added), ()):
        needs[added[pair]] |= {_Edit("drop", drop) for drop in plan.drops}
    return needs


def _inseparable(known: Knowledge, plan: Plan, edits: Iterable[_Edit]) -> Iterable[set[_Edit]]:
    """Edits of one entry, and those of targets that one call makes: these are told once."""
    found: dict[object, set[_Edit]] = {}
    for edit in edits:
        family = known.graph.targets[edit.pair.target].family
        found.setdefault((edit.kind, family, edit.pair.dep), set()).add(edit)
        drop = (plan.drops if edit.kind == "drop" else plan.singled).get(edit.pair) if edit.kind != "add" else None
        for element in drop.elements if drop else ():
            found.setdefault((element.file, element.span), set()).add(edit)
    return found.values()


def _lies_between(reach: Reach, loss: Loss, pair: Pair) -> bool:
    """Whether the target of a loss gets what it would lose by way of an edge, be it one way of several."""
    return reach.reaches(loss.target, pair.target) and any(reach.reaches(pair.dep, one) for one in loss.providers)


def _givers(reach: Reach, loss: Loss, added: Mapping[Pair, _Edit]) -> set[_Edit]:
    """The adds that keep a loss from happening: those of the target itself, else all by which it could get it."""
    own = {
        added[pair]
        for user in dict.fromkeys((loss.target, loss.user or loss.target))
        for provider in loss.providers
        if (pair := Pair(user, provider)) in added
    }
    return own or {edit for pair, edit in added.items() if _lies_between(reach, loss, pair)}
