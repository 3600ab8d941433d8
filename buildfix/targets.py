"""The Target and the TargetGraph: what is declared, what is evaluated, and the edges between targets.

A target is a call of a rule (the leaf); the outermost recorded call on the way to it that names it is how people wrote
it. Macros rewrite labels and drop attributes on that way, so edges and sources are the union of both views.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from buildfix import labels, values
from buildfix.config import Config
from buildfix.engine import Call, Facts, Frame, Package
from buildfix.findings import Place
from buildfix.labels import Label
from buildfix.rules import Role, Rule, rule_of
from buildfix.workspace import Dialect, Workspace


class Edge(NamedTuple):
    """A dep of a target: the label, the attribute, the label as written, and the condition that it stands under.

    `fixed` edges are never edited (they stand in an attribute that is not for import deps).
    """

    label: Label
    attribute: str
    text: str
    condition: str = ""
    fixed: bool = False


class Src(NamedTuple):
    """A source of a target. `path` is the file relative to the root, or None where `label` names a target that makes
    it; `inner` is where it is placed, relative to the target's base package."""

    path: str | None
    label: Label | None
    inner: str
    condition: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """One target. `leaf` is the rule's own call, `written` the call that people wrote; `folder` is its package's.

    `edges` are those of both views, `real` (mode, dep, condition) those of the rule's own calls. `located` are the
    labels that another attribute expects among the deps (`$(location :x)`). `reads` are Python files that may be its
    sources, without a known place: those of a kind that is not known, and of the file groups that its `srcs` name.
    """

    label: Label
    rule: Rule
    folder: str
    leaf: Call
    written: Call
    srcs: tuple[Src, ...]
    edges: tuple[Edge, ...]
    refs: tuple[Label, ...]
    unknown: frozenset[str]
    leaves: tuple[Call, ...] = ()
    real: tuple[tuple[str, Label, str], ...] = ()
    located: frozenset[Label] = frozenset()
    reads: tuple[str, ...] = ()

    @property
    def place(self) -> Place:
        """Where people wrote it."""
        frame = self.written.stack[-1] if self.written.stack else None
        return Place(frame.file, frame.line) if frame else Place(self.folder)

    @property
    def family(self) -> tuple[str, tuple[Frame, ...]]:
        """Targets that one written call makes, in a loop or by a macro, share this key."""
        return (self.written.package, self.written.stack)

    def argument(self, name: str) -> Any:
        """The attribute's evaluated value, else its written one, else None."""
        value = self.leaf.args.get(name)
        return self.written.args.get(name) if value is None else value

    def strings(self, name: str) -> tuple[str, ...]:
        """The strings of a list attribute, of both views."""
        both = (*values.texts(self.leaf.args.get(name)), *values.texts(self.written.args.get(name)))
        return tuple(dict.fromkeys(both))

    @property
    def has_sources(self) -> bool:
        """Whether it has sources of its own, or anything that could stand for them."""
        return bool(self.srcs) or any(attribute in self.unknown for attribute in self.rule.srcs)


# Attributes whose strings are labels without being edges.
NO_REFS = frozenset(
    (
        "name",
        "visibility",
        "within_view",
        "tests",
        "labels",
        "tags",
        "contacts",
        "compatible_with",
        "target_compatible_with",
    )
)
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
        unknown = frozenset(
            name
            for view in views
            for name, value in view.args.items()
            if name in _lists(rule) and values.entries(value).unknown
        )
        if not sound:
            unknown |= {""}
        edges = tuple(dict.fromkeys(self._edges(rule, views, folder)))
        imported = {edge.label for edge in edges}
        refs = tuple(sorted({label for label in self._refs(views, folder) if label not in imported}))
        srcs = tuple(dict.fromkeys(self._srcs(rule, views, folder)))
        real = tuple(dict.fromkeys((leaf.mode, e.label, e.condition) for e in self._edges(rule, (leaf,), folder)))
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


