"""Mutations of a repository's dep lists that buildfix must undo.

usage: mutation.py ROOT [--only deletions|injections] [--sample N] [--seed S] [--jobs N] [--json FILE]

A deletion takes out an entry whose import is evident: a module that the target must have, and has from no other
direct dep. An injection puts in a library that nobody who would get it uses. The repair must put the one back, where
it stood, and take the other out, to the byte. Nothing is written: the mutated files are an overlay of the repository.

What the unmutated repository has of findings is left alone. Many mutations are made in one run, chosen so that none can
influence another. What was not undone, for a reason that another mutation may have given, is made once more among
strangers, and then alone, before it counts. Every run is audited by rules that share nothing with the repair.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import multiprocessing
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from buildfix import config, diagnose, edits, pipeline, preference, proof, workspace
from buildfix.buildfile import BuildFile, BuildFileError, Span
from buildfix.config import ConfigError
from buildfix.diagnose import Diagnosis
from buildfix.edits import Change, ListChange
from buildfix.engine import EngineError
from buildfix.findings import FileChange, Reason
from buildfix.knowledge import Knowledge, import_only
from buildfix.labels import Label
from buildfix.permits import Permits, Refusal
from buildfix.proof import Proven
from buildfix.reach import Pair, Reach
from buildfix.rules import Role
from buildfix.sites import AddPlace, Blocked, Element, Sites
from buildfix.spelling import Speller
from buildfix.targets import Target
from buildfix.uses import Need
from buildfix.workspace import WorkspaceError

# Reasons that depend on more than the target itself: with one of these, a miss may be another mutation's doing.
_JOINT = frozenset(
    (
        Reason.AMBIGUOUS,
        Reason.NOT_IMPORT_ONLY,
        Reason.NOT_PROVEN,
        Reason.NOT_VISIBLE,
        Reason.RELIED_ON,
        Reason.WOULD_CYCLE,
    )
)
_EXAMPLES = 3


# --- mutations -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mutation:
    """One dep taken out of, or put into, the list of one call site.

    `targets` are those that lose the dep though it is evident, or get it; `owners` all that the list feeds. `changes`
    belong to `file`; `lists` are the spans of the lists that they change there, `call` that of the call site. `doubt`
    says what, known beforehand, keeps anyone from changing the target or from saying that it needs no such dep.
    """

    kind: str
    target: Label
    dep: Label
    form: str
    file: str
    line: int
    changes: tuple[Change, ...]
    lists: tuple[Span, ...]
    call: Span | None
    targets: frozenset[Label]
    owners: frozenset[Label]
    family: tuple[object, ...] = field(repr=False)
    doubt: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.target} {'-' if self.kind == 'deletion' else '+'} {self.dep}"


class Skipped(NamedTuple):
    """A dep, or a target, that no mutation could be made of, and why."""

    kind: str
    form: str
    why: str
    where: str


@dataclass(frozen=True)
class Outcome:
    """What became of a mutation.

    `undone`: every target has the dep again, or has it no more. `site`: in the same list; `position`: at the same
    index; `identical`: to the byte. `reason` says why not; `joint` whether that may be another mutation's doing.
    """

    mutation: Mutation
    undone: bool
    site: bool = False
    position: bool = False
    identical: bool = False
    reason: str = ""
    detail: str = ""
    joint: bool = False


# --- the unmutated repository ----------------------------------------------------------------------------------------


class Graph:
    """Who reaches what by the evaluated edges: a few lines that share nothing with buildfix.reach."""

    def __init__(self, known: Knowledge) -> None:
        targets = known.graph.targets
        named = {edge.label for target in targets.values() for edge in target.edges}
        self.labels = sorted(named | targets.keys())
        self.number = {label: number for number, label in enumerate(self.labels)}
        self._known = known
        self.refs = self._children(lambda target: [*(edge.label for edge in target.edges), *target.refs])

    def _children(self, deps: Callable[[Target], Iterable[Label]]) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.labels]
        for label, target in self._known.graph.targets.items():
            found[self.number[label]] = [self.number[dep] for dep in deps(target) if dep in self.number]
        return found

    @cached_property
    def reached(self) -> list[int]:
        """The bits of what each node reaches."""
        return closed(self._children(lambda target: [edge.label for edge in target.edges]))

    @cached_property
    def reached_always(self) -> list[int]:
        """The same, by edges that are under no condition."""
        return closed(self._children(lambda target: [edge.label for edge in target.edges if not edge.condition]))

    @cached_property
    def reached_or_named(self) -> list[int]:
        """The same, by every label that an attribute names."""
        return closed(self.refs)

    def mask(self, labels: Iterable[Label]) -> int:
        """The bits of some nodes."""
        bits = 0
        for label in labels:
            if label in self.number:
                bits |= 1 << self.number[label]
        return bits


def closed(children: Sequence[Sequence[int]]) -> list[int]:
    """The bits of all nodes that each node reaches, itself included: united along the edges until nothing changes."""
    reached = [1 << node for node in range(len(children))]
    order = _depth_first(children)
    changed = True
    while changed:
        changed = False
        for node in order:
            bits = reached[node]
            for child in children[node]:
                bits |= reached[child]
            if bits != reached[node]:
                reached[node], changed = bits, True
    return reached


def _depth_first(children: Sequence[Sequence[int]]) -> list[int]:
    """All nodes, children before parents as far as there are no cycles."""
    order: list[int] = []
    seen = bytearray(len(children))
    for root in range(len(children)):
        stack = [] if seen[root] else [(root, iter(children[root]))]
        seen[root] = 1
        while stack:
            node, rest = stack[-1]
            child = next((child for child in rest if not seen[child]), None)
            if child is None:
                order.append(node)
                stack.pop()
            else:
                seen[child] = 1
                stack.append((child, iter(children[child])))
    return order


class Base:
    """The repository as it is, and everything that is worth knowing of it once."""

    def __init__(self, root: Path, jobs: int = 0) -> None:
        settings = config.load(root)
        space = workspace.read(root, settings)
        options = pipeline.Options(jobs=jobs)
        self.known = pipeline.load(space, settings, options)
        self.rerun = pipeline.Rerun(space, settings, options, self.known)
        self.sites = Sites(self.known.facts, self.rerun.read)
        self.permits = Permits(self.known.graph, self.sites, settings)
        self.graph = Graph(self.known)
        everything = diagnose.diagnose(self.known)
        self.missing = {(one.target, module) for one in everything.missing for module in one.modules}
        self.unused = {(one.target, one.dep) for one in everything.unused}

    def targets(self) -> Iterator[Target]:
        """The Python targets whose deps can be written."""
        return (target for target in self.known.graph.python if target.rule.deps)

    def call_of(self, target: Target) -> Span | None:
        """The bytes of the call that people wrote."""
        frame = target.written.stack[-1]
        try:
            file = self.sites.file(frame.file)
        except BuildFileError:
            return None
        call = file.call_at(frame.line, frame.col)
        return file.span(call) if call is not None else None

    def marked(self, target: Target) -> str:
        """The marker by which people keep the target from being changed, if there is one."""
        answer = self.permits.add(target)
        kept = isinstance(answer, Refusal) and answer.reason in (Reason.MARKED, Reason.NO_AUTODEPS)
        return str(answer.reason) if isinstance(answer, Refusal) and kept else ""

    def unknown(self, target: Target) -> str:
        """What keeps anyone from saying what the target uses, if there is anything."""
        uses = self.known.uses[target.label]
        if uses.dynamic:
            return "it imports by value"
        if uses.broken or uses.missing or target.unknown or any(src.path is None for src in target.srcs):
            return "not all of its sources are known"
        return "its rule is guessed" if target.rule.guessed else ""

    @cached_property
    def providers(self) -> Mapping[Label, int]:
        """For each Python target the nodes that have a module which it uses in whatever way."""
        modules, found = self.known.modules, dict[Label, int]()
        for target in self.known.graph.python:
            uses = self.known.uses[target.label]
            used = set(uses.needs).union(*(modules.below(prefix) for prefix in uses.prefixes)) - modules.owned(target)
            found[target.label] = self.graph.mask(p for module in used for p in modules.providers.get(module, ()))
        return found

    @cached_property
    def unseen(self) -> int:
        """The nodes that a source may use of which no target is known, as its package could not be evaluated."""
        modules = self.known.modules
        packages = {package.path for package in self.known.graph.packages}
        found: set[Label] = set()
        for path, source in modules.sources.items():
            folder = path.rpartition("/")[0]
            while folder and folder not in packages:
                folder = folder.rpartition("/")[0]
            for statement in source.imports if folder in self.known.graph.incomplete else ():
                one = modules.resolve(statement, modules.package_of(path))
                found.update(p for module in (*one.needs, *one.touches) for p in modules.providers.get(module, ()))
        return self.graph.mask(found)


def deletions(base: Base) -> tuple[list[Mutation], list[Skipped]]:
    """One for each (call site, dep) whose import is evident."""
    found: dict[tuple[Label, frozenset[object]], tuple[list[Entry], list[Target]]] = {}
    skipped: dict[tuple[object, ...], Skipped] = {}
    for target in base.targets():
        for dep in _evident(target, base.known):
            elements = base.permits.entries(target, dep)
            entries = [entry_of(base.sites, element) for element in elements]
            why = ""
            if not elements:
                why = "no entry names it: a macro adds it"
            elif None in entries:
                why = next((e.problem for e in elements if e.problem), "it is no entry of a list")
            elif len({element.file for element in elements}) > 1:
                why = "its entries stand in several files"
            if why:
                form = base.permits.site(target).form
                one = Skipped("deletion", form, why, f"{target.place}: {target.label} - {dep}")
                skipped.setdefault((target.family, dep), one)
                continue
            whole = [entry for entry in entries if entry is not None]
            key = (dep, frozenset((e.file, e.holder, e.at) for e in whole))
            found.setdefault(key, (whole, []))[1].append(target)
    made = [_deletion(base, dep, entries, targets) for (dep, _), (entries, targets) in found.items()]
    return made, list(skipped.values())


class Entry(NamedTuple):
    """An entry of a list literal: the list's bytes, the entry's index and first byte, and its line."""

    file: str
    holder: Span
    at: int
    start: int
    line: int


def entry_of(sites: Sites, element: Element) -> Entry | None:
    """The entry that a literal is, or is one side of."""
    file = sites.file(element.file)
    node = next((node for node in file.nodes if isinstance(node, ast.expr) and file.span(node) == element.span), None)
    conditional = False
    while node is not None:
        parent = file.parents[node]
        if isinstance(parent, ast.List) and (conditional or not element.problem):
            at = parent.elts.index(node)
            return Entry(element.file, file.span(parent), at, file.start(node), file.line(file.start(node)))
        node, conditional = (parent, True) if isinstance(parent, ast.IfExp) else (None, False)
    return None


def _evident(target: Target, known: Knowledge) -> Iterator[Label]:
    """The deps without which the target would lack a module that it must have."""
    owned, providers = known.modules.owned(target), known.modules.providers
    needed = [m for m, (need, _) in known.uses[target.label].needs.items() if need is Need.MUST and m not in owned]
    behind = {dep: set(known.behind(dep)) for dep in dict.fromkeys(edge.label for edge in target.edges)}
    for dep in behind:
        edges = [edge for edge in target.edges if edge.label == dep]
        if dep == target.label or any(edge.fixed or edge.attribute != target.rule.deps for edge in edges):
            continue
        others = set().union(*(labels for other, labels in behind.items() if other != dep))
        for module in needed:
            having = set(providers.get(module, ()))
            if having & behind[dep] and not having & others:
                yield dep
                break


def _deletion(base: Base, dep: Label, entries: list[Entry], targets: list[Target]) -> Mutation:
    first = targets[0]
    owners = {label for element in base.permits.entries(first, dep) for label in base.permits.owners(element)}
    return Mutation(
        "deletion",
        first.label,
        dep,
        base.permits.site(first).form,
        entries[0].file,
        entries[0].line,
        tuple(ListChange(entry.holder.start, drop=(entry.start,)) for entry in dict.fromkeys(entries)),
        tuple(dict.fromkeys(entry.holder for entry in entries)),
        base.call_of(first) if first.place.file == entries[0].file else None,
        frozenset(target.label for target in targets),
        frozenset(owners | {target.label for target in targets}),
        first.family,
        base.marked(first),
    )


def injections(base: Base, seed: int) -> tuple[list[Mutation], list[Skipped]]:
    """One for each call site that makes Python targets."""
    chooser = _Chooser(base, seed)
    made: list[Mutation] = []
    skipped: list[Skipped] = []
    families: set[tuple[object, ...]] = set()
    for target in base.targets():
        if target.family in families:
            continue
        families.add(target.family)
        site = base.permits.site(target)
        place = base.sites.adds(site)
        owners = base.permits.owners(place) if isinstance(place, AddPlace) else frozenset()
        library = chooser.choose(target, owners) if owners else None
        if not target.has_sources:
            skipped.append(Skipped("injection", site.form, "it has no sources to be judged by", str(target.label)))
        elif isinstance(place, Blocked):
            skipped.append(Skipped("injection", site.form, f"nothing can be added: {place.reason}", str(target.label)))
        elif library is None:
            skipped.append(
                Skipped("injection", site.form, "there is no library that is of no use to it", str(target.label))
            )
        else:
            made.append(_injection(base, target, library, place, owners))
    return made, skipped


def _injection(base: Base, target: Target, library: Label, place: AddPlace, owners: frozenset[Label]) -> Mutation:
    site = base.permits.site(target)
    siblings = [element.text for element in site.elements if element.text]
    text = Speller(base.known.graph).spell(library, target, siblings)
    python = frozenset(label for label in owners if label in base.known.uses)
    return Mutation(
        "injection",
        target.label,
        library,
        site.form,
        place.file,
        place.line,
        (edits.adding(place, (text,), order=base.permits.order(target)),),
        (place.span,) if place.kind == "list" else (),
        base.call_of(target) if target.place.file == place.file else None,
        python,
        owners,
        target.family,
        base.marked(target) or base.unknown(target),
    )


class _Chooser:
    """Picks libraries that are of no use: nobody who would get one through the injected edge, nobody in a program
    that would get it so, nor a source whose targets are not known, uses anything of it, and all that it brings along
    can do nothing but be imported."""

    def __init__(self, base: Base, seed: int) -> None:
        self._base = base
        self._random = random.Random(seed)
        known, graph = base.known, base.graph
        self._libraries = [
            target
            for target in known.graph.python
            if target.rule.role is Role.LIBRARY
            and target.rule.dependable
            and import_only(target, known.modules)
            and not preference.avoided(target)
        ]
        harmless = {t.label for t in known.graph.python if import_only(t, known.modules)}
        useful = graph.mask(label for label in graph.labels if label not in harmless)
        self._lacks = {label: mask & ~graph.reached[graph.number[label]] for label, mask in base.providers.items()}
        self._bad = {
            label: lacks | useful & ~graph.reached[graph.number[label]] for label, lacks in self._lacks.items()
        }

    def choose(self, target: Target, owners: frozenset[Label]) -> Label | None:
        """A visible library that the owners of a list do not reach and that does not reach them."""
        known, graph = self._base.known, self._base.graph
        mine = graph.mask(owners)
        had = 0
        for label in owners:
            had |= graph.reached_or_named[graph.number[label]]
        bad = mine | self._base.unseen
        programs = 0
        for label, mask in self._bad.items():
            reached = graph.reached[graph.number[label]]
            if reached & mine:
                bad |= mask
                programs |= reached
        for label, mask in self._lacks.items():
            if programs >> graph.number[label] & 1:
                bad |= mask
        makers = [known.graph.targets[label] for label in owners]
        uses = [known.uses[label] for label in owners if label in known.uses]
        for library in self._random.sample(self._libraries, len(self._libraries)):
            number = graph.number[library.label]
            if had >> number & 1 or graph.reached[number] & bad or graph.reached_or_named[number] & mine:
                continue
            if not all(known.graph.visible(library, maker) for maker in makers):
                continue
            if known.graph.testonly(library) and not all(known.graph.testonly(maker) for maker in makers):
                continue
            owned = known.modules.owned(library)
            named = any(library.label in use.labels for use in uses)
            if named or any(f"{module}.".startswith(f"{p}.") for use in uses for p in use.prefixes for module in owned):
                continue
            return library.label
        return None


# --- batches ---------------------------------------------------------------------------------------------------------


@dataclass
class _Batch:
    mutations: list[Mutation] = field(default_factory=list)
    claims: set[object] = field(default_factory=set)
    mutated: int = 0
    brought: int = 0


def batches(base: Base, mutations: Iterable[Mutation], apart: bool = False) -> list[list[Mutation]]:
    """Put together what cannot influence one another; `apart`: what has not even a package in common."""
    cycles = _cycles(base.graph)
    found: list[_Batch] = []
    for mutation in mutations:
        claims = set(_claims(base, mutation, cycles, apart))
        mutated = base.graph.mask(mutation.owners)
        brought = base.graph.reached_or_named[base.graph.number[mutation.dep]] if mutation.kind == "injection" else 0
        for batch in found:
            if not (claims & batch.claims or brought & batch.mutated or mutated & batch.brought):
                break
        else:
            batch = _Batch()
            found.append(batch)
        batch.mutations.append(mutation)
        batch.claims |= claims
        batch.mutated |= mutated
        batch.brought |= brought
    return [batch.mutations for batch in found]


def strangers(base: Base, mutations: Iterable[Mutation]) -> list[list[Mutation]]:
    """Put together what has nothing at all in common."""
    return batches(base, mutations, apart=True)


def alone(base: Base, mutations: Iterable[Mutation]) -> list[list[Mutation]]:
    """Each in a run of its own."""
    return [[mutation] for mutation in mutations]


def _claims(base: Base, mutation: Mutation, cycles: Mapping[int, int], apart: bool) -> Iterator[object]:
    """What no other mutation of the batch may touch."""
    yield mutation.family
    yield from mutation.owners
    yield from ((mutation.file, span) for span in mutation.lists)
    node, dep = (base.graph.number.get(label, -1) for label in (mutation.target, mutation.dep))
    if node in cycles and cycles.get(node) == cycles.get(dep):
        yield ("cycle", cycles[node])
    if apart:
        yield ("file", mutation.file)
        yield from (("package", label.repo, label.package) for label in (*mutation.owners, mutation.dep))


def _cycles(graph: Graph) -> dict[int, int]:
    """Of each node that lies on a cycle, the bits of those that lie on it too."""
    reached = graph.reached_or_named
    found: dict[int, int] = {}
    for node, children in enumerate(graph.refs):
        if any(reached[child] >> node & 1 for child in children):
            found[node] = sum(1 << other for other in _bits(reached[node]) if reached[other] >> node & 1)
    return found


def _bits(bits: int) -> Iterator[int]:
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


# --- one run ---------------------------------------------------------------------------------------------------------


@dataclass
class Scratch:
    """The repository with some files changed in memory; remembers the last evaluation."""

    base: pipeline.Rerun
    files: Mapping[str, bytes]
    overlay: Mapping[str, str] | None = None
    known: Knowledge | None = None

    def read(self, path: str) -> bytes | None:
        """A file's bytes, as mutated."""
        return self.files.get(path) or self.base.read(path)

    def evaluate(self, overlay: Mapping[str, str]) -> Knowledge:
        """What would be known if the files of `overlay` had that text too."""
        whole = {path: data.decode() for path, data in self.files.items()} | dict(overlay)
        self.overlay, self.known = overlay, self.base.evaluate(whole)
        return self.known


