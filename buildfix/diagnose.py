"""Graph and uses to a Diagnosis: which deps are missing, which are unused, what could not be analysed. Read-only.

Nothing is decided here: a missing dep carries the provider that would be chosen and why it may not be added, an unused
one why it may not be dropped. repair.py weighs them against the whole repository.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from buildfix.contexts import Need
from buildfix.engine import Package, Problem
from buildfix.faults import Fault
from buildfix.findings import Evidence, Place, Reason
from buildfix.knowledge import Knowledge, has_made_sources, import_only
from buildfix.labels import Label
from buildfix.preference import sift
from buildfix.rules import Role
from buildfix.targets import Edge, Target
from buildfix.thirdparty import described, normal
from buildfix.uses import TargetUses


@dataclass(frozen=True, slots=True)
class Missing:
    """`target` imports `modules`, which `provider` has, and has no dep on it; without modules, a comment asks for it.

    `provider` is None where none can be chosen; `choices` are then those that there are. `spelling` is how the
    configuration or a marker writes a label outside the repository. `condition` is not empty where the target has the
    dep, but under that condition only: the entry is then to be moved.
    """

    target: Label
    modules: tuple[str, ...]
    provider: Label | None
    evidence: tuple[Evidence, ...]
    reasons: tuple[Reason, ...] = ()
    choices: tuple[Label, ...] = ()
    spelling: str = ""
    condition: str = ""


@dataclass(frozen=True, slots=True)
class Unused:
    """Nothing in `target` uses `dep`; `edges` are its entries. `reasons` keep it from being dropped safely."""

    target: Label
    dep: Label
    edges: tuple[Edge, ...]
    reasons: tuple[Reason, ...] = ()
    detail: str = ""


@dataclass(frozen=True, slots=True)
class NotAnalysed:
    """A file that could not be read or evaluated, and what that withholds."""

    place: Place
    message: str
    target: Label | None = None
    package: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything that is wrong, in the order of the targets' labels."""

    missing: tuple[Missing, ...]
    unused: tuple[Unused, ...]
    not_analysed: tuple[NotAnalysed, ...]
    faults: tuple[Fault, ...] = ()


def diagnose(known: Knowledge) -> Diagnosis:
    """Judge every selected target."""
    missing: list[Missing] = []
    unused: list[Unused] = []
    for target in known.graph.python:
        if not known.selected(target):
            continue
        uses = known.uses[target.label]
        missing.extend(_missing(target, uses, known))
        unused.extend(_unused(target, uses, known))
    return Diagnosis(tuple(missing), tuple(unused), tuple(dict.fromkeys(_not_analysed(known))))


# --- missing ---------------------------------------------------------------------------------------------------------


def missing_of(target: Target, known: Knowledge) -> tuple[Missing, ...]:
    """The missing deps of one target, whether it was selected or not."""
    return tuple(_missing(target, known.uses[target.label], known))


def unused_of(target: Target, known: Knowledge) -> tuple[Unused, ...]:
    """The unused deps of one target, whether it was selected or not."""
    return tuple(_unused(target, known.uses[target.label], known))


def _missing(target: Target, uses: TargetUses, known: Knowledge) -> Iterator[Missing]:
    wanted: dict[tuple[object, ...], list[tuple[str, tuple[Evidence, ...]]]] = {}
    found: dict[tuple[object, ...], Missing] = {}
    least = Need.TYPE_CHECKING if known.config.type_checking == "require" else Need.GUARDED
    for module, (need, evidence) in uses.needs.items():
        if need < least or module in uses.provided or module in known.modules.owned(target):
            continue
        if suppliers := known.suppliers(target, module):
            if need is Need.MUST and all(edge.condition for edge in suppliers):
                yield from _conditional(target, module, evidence, suppliers)
            continue
        one = choose(target, module, evidence, known)
        if one.provider is None and not one.choices:
            continue  # no target has it
        if need < Need.MUST and not (need is Need.TYPE_CHECKING and least is Need.TYPE_CHECKING):
            one = _with_reason(one, Reason.GUARDED_IMPORT)
        key: tuple[object, ...] = (one.provider or one.choices, one.reasons)
        found.setdefault(key, one)
        wanted.setdefault(key, []).append((module, evidence))
    yield from _declared(target, uses, known)
    for one in _outside(target, uses, known):
        key = (one.provider, one.spelling, one.reasons)
        found.setdefault(key, one)
        wanted.setdefault(key, []).append((one.modules[0], one.evidence))
    for key, one in found.items():
        modules = tuple(sorted({module for module, _ in wanted[key]}))
        places = tuple(sorted({item for _, evidence in wanted[key] for item in evidence}))
        yield Missing(one.target, modules, one.provider, places, one.reasons, one.choices, one.spelling)


def _declared(target: Target, uses: TargetUses, known: Knowledge) -> Iterator[Missing]:
    """Deps that a source asks for in a comment, without importing anything of them."""
    have = {label for edge in target.edges for label in known.behind(edge.label)}
    for label, evidence in uses.declared.items():
        if label in have or label == target.label or label in uses.provided.values():
            continue
        yield _marked(target, (), label, (evidence,), uses, known)