@dataclass(frozen=True)
class TargetGraph:
    """All targets by label, with their edges, and the packages that were evaluated.

    `defaults` holds the arguments of `package(...)` by the package's folder.
    """

    targets: Mapping[Label, Target]
    packages: tuple[Package, ...]
    workspace: Workspace = field(repr=False)
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)

    @cached_property
    def names(self) -> Mapping[tuple[str, str], Label]:
        """(folder, name) to label, as the engine's calls speak of targets."""
        return {(target.folder, label.name): label for label, target in self.targets.items()}

    def kin(self, label: Label) -> tuple[Label, ...]:
        """The targets that one written call makes together with this one, itself included."""
        return self._families[self.targets[label].family]

    @cached_property
    def _families(self) -> Mapping[tuple[str, tuple[Frame, ...]], tuple[Label, ...]]:
        found: dict[tuple[str, tuple[Frame, ...]], list[Label]] = {}
        for label, target in self.targets.items():
            found.setdefault(target.family, []).append(label)
        return {family: tuple(labels) for family, labels in found.items()}

    @cached_property
    def outputs(self) -> Mapping[Label, Label]:
        """The files that rules make, as the labels that they have, to the target that makes them."""
        return {
            Label(label.repo, label.package, text): label
            for label, target in self.targets.items()
            if not target.rule.python
            for name in ("outs", "out", "outputs")
            for text in values.texts(target.argument(name))
        }

    @cached_property
    def incomplete(self) -> frozenset[str]:
        """The folders of packages of which not every target is known."""
        return frozenset(package.path for package in self.packages if package.errors or not package.complete)

    @cached_property
    def unseen(self) -> frozenset[str]:
        """The folders of packages that may have targets which nothing shows: those, and the ones in which a macro that
        cannot be resolved is called without a name."""
        return self.incomplete | {package.path for package in self.packages if package.opaque}

    @cached_property
    def seen(self) -> Mapping[str, str]:
        """The folders of packages of which every target is known, with their build files."""
        return {package.path: package.file for package in self.packages if package.path not in self.unseen}

    @cached_property
    def python(self) -> tuple[Target, ...]:
        """The Python targets, in the order of their labels."""
        return tuple(target for _, target in sorted(self.targets.items()) if target.rule.python)

    @cached_property
    def dependents(self) -> Mapping[Label, tuple[Label, ...]]:
        """Who has a dep on a target, directly."""
        found: dict[Label, list[Label]] = {}
        for label, target in self.targets.items():
            for dep in dict.fromkeys(edge.label for edge in target.edges):
                found.setdefault(dep, []).append(label)
        return {label: tuple(who) for label, who in found.items()}

    @cached_property
    def users(self) -> Mapping[Label, tuple[Label, ...]]:
        """Who names a target in any attribute: its dependents, a genrule that runs it, a test suite."""
        found: dict[Label, list[Label]] = {}
        for label, target in self.targets.items():
            for named in dict.fromkeys((*(edge.label for edge in target.edges), *target.refs)):
                if named != label:
                    found.setdefault(named, []).append(label)
        return {label: tuple(who) for label, who in found.items()}

    def deps(self, label: Label) -> tuple[Label, ...]:
        """The labels that a target has a dep on, each once."""
        target = self.targets.get(label)
        return () if target is None else tuple(dict.fromkeys(edge.label for edge in target.edges))

    def path(self, start: Label, goals: frozenset[Label]) -> tuple[Label, ...]:
        """The shortest way from a target along its deps to one of `goals`, both ends included; () if there is none."""
        came: dict[Label, Label | None] = {start: None}
        queue = deque([start])
        while queue:
            here = queue.popleft()
            if here in goals and here != start:
                way = []
                step: Label | None = here
                while step is not None:
                    way.append(step)
                    step = came[step]
                return tuple(reversed(way))
            for dep in self.deps(here):
                if dep not in came:
                    came[dep] = here
                    queue.append(dep)
        return ()

    def visible(self, target: Target, user: Target) -> bool:
        """Whether `target`'s visibility admits `user`. What is not understood admits.

        Where nothing is stated, Bazel's rules are private; Buck repositories state a default in macros and PACKAGE
        files, which are not read, so there it admits.
        """
        if (target.label.repo, target.label.package) == (user.label.repo, user.label.package):
            return True
        stated = self._visibility(target)
        if stated is None:
            return not self._private_by_default(target)
        return any(self._admits(pattern, target, user) for pattern in stated)

    def _private_by_default(self, target: Target) -> bool:
        if self.workspace.dialect != "bazel" or target.rule.guessed or not target.rule.known:
            return False
        if target.argument("visibility") is not None or "visibility" in target.unknown:
            return False
        users = self.dependents.get(target.label, ())
        return all(user.package == target.label.package and user.repo == target.label.repo for user in users)

    def testonly(self, target: Target) -> bool:
        """Whether only tests may depend on a target: it says so, its package does, or it is one."""
        stated = target.argument("testonly")
        if stated is None:
            stated = self.defaults.get(target.folder, {}).get("default_testonly")
        return stated in (True, 1) or target.rule.role is Role.TEST

    def is_public(self, target: Target) -> bool:
        """Whether targets outside the repository may depend on it."""
        stated = self._visibility(target)
        return stated is not None and any(pattern in _PUBLIC for pattern in stated)

    def _visibility(self, target: Target) -> tuple[str, ...] | None:
        value = target.argument("visibility")
        if value is None:
            value = self.defaults.get(target.folder, {}).get("default_visibility")
        if value is None:
            return None
        found = values.entries(value)
        return None if found.unknown else tuple(entry.text for entry in found.items)

    def _admits(self, pattern: str, target: Target, user: Target) -> bool:
        if pattern in _PUBLIC:
            return True
        if pattern in ("//visibility:private",):
            return False
        if pattern == "//visibility:legacy_public":
            return True
        match = _PATTERN.match(pattern)
        if match is None:
            label = self.workspace.resolve(pattern, target.folder)
            if label is None or label == user.label or not self.workspace.is_here(label):
                return True
            group = self.targets.get(label)
            return group is None or (group.leaf.kind == "package_group" and self._groups(group, user, {label}))
        prefix, package = match.group(1), match.group(2)
        recursive = pattern.endswith(("/...", "//...", "__subpackages__"))
        probe = self.workspace.resolve(f"{prefix}{package}:x" if package else f"{prefix}:x", target.folder)
        candidates = {(probe.repo, probe.package)} if probe else set()
        for label_prefix, folder in self.workspace.prefixes.items():
            if package == label_prefix or package.startswith(label_prefix + "/"):
                rest = package[len(label_prefix) :].lstrip("/")
                candidates.add(("", f"{folder}/{rest}".strip("/")))
        for repo, inside in candidates:
            if repo != user.label.repo:
                continue
            own = user.label.package
            if own == inside or (recursive and (inside == "" or own.startswith(inside + "/"))):
                return True
        return False

    def _groups(self, group: Target, user: Target, seen: set[Label]) -> bool:
        """Whether a package_group, or one that it includes, holds the user's package."""
        packages = values.texts(group.argument("packages"))
        excluded = any(self._admits(_spec(text[1:]), group, user) for text in packages if text.startswith("-"))
        if not excluded and any(
            self._admits(_spec(text), group, user) for text in packages if not text.startswith("-")
        ):
            return True
        for text in values.texts(group.argument("includes")):
            label = self.workspace.resolve(text, group.folder)
            other = self.targets.get(label) if label is not None and label not in seen else None
            if other is not None and self._groups(other, user, seen | {other.label}):
                return True
        return False


def _spec(package: str) -> str:
    """A package_group's package, written as a visibility pattern."""
    if package in ("public", "private"):
        return f"//visibility:{package}"
    return package if package.endswith("...") else f"{package}:__pkg__"


_PUBLIC = ("PUBLIC", "//visibility:public")
_PATTERN = re.compile(r"^((?:@{0,2}[\w.~+-]*)//)([\w./@+=~ -]*?)/?(?:\.\.\.|:__pkg__|:__subpackages__|:)$")


def build(facts: Facts, workspace: Workspace, config: Config) -> TargetGraph:
    """The graph of all targets that the engine's facts describe, over all modes."""
    sources = frozenset(source.path for source in facts.sources)
    builder = _Builder(workspace, config, sources.__contains__)
    targets: dict[Label, Target] = {}
    leaves = tuple(_leaves(facts.calls))
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


def _leaves(calls: Iterable[Call]) -> Iterator[tuple[Call, Call, bool]]:
    """(leaf, written, whether no call on the way failed) of every target."""
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
