"""The proof: evaluate again with the edits overlaid, compare, refuse.

What must hold after the edits: each edited target's deps changed exactly as planned, nothing else changed anywhere, no
new error, nothing that was reachable and used is lost, and a second diagnosis finds none of what was repaired.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from buildfix import diagnose, faults, values
from buildfix.engine import Call
from buildfix.knowledge import Knowledge
from buildfix.labels import Label
from buildfix.reach import Pair, Reach
from buildfix.targets import Target


class Doubt(NamedTuple):
    """Something that is not as planned: the target that shows it (None: a whole package, named in the message)."""

    target: Label | None
    package: str
    message: str


def verify(
    before: Knowledge,
    after: Knowledge,
    adds: frozenset[Pair],
    drops: frozenset[Pair],
    singled: frozenset[Pair],
    opened: frozenset[Pair],
    reach: Reach,
    accepted: frozenset[Label] = frozenset(),
) -> tuple[Doubt, ...]:
    """Everything in which the evaluated edits differ from the plan; () is the proof. `accepted` as in Reach.losses,
    `opened` are the labels that a target's visibility gains or loses."""
    return (
        *_errors(before, after),
        *_targets(before, after, adds, drops, singled | opened),
        *_losses(before, after, reach, accepted),
        *_hidden(after, adds),
        *_again(after, adds, drops, singled),
    )


def _errors(before: Knowledge, after: Knowledge) -> Iterator[Doubt]:
    known = {(p.mode, p.path): Counter(_kinds(p.errors)) for p in before.graph.packages}
    for package in after.graph.packages:
        new = Counter(_kinds(package.errors)) - known.get((package.mode, package.path), Counter())
        if new:
            first = next(error for error in package.errors if (error.kind, error.message) in new)
            message = f"new error in {first.file}:{first.line}: {first.message}"
            for label in _failing(package.path, before, after) or (None,):
                yield Doubt(label, package.path, message)
    gone = set(known) - {(package.mode, package.path) for package in after.graph.packages}
    for _, path in sorted(gone):
        yield Doubt(None, path, "the package is gone")


def _failing(package: str, before: Knowledge, after: Knowledge) -> tuple[Label, ...]:
    """The targets of a package whose calls failed after the edits and not before."""
    failed = {call.name for call in before.facts.calls if call.package == package and not call.ok}
    names = (call.name for call in after.facts.calls if call.package == package and not call.ok)
    labels = (before.graph.names.get((package, name)) for name in names if name not in failed)
    return tuple(sorted({label for label in labels if label is not None}))


def _kinds(errors: Iterable[Any]) -> Iterator[tuple[str, str]]:
    return ((error.kind, error.message) for error in errors)


def _targets(
    before: Knowledge, after: Knowledge, adds: frozenset[Pair], drops: frozenset[Pair], singled: frozenset[Pair]
) -> Iterator[Doubt]:
    added: dict[Label, set[Label]] = {}
    dropped: dict[Label, set[Label]] = {}
    kept: dict[Label, set[Label]] = {}
    for pair in adds:
        added.setdefault(pair.target, set()).add(pair.dep)
    for pair in drops:
        dropped.setdefault(pair.target, set()).add(pair.dep)
    for pair in singled:
        kept.setdefault(pair.target, set()).add(pair.dep)
    for label, old in before.graph.targets.items():
        new = after.graph.targets.get(label)
        if new is None:
            yield Doubt(label, old.folder, "the target is gone")
            continue
        plus, minus = added.get(label, set()), dropped.get(label, set())
        message = _difference(old, new, plus, minus, kept.get(label, set()), after)
        if message:
            yield Doubt(label, old.folder, message)
    for label in sorted(set(after.graph.targets) - set(before.graph.targets)):
        yield Doubt(label, after.graph.targets[label].folder, "the target is new")


