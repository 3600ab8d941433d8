"""What may exist although no record names it: files that rules make, targets that unresolved macros make, modules from
outside the repository.

Whatever says that something does not exist asks here first. A wrong "it is nowhere" costs more than a right one gains.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from buildfix import values
from buildfix.engine import Call
from buildfix.knowledge import Knowledge, has_made_sources
from buildfix.labels import Label
from buildfix.rules import Role
from buildfix.targets import Target

# What stands beside a module that some step of the build makes: extensions of the files that it is made from.
_MADE_FROM = (".proto", ".pyx", ".thrift", ".fbs", ".in", ".py.in", ".tmpl", ".jinja", ".so", ".pyd")
_MADE_NAME = re.compile(r"_pb2(_grpc)?$|_generated$")
# Modules that packaging tools write.
_WRITTEN_BY_PACKAGING = frozenset(("version", "_version", "__version__"))
_NOT_NAMES_OF_FILES = frozenset(("name", "visibility", "deps", "srcs", "tests", "actual"))


class Existence:
    """Answers for one repository; `exists` says whether a file is on disk."""

    def __init__(self, known: Knowledge, exists: Callable[[str], bool]) -> None:
        self._known = known
        self._exists = exists

    @cached_property
    def _by_folder(self) -> Mapping[str, tuple[Target, ...]]:
        found: dict[str, list[Target]] = {}
        for target in self._known.graph.targets.values():
            found.setdefault(target.folder, []).append(target)
        return {folder: tuple(targets) for folder, targets in found.items()}

    @cached_property
    def _makers(self) -> frozenset[Label]:
        return frozenset(self._known.graph.outputs.values())

    def in_package(self, folder: str) -> tuple[Target, ...]:
        """The targets of a package."""
        return self._by_folder.get(folder, ())

    def home(self, path: str) -> str | None:
        """The package that a file belongs to: the nearest folder above it with a build file; None if there is none."""
        packages = self._known.graph.workspace.packages
        while path:
            path = path.rpartition("/")[0]
            if path in packages:
                return path
        return None

    def may_be_label(self, label: Label) -> bool:
        """Whether there may be a target, or a file, of that label: false only for what its package, which is wholly
        known, certainly lacks."""
        graph = self._known.graph
        if label in graph.targets or label in graph.outputs or "#" in label.name:
            return True
        folder = graph.workspace.folder(label)
        if folder is None or folder not in graph.seen:
            return True
        return self._exists(f"{folder}/{label.name}".lstrip("/")) or self.may_be_made(folder, label.name)

    def may_be_made(self, folder: str, name: str) -> bool:
        """Whether something in a package may make a target or a file of that name without saying so."""
        bazel = self._known.graph.workspace.dialect == "bazel"
        for target in self.in_package(folder):
            if not target.rule.python and any(name in _file_names(call) for call in target.leaves or (target.leaf,)):
                return True
            rest = _rest(name, target.label.name)
            if rest is None:
                continue
            if _is_unresolved(target) or (bazel and "." in name):
                return True  # what a macro adds to its name; `x.stripped`, `libx.so`, `x_deploy.jar`
        return False

    def is_unseen(self, folder: str) -> bool:
        """Whether a package may have targets that nothing shows."""
        return folder in self._known.graph.unseen

    def may_be_module(self, module: str, target: Target) -> bool:
        """Whether a module that no file of the repository is may be there all the same when `target` runs."""
        if module.rpartition(".")[2] in _WRITTEN_BY_PACKAGING or self._has_unknown_deps(target):
            return True
        if not self._is_below_regular_package(module) and self._has_outside_deps(target):
            return True  # a folder without `__init__` may be continued by a package from elsewhere
        return any(self._may_be_made_at(path) for path in self._paths(module))

    def _has_unknown_deps(self, target: Target) -> bool:
        """Whether one of its deps may provide modules that nobody knows: a kind without meaning, made sources."""
        targets = self._known.graph.targets
        behind = (targets.get(one) for edge in target.edges for one in self._known.behind(edge.label))
        return has_made_sources(target) or any(dep is not None and _may_provide(dep) for dep in behind)

    def _has_outside_deps(self, target: Target) -> bool:
        return any(edge.label not in self._known.graph.targets for edge in target.edges)

    def _is_below_regular_package(self, module: str) -> bool:
        return bool(self._known.modules.parents(module))

    def _paths(self, module: str) -> Iterator[str]:
        """Where the file of a module would be, without its extension."""
        for root in self._known.modules.roots:
            inner = module.removeprefix(root.prefix).lstrip(".") if root.prefix else module
            if not root.prefix or module.startswith(root.prefix + "."):
                yield f"{root.path}/{inner.replace('.', '/')}".lstrip("/")

    def _may_be_made_at(self, path: str) -> bool:
        bare = _MADE_NAME.sub("", path)
        if any(self._exists(stem + extension) for stem in {path, bare} for extension in _MADE_FROM):
            return True
        home = self.home(path)
        if home is None:
            return False
        return self.is_unseen(home) or any(self._may_make_modules(target) for target in self.in_package(home))

    def _may_make_modules(self, target: Target) -> bool:
        """Whether a target makes modules whose names it does not say."""
        if not target.rule.python or not has_made_sources(target) or target.unknown:
            return _may_provide(target)
        return any(src.path is None and src.label not in self._makers for src in target.srcs)


def _file_names(call: Call) -> frozenset[str]:
    """Every string of a call that could be the name of a file that it makes."""
    named = (value for name, value in call.args.items() if name not in _NOT_NAMES_OF_FILES)
    return frozenset(text for value in named for text in values.walk_strings(value))


def _rest(name: str, made_by: str) -> str | None:
    """What a name adds to the name of the target that would make it; None if it is not derived from it."""
    for prefix in (made_by, f"lib{made_by}"):
        rest = name.removeprefix(prefix)
        if rest != name and rest[:1] in ("-", "_", ".", "+", "/"):
            return rest
    return None


def _is_unresolved(target: Target) -> bool:
    """Whether what made the target could not be looked into, so that it may have made more."""
    return target.leaf.how in ("stub", "rule") or not target.rule.known


def _may_provide(target: Target) -> bool:
    """Whether a target may provide modules that nobody knows."""
    if target.rule.python:
        return target.rule.role in (Role.GENERATED, Role.PREBUILT) or has_made_sources(target)
    return not target.rule.known or target.label.name.endswith(".py")
