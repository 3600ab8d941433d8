"""The Target and the TargetGraph: what is declared, what is evaluated, and the edges between targets."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from buildfix import values
from buildfix.engine import Call, Frame, Package
from buildfix.findings import Place
from buildfix.labels import Label
from buildfix.rules import Role, Rule
from buildfix.workspace import Workspace


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