def _difference(
    old: Target, new: Target, plus: set[Label], minus: set[Label], kept: set[Label], after: Knowledge
) -> str:
    had = {edge.label for edge in old.edges}
    has = {edge.label for edge in new.edges}
    if plus - has:
        return f"the added dep {sorted(plus - has)[0]} did not reach the target"
    for leaf in new.leaves or (new.leaf,):
        resolve = after.graph.workspace.resolve
        real = {resolve(text, new.folder) for text in values.texts(leaf.args.get(new.rule.deps))}
        if plus - real:
            return f"the added dep {sorted(plus - real)[0]} did not reach the rule"
    left = minus & {edge.label for edge in new.edges if not edge.fixed}
    if left:
        return f"the dropped dep {sorted(left)[0]} is still there"
    doubled = {edge.label for edge in new.edges if edge.condition and not edge.fixed} & plus
    if doubled:
        return f"the dep {sorted(doubled)[0]} stands under a condition too"
    if has - had - plus:
        return f"it gained a dep that was not planned: {sorted(has - had - plus)[0]}"
    if had - has - minus:
        return f"it lost a dep that was not planned: {sorted(had - has - minus)[0]}"
    own = old.written.name == old.label.name  # else it is the call of a macro, which may make other targets too
    if not plus and not minus and not kept:
        if old.leaf.args != new.leaf.args:
            return f"its attribute {_changed(old.leaf, new.leaf)} changed"
        if own and old.written.args != new.written.args:
            return f"its attribute {_changed(old.written, new.written)} changed"
        return ""
    for one, other in ((old.leaf, new.leaf), *([(old.written, new.written)] if own else [])):
        for name in sorted({*one.args, *other.args}):
            if not _as_planned(one.args.get(name), other.args.get(name), plus | minus | kept, old, after):
                return f"its attribute {name} changed"
    return ""


def _changed(one: Call, other: Call) -> str:
    return next(n for n in sorted({*one.args, *other.args}) if one.args.get(n) != other.args.get(n))


def _as_planned(one: Any, other: Any, planned: set[Label], target: Target, after: Knowledge) -> bool:
    """Whether two values of an attribute differ, if at all, only in labels of the plan."""
    if one == other:
        return True
    had, has = Counter(values.walk_strings(one)), Counter(values.walk_strings(other))
    resolve = after.graph.workspace.resolve
    ours = {text for text in {*had, *has} if resolve(text, target.folder) in planned}
    return bool(ours) and values.without(one, ours) == values.without(other, ours)


def _losses(before: Knowledge, after: Knowledge, reach: Reach, accepted: frozenset[Label]) -> Iterator[Doubt]:
    """What a target uses and reached before, by the closure of the graph as it was evaluated anew."""
    for label, module in reach.lost_in(after, accepted):
        target = before.graph.targets[label]
        yield Doubt(label, target.folder, f"it would no longer reach {module}")


def _hidden(after: Knowledge, adds: frozenset[Pair]) -> Iterator[Doubt]:
    targets = after.graph.targets
    for pair in sorted(adds):
        provider, target = targets.get(pair.dep), targets.get(pair.target)
        if provider is not None and target is not None and not after.graph.visible(provider, target):
            yield Doubt(pair.target, target.folder, f"the dep {pair.dep} is not visible")


def _again(
    after: Knowledge, adds: frozenset[Pair], drops: frozenset[Pair], singled: frozenset[Pair]
) -> Iterator[Doubt]:
    targets: Mapping[Label, Target] = after.graph.targets
    for label in sorted({pair.target for pair in (*adds, *drops)}):
        target = targets.get(label)
        if target is None or label not in after.uses:
            continue
        for missing in diagnose.missing_of(target, after):
            if missing.provider is not None and Pair(label, missing.provider) in adds:
                yield Doubt(label, target.folder, f"the dep {missing.provider} is still missing")
        for unused in diagnose.unused_of(target, after):
            if Pair(label, unused.dep) in drops:
                yield Doubt(label, target.folder, f"the dep {unused.dep} is still there and unused")
    for pair in sorted(singled):
        if pair.target in targets and pair.dep in faults.doubled(targets[pair.target], after):
            yield Doubt(pair.target, targets[pair.target].folder, f"the dep {pair.dep} still stands twice")
