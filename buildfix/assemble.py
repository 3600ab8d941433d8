"""The engine's calls to the TargetGraph: which call is a target, and what its attributes say.

A target is a call of a rule (the leaf); the outermost recorded call on the way to it that names it is how people wrote
it. Macros rewrite labels and drop attributes on that way, so edges and sources are the union of both views.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from buildfix import labels, values
from buildfix.config import Config
from buildfix.engine import Call, Facts
from buildfix.labels import Label
from buildfix.roots import Dialect
from buildfix.rules import Role, Rule, rule_of
from buildfix.targets import NO_REFS, Edge, Src, Target, TargetGraph
from buildfix.workspace import Workspace

_NOT_TARGETS = frozenset(
    (
        "package",
        "module",
        "workspace",
        "bazel_dep",
        "use_extension",
        "use_repo",
        "register_toolchains",
        "local_repository",
    )
)


@dataclass(frozen=True, slots=True)
class _Builder:
    workspace: Workspace
    config: Config
    is_source: Callable[[str], bool]

    def build(self, leaf: Call, written: Call, sound: bool, alone: bool) -> Target:
        folder = leaf.package
        repo, package = self.workspace.package_of(folder)
        # What people gave to a macro holds for the target of that name, and for the only one that the macro makes.
        views = (written, leaf) if written is not leaf and (alone or written.name == leaf.name) else (leaf,)
        python_srcs = any(text.endswith((".py", ".pyi")) for v in views for text in values.texts(v.args.get("srcs")))
        rule = self._rule(leaf, written, python_srcs)
        lists = _lists(rule)
        unknown = frozenset(
            name
            for view in views
            for name, value in view.args.items()
            if name in lists and values.entries(value).unknown
        )
        if not sound:
            unknown |= {""}
        edges = tuple(dict.fromkeys(self._edges(rule, views, folder)))
        imported = {edge.label for edge in edges}
        refs = tuple(sorted({label for label in self._refs(views, folder) if label not in imported}))
        srcs = tuple(dict.fromkeys(self._srcs(rule, views, folder)))
        own = edges if len(views) == 1 else self._edges(rule, (leaf,), folder)
        real = tuple(dict.fromkeys((leaf.mode, e.label, e.condition) for e in own))
        located = frozenset(self._located(rule, views, folder))
        reads = () if rule.python else tuple(dict.fromkeys(self._reads(views, folder)))
        label = Label(repo, package, leaf.name)
        return Target(label, rule, folder, leaf, written, srcs, edges, refs, unknown, (), real, located, reads)

    def _located(self, rule: Rule, views: tuple[Call, ...], folder: str) -> Iterator[Label]:
        for view in views:
            for name, value in view.args.items():
                for text in values.walk_strings(value) if name != rule.deps else ():
                    for candidate in values.macro_labels(text):
                        label = self.workspace.resolve(candidate, folder)
                        if label is not None:
                            yield label

    def _reads(self, views: tuple[Call, ...], folder: str) -> Iterator[str]:
        for view in views:
            for attribute in ("srcs", "src", "main"):
                for text in values.walk_strings(view.args.get(attribute)):
                    src = self._plain(values.Entry(text), folder)
                    if src.path is not None and self.is_source(src.path):
                        yield src.path

    def _rule(self, leaf: Call, written: Call, python_srcs: bool) -> Rule:
        bazel = self.workspace.dialect == "bazel"
        for call in (written, leaf) if written.kind in self.config.kinds else (leaf,):
            rule = rule_of(call.kind, python_srcs, self.config.kinds, bazel)
        return rule

    def _edges(self, rule: Rule, views: tuple[Call, ...], folder: str) -> Iterator[Edge]:
        editable = (rule.deps,) if rule.deps else ()
        if rule.role is Role.ALIAS:
            editable = ("actual", *(("deps",) if rule.deps else ()))
        carried = ("data",) if rule.python and self.workspace.dialect == "bazel" else ()
        for attribute in (*editable, *rule.fixed_deps, *rule.partial_deps, *carried):
            if attribute == "external_deps":
                continue  # names of an external table, not labels
            fixed = attribute not in editable or rule.role is Role.ALIAS
            for view in views:
                for entry in values.entries(view.args.get(attribute)).items:
                    if attribute in rule.partial_deps and "//" not in entry.text and ":" not in entry.text:
                        continue  # the platform's name or pattern
                    if attribute in carried and not labels.looks_like_label(entry.text):
                        continue  # a file
                    label = self.workspace.resolve(entry.text, folder)
                    if label is not None:
                        condition = entry.condition or (attribute if attribute in rule.partial_deps else "")
                        yield Edge(label, attribute, entry.text, condition, fixed)

    def _refs(self, views: tuple[Call, ...], folder: str) -> Iterator[Label]:
        for view in views:
            for name, value in view.args.items():
                if name in NO_REFS:
                    continue
                for text in values.walk_strings(value):
                    for candidate in (text, *values.macro_labels(text)) if ":" in text or "//" in text else ():
                        label = (
                            self.workspace.resolve(candidate, folder) if labels.looks_like_label(candidate) else None
                        )
                        if label is not None:
                            yield label

    def _srcs(self, rule: Rule, views: tuple[Call, ...], folder: str) -> Iterator[Src]:
        for attribute in rule.srcs:
            for view in views:
                value = view.args.get(attribute)
                pairs = values.pairs(value)
                for pair in pairs:
                    yield self._mapped(pair, folder)
                if not pairs:
                    for entry in values.entries(value).items:
                        yield self._plain(entry, folder)

    def _plain(self, entry: values.Entry, folder: str) -> Src:
        if labels.looks_like_label(entry.text):
            label = self.workspace.resolve(entry.text, folder)
            named = labels.split(entry.text)
            inner = f"{label.name}{named.sub if named else ''}" if label else entry.text
            path = self._file_of(label)
            return Src(path, label if path is None else None, inner, entry.condition)
        return Src(_under(folder, entry.text), None, entry.text, entry.condition)

    def _file_of(self, label: Label | None) -> str | None:
        """`//pkg:file.py` may name a file of that package."""
        if label is None:
            return None
        folder = self.workspace.folder(label)
        path = None if folder is None else _under(folder, label.name)
        return path if path is not None and self.is_source(path) else None

    def _mapped(self, pair: values.Pair, folder: str) -> Src:
        """Buck maps place to file, Meta's macros map file to place: the one that exists is the file."""
        key_is_file = self.is_source(_under(folder, pair.key))
        value_is_file = self.is_source(_under(folder, pair.value))
        if labels.looks_like_label(pair.key) or (key_is_file and not value_is_file):
            source, place = pair.key, pair.value
        else:
            source, place = pair.value, pair.key
        src = self._plain(values.Entry(source, pair.condition), folder)
        return src._replace(inner=place)


