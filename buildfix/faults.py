"""What is wrong besides missing and unused deps: imports of nothing, labels and sources that do not exist, deps that
stand twice, libraries without users.

Each function takes what is known and states Faults. None of them decides about an edit; a dep that stands twice is
handed to repair.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from buildfix import values
from buildfix.findings import Code, Evidence, Place
from buildfix.knowledge import Knowledge, has_made_sources
from buildfix.labels import Label
from buildfix.rules import Role
from buildfix.targets import Target
from buildfix.uses import Need


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with `target`. `dep` is the label that it is about, spelt as `text`; `module` the module
    or file; `place` is where it shows, if that is not where the target or the entry is."""

    code: Code
    target: Label
    message: str
    dep: Label | None = None
    text: str = ""
    attribute: str = ""
    module: str = ""
    place: Place | None = None
    evidence: tuple[Evidence, ...] = ()
    fails: bool = True


def find(known: Knowledge, codes: frozenset[Code], exists: Callable[[str], bool]) -> tuple[Fault, ...]:
    """All faults of the selected Python targets, by target; `exists` says whether a file is on disk."""
    checks: Mapping[Code, Callable[[Target], Iterator[Fault]]] = {
        Code.UNRESOLVED_IMPORT: lambda target: _unresolved(target, known),
        Code.UNOWNED_MODULE: lambda target: _unowned(target, known),
        Code.DANGLING_LABEL: lambda target: _dangling(target, known),
        Code.MISSING_SOURCE: lambda target: _missing_sources(target, known, exists),
        Code.DUPLICATE_DEP: lambda target: _duplicates(target, known),
        Code.ORPHAN_TARGET: lambda target: _orphan(target, known),
        Code.TEST_ONLY_LIBRARY: lambda target: _test_only(target, known),
    }
    wanted = [check for code, check in checks.items() if code in codes]
    chosen = [target for target in known.graph.python if known.selected(target)]
    return tuple(dict.fromkeys(fault for target in chosen for check in wanted for fault in check(target)))


def _unresolved(target: Target, known: Knowledge) -> Iterator[Fault]:
    """An import that looks as if it were the repository's own, of a module that is nowhere."""
    if has_made_sources(target) or _has_unknown_deps(target, known):
        return  # a rule may make it
    for module, (need, evidence) in known.uses[target.label].unresolved.items():
        if need is Need.MUST:
            message = f"imports {module}, which is nowhere in the repository"
            yield Fault(Code.UNRESOLVED_IMPORT, target.label, message, module=module, evidence=evidence)


def _has_unknown_deps(target: Target, known: Knowledge) -> bool:
    """Whether one of its deps may provide modules that nobody knows: a kind without meaning, generated sources."""
    for edge in target.edges:
        for label in known.behind(edge.label):
            dep = known.graph.targets.get(label)
            if dep is not None and (not dep.rule.known or dep.rule.role is Role.GENERATED or has_made_sources(dep)):
                return True
    return False


def _unowned(target: Target, known: Knowledge) -> Iterator[Fault]:
    """An import of a file that no target has among its sources."""
    uses = known.uses[target.label]
    for module, (need, evidence) in uses.needs.items():
        if need is not Need.MUST or module in known.modules.providers or module in uses.provided:
            continue
        path = known.modules.files[module][0]
        if known.graph.unseen and _may_be_unseen(path, known):
            continue
        message = f"imports {module}, but no target has {path} among its sources"
        yield Fault(Code.UNOWNED_MODULE, target.label, message, module=module, evidence=evidence)


def _may_be_unseen(path: str, known: Knowledge) -> bool:
    """Whether a target that could not be seen may have the file: one of its package, or of one above."""
    folder = path
    while folder:
        folder = folder.rpartition("/")[0]
        if folder in known.graph.unseen:
            return True
    return False