class Ran(NamedTuple):
    """The outcomes of one run, and all that the audit found wrong in it."""

    outcomes: list[Outcome]
    violations: list[str]


def run(base: Base, mutations: Sequence[Mutation]) -> Ran:
    """Make the mutations, repair the targets that they touch, compare, audit."""
    scratch = Scratch(base.rerun, _files(base, mutations))
    mutated = scratch.evaluate({})
    selected = {label for mutation in mutations for label in mutation.owners}
    mutated = replace(mutated, selected=lambda target: target.label in selected, selected_folder=lambda folder: False)
    sites = Sites(mutated.facts, scratch.read)
    permits, reach = Permits(mutated.graph, sites, mutated.config), Reach(mutated)
    diagnosis = _new(diagnose.diagnose(mutated), base)
    proven = proof.prove(mutated, diagnosis, scratch, sites, permits, reach)
    after = scratch.evaluate({change.path: change.after.decode() for change in proven.changes})
    files = dict(scratch.files) | {change.path: change.after for change in proven.changes}
    judge = _Judge(base, mutated, after, diagnosis, proven, files)
    outcomes = [judge.outcome(mutation) for mutation in mutations]
    return Ran(outcomes, list(audit(base, mutated, after, mutations, proven.changes)))


def _files(base: Base, mutations: Sequence[Mutation]) -> dict[str, bytes]:
    by_file: dict[str, list[Change]] = defaultdict(list)
    for mutation in mutations:
        by_file[mutation.file] += mutation.changes
    return {path: edits.edit(base.sites.file(path), changes) for path, changes in by_file.items()}


