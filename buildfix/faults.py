"""What is wrong besides missing and unused deps: imports of nothing, labels and sources that do not exist, deps that
stand twice, libraries without users.

Each function takes what is known and states Faults. None of them decides about an edit; a dep that stands twice is
handed to repair.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from buildfix import values
from buildfix.contexts import Need
from buildfix.existence import Existence
from buildfix.findings import Code, Evidence, Place
from buildfix.knowledge import Knowledge
from buildfix.labels import Label
from buildfix.rules import Role
from buildfix.targets import Target, TargetGraph
from buildfix.thirdparty import normal


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
    what = Existence(known, exists)
    checks: Mapping[Code, Callable[[Target], Iterator[Fault]]] = {
        Code.UNRESOLVED_IMPORT: lambda target: _unresolved(target, known, what),
        Code.UNOWNED_MODULE: lambda target: _unowned(target, known, what),
        Code.DANGLING_LABEL: lambda target: _dangling(target, known, what),
        Code.MISSING_SOURCE: lambda target: _missing_sources(target, known, what),
        Code.DUPLICATE_DEP: lambda target: _duplicates(target, known),
        Code.ORPHAN_TARGET: lambda target: _orphan(target, known),
        Code.TEST_ONLY_LIBRARY: lambda target: _test_only(target, known),
    }
    wanted = [check for code, check in checks.items() if code in codes]
    chosen = [target for target in known.graph.python if known.selected(target)]
    return tuple(dict.fromkeys(fault for target in chosen for check in wanted for fault in check(target)))


def _unresolved(target: Target, known: Knowledge, what: Existence) -> Iterator[Fault]:
    """An import that looks as if it were the repository's own, of a module that is nowhere."""
    uses = known.uses[target.label]
    for module, (need, evidence) in uses.unresolved.items():
        if need is Need.MUST and module not in uses.provided and not what.may_be_module(module, target):
            message = f"imports {module}, which is nowhere in the repository{_near(module, known)}"
            yield Fault(Code.UNRESOLVED_IMPORT, target.label, message, module=module, evidence=evidence)
    yield from _unheard_of(target, known, what)


def _unheard_of(target: Target, known: Knowledge, what: Existence) -> Iterator[Fault]:
    """An import from outside that no dep explains and of which nobody knows or can guess who provides it: the
    environment may have it."""
    uses = known.uses[target.label]
    if known.is_blurred(target):
        return
    names = known.dep_names(target)
    found: dict[str, list[Evidence]] = {}
    said = known.third_party
    for name, (need, evidence) in uses.externals.items():
        top = name.partition(".")[0]
        explained = said.provider(name) or said.guess(name) or said.is_shared(name) or normal(top) in names
        if need is Need.MUST and not explained and name not in uses.provided and not what.may_be_module(top, target):
            found.setdefault(top, []).extend(evidence)
    for top, places in found.items():
        if target.rule.role in (Role.BINARY, Role.TEST) and all(_is_beside(item, top, known) for item in places):
            continue  # a script finds what lies beside it
        message = f"imports {top}, which nothing is known to provide{_near(top, known)}"
        evidence = tuple(sorted(set(places)))
        yield Fault(Code.UNRESOLVED_IMPORT, target.label, message, module=top, evidence=evidence, fails=False)


def _is_beside(evidence: Evidence, module: str, known: Knowledge) -> bool:
    folder = evidence.place.file.rpartition("/")[0]
    return any(f"{folder}/{module}{end}".lstrip("/") in known.modules.sources for end in (".py", "/__init__.py"))


def _near(module: str, known: Knowledge) -> str:
    """A module of the repository that may be meant, in words: one that ends so, or is spelt so but for case."""
    near = known.modules.ending(module) or known.modules.folded.get(module.casefold(), ())
    return f"; {near[0]} is" if near else ""


def _unowned(target: Target, known: Knowledge, what: Existence) -> Iterator[Fault]:
    """An import of a file that no target has among its sources.

    It fails a check where the file's package has Python targets: elsewhere nobody has said that it is built this way.
    """
    uses = known.uses[target.label]
    for module, (need, evidence) in uses.needs.items():
        if need is not Need.MUST or module in known.modules.providers or module in uses.provided:
            continue
        path = known.modules.files[module][0]
        home = what.home(path)
        if _is_empty_package(path, known) or known.directives.left_alone(path):
            continue
        if home is not None and what.is_unseen(home):
            continue
        fails = home is not None and any(one.rule.python and one.srcs for one in what.in_package(home))
        message = f"imports {module}, but no target has {path} among its sources"
        yield Fault(Code.UNOWNED_MODULE, target.label, message, module=module, evidence=evidence, fails=fails)