def _dangling(target: Target, known: Knowledge) -> Iterator[Fault]:
    """A dep that people wrote, on a target that its package, which is wholly known, does not have."""
    graph = known.graph
    for edge in target.edges:
        label = edge.label
        if label in graph.targets or label in graph.outputs:
            continue
        if edge.text not in values.texts(target.written.args.get(edge.attribute)):
            continue  # a macro made it, and may make it for another configuration
        folder = graph.workspace.folder(label)
        if folder is None or folder not in graph.seen or f"{folder}/{label.name}".lstrip("/") in known.modules.sources:
            continue
        message = f"{edge.text} does not exist: {graph.seen[folder]} makes no target of that name"
        yield Fault(Code.DANGLING_LABEL, target.label, message, dep=label, text=edge.text, attribute=edge.attribute)


def _missing_sources(target: Target, known: Knowledge, exists: Callable[[str], bool]) -> Iterator[Fault]:
    for path in known.uses[target.label].missing:
        if Label(target.label.repo, target.label.package, _inside(path, target)) in known.graph.outputs or exists(path):
            continue
        message = f"its source {path} does not exist"
        yield Fault(Code.MISSING_SOURCE, target.label, message, attribute=target.rule.srcs[0], module=path)


def _inside(path: str, target: Target) -> str:
    return path.removeprefix(f"{target.folder}/") if target.folder else path


def _duplicates(target: Target, known: Knowledge) -> Iterator[Fault]:
    """A dep that one list of the target names twice where it always applies; or as itself and by an alias."""
    for label, texts in doubled(target, known).items():
        shown = " and ".join(dict.fromkeys(texts))
        message = f"names {shown} twice" if len(set(texts)) == 1 else f"names one target twice: {shown}"
        yield Fault(Code.DUPLICATE_DEP, target.label, message, label, texts[-1], target.rule.deps)
    direct = {e.label: e.text for e in target.edges if e.attribute == target.rule.deps and not e.condition}
    for label, text in direct.items():
        found = known.graph.targets.get(label)
        if found is None or found.rule.role is not Role.ALIAS:
            continue
        for real in known.behind(label)[1:]:
            if real in direct:
                message = f"names {direct[real]} and its alias {text}"
                yield Fault(Code.DUPLICATE_DEP, target.label, message, label, text, target.rule.deps, fails=False)


def doubled(target: Target, known: Knowledge) -> dict[Label, tuple[str, ...]]:
    """The deps that a target names more than once where they always apply, with their spellings.

    What a macro adds to what people wrote is its own affair.
    """
    name = target.rule.deps
    call = target.written if name in target.written.args else target.leaf
    texts = [one.text for one in values.entries(call.args.get(name)).items if not one.condition]
    labels = [known.graph.workspace.resolve(text, target.folder) for text in texts]
    return {
        label: tuple(text for text, one in zip(texts, labels, strict=True) if one == label)
        for label, number in Counter(labels).items()
        if number > 1 and label is not None
    }


def _orphan(target: Target, known: Knowledge) -> Iterator[Fault]:
    if target.rule.role is not Role.LIBRARY or not target.has_sources or known.graph.dependents.get(target.label):
        return
    if known.graph.is_public(target) and known.graph.unseen:
        return
    users = {user for module in known.modules.owned(target) for user in known.importers.get(module, ())}
    if users <= {target.label}:
        message = "nothing depends on it, and nothing imports what it provides"
        yield Fault(Code.ORPHAN_TARGET, target.label, message)


def _test_only(target: Target, known: Knowledge) -> Iterator[Fault]:
    """A library that is not test-only, although everybody who depends on it is a test or test-only."""
    graph = known.graph
    if target.rule.role is not Role.LIBRARY or graph.testonly(target):
        return
    users = [graph.targets[label] for label in graph.dependents.get(target.label, ())]
    if users and all(user.rule.role is Role.TEST or graph.testonly(user) for user in users):
        message = f"only tests depend on it: {', '.join(str(user.label) for user in users[:3])}"
        yield Fault(Code.TEST_ONLY_LIBRARY, target.label, message)
