"""Plan to proven changes: write the edits in memory, have them evaluated, withdraw what cannot be proven."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from buildfix import edits, repair, verify
from buildfix.buildfile import BuildFile
from buildfix.diagnose import Diagnosis
from buildfix.edits import Change, EditError
from buildfix.findings import FileChange, Reason
from buildfix.knowledge import Knowledge
from buildfix.permits import Permits, Refusal
from buildfix.policy import DEFAULT, Policy
from buildfix.reach import Pair, Reach
from buildfix.repair import Plan
from buildfix.sites import Sites
from buildfix.spelling import Speller
from buildfix.verify import Doubt


class Rerun(Protocol):
    """The way back to the disk and the engine."""

    def read(self, path: str) -> bytes | None:
        """A file's bytes; None if it cannot be read."""

    def evaluate(self, overlay: Mapping[str, str]) -> Knowledge:
        """What would be known if the files of `overlay` had that text."""


@dataclass(frozen=True, slots=True)
class Proven:
    """A plan that was proven, the changes that carry it out, and how each added label is written."""

    plan: Plan
    changes: tuple[FileChange, ...]
    spelled: Mapping[Pair, str]


def prove(
    known: Knowledge,
    diagnosis: Diagnosis,
    rerun: Rerun,
    sites: Sites,
    permits: Permits,
    reach: Reach,
    policy: Policy = DEFAULT,
) -> Proven:
    """Decide, edit, evaluate, compare; hold back what is in doubt and begin again, until nothing is in doubt."""
    refused: dict[Pair, Refusal] = {}
    speller = Speller(known.graph)
    while True:
        plan = repair.decide(known, diagnosis, permits, reach, refused, policy)
        writer = Writer(known, sites, permits, speller)
        changes = writer.changes(plan)
        refused.update(writer.failed)
        if writer.failed:
            continue
        if not changes:
            return Proven(plan, (), writer.spelled)
        after = rerun.evaluate({change.path: change.after.decode() for change in changes})
        adds, drops = frozenset(plan.all_adds()), frozenset(plan.drops)
        opened = frozenset(plan.opened(known))
        doubts = verify.verify(known, after, adds, drops, frozenset(plan.singled), opened, reach, plan.accepted())
        if not doubts:
            return Proven(plan, changes, writer.spelled)
        refused.update(_blamed(plan, doubts, known, permits))


def _blamed(plan: Plan, doubts: tuple[Doubt, ...], known: Knowledge, permits: Permits) -> dict[Pair, Refusal]:
    """The edits that may have caused a doubt: those of the target, of its package, or else all."""
    pairs = {*plan.adds, *plan.drops, *plan.singled}
    found: dict[Pair, Refusal] = {}
    for doubt in doubts:
        own = {pair for pair in pairs if pair.target == doubt.target}
        shared = {
            pair
            for pair, add in plan.adds.items()
            if doubt.target is not None
            and (
                any(other.target == doubt.target for other in add.also)
                or (add.opening is not None and add.opening.provider in known.graph.kin(doubt.target))
            )
        } | {
            pair
            for pair, drop in (*plan.drops.items(), *plan.singled.items())
            if doubt.target is not None and any(doubt.target in permits.owners(element) for element in drop.elements)
        }
        near = {pair for pair in pairs if known.graph.targets[pair.target].folder == doubt.package}
        for pair in own | shared or near or pairs:
            found.setdefault(pair, Refusal(Reason.NOT_PROVEN, doubt.message))
    return found


class Writer:
    """Turns a plan into the new bytes of the files that it touches."""

    def __init__(self, known: Knowledge, sites: Sites, permits: Permits, speller: Speller) -> None:
        self._known = known
        self._sites = sites
        self._permits = permits
        self._speller = speller
        self.spelled: dict[Pair, str] = {}
        self.failed: dict[Pair, Refusal] = {}
        self._edited: dict[tuple[str, tuple[Change, ...]], bytes] = {}

    def changes(self, plan: Plan) -> tuple[FileChange, ...]:
        """The changed files, in the order of their paths."""
        by_file: dict[str, list[Change]] = {}
        pairs: dict[str, set[Pair]] = {}
        for pair, add in sorted(plan.adds.items()):
            target = self._known.graph.targets[pair.target]
            siblings = [element.text for element in self._permits.site(target).elements if element.text]
            text = add.spelling or self._speller.spell(pair.dep, target, siblings)
            self.spelled[pair] = text
            change = edits.adding(add.place, (text,), order=self._permits.order(target))
            by_file.setdefault(add.place.file, []).append(change)
            if add.opening is not None:
                by_file.setdefault(add.opening.place.file, []).append(
                    edits.adding(add.opening.place, (add.opening.text,))
                )
                pairs.setdefault(add.opening.place.file, set()).add(pair)
            for element in (*add.moved, *(add.opening.replaced if add.opening else ())):
                by_file.setdefault(element.file, []).append(edits.dropping(element))
                pairs.setdefault(element.file, set()).add(pair)
            pairs.setdefault(add.place.file, set()).add(pair)
        for pair, drop in sorted((*plan.drops.items(), *plan.singled.items())):
            for element in dict.fromkeys(drop.elements):
                by_file.setdefault(element.file, []).append(edits.dropping(element))
                pairs.setdefault(element.file, set()).add(pair)
        changed = []
        for path, listed in sorted(by_file.items()):
            file = self._sites.file(path)
            try:
                after = self._edit(file, tuple(dict.fromkeys(listed)))
            except EditError as error:
                refusal = Refusal(Reason.NOT_EDITABLE, f"{path}: {error}")
                self.failed.update(dict.fromkeys(pairs[path], refusal))
                continue
            if after != file.data:
                changed.append(FileChange(path, file.data, after))
        return tuple(changed)

    def _edit(self, file: BuildFile, listed: tuple[Change, ...]) -> bytes:
        key = (file.path, listed)
        if key not in self._edited:
            self._edited[key] = edits.edit(file, listed)
        return self._edited[key]