def _is_empty_package(path: str, known: Knowledge) -> bool:
    """Whether a file is an `__init__` with nothing in it: build systems make one where there is none."""
    source = known.modules.sources[path]
    return path.endswith("__init__.py") and not (source.names or source.imports or source.dynamic or source.error)


def _dangling(target: Target, known: Knowledge, what: Existence) -> Iterator[Fault]:
    """A dep that people wrote, on a target that its package, which is wholly known, does not have."""
    graph = known.graph
    for edge in target.edges:
        label = edge.label
        if label in graph.targets or edge.text not in values.texts(target.written.args.get(edge.attribute)):
            continue  # a macro made it, and may make it for another configuration
        if what.may_be_label(label):
            continue
        build_file = graph.seen[graph.workspace.folder(label) or ""]
        message = f"{edge.text} does not exist: {build_file} makes no target of that name"
        yield Fault(Code.DANGLING_LABEL, target.label, message, dep=label, text=edge.text, attribute=edge.attribute)


def _missing_sources(target: Target, known: Knowledge, what: Existence) -> Iterator[Fault]:
    """A source that the rule itself is given, not only the macro around it, and that nothing puts there."""
    if not target.rule.known or target.rule.guessed or what.is_unseen(target.folder):
        return
    given = {attribute: frozenset(_given(target, attribute)) for attribute in target.rule.srcs}
    for path in known.uses[target.label].missing:
        name = path.removeprefix(f"{target.folder}/") if target.folder else path
        attribute = next((attribute for attribute, names in given.items() if name in names), None)
        if attribute is None or what.may_be_label(Label(target.label.repo, target.label.package, name)):
            continue
        message = f"its source {path} does not exist"
        yield Fault(Code.MISSING_SOURCE, target.label, message, attribute=attribute, module=path)


def _given(target: Target, attribute: str) -> Iterator[str]:
    for leaf in target.leaves or (target.leaf,):
        yield from values.walk_strings(leaf.args.get(attribute))


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
    found: dict[Label, list[str]] = {}
    for entry in values.entries(call.args.get(name)).items:
        label = known.graph.workspace.resolve(entry.text, target.folder)
        if label is not None and not entry.condition:
            found.setdefault(label, []).append(entry.text)
    return {
        label: tuple(texts)
        for label, texts in found.items()
        if len(texts) > 1 and not any(text.endswith("]") for text in texts)  # sub-targets are targets of their own
    }


def _orphan(target: Target, known: Knowledge) -> Iterator[Fault]:
    graph = known.graph
    if target.rule.role is not Role.LIBRARY or not target.has_sources or _may_have_unseen_users(target, graph):
        return
    if any(graph.users.get(label) for label in graph.kin(target.label)):
        return
    importers = {user for module in known.modules.owned(target) for user in known.importers.get(module, ())}
    if importers <= {target.label} and not _is_named(target.label, known):
        message = "nothing depends on it, and nothing imports what it provides"
        yield Fault(Code.ORPHAN_TARGET, target.label, message)


def _is_named(label: Label, known: Knowledge) -> bool:
    """Whether a source names the target."""
    return any(label in uses.labels for uses in known.uses.values())


def _may_have_unseen_users(target: Target, graph: TargetGraph) -> bool:
    """Whether a package of which not every target is known may have a dep on it."""
    everywhere = graph.is_public(target) or target.argument("visibility") is None
    return bool(graph.unseen) if everywhere else target.folder in graph.unseen


_FOR_TESTS = re.compile(
    r"(^|[/_-])(tests?|testing|test_?(utils?|lib|helpers?|data)|conftest|fixtures?|mocks?|fakes?)($|[/_-])"
)


def _test_only(target: Target, known: Knowledge) -> Iterator[Fault]:
    """A library that does not look like a helper of tests, although only tests use it."""
    graph = known.graph
    if target.rule.role is not Role.LIBRARY or _is_test(target, graph) or _may_have_unseen_users(target, graph):
        return
    labels = tuple(dict.fromkeys(user for label in graph.kin(target.label) for user in graph.users.get(label, ())))
    users = [graph.targets[label] for label in labels if label not in graph.kin(target.label)]
    importers = {user for module in known.modules.owned(target) for user in known.importers.get(module, ())}
    if None in importers or not users:
        return
    others = [graph.targets[label] for label in importers if label is not None and label != target.label]
    if all(_is_test(user, graph) for user in (*users, *others)):
        message = f"only tests use it: {', '.join(str(user.label) for user in users[:3])}"
        yield Fault(Code.TEST_ONLY_LIBRARY, target.label, message)


def _is_test(user: Target, graph: TargetGraph) -> bool:
    return graph.testonly(user) or bool(_FOR_TESTS.search(_path(user.label)))


def _path(label: Label) -> str:
    return f"{label.package}/{label.name}"