def _new(diagnosis: Diagnosis, base: Base) -> Diagnosis:
    """What the unmutated repository does not have."""
    return Diagnosis(
        tuple(one for one in diagnosis.missing if any((one.target, m) not in base.missing for m in one.modules)),
        tuple(one for one in diagnosis.unused if (one.target, one.dep) not in base.unused),
        (),
    )


@dataclass
class _Judge:
    """Compares the repaired repository with the one that was mutated."""

    base: Base
    mutated: Knowledge
    after: Knowledge
    diagnosis: Diagnosis
    proven: Proven
    files: Mapping[str, bytes]

    def outcome(self, mutation: Mutation) -> Outcome:
        having = [label for label in mutation.targets if mutation.dep in self.after.graph.deps(label)]
        deletion = mutation.kind == "deletion"
        if len(having) != (len(mutation.targets) if deletion else 0):
            label = min(mutation.targets - set(having) if deletion else having)
            reason, detail, joint = self._why(mutation, label)
            return Outcome(mutation, False, reason=reason, detail=detail, joint=joint)
        identical = self._same_bytes(mutation)
        places = [self._places(mutation, label) for label in sorted(mutation.targets)] if not identical else []
        site = identical or all(now and {one for one, _ in now} <= {one for one, _ in was} for was, now in places)
        position = identical or (site and all(set(now) <= set(was) for was, now in places))
        if not deletion:
            site = position = identical
        reason = "" if position else self._where(mutation) if not site else "another index of the same list"
        return Outcome(mutation, True, site, position, identical, reason, self._lines(mutation) if reason else "")

    def _why(self, mutation: Mutation, label: Label) -> tuple[str, str, bool]:
        refusals = self.proven.plan.held.get(Pair(label, mutation.dep), ())
        if refusals:
            return _told(refusals)
        if mutation.kind == "injection":
            known = any((one.target, one.dep) == (label, mutation.dep) for one in self.diagnosis.unused)
            return ("found unused, and neither dropped nor held" if known else "not found unused"), "", True
        needs = self.after.uses[label].needs
        for one in self.diagnosis.missing:
            behind = {*self.mutated.behind(mutation.dep)}
            if one.target != label or not behind & {*one.choices, *self._havers(one.modules)}:
                continue
            if one.provider is not None and one.provider != mutation.dep:
                planned = Pair(label, one.provider) in self.proven.plan.adds
                what = "came back as another provider" if planned else "another provider was chosen, and held"
                held = self.proven.plan.held.get(Pair(label, one.provider), ())
                return what, f"{one.provider}; {_told(held)[1]}" if held else str(one.provider), True
            choices = " or ".join(map(str, one.choices))
            return ", ".join(one.reasons) or "no provider", choices, bool(_JOINT & set(one.reasons))
        still = [m for m, (need, _) in needs.items() if need is Need.MUST and mutation.dep in self._havers((m,))]
        return "no finding", ", ".join(still[:2]), True

    def _havers(self, modules: Iterable[str]) -> set[Label]:
        return {label for module in modules for label in self.mutated.modules.providers.get(module, ())}

    def _same_bytes(self, mutation: Mutation) -> bool:
        """Whether the file, or else the call and the lists that were mutated, are as they were."""
        before = self.base.sites.file(mutation.file)
        now = self.files.get(mutation.file, before.data)
        if now == before.data:
            return True
        try:
            after = BuildFile.parse(mutation.file, now)
        except BuildFileError:
            return False
        spans = [*mutation.lists, *((mutation.call,) if mutation.call else ())]
        if not spans:
            return False
        for span in spans:
            path = _path(before, span)
            node = _follow(after, path) if path is not None else None
            if node is None or after.data[slice(*after.span(node))] != before.data[slice(*span)]:
                return False
        return True

    def _places(self, mutation: Mutation, label: Label) -> tuple[list[_Spot], list[_Spot]]:
        """(list, index) of the entries that named the dep, and of those that do now."""
        return (
            _spots(self.base.permits, self.base.sites, self.base.known.graph.targets[label], mutation.dep),
            _spots(self._permits, self._sites, self.after.graph.targets[label], mutation.dep),
        )

    def _where(self, mutation: Mutation) -> str:
        if mutation.kind == "injection":
            return "an empty attribute is left" if not mutation.lists else "the layout stays as the injection made it"
        places = self.proven.plan.adds.get(Pair(mutation.target, mutation.dep))
        kinds = {"list": "into another list", "attribute": "as a new attribute", "extend": "as a list added to it"}
        return kinds.get(places.place.kind, "elsewhere") if places else "elsewhere"

    def _lines(self, mutation: Mutation) -> str:
        if mutation.kind == "injection":
            return ""
        spots = [spot for label in sorted(mutation.targets) for spot in self._places(mutation, label)[0]][:1]
        nows = [spot for label in sorted(mutation.targets) for spot in self._places(mutation, label)[1]][:1]
        return f"index {spots[0][1] if spots else '?'}, now {nows[0][1] if nows else '?'}"

    @cached_property
    def _sites(self) -> Sites:
        return Sites(self.after.facts, lambda path: self.files.get(path) or self.base.rerun.read(path))

    @cached_property
    def _permits(self) -> Permits:
        return Permits(self.after.graph, self._sites, self.after.config)


