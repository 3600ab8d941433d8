"""What of a plan must be done before a part of it, or with it: whoever takes a repair piece by piece needs to know."""

from __future__ import annotations

from buildfix.findings import Code, Key
from buildfix.labels import Label
from buildfix.literals import Element
from buildfix.reach import Pair, Reach
from buildfix.repair import Add, Drop, Plan


class Prerequisites:
    """The fingerprints of the findings that come before an add or a drop.

    More may be named than strictly must, never less. A fingerprint that no finding has stands for an edit that nobody
    can make by itself: the repair is then all or nothing.
    """

    def __init__(self, plan: Plan, reach: Reach) -> None:
        self._plan = plan
        self._reach = reach
        self._adds = frozenset(plan.all_adds())
        self._cyclic = frozenset(reach.cycles(plan.all_adds(), ())) if plan.drops else frozenset[Pair]()
        self._sharing: dict[object, list[Pair]] = {}
        for pair, drop in plan.drops.items():
            for element in drop.elements:
                self._sharing.setdefault(element.key, []).append(pair)

    def of_add(self, add: Add) -> tuple[str, ...]:
        """An add that would close a cycle today waits for all drops; one that has to open its dep is never alone."""
        if add.opening is not None:
            return (_fingerprint(Code.NOT_VISIBLE, add.pair.dep, add.pair.target),)
        if self._cyclic.isdisjoint((add.pair, *add.also)):
            return ()
        return tuple(sorted({_fingerprint(Code.UNUSED_DEP, pair.target, pair.dep) for pair in self._plan.drops}))

    def of_drop(self, drop: Drop) -> tuple[str, ...]:
        """A drop waits for the adds that give back what it, or it together with other drops, takes away."""
        pairs = {pair for element in drop.elements for pair in self._shared(element)} | {drop.pair}
        found = set[str]()
        for loss in self._plan.naive:
            if any(self._reach.may_hang_on(loss, pair) for pair in pairs):
                user = loss.user or loss.target
                given = [one for one in loss.providers if Pair(user, one) in self._adds] or loss.providers[:1]
                found |= {_fingerprint(Code.MISSING_DEP, user, one) for one in given}
        return tuple(sorted(found))

    def _shared(self, element: Element) -> list[Pair]:
        return self._sharing.get(element.key, [])


def _fingerprint(code: Code, target: Label, dep: Label) -> str:
    return Key(code.value, str(target), str(dep)).fingerprint