def _marked(
    target: Target,
    modules: tuple[str, ...],
    label: Label,
    evidence: tuple[Evidence, ...],
    uses: TargetUses,
    known: Knowledge,
) -> Missing:
    """A missing dep whose label a marker says, which may be wrong as any text of people may."""
    graph = known.graph
    provider = graph.targets.get(label)
    reasons: tuple[Reason, ...] = ()
    if provider is None and label not in graph.outputs and graph.workspace.folder(label) in graph.seen:
        reasons = (Reason.DANGLING,)
    elif provider is not None and not provider.rule.dependable:
        reasons = (Reason.NOT_A_DEP,)
    elif provider is not None and graph.testonly(provider) and not graph.testonly(target):
        reasons = (Reason.TEST_ONLY,)
    elif provider is not None and not graph.visible(provider, target):
        reasons = (Reason.NOT_VISIBLE,)
    spelling = "" if provider is not None else uses.spelled.get(label, "")
    return Missing(target.label, modules, label, evidence, reasons, spelling=spelling)


def _conditional(
    target: Target, module: str, evidence: tuple[Evidence, ...], suppliers: tuple[Edge, ...]
) -> Iterator[Missing]:
    """The module is imported whatever the condition, and its dep declared under one only."""
    conditional = {src.path for src in target.srcs if src.condition} - {
        src.path for src in target.srcs if not src.condition
    }
    everywhere = tuple(item for item in evidence if item.place.file not in conditional)
    if not everywhere or len({edge.label for edge in suppliers}) > 1:
        return  # each branch may well have a provider of its own
    reasons = () if all(edge.attribute == target.rule.deps for edge in suppliers) else (Reason.CONDITIONAL,)
    condition = " or ".join(sorted({edge.condition for edge in suppliers}))
    yield Missing(target.label, (module,), suppliers[0].label, everywhere, reasons, condition=condition)


def _with_reason(one: Missing, reason: Reason) -> Missing:
    return Missing(one.target, one.modules, one.provider, one.evidence, (*one.reasons, reason), one.choices)


def _outside(target: Target, uses: TargetUses, known: Knowledge) -> Iterator[Missing]:
    """Third-party modules whose label is known, or can be guessed."""
    have = {label for edge in target.edges for label in known.behind(edge.label)}
    names, blurred = known.dep_names(target), known.is_blurred(target)
    for name, (need, evidence) in uses.externals.items():
        if need is not Need.MUST or name in uses.provided:
            continue
        provision = known.third_party.provider(name)
        guess = known.third_party.guess(name) if provision is None and not blurred else None
        one = provision or guess
        if one is None or one.label in have or normal(one.label.name) in names:
            continue
        provider = known.graph.targets.get(one.label)
        reasons = [Reason.GUESSED] if guess else []
        if provider is not None and not known.graph.visible(provider, target):
            reasons.append(Reason.NOT_VISIBLE)
        yield Missing(target.label, (one.module,), one.label, evidence, tuple(reasons), spelling=one.text)
    for name, label in uses.provided.items():
        if label in have or label == target.label or known.satisfied(target, name):
            continue
        _, imports = uses.needs.get(name) or uses.externals.get(name) or uses.unresolved.get(name) or (None, ())
        places = tuple(sorted({*imports, *(e for lab, e in uses.labels.items() if lab == label)}))
        yield _marked(target, (name,), label, places, uses, known)


def choose(target: Target, module: str, evidence: tuple[Evidence, ...], known: Knowledge) -> Missing:
    """The provider that a missing dep would name, by the criteria; or none, with the choices."""
    left = [known.graph.targets[p] for p in known.modules.providers.get(module, ()) if p != target.label]
    if not left:
        return Missing(target.label, (module,), None, evidence, (Reason.EVIDENCE,))
    for step in sift(target, module, known):
        if not step.left:
            assert step.criterion.reason is not None
            return _refused(target, module, evidence, left, step.criterion.reason)
        left = list(step.left)
    if len(left) > 1:
        return _refused(target, module, evidence, left, Reason.AMBIGUOUS)
    return Missing(target.label, (module,), left[0].label, evidence)


def _refused(
    target: Target, module: str, evidence: tuple[Evidence, ...], choices: Iterable[Target], reason: Reason
) -> Missing:
    listed = tuple(choice.label for choice in choices)
    provider = listed[0] if len(listed) == 1 else None
    return Missing(target.label, (module,), provider, evidence, (reason,), listed)


# --- unused ----------------------------------------------------------------------------------------------------------