def _told(refusals: Iterable[Refusal]) -> tuple[str, str, bool]:
    reasons = list(dict.fromkeys(refusal.reason for refusal in refusals))
    details = "; ".join(dict.fromkeys(refusal.detail for refusal in refusals if refusal.detail))
    return ", ".join(reasons), details, bool(_JOINT & set(reasons))


_Way = tuple[tuple[str, int], ...]
_Spot = tuple[tuple[str, _Way | None], int]


def _spots(permits: Permits, sites: Sites, target: Target, dep: Label) -> list[_Spot]:
    """The lists, and the indexes in them, at which a dep of a target stands."""
    found: list[_Spot] = []
    for element in permits.entries(target, dep):
        entry = entry_of(sites, element)
        if entry is None:
            found.append(((element.file, None), -1))
        else:
            found.append(((element.file, _path(sites.file(element.file), entry.holder)), entry.at))
    return found


def _path(file: BuildFile, span: Span) -> _Way | None:
    """The way from the root of the tree to the outermost node with these bytes: fields and indexes."""
    node = next((node for node in file.nodes if hasattr(node, "lineno") and file.span(node) == span), None)
    if node is None:
        return None
    steps: list[tuple[str, int]] = []
    while node is not file.tree:
        parent = file.parents[node]
        for name, value in ast.iter_fields(parent):
            if value is node:
                steps.append((name, -1))
            elif isinstance(value, list):
                steps += [(name, index) for index, item in enumerate(value) if item is node]
        node = parent
    return tuple(reversed(steps))


