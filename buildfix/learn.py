"""Guesses about modules from outside the repository: by a label's name, and by what its own targets do.

A target that imports a module mostly has the dep that provides it. How often a module and a label are met together,
measured against how often each is met at all (Dice's coefficient), shows which label provides which module. Labels of
one name count as one, for a repository may write one dep in several ways.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from buildfix.labels import Label
from buildfix.manifests import Distribution
from buildfix.modules import Modules
from buildfix.rules import Role
from buildfix.targets import Target, TargetGraph
from buildfix.thirdparty import Origin, Provision, normal
from buildfix.uses import TargetUses

LEAST_DICE = 0.3
LEAST_SUPPORT = 2


@dataclass(slots=True)
class _Candidate:
    """All labels of one name that may provide modules, as they are spelt, and the targets that have one of them."""

    labels: Counter[tuple[Label, str]] = field(default_factory=Counter)
    users: set[Label] = field(default_factory=set)

    @property
    def commonest(self) -> tuple[Label, str]:
        """The label that most targets have, as it is spelt."""
        return min(self.labels, key=lambda one: (-self.labels[one], one))


def guess(graph: TargetGraph, modules: Modules, uses: Mapping[Label, TargetUses]) -> tuple[Provision, ...]:
    """The likely label of every module from outside that the sources import, in the order of the modules."""
    importers: dict[str, set[Label]] = {}
    for label, used in uses.items():
        for name in used.externals:
            importers.setdefault(name.partition(".")[0], set()).add(label)
    candidates = _candidates(graph, modules)
    by_user: dict[Label, list[str]] = {}
    for name, candidate in candidates.items():
        for user in candidate.users:
            by_user.setdefault(user, []).append(name)
    return tuple(
        found
        for module, who in sorted(importers.items())
        if (found := _best(module, who, candidates, by_user)) is not None
    )


def declared(graph: TargetGraph, modules: Modules, distributions: Iterable[Distribution]) -> Iterator[Provision]:
    """What distributions provide by a label of their name that is there: a prebuilt library, or some target's dep."""
    candidates = _candidates(graph, modules)
    for one in distributions:
        candidate = candidates.get(normal(one.name))
        if candidate is not None and candidate.labels:
            yield from one.provided_by(*candidate.commonest)


def _candidates(graph: TargetGraph, modules: Modules) -> dict[str, _Candidate]:
    """By normal name: the labels whose modules are not known, with who has them. Of those that macros always drop on
    the way to the rule, only the name is kept: to add one would change nothing."""
    found: dict[str, _Candidate] = {}
    for target in graph.python:
        names = {normal(text) for text in target.strings("external_deps")}
        real = {label for _, label, _ in target.real}
        for edge in target.edges:
            dep = graph.targets.get(edge.label)
            if dep is not None and not _is_foreign(dep, modules):
                continue
            names.add(normal(edge.label.name))
            candidate = found.setdefault(normal(edge.label.name), _Candidate())
            if edge.label in real:
                candidate.labels[edge.label, edge.text if dep is None else ""] += 1
        for name in names & found.keys():
            found[name].users.add(target.label)
    for target in graph.python:
        if _is_foreign(target, modules):
            found.setdefault(normal(target.label.name), _Candidate()).labels[target.label, ""] += 0
    return found


def _is_foreign(target: Target, modules: Modules) -> bool:
    """Whether a target stands for code that is not in the tree."""
    return target.rule.role is Role.PREBUILT and not modules.owned(target)


def _best(
    module: str, importers: set[Label], candidates: Mapping[str, _Candidate], by_user: Mapping[Label, list[str]]
) -> Provision | None:
    if normal(module) in candidates:
        return _provision(module, importers, candidates[normal(module)], Origin.NAME)
    return _learnt(module, importers, candidates, by_user)


def _learnt(
    module: str, importers: set[Label], candidates: Mapping[str, _Candidate], by_user: Mapping[Label, list[str]]
) -> Provision | None:
    support: Counter[str] = Counter(name for user in importers for name in by_user.get(user, ()))
    scored = [
        (2 * both / (len(importers) + len(candidates[name].users)), name)
        for name, both in support.items()
        if both >= LEAST_SUPPORT
    ]
    dice, name = max(scored, default=(0.0, ""), key=lambda one: (one[0], [-ord(letter) for letter in one[1]]))
    if dice < LEAST_DICE:
        return None
    return _provision(module, importers, candidates[name], Origin.LEARNT)


def _provision(module: str, importers: set[Label], candidate: _Candidate, origin: Origin) -> Provision | None:
    if not candidate.labels:
        return None
    label, text = candidate.commonest
    counted = f"{len(importers & candidate.users)} of the {len(importers)} targets that import it have it"
    return Provision(module, label, origin, text, counted)


def marked(uses: Iterable[TargetUses]) -> Iterator[Provision]:
    """What `@manual=LABEL` markers say of modules from outside, where all that name a module agree."""
    said: dict[str, set[Label]] = {}
    for used in uses:
        for name, label in used.provided.items():
            if name in used.externals:
                said.setdefault(name, set()).add(label)
    for name, labels in sorted(said.items()):
        if len(labels) == 1:
            yield Provision(name, next(iter(labels)), Origin.MARKER)