@cache
def _lists(rule: Rule) -> frozenset[str]:
    return frozenset((rule.deps, *rule.srcs, *rule.fixed_deps, *rule.partial_deps, "actual"))


def _under(folder: str, path: str) -> str:
    joined = f"{folder}/{path}" if folder else path
    if "./" not in joined:
        return joined
    parts: list[str] = []
    for part in joined.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


class Basis(NamedTuple):
    """A graph of which only the targets of the packages `changed` (their folders) may differ from the wanted one."""

    graph: TargetGraph
    changed: frozenset[str]


def build(facts: Facts, workspace: Workspace, config: Config, basis: Basis | None = None) -> TargetGraph:
    """The graph of all targets that the engine's facts describe, over all modes; as far as it can, out of another."""
    sources = frozenset(source.path for source in facts.sources)
    builder = _Builder(workspace, config, sources.__contains__)
    targets: dict[Label, Target] = {}
    if basis is not None:
        targets = {label: one for label, one in basis.graph.targets.items() if one.folder not in basis.changed}
    leaves = tuple(_leaves(call for call in facts.calls if basis is None or call.package in basis.changed))
    made = Counter((written.mode, written.package, written.id) for _, written, _ in leaves)
    for leaf, written, sound in leaves:
        target = builder.build(leaf, written, sound, made[written.mode, written.package, written.id] == 1)
        known = targets.get(target.label)
        targets[target.label] = target if known is None else _united(known, target)
    for label, target in targets.items():
        groups = tuple(src.label for src in target.srcs if src.label is not None)
        if reads := tuple(path for group in groups if group in targets for path in targets[group].reads):
            targets[label] = replace(target, reads=reads)
    return TargetGraph(targets, facts.packages, workspace, _package_defaults(facts.calls, workspace.dialect))


def _package_defaults(calls: Iterable[Call], dialect: Dialect) -> dict[str, Mapping[str, Any]]:
    """What `package()` says for all targets of a package. In Buck it is PACKAGE files that call it, those of the outer
    folders first; one that does not inherit replaces what they say."""
    defaults: dict[str, Mapping[str, Any]] = {}
    for call in calls:
        if call.kind != "package" or call.name:
            continue
        if dialect == "bazel":
            defaults[call.package] = call.args
        elif (visibility := call.args.get("visibility")) is not None:
            outer = defaults.get(call.package, {}).get("default_visibility")
            if call.args.get("inherit") and outer is not None:
                visibility = {"$concat": [outer, visibility]}
            defaults[call.package] = {"default_visibility": visibility}
    return defaults


def _united(one: Target, other: Target) -> Target:
    """The same label made twice: in two modes, or by two calls of one package."""
    return Target(
        one.label,
        one.rule if one.rule.python or not other.rule.python else other.rule,
        one.folder,
        one.leaf,
        one.written,
        tuple(dict.fromkeys((*one.srcs, *other.srcs))),
        tuple(dict.fromkeys((*one.edges, *other.edges))),
        tuple(sorted({*one.refs, *other.refs})),
        one.unknown | other.unknown,
        (*(one.leaves or (one.leaf,)), other.leaf),
        tuple(dict.fromkeys((*one.real, *other.real))),
        one.located | other.located,
        tuple(dict.fromkeys((*one.reads, *other.reads))),
    )


def _leaves(several: Iterable[Call]) -> Iterator[tuple[Call, Call, bool]]:
    """(leaf, written, whether no call on the way failed) of every target."""
    calls = tuple(several)
    by_id: dict[tuple[str, str, int], Call] = {}
    makers: set[tuple[str, str, int]] = set()
    for call in calls:
        by_id[(call.mode, call.package, call.id)] = call
        makers.add((call.mode, call.package, call.parent))
    for call in calls:
        if call.how == "function" or not call.name or call.kind in _NOT_TARGETS:
            continue
        if call.how == "rule" and (call.mode, call.package, call.id) in makers:
            continue  # a symbolic macro: its targets are the calls inside
        outer, named, sound = call, call, call.ok
        while outer.parent:
            outer = by_id[(call.mode, call.package, outer.parent)]
            sound = sound and outer.ok
            if outer.name == call.name:
                named = outer
        yield call, (named if named is not call else outer), sound