def _follow(file: BuildFile, path: _Way) -> ast.AST | None:
    node: ast.AST = file.tree
    for name, index in path:
        value = getattr(node, name, None)
        if index >= 0:
            value = value[index] if isinstance(value, list) and index < len(value) else None
        if not isinstance(value, ast.AST):
            return None
        node = value
    return node if hasattr(node, "lineno") else None


# --- the audit -------------------------------------------------------------------------------------------------------


def audit(
    base: Base, mutated: Knowledge, after: Knowledge, mutations: Sequence[Mutation], changes: Sequence[FileChange]
) -> Iterator[str]:
    """Everything that the repair did and should not have done, seen from the evaluated repository alone."""
    deleted = {(label, m.dep) for m in mutations if m.kind == "deletion" for label in m.owners}
    injected = {(label, m.dep) for m in mutations if m.kind == "injection" for label in m.owners}
    gained: set[tuple[Label, Label]] = set()
    dropped: set[tuple[Label, Label]] = set()
    for label in sorted(mutated.graph.targets.keys() | after.graph.targets.keys()):
        if label not in after.graph.targets or label not in mutated.graph.targets:
            yield f"{label} {'is gone' if label in mutated.graph.targets else 'is new'}"
            continue
        had, has = set(mutated.graph.deps(label)), set(after.graph.deps(label))
        gained |= {(label, dep) for dep in has - had}
        dropped |= {(label, dep) for dep in had - has}
        old, new = mutated.graph.targets[label], after.graph.targets[label]
        ignored = {old.rule.deps} if has != had else set()
        for one, other in ((old.leaf, new.leaf), (old.written, new.written)):
            names = (one.args.keys() | other.args.keys()) - ignored
            yield from (f"{label}: {n} changed" for n in sorted(names) if one.args.get(n) != other.args.get(n))
    for target, dep in sorted(dropped - injected):
        yield f"{target} lost {dep}, which was not injected"
    shared: Counter[Mutation] = Counter()
    behind = {(label, given) for label, dep in deleted for given in base.known.behind(dep)}
    for target, dep in sorted(gained - behind):
        if _explained(base, target, dep):
            continue
        family = after.graph.targets[target].family
        with_it = next((m for m in mutations if dep in base.known.behind(m.dep) and m.family == family), None)
        if with_it is not None:
            shared[with_it] += 1
        else:
            yield f"{target} gained {dep}, which it does not import"
    for mutation, count in shared.items():
        yield f"{mutation}: {count} others of the call site gained it too, and do not import it"
    graph = Graph(after)
    for target, dep in sorted(gained):
        known = dep in base.known.graph.deps(target)
        if not known and graph.reached_or_named[graph.number[dep]] >> graph.number[target] & 1:
            yield f"{target} gained {dep}, which reaches it"
    yield from dict.fromkeys(_unreached(mutated, after, graph))
    errors = Counter((p.path, e.kind, e.message) for p in after.facts.packages for e in p.errors)
    errors -= Counter((p.path, e.kind, e.message) for p in base.known.facts.packages for e in p.errors)
    yield from (f"new error in {path}: {kind}: {message}" for path, kind, message in errors)
    touched = {m.file for m in mutations}
    touched |= {
        after.graph.targets[target].place.file for target, _ in gained | dropped if target in after.graph.targets
    }
    yield from (f"{change.path} was edited" for change in changes if change.path not in touched)