def _unused(target: Target, uses: TargetUses, known: Knowledge) -> Iterator[Unused]:
    if not target.has_sources:
        return  # it assembles what its deps provide: there is nothing to judge them by
    by_dep: dict[Label, list[Edge]] = {}
    for edge in target.edges:
        if edge.attribute == target.rule.deps and not edge.fixed:
            by_dep.setdefault(edge.label, []).append(edge)
    for dep, edges in by_dep.items():
        if dep == target.label:
            continue
        if outside := known.third_party.modules_of(dep):
            if dep not in uses.labels and not _imports_any(outside, uses):
                yield Unused(target.label, dep, tuple(edges), (Reason.THIRD_PARTY,))
            continue
        if not _can_be_judged(dep, known) or next(uses_of(target, dep, uses, known), None) is not None:
            continue
        yield Unused(target.label, dep, tuple(edges), tuple(_reasons(target, dep, edges, uses, known)))


def _imports_any(modules: tuple[str, ...], uses: TargetUses) -> bool:
    """Whether any import from outside the repository is at, below or above one of the modules, or one that these
    describe; or a string is at or below one."""
    inside = tuple(f"{described(module)}." for module in modules)
    return any(f"{name}.".startswith(inside) for name in (*uses.externals, *uses.unresolved, *uses.named)) or any(
        module.startswith(f"{name}.") for name in (*uses.externals, *uses.unresolved) for module in inside
    )


def _can_be_judged(dep: Label, known: Knowledge) -> bool:
    """A dep whose modules are known: a Python library with sources, or an alias of one."""
    found = known.graph.targets.get(dep)
    if found is None:
        return False
    if found.rule.role is Role.ALIAS:
        real = [known.graph.targets.get(label) for label in known.behind(dep)[1:]]
        return bool(real) and all(one is not None and import_only(one, known.modules) for one in real)
    return found.rule.role is Role.LIBRARY and found.rule.known and bool(known.modules.owned(found))


class Use(NamedTuple):
    """What shows that a target uses a dep: the module ("" for the dep's label), how firmly, and where."""

    module: str
    need: Need
    evidence: tuple[Evidence, ...]


def uses_of(target: Target, dep: Label, uses: TargetUses, known: Knowledge) -> Iterator[Use]:
    """Everything that shows that a target uses a dep of which the modules are known."""
    for label in known.behind(dep):
        if label in uses.labels:
            yield Use("", Need.MENTIONED, (uses.labels[label],))
        for module, provider in uses.provided.items():
            if provider == label:
                yield Use(module, *(uses.needs.get(module) or uses.externals.get(module) or (Need.MENTIONED, ())))
        for top, evidence in uses.paths.items():
            if label in known.modules.tops[top]:
                yield Use(top, Need.MENTIONED, (evidence,))
        owned = known.modules.of_target.get(label, frozenset())
        for module in sorted(owned & uses.needs.keys()):
            yield Use(module, *uses.needs[module])
        for prefix, evidence in uses.prefixes.items():
            if any(module == prefix or module.startswith(f"{prefix}.") for module in owned):
                yield Use(prefix, Need.MENTIONED, (evidence,))
    if dep in target.located:
        yield Use("", Need.MENTIONED, (Evidence(target.place, "another attribute expects it among the deps"),))


def _reasons(target: Target, dep: Label, edges: list[Edge], uses: TargetUses, known: Knowledge) -> Iterator[Reason]:
    provider = known.graph.targets[dep]
    if uses.broken or uses.missing or has_made_sources(target):
        yield Reason.SOURCE_NOT_ANALYSED
    if uses.dynamic:
        yield Reason.DYNAMIC_IMPORT
    if uses.frozen:
        yield Reason.NO_AUTODEPS
    if provider.rule.role is not Role.ALIAS and not import_only(provider, known.modules):
        yield Reason.NOT_IMPORT_ONLY
    if target.rule.guessed:
        yield Reason.UNKNOWN_KIND


# --- not analysed ----------------------------------------------------------------------------------------------------


def _not_analysed(known: Knowledge) -> Iterator[NotAnalysed]:
    for walk in known.facts.walk:
        if walk.kind == "read" and known.selected_folder(walk.path):
            yield NotAnalysed(Place(walk.path), f"read: {walk.message}", package=walk.path)
    for package in known.graph.packages:
        if known.selected_folder(package.path):
            for error in package.errors:
                place, message = _where(package, error)
                yield NotAnalysed(place, message, package=package.path)
    for target in known.graph.python:
        if known.selected(target):
            for source in known.uses[target.label].broken:
                assert source.error is not None
                message = f"{source.error.kind}: {source.error.message}"
                yield NotAnalysed(Place(source.path, source.error.line), message, target.label, target.folder)


def _where(package: Package, error: Problem) -> tuple[Place, str]:
    """The place where the package's own people would look, and the message with the place where it went wrong."""
    message = f"{error.kind}: {error.message}"
    inside = f"{package.path}/" if package.path else ""
    own = [frame for frame in error.stack if frame.file.startswith(inside) and "/" not in frame.file[len(inside) :]]
    fault = Place(error.file or package.file, error.line)
    if not own or own[-1].file == error.file:
        return fault, message
    return Place(own[-1].file, own[-1].line), f"{message} (in {fault})"
