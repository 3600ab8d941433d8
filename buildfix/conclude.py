"""Plan to Findings: what people are told, with all the evidence.

Each finding says what is wrong and where, why, what the plan does about it, and, for an edge that goes or would have
gone, whom dropping it alone would break and by which path each of them gets the module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from buildfix import policy
from buildfix.contexts import Need
from buildfix.diagnose import Diagnosis, Missing, NotAnalysed, Unused
from buildfix.faults import Fault
from buildfix.findings import Code, Confidence, Dependent, Evidence, Finding, Place, Reason
from buildfix.knowledge import Knowledge
from buildfix.labels import Label
from buildfix.literals import Element
from buildfix.permits import Permits, Refusal
from buildfix.prerequisites import Prerequisites
from buildfix.proof import Proven
from buildfix.reach import Loss, Pair, Reach
from buildfix.repair import Add
from buildfix.targets import Target

# What keeps a missing dep from being added may be a finding of its own kind.
_MISSING_CODES: Mapping[Reason, Code] = {
    Reason.AMBIGUOUS: Code.AMBIGUOUS_PROVIDER,
    Reason.WOULD_CYCLE: Code.WOULD_CYCLE,
    Reason.NOT_VISIBLE: Code.NOT_VISIBLE,
    Reason.VISIBILITY: Code.NOT_VISIBLE,
}
# What people are not to be bothered with where they turned automatic changes off; the rest breaks the build.
_OF_SOURCES = frozenset((Code.UNRESOLVED_IMPORT, Code.UNOWNED_MODULE))


def conclude(
    known: Knowledge, diagnosis: Diagnosis, proven: Proven, permits: Permits, reach: Reach
) -> tuple[Finding, ...]:
    """All findings, in the order of their places."""
    return tuple(sorted(_Conclusion(known, diagnosis, proven, permits, reach).findings(), key=_order))


def _order(finding: Finding) -> tuple[object, ...]:
    return (finding.place, finding.code, finding.target, finding.dep, finding.module)


class _Conclusion:
    def __init__(self, known: Knowledge, diagnosis: Diagnosis, proven: Proven, permits: Permits, reach: Reach) -> None:
        self._known = known
        self._diagnosis = diagnosis
        self._plan = proven.plan
        self._spelled = proven.spelled
        self._added = frozenset(proven.plan.all_adds())
        self._permits = permits
        self._reach = reach
        self._prerequisites = Prerequisites(proven.plan, reach)

    def findings(self) -> Iterator[Finding]:
        told: set[Pair] = set()
        families: set[tuple[object, ...]] = set()
        for missing in self._diagnosis.missing:
            pair = Pair(missing.target, missing.provider) if missing.provider else None
            if pair is not None:
                told.add(pair)
            planned = pair in self._plan.adds  # one that is repaired does not stand for one that is not
            key: tuple[object, ...] = (
                self._target(missing.target).family,
                missing.provider or missing.modules,
                planned,
            )
            if key not in families:  # what one call makes several times is told once
                families.add(key)
                yield self._missing(missing, pair)
        for pair, add in self._plan.adds.items():
            if pair not in told:
                yield self._rescue(pair, add)
        for unused in self._diagnosis.unused:
            planned = Pair(unused.target, unused.dep) in self._plan.drops
            key = (self._target(unused.target).family, unused.dep, planned, "unused")
            if key not in families:
                families.add(key)
                yield from self._unused(unused)
        for fault in self._diagnosis.faults:
            key = (self._target(fault.target).family, fault.code, fault.dep, fault.module)
            if key not in families:
                families.add(key)
                yield from self._fault(fault)
        for broken in self._diagnosis.not_analysed:
            yield self._not_analysed(broken)

    def _target(self, label: Label) -> Target:
        return self._known.graph.targets[label]

    # Missing

    def _missing(self, missing: Missing, pair: Pair | None) -> Finding:
        add = self._plan.adds.get(pair) if pair else None
        if add is not None:
            return self._adding(add, missing.modules, missing.evidence, missing.condition, missing.reasons)
        refusals = self._plan.held.get(pair, ()) if pair else ()
        refusals = refusals or tuple(Refusal(reason) for reason in missing.reasons)
        confidence, fails = policy.weigh(_reasons(refusals), policy.MISSING)
        names = [str(label) for label in missing.choices]
        dep = missing.spelling or (str(missing.provider) if missing.provider else "")
        offered = dep or (" or ".join(names) if names else "any target")
        return Finding(
            next((_MISSING_CODES[one.reason] for one in refusals if one.reason in _MISSING_CODES), Code.MISSING_DEP),
            str(missing.target),
            self._target(missing.target).place,
            f"{_uses(missing.modules)} without a dep on {offered}{_only_under(missing.condition)}",
            confidence,
            dep=dep,
            dep_label=str(missing.provider or ""),
            attribute=self._target(missing.target).rule.deps,
            module=missing.modules[0] if missing.modules else "",
            evidence=missing.evidence,
            reasons=_reasons(refusals),
            detail=_details(refusals),
            path=self._way(missing.target, (missing.provider,) if missing.provider else missing.choices),
            choices=tuple(names),
            fails=fails,
        )

    def _adding(
        self,
        add: Add,
        modules: tuple[str, ...],
        evidence: tuple[Evidence, ...],
        condition: str = "",
        reasons: tuple[Reason, ...] = (),
    ) -> Finding:
        target = self._target(add.pair.target)
        if add.opening is not None:
            reasons = (Reason.VISIBILITY,)
        confidence, fails = policy.weigh(reasons, policy.MISSING) if reasons else (Confidence.SAFE, True)
        dep = self._spelled[add.pair]
        return Finding(
            Code.NOT_VISIBLE if add.opening else Code.MISSING_DEP,
            str(target.label),
            target.place,
            f"{_uses(modules)} without a dep on {dep}{_only_under(condition)}",
            confidence,
            dep=dep,
            dep_label=str(add.pair.dep),
            attribute=target.rule.deps,
            module=modules[0] if modules else "",
            evidence=evidence,
            reasons=reasons,
            detail=str(add.opening) if add.opening else "",
            path=self._way(target.label, (add.pair.dep,)),
            fix="add",
            rescue=add.rescue,
            outside=not self._known.selected(target),
            fails=fails,
            edits=(Place(add.place.file, add.place.line), *_places(add.moved)),
            after=self._prerequisites.of_add(add),
        )

    def _rescue(self, pair: Pair, add: Add) -> Finding:
        uses = self._known.uses[pair.target]
        owned = self._known.modules.of_target.get(pair.dep, frozenset())
        wanted = {
            module: where for module, (need, where) in uses.needs.items() if need is Need.MUST and module in owned
        }
        outside = {name: where for name, (need, where) in uses.externals.items() if need is Need.MUST}
        lost = {loss.module for loss in self._plan.naive if loss.target == pair.target and pair.dep in loss.providers}
        wanted = wanted or {name: where for name, where in outside.items() if name in lost}
        evidence = tuple(sorted({item for where in wanted.values() for item in where}))
        return self._adding(add, tuple(sorted(wanted)), evidence)

    # Unused

    def _unused(self, unused: Unused) -> Iterator[Finding]:
        pair = Pair(unused.target, unused.dep)
        target = self._target(unused.target)
        refusals = self._plan.held.get(pair, ())
        drop = self._plan.drops.get(pair)
        if drop is None and (not refusals or _reasons(refusals)[0] in policy.QUIET):
            return
        entries = drop.elements if drop else self._permits.entries(target, unused.dep)
        place = Place(entries[0].file, entries[0].line) if entries else target.place
        dep = (entries[0].text if entries else None) or unused.edges[0].text
        reasons = unused.reasons if drop else _reasons(refusals)
        confidence, fails = policy.weigh(reasons, policy.UNUSED) if reasons else (Confidence.SAFE, True)
        yield Finding(
            Code.UNUSED_DEP,
            str(target.label),
            place,
            f"nothing in it uses {dep}",
            confidence,
            dep=dep,
            dep_label=str(unused.dep),
            attribute=target.rule.deps,
            evidence=self._owned(unused.dep),
            reasons=reasons,
            detail=self._public_note(target) if drop else _details(refusals),
            dependents=tuple(sorted(self._dependents(pair, self._losses(pair)))),
            fix="drop" if drop else "",
            fails=fails,
            edits=_places(drop.elements) if drop else (),
            after=self._prerequisites.of_drop(drop) if drop else (),
        )

    def _public_note(self, target: Target) -> str:
        public = self._known.graph.is_public(target)
        return "the target is public: dependents outside the repository cannot be seen" if public else ""

    def _owned(self, dep: Label) -> tuple[Evidence, ...]:
        """What the dep provides, that nothing imports."""
        modules = sorted({m for label in self._known.behind(dep) for m in self._known.modules.of_target.get(label, ())})
        provider = self._known.graph.targets.get(dep)
        if provider is None or not modules:
            return ()
        shown = _list(tuple(modules[:3])) + (" and more" if len(modules) > 3 else "")
        return (Evidence(provider.place, f"{dep} provides {shown}"),)

    def _losses(self, pair: Pair) -> Iterable[Loss]:
        """What the drop of this edge alone would take from anyone, among what all drops together would."""
        for loss in dict.fromkeys((*self._plan.naive, *self._plan.blockers.get(pair, ()))):
            if loss.module and self._reach.hangs_on(loss, pair):
                yield loss

    def _dependents(self, pair: Pair, losses: Iterable[Loss]) -> Iterator[Dependent]:
        for loss in losses:
            target = self._target(loss.user or loss.target)
            uses = self._known.uses[target.label]
            _, where = uses.needs.get(loss.module) or uses.externals.get(loss.module) or (None, ())
            evidence = where[0] if where else Evidence(target.place, f"use of {loss.module}")
            given = any(Pair(target.label, provider) in self._added for provider in loss.providers)
            yield Dependent(
                str(target.label), target.place, loss.module, evidence, self._way(loss.target, loss.providers), given
            )

    def _way(self, start: Label, goals: Iterable[Label]) -> tuple[str, ...]:
        known = [goal for goal in goals if goal in self._reach.number]
        return tuple(str(label) for label in self._reach.path(start, known)) if known else ()

    # What else is wrong

    def _fault(self, fault: Fault) -> Iterator[Finding]:
        target = self._target(fault.target)
        entries = self._permits.entries(target, fault.dep) if fault.dep and target.rule.deps else ()
        pair = Pair(fault.target, fault.dep) if fault.dep else None
        is_double = fault.code is Code.DUPLICATE_DEP and fault.fails
        single = (self._plan.singled.get(pair) or self._plan.drops.get(pair)) if is_double and pair else None
        written = single.elements[-1] if single else entries[-1] if entries else None
        refusals = self._plan.held.get(pair, ()) if is_double and pair and not single else ()
        if any(refusal.reason in policy.QUIET for refusal in refusals):
            return
        if fault.code is Code.MISSING_SOURCE:
            place = self._permits.source_place(target, fault.module)
        else:
            place = Place(written.file, written.line) if written else None
        yield Finding(
            fault.code,
            str(fault.target),
            fault.place or place or target.place,
            fault.message,
            Confidence.SAFE if single else Confidence.DISPLAY,
            dep=fault.text,
            dep_label=str(fault.dep) if fault.dep else "",
            attribute=fault.attribute,
            module=fault.module,
            evidence=fault.evidence,
            reasons=_reasons(refusals),
            detail=_details(refusals),
            fix="drop" if single else "",
            fails=fault.fails and not (fault.code in _OF_SOURCES and self._permits.frozen(target)),
            edits=_places(single.elements) if single else (),
        )

    # Not analysed

    def _not_analysed(self, broken: NotAnalysed) -> Finding:
        if broken.target is not None:
            withheld = "no dep of the target is dropped"
        else:
            withheld = f"what its package //{broken.package} uses is not known; nothing that it may rely on is dropped"
        return Finding(
            Code.NOT_ANALYSED,
            str(broken.target) if broken.target else f"//{broken.package}",
            broken.place,
            broken.message,
            Confidence.DISPLAY,
            detail=withheld,
        )


def _places(elements: Iterable[Element]) -> tuple[Place, ...]:
    return tuple(Place(element.file, element.line) for element in elements)


def _reasons(refusals: tuple[Refusal, ...]) -> tuple[Reason, ...]:
    return tuple(dict.fromkeys(refusal.reason for refusal in refusals))


def _details(refusals: tuple[Refusal, ...]) -> str:
    return "; ".join(dict.fromkeys(refusal.detail for refusal in refusals if refusal.detail))


def _uses(modules: tuple[str, ...]) -> str:
    return f"imports {_list(modules)}" if modules else "asks in a comment for what it imports nothing of,"


def _only_under(condition: str) -> str:
    return f" that always applies: it is declared only for {condition}" if condition else ""


def _list(names: tuple[str, ...]) -> str:
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names)