def _explained(base: Base, target: Label, dep: Label) -> bool:
    """Whether a target imports something that an added dep provides."""
    if target not in base.known.uses:
        return False
    needs = base.known.uses[target].needs
    owned = {m for label in base.known.behind(dep) for m in base.known.modules.of_target.get(label, ())}
    return any(needs[module][0] is Need.MUST for module in owned if module in needs)


def _unreached(mutated: Knowledge, after: Knowledge, there: Graph) -> Iterator[str]:
    """Modules that a target uses and reached, under whatever or under no condition, and reaches no more."""
    here = Graph(mutated)
    providers = mutated.modules.providers
    renumbered = None if here.labels == there.labels else there
    for target in mutated.graph.python:
        if target.label not in there.number:
            continue
        mine, its = here.number[target.label], there.number[target.label]
        for before, now in ((here.reached, there.reached), (here.reached_always, there.reached_always)):
            if renumbered is None and not before[mine] & ~now[its]:
                continue
            for module in mutated.uses[target.label].needs:
                having = providers.get(module, ())
                if here.mask(having) & before[mine] and not there.mask(having) & now[its]:
                    yield f"{target.label} no longer reaches {module}"


# --- all runs --------------------------------------------------------------------------------------------------------

Say = Callable[[str], None]
_base: Base | None = None  # what forked workers share


