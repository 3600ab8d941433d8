"""Findings to a plan: what is added, what is dropped, who is rescued, and what is held back and why.

The only place that decides. Candidates come from diagnose.py; an edge goes only if, after all edits of the run
together, every target of the repository still reaches what it uses, and every add is legal. What cannot be made so is
held back with its reason. verify.py then proves the plan on the evaluated repository; what cannot be proven is
withdrawn with all that depends on it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from buildfix import diagnose, policy
from buildfix.contexts import Need
from buildfix.diagnose import Diagnosis, Missing, Unused
from buildfix.findings import Code, Key, Place, Reason
from buildfix.knowledge import Knowledge
from buildfix.labels import Label
from buildfix.permits import Opening, Permits, Refusal
from buildfix.policy import Policy
from buildfix.reach import Loss, Pair, Reach
from buildfix.sites import AddPlace, Element
from buildfix.targets import Target


@dataclass(frozen=True, slots=True)
class Add:
    """A dep that the plan adds. `also` are the other targets that the same literal feeds and that gain it with it;
    `moved` are the entries under a condition that the unconditional one replaces; `opening` is how the dep becomes
    visible."""

    pair: Pair
    place: AddPlace
    spelling: str = ""
    rescue: bool = False
    also: tuple[Pair, ...] = ()
    moved: tuple[Element, ...] = ()
    opening: Opening | None = None


@dataclass(frozen=True, slots=True)
class Drop:
    """A dep that the plan drops, with all of its entries; `safe` unless the policy asks for more."""

    pair: Pair
    elements: tuple[Element, ...]
    safe: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be changed, and what is held back: the refusals of each edge that was a candidate.

    `singled` are deps that stand twice and lose all entries but the first. `naive` are the losses that the drops alone,
    without any add, would cause; `blockers` the losses that keep an edge from being dropped.
    """

    adds: Mapping[Pair, Add]
    drops: Mapping[Pair, Drop]
    held: Mapping[Pair, tuple[Refusal, ...]]
    singled: Mapping[Pair, Drop] = field(default_factory=dict)
    naive: tuple[Loss, ...] = ()
    blockers: Mapping[Pair, tuple[Loss, ...]] = field(default_factory=dict)

    def all_adds(self) -> tuple[Pair, ...]:
        """Every edge that comes into being, in order."""
        return tuple(dict.fromkeys(p for pair in sorted(self.adds) for p in (pair, *self.adds[pair].also)))

    def opened(self, known: Knowledge) -> Iterator[Pair]:
        """(target, label) of every change of a visibility list."""
        for add in self.adds.values():
            if add.opening is None:
                continue
            for one in (add.opening.text, *(element.text for element in add.opening.replaced)):
                for label in known.graph.kin(add.opening.provider):
                    entry = known.graph.workspace.resolve(one or "", known.graph.targets[label].folder)
                    if entry is not None:
                        yield Pair(label, entry)

    def accepted(self) -> frozenset[Label]:
        """The deps that are dropped although they may do more for their dependents than provide modules."""
        return _unsafe(self.drops)


def decide(
    known: Knowledge,
    diagnosis: Diagnosis,
    permits: Permits,
    reach: Reach,
    refused: Mapping[Pair, Refusal],
    policy: Policy,
) -> Plan:
    """The largest plan that the policy allows; `refused` edges are held back from the start."""
    return _Decider(known, diagnosis, permits, reach, refused, policy).decide()


