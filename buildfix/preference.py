"""Which of several targets that provide a module a missing dep names: the criteria, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from buildfix import markers
from buildfix.contexts import Need
from buildfix.findings import Reason
from buildfix.knowledge import Knowledge
from buildfix.labels import Label
from buildfix.rules import Role
from buildfix.targets import Target

_RANK = {Role.LIBRARY: 0, Role.EXTENSION: 1, Role.GENERATED: 1, Role.PREBUILT: 1, Role.BINARY: 2, Role.TEST: 3}


class Criterion(NamedTuple):
    """A row of the table below: what it prefers, in words; whether it depends on who imports; which of the providers
    (of a module, for a target) it keeps; and, where it may keep none, the reason for that."""

    words: str
    relative: bool
    keep: Callable[[list[Target], Target, str, Knowledge], list[Target]]
    reason: Reason | None = None


class Step(NamedTuple):
    """What a criterion left of the providers."""

    criterion: Criterion
    left: tuple[Target, ...]


CRITERIA: tuple[Criterion, ...] = (
    Criterion(
        "a rule on which others may depend",
        False,
        lambda found, target, module, known: [p for p in found if p.rule.dependable],
        Reason.NOT_A_DEP,
    ),
    Criterion(
        "not test-only, unless the target is",
        True,
        lambda found, target, module, known: [
            p for p in found if known.graph.testonly(target) or not known.graph.testonly(p)
        ],
        Reason.TEST_ONLY,
    ),
    Criterion(
        "visible",
        True,
        lambda found, target, module, known: [p for p in found if known.graph.visible(p, target)],
        Reason.NOT_VISIBLE,
    ),
    Criterion(
        "not marked as to be avoided",
        False,
        lambda found, target, module, known: [p for p in found if not avoided(p)],
        Reason.AVOIDED,
    ),
    Criterion(
        "a library before what is built or generated, then binaries",
        False,
        lambda found, target, module, known: _least(found, lambda p: _RANK.get(p.rule.role, 4)),
    ),
    Criterion(  # another would put a second copy beside it
        "the one by which the target gets the module today",
        True,
        lambda found, target, module, known: _least(
            found, lambda p: not known.graph.path(target.label, frozenset([p.label]))
        ),
    ),
    Criterion(
        "below an import root that the target uses",
        True,
        lambda found, target, module, known: known.modules.on_path(target, found, module) if len(found) > 1 else found,
        Reason.AMBIGUOUS,
    ),
    Criterion(
        "the same package, then the nearest",
        True,
        lambda found, target, module, known: _least(found, lambda p: -nearness(p.label, target.label)),
    ),
    Criterion(
        "what at least two thirds of those who import the module have",
        False,
        lambda found, target, module, known: _preferred(found, module, known),
    ),
)
"""How the provider of a missing dep is chosen, one criterion after the other."""


def sift(target: Target | None, module: str, known: Knowledge) -> Iterator[Step]:
    """The steps of a choice: what each criterion left, until one provider is left, or none.

    Without a target only those count that hold for everybody.
    """
    labels = known.modules.providers.get(module, ())
    left = [known.graph.targets[label] for label in labels if target is None or label != target.label]
    for criterion in CRITERIA if left else ():
        if target is None:
            kept = left if criterion.relative else criterion.keep(left, left[0], module, known)
        elif criterion.reason or len(left) > 1:
            kept = criterion.keep(left, target, module, known)
        else:
            return
        if target is not None or not criterion.relative:
            yield Step(criterion, tuple(kept))
        if not kept:
            return
        left = kept


def _preferred(providers: list[Target], module: str, known: Knowledge) -> list[Target]:
    """The provider that at least two thirds of those who import the module and name one of these have chosen."""
    choices = {provider.label for provider in providers}
    votes: Counter[Label] = Counter()
    for target in known.graph.python:
        if known.uses[target.label].needs.get(module, (Need.MENTIONED,))[0] is Need.MUST:
            named = choices & {edge.label for edge in target.edges}
            if len(named) == 1:
                votes.update(named)
    winners = [p for p in providers if 3 * votes[p.label] >= 2 * votes.total() > 0]
    return winners if len(winners) == 1 else providers


def _least(candidates: list[Target], key: Callable[[Target], int]) -> list[Target]:
    least = min(key(candidate) for candidate in candidates)
    return [candidate for candidate in candidates if key(candidate) == least]


def avoided(target: Target) -> bool:
    """Whether people marked a target as one that nothing new should depend on."""
    marks = {*target.strings("labels"), *target.strings("tags")}
    return bool(marks & markers.AVOID_LABELS) or bool(target.argument("deprecation"))


def nearness(one: Label, other: Label) -> int:
    """How many leading folders two packages share; the same package is nearest of all."""
    if (one.repo, one.package) == (other.repo, other.package):
        return 1_000
    if one.repo != other.repo:
        return -1
    shared = 0
    for mine, theirs in zip(one.package.split("/"), other.package.split("/"), strict=False):
        if mine != theirs:
            break
        shared += 1
    return shared