def _run_shared(mutations: Sequence[Mutation]) -> Ran:
    assert _base is not None
    return run(_base, mutations)


def run_all(base: Base, listed: Sequence[Sequence[Mutation]], jobs: int, say: Say) -> list[Ran]:
    """Run batches, several at once where the system can fork."""
    global _base
    _base = base
    done: list[Ran] = []
    started = time.monotonic()
    if jobs > 1 and len(listed) > 1 and "fork" in multiprocessing.get_all_start_methods():
        with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork")) as pool:
            runs: Iterable[Ran] = pool.map(_run_shared, listed)
            for ran in runs:
                done.append(ran)
                say(f"{len(done)} of {len(listed)} runs, {time.monotonic() - started:.0f} s")
        return done
    for batch in listed:
        done.append(run(base, batch))
        say(f"{len(done)} of {len(listed)} runs, {time.monotonic() - started:.0f} s")
    return done


def measure(base: Base, mutations: Sequence[Mutation], jobs: int, say: Say) -> Ran:
    """The outcome of every mutation: in company, then the misses among strangers, then those in doubt alone."""
    outcomes: dict[Mutation, Outcome] = {}
    violations: dict[str, None] = {}
    left = list(mutations)
    for group in (batches, strangers, alone):
        ran = run_all(base, group(base, left), jobs, say)
        outcomes |= {outcome.mutation: outcome for one in ran for outcome in one.outcomes}
        violations |= dict.fromkeys(text for one in ran for text in one.violations)
        company = [outcome for one in ran if len(one.outcomes) > 1 for outcome in one.outcomes]
        left = [outcome.mutation for outcome in company if not outcome.undone and outcome.joint]
    return Ran([outcomes[mutation] for mutation in mutations], list(violations))