class _Decider:
    def __init__(
        self,
        known: Knowledge,
        diagnosis: Diagnosis,
        permits: Permits,
        reach: Reach,
        refused: Mapping[Pair, Refusal],
        policy: Policy,
    ) -> None:
        self._policy = policy
        self._known = known
        self._diagnosis = diagnosis
        self._permits = permits
        self._reach = reach
        self._adds: dict[Pair, Add] = {}
        self._drops: dict[Pair, Drop] = {}
        self._held: dict[Pair, list[Refusal]] = {pair: [refusal] for pair, refusal in refused.items()}
        self._blockers: dict[Pair, list[Loss]] = {}
        self._restored: set[Pair] = set()

    def decide(self) -> Plan:
        for missing in self._diagnosis.missing:
            code = Code.NOT_VISIBLE if missing.reasons == (Reason.NOT_VISIBLE,) else Code.MISSING_DEP
            if code in self._policy.codes:
                self._propose_add(missing)
        if Code.UNUSED_DEP in self._policy.codes:
            for unused in self._diagnosis.unused:
                self._propose_drop(unused)
        self._hold_shared()
        self._hold_unseen()
        naive = tuple(self._reach.losses((), sorted(self._drops))) if self._drops else ()
        candidates = dict(self._drops)
        while self._hold_cycles() or self._mend_losses():
            pass
        if Code.MISSING_DEP not in self._policy.codes and Code.WOULD_CYCLE in self._policy.codes:
            self._look_for_cycles()
        return Plan(
            adds=self._adds,
            drops=self._drops,
            singled=dict(self._singled()),
            held={pair: tuple(dict.fromkeys(refusals)) for pair, refusals in self._held.items()},
            naive=naive if candidates else (),
            blockers={pair: tuple(dict.fromkeys(losses)) for pair, losses in self._blockers.items()},
        )

    # Candidates

    def _propose_add(self, missing: Missing) -> None:
        if missing.provider is None:
            return
        pair = Pair(missing.target, missing.provider)
        if missing.reasons == (Reason.NOT_VISIBLE,):
            self._open(pair, missing.spelling)
        elif not self._policy.permits(missing.reasons, policy.MISSING):
            self._hold(pair, *(Refusal(reason, missing.condition) for reason in missing.reasons))
        elif self._is_known(Code.MISSING_DEP, pair):
            self._hold(pair, Refusal(Reason.KNOWN))
        elif missing.condition:
            self._move(pair, missing.condition)
        else:
            self._add(pair, missing.spelling, rescue=False)

    def _open(self, pair: Pair, spelling: str) -> None:
        """Plan to make a dep visible and add it, if that is asked for and only one list has to change."""
        targets = self._known.graph.targets
        opening = self._permits.open(targets[pair.dep], targets[pair.target])
        if isinstance(opening, Refusal):
            self._hold(pair, Refusal(Reason.NOT_VISIBLE, opening.detail))
        elif not self._policy.permits((Reason.VISIBILITY,), policy.MISSING):
            self._hold(pair, Refusal(Reason.VISIBILITY, str(opening)))
        elif self._is_known(Code.NOT_VISIBLE, pair):
            self._hold(pair, Refusal(Reason.KNOWN))
        else:
            self._add(pair, spelling, rescue=False, opening=opening)

    def _move(self, pair: Pair, condition: str) -> None:
        """Plan to declare unconditionally what is declared under a condition only: never in both places."""
        target = self._known.graph.targets[pair.target]
        entries = self._permits.drop(target, pair.dep)
        limited = self._limited(pair.dep)
        if isinstance(entries, Refusal):
            self._hold(pair, Refusal(Reason.CONDITIONAL, condition), entries)
        elif limited is not None:
            self._hold(pair, Refusal(Reason.CONDITIONAL, f"{condition}; {limited} is not for every configuration"))
        elif any(self._permits.owners(entry) != {pair.target} for entry in entries):
            self._hold(pair, Refusal(Reason.CONDITIONAL, condition), Refusal(Reason.SHARED, str(entries[0].line)))
        elif not self._add(pair, entries[0].text or "", rescue=False, moved=entries):
            self._hold(pair, Refusal(Reason.CONDITIONAL, condition))

    def _limited(self, dep: Label) -> Label | None:
        """A target at or below a dep that cannot be built in every configuration, or is not the same in all."""
        seen, todo = {dep}, [dep]
        while todo:
            target = self._known.graph.targets.get(todo.pop())
            if target is None:
                continue
            if any(target.argument(name) for name in ("target_compatible_with", "compatible_with")):
                return target.label
            if any(src.condition for src in target.srcs) or any(edge.condition for edge in target.edges):
                return target.label
            for edge in target.edges:
                if edge.label not in seen:
                    seen.add(edge.label)
                    todo.append(edge.label)
        return None

    def _add(
        self,
        pair: Pair,
        spelling: str,
        rescue: bool,
        moved: tuple[Element, ...] = (),
        opening: Opening | None = None,
    ) -> bool:
        """Plan an add, if nothing speaks against it; says whether it is planned."""
        if pair in self._adds:
            return True
        if pair in self._held and not (rescue and self._may_rescue(pair)):
            return False
        target = self._known.graph.targets[pair.target]
        place = self._permits.add(target, rescue)
        if isinstance(place, Refusal):
            self._hold(pair, place)
            return False
        also = []
        for label in sorted(self._permits.owners(place) - {pair.target}):
            other = self._known.graph.targets.get(label)
            if other is None:
                continue
            refusal = self._illegal(other, pair.dep) or self._needless(other, pair.dep)
            if refusal is not None:
                self._hold(pair, refusal)
                return False
            also.append(Pair(label, pair.dep))
        self._held.pop(pair, None)
        self._adds[pair] = Add(pair, place, spelling, rescue, tuple(also), moved, opening)
        return True

    def _may_rescue(self, pair: Pair) -> bool:
        """Whether what holds an add back is only that buildfix should not propose it of its own accord."""
        return all(refusal.reason in (Reason.NO_AUTODEPS, Reason.KNOWN) for refusal in self._held[pair])

    def _illegal(self, target: Target, dep: Label) -> Refusal | None:
        """Why a target that shares a literal may not have a dep which another owner of the literal needs."""
        if dep == target.label:
            return Refusal(Reason.SHARED, f"{target.label} shares the list and cannot depend on itself")
        provider = self._known.graph.targets.get(dep)
        if provider is not None and not self._known.graph.visible(provider, target):
            return Refusal(Reason.NOT_VISIBLE, f"{target.label} shares the list")
        graph = self._known.graph
        if provider is not None and graph.testonly(provider) and not graph.testonly(target):
            return Refusal(Reason.TEST_ONLY, f"{target.label} shares the list")
        return None

    def _needless(self, target: Target, dep: Label) -> Refusal | None:
        """What is added to a list must be right for all targets that the list feeds, and new to them."""
        if any(edge.label == dep and edge.attribute == target.rule.deps for edge in target.edges):
            return Refusal(Reason.SHARED, f"{target.label} shares the list and has it already")
        uses = self._known.uses.get(target.label)
        owned = {m for label in self._known.behind(dep) for m in self._known.modules.of_target.get(label, ())}
        if uses is not None and (owned & set(uses.needs) or dep not in self._known.graph.targets):
            return None
        return Refusal(Reason.SHARED, f"{target.label} shares the list and does not need it")

    def _propose_drop(self, unused: Unused) -> None:
        pair = Pair(unused.target, unused.dep)
        if pair in self._held or pair in self._drops:
            return
        target = self._known.graph.targets[unused.target]
        entries = self._permits.drop(target, unused.dep)
        if not self._policy.permits(unused.reasons, policy.UNUSED):
            kept = (entries,) if isinstance(entries, Refusal) and entries.reason in policy.QUIET else ()
            self._hold(pair, *kept, *(Refusal(reason, unused.detail) for reason in unused.reasons))
            return
        if self._known.config.public_targets == "report" and self._known.graph.is_public(target):
            self._hold(pair, Refusal(Reason.PUBLIC))
            return
        if self._policy.add_only:
            self._hold(pair, Refusal(Reason.NOT_ASKED_FOR))
            return
        if self._is_known(Code.UNUSED_DEP, pair):
            self._hold(pair, Refusal(Reason.KNOWN))
            return
        if any(edge.label == unused.dep and edge not in unused.edges for edge in target.edges):
            self._hold(pair, Refusal(Reason.EVIDENCE, "another attribute names it too"))
            return
        if isinstance(entries, Refusal):
            self._hold(pair, entries)
        else:
            self._drops[pair] = Drop(pair, entries, safe=not unused.reasons)

    def _singled(self) -> Iterator[tuple[Pair, Drop]]:
        """The deps that stand twice and stay: one entry is enough, the first of those that feed the most targets. One
        with a comment stays, and so do two."""
        for fault in self._diagnosis.faults:
            if fault.code is not Code.DUPLICATE_DEP or fault.dep is None or not fault.fails:
                continue
            pair = Pair(fault.target, fault.dep)
            if pair in self._drops or self._is_known(fault.code, pair):
                continue
            entries = self._permits.drop(self._known.graph.targets[fault.target], fault.dep)
            if self._policy.add_only or isinstance(entries, Refusal):
                self._hold(pair, entries if isinstance(entries, Refusal) else Refusal(Reason.NOT_ASKED_FOR))
                continue
            ordered = sorted(entries, key=lambda entry: (entry.file, entry.span))
            kept = max(ordered, key=lambda entry: len(self._permits.owners(entry)))
            kept = next((entry for entry in ordered if entry.comments), kept)
            others = tuple(entry for entry in ordered if entry is not kept)
            if any(entry.comments for entry in others):
                self._hold(pair, Refusal(Reason.NOT_EDITABLE, "more than one of its entries has a comment"))
            elif others and all(self._permits.owners(entry) <= self._permits.owners(kept) for entry in others):
                yield pair, Drop(pair, others)
            else:
                self._hold(pair, Refusal(Reason.SHARED, str(Place(kept.file, kept.line))))

    def _hold_shared(self) -> None:
        """An entry goes only if every target that it feeds can do without it."""
        settled = False
        while not settled:
            settled = True
            for pair, drop in sorted(self._drops.items()):
                for label in sorted(
                    {label for e in drop.elements for label in self._permits.owners(e)} - {pair.target}
                ):
                    other = Pair(label, pair.dep)
                    if other not in self._drops and not self._can_share(other, drop):
                        self._hold(pair, Refusal(Reason.SHARED, f"{label} needs it"))
                        del self._drops[pair]
                        settled = False
                        break

    def _can_share(self, other: Pair, drop: Drop) -> bool:
        """Whether another owner of an entry, perhaps outside the paths, does not need it either."""
        target = self._known.graph.targets.get(other.target)
        if target is None:
            return False
        if other in self._held or target.label not in self._known.uses:
            return False
        if not any(edge.label == other.dep for edge in target.edges):
            return True
        for unused in diagnose.unused_of(target, self._known):
            if unused.dep == other.dep:
                self._propose_drop(unused)
        return other in self._drops

    def _hold_unseen(self) -> None:
        """Nothing goes that a source of a package which could not be analysed may rely on."""
        for pair in sorted(self._drops):
            place = self._reach.unseen_user(pair)
            if place is not None:
                self._hold(pair, Refusal(Reason.PACKAGE_NOT_ANALYSED, str(place)))
                del self._drops[pair]

    # The joint check

    def _hold_cycles(self) -> bool:
        """Hold back the adds that would close a cycle; rescues come first. Says whether anything changed."""
        order = sorted(self._adds.values(), key=lambda add: (not add.rescue, add.pair))
        pairs = {p: add for add in order for p in (add.pair, *add.also)}
        refused = self._reach.cycles(tuple(pairs), self._drops)
        for pair, cycle in refused.items():
            add = pairs[pair]
            if add.pair in self._adds:
                del self._adds[add.pair]
                way = " → ".join(str(label) for label in (pair.target, *cycle))
                self._hold(add.pair, Refusal(Reason.WOULD_CYCLE, way))
        return bool(refused)

    def _mend_losses(self) -> bool:
        """Give directly what would be lost, or keep the edge. Says whether anything changed."""
        if not self._drops:
            return False
        losses = self._reach.losses(self._planned(), sorted(self._drops), _unsafe(self._drops))
        kept = len(self._drops)
        self._restored.clear()
        for loss in losses:
            if not self._rescue(loss):
                self._restore(loss)
        if len(self._drops) < kept:
            self._forget_rescues()
        return bool(losses)

    def _forget_rescues(self) -> None:
        """An edge that stays may have been what a rescue was for: find anew what still needs one."""
        self._adds = {pair: add for pair, add in self._adds.items() if not add.rescue}

    def _look_for_cycles(self) -> None:
        """Which of the missing deps could not be added, where none of them is to be."""
        wanted = (Pair(one.target, one.provider) for one in self._diagnosis.missing if one.provider and not one.reasons)
        for pair, cycle in self._reach.cycles(tuple(dict.fromkeys(wanted)), self._drops).items():
            self._hold(pair, Refusal(Reason.WOULD_CYCLE, " → ".join(str(label) for label in (pair.target, *cycle))))

    def _planned(self) -> tuple[Pair, ...]:
        return tuple(p for pair in sorted(self._adds) for p in (pair, *self._adds[pair].also))

    def _rescue(self, loss: Loss) -> bool:
        if not loss.module or loss.need is not Need.MUST:
            return False
        target = self._known.graph.targets[loss.user or loss.target]
        if not target.rule.python:
            return False
        for provider, spelling in self._givers(target, loss):
            pair = Pair(target.label, provider)
            if pair not in self._drops and self._add(pair, spelling, rescue=True):
                return True
        return False

    def _givers(self, target: Target, loss: Loss) -> Iterator[tuple[Label, str]]:
        """The providers that a rescue could name, the best first."""
        outside = [label for label in loss.providers if label not in self._known.graph.targets]
        if outside:
            yield from ((label, "") for label in outside[:1])
            return
        chosen = diagnose.choose(target, loss.module, (), self._known)
        if chosen.provider is not None and not chosen.reasons:
            yield chosen.provider, ""

    def _is_known(self, code: Code, pair: Pair) -> bool:
        """Whether the baseline has the finding, of this target or of one that the same call makes."""
        return bool(self._policy.known) and any(
            Key(code.value, str(label), str(pair.dep)) in self._policy.known
            for label in self._known.graph.kin(pair.target)
        )

    def _restore(self, loss: Loss) -> None:
        """Keep the edges by which the target gets what it would lose."""
        way = self._reach.path(loss.target, loss.providers)
        steps = {Pair(a, b) for a, b in itertools.pairwise(way)}
        if steps & self._restored:
            return  # another loss has brought it back in this round; whether that is enough, the next one shows
        kept = steps & set(self._drops) or {
            pair for pair in self._drops if self._reach.reaches(loss.target, pair.target)
        }
        for pair in sorted(kept):
            if pair not in self._drops:
                continue
            for shared in self._sharing(pair):
                if shared in self._drops:
                    del self._drops[shared]
                    self._restored.add(shared)
                    self._hold(shared, Refusal(*_why(loss)))
                self._blockers.setdefault(shared, []).append(loss)

    def _sharing(self, pair: Pair) -> list[Pair]:
        """The drops that share an entry with this one: they stand and fall together."""
        mine = {(e.file, e.span) for e in self._drops[pair].elements}
        return [
            p for p, d in sorted(self._drops.items()) if p == pair or any((e.file, e.span) in mine for e in d.elements)
        ]

    def _hold(self, pair: Pair, *refusals: Refusal) -> None:
        self._held.setdefault(pair, []).extend(refusals)


def _unsafe(drops: Mapping[Pair, Drop]) -> frozenset[Label]:
    return frozenset(pair.dep for pair, drop in drops.items() if not drop.safe)


def _why(loss: Loss) -> tuple[Reason, str]:
    what = loss.module or str(loss.providers[0])
    if loss.user is not None:
        return Reason.EVIDENCE, f"{loss.user} uses {what} and gets it only from those that depend on it"
    if not loss.module:
        return Reason.NOT_IMPORT_ONLY, f"{loss.target} gets {what} through it"
    if loss.need < Need.GUARDED:  # nobody would declare it
        return Reason.EVIDENCE_ELSEWHERE, f"{loss.target} gets {what} through it"
    return Reason.RELIED_ON, f"{loss.target} gets {what} through it"