# --- telling ---------------------------------------------------------------------------------------------------------


def table(kind: str, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The figures by form of the list, as Markdown."""
    by_form: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_form[outcome.mutation.form].append(outcome)
    forms = sorted(by_form, key=lambda form: (-len(by_form[form]), form))
    if kind == "deletion":
        yield "| form of `deps` | deleted | came back | at the same site | at the same position | to the byte |"
        yield "|---|--:|--:|--:|--:|--:|"
    else:
        yield "| form of `deps` | injected | went | to the byte |"
        yield "|---|--:|--:|--:|"
    groups = [(form, by_form[form]) for form in forms]
    groups += [("all", list(outcomes)), ("all without a doubt", [o for o in outcomes if not o.mutation.doubt])]
    for name, rows in groups:
        counts = [sum(o.undone for o in rows)]
        if kind == "deletion":
            counts += [sum(o.site for o in rows), sum(o.position for o in rows)]
        counts.append(sum(o.identical for o in rows))
        cells = (f"{count} ({_percent(count, len(rows))})" for count in counts)
        yield f"| {name} | {len(rows)} | {' | '.join(cells)} |"


def _percent(count: int, of: int) -> str:
    return f"{100 * count / of:.1f} %" if of else "-"


def misses(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """What was not undone, or not exactly, by reason, with examples."""
    groups: dict[tuple[bool, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.reason or not outcome.undone:
            groups[(outcome.undone, outcome.reason)].append(outcome)
    for (undone, reason), found in sorted(groups.items(), key=lambda item: (item[0][0], -len(item[1]))):
        yield f"- {'undone elsewhere' if undone else 'not undone'}, {reason}: {len(found)}"
        for outcome in found[:_EXAMPLES]:
            yield f"  - {outcome.mutation}{' (' + outcome.detail + ')' if outcome.detail else ''}"


def skips(skipped: Sequence[Skipped]) -> Iterator[str]:
    """What no mutation could be made of, by reason."""
    groups: dict[str, list[Skipped]] = defaultdict(list)
    for one in skipped:
        groups[one.why].append(one)
    for why, found in sorted(groups.items(), key=lambda item: -len(item[1])):
        yield f"- not mutated, {why}: {len(found)}, for example {found[0].where}"


def as_json(outcome: Outcome) -> dict[str, object]:
    """An outcome for other tools."""
    mutation = outcome.mutation
    return {
        "kind": mutation.kind,
        "target": str(mutation.target),
        "dep": str(mutation.dep),
        "form": mutation.form,
        "file": mutation.file,
        "line": mutation.line,
        "undone": outcome.undone,
        "site": outcome.site,
        "position": outcome.position,
        "identical": outcome.identical,
        "reason": outcome.reason,
        "detail": outcome.detail,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit status is 1 if the audit found anything."""
    parser = argparse.ArgumentParser(description="Delete and inject deps; see whether buildfix undoes it.")
    parser.add_argument("root", type=Path, metavar="ROOT")
    parser.add_argument("--only", choices=("deletions", "injections"))
    parser.add_argument("--sample", type=int, metavar="N", help="so many of each kind")
    parser.add_argument("--seed", type=int, default=0, metavar="S")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="so many runs at once")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every outcome there")
    options = parser.parse_args(arguments)
    try:
        base = Base(options.root)
    except (ConfigError, WorkspaceError, EngineError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    gc.collect()
    gc.freeze()
    outcomes: list[Outcome] = []
    violations: list[str] = []
    for kind in ("deletion", "injection"):
        if options.only and options.only != f"{kind}s":
            continue
        made, skipped = deletions(base) if kind == "deletion" else injections(base, options.seed)
        chooser = random.Random(options.seed)
        chosen = chooser.sample(made, min(options.sample or len(made), len(made)))
        ran = measure(base, chosen, options.jobs, _say)
        outcomes += ran.outcomes
        violations += ran.violations
        print(f"\n{kind.capitalize()}s: {len(chosen)} of {len(made)}, seed {options.seed}\n")
        print("\n".join((*table(kind, ran.outcomes), "", *misses(ran.outcomes), *skips(skipped))))
    print(f"\nThe audit found {len(violations)} edits that should not have been made.")
    print("\n".join(f"- {text}" for text in violations))
    if options.json:
        listed = {"outcomes": [as_json(outcome) for outcome in outcomes], "violations": violations}
        options.json.write_text(json.dumps(listed, indent=1) + "\n", "utf-8")
    return 1 if violations else 0


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
