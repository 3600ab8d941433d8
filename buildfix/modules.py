"""Import roots; which module each file is; which targets provide it; what an import statement stands for.

A module name is looked up as Python would: the longest first-party module first. Where a repository's root is itself
importable under a name (`executorch.exir` is the folder `exir`), that prefix is learnt from the sources.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from buildfix import stdlib
from buildfix.config import ImportRoot
from buildfix.engine import Import, Source
from buildfix.labels import Label
from buildfix.rules import Role
from buildfix.targets import Src, Target, TargetGraph
from buildfix.workspace import Workspace


class Resolution(NamedTuple):
    """What one imported name stands for.

    `needs` are the first-party modules that must be there; `touches` those that run as well or that it might mean
    (parent packages, a submodule hidden by an attribute); `external` is the dotted name if it is neither first-party
    nor the standard library's; `unresolved` if it looks first-party and is nowhere.
    """

    needs: tuple[str, ...] = ()
    touches: tuple[str, ...] = ()
    external: str = ""
    unresolved: str = ""


@dataclass(frozen=True)
class Modules:
    """Every module name of the repository.

    `files` maps a module to its files, `providers` to the targets that have it, `of_target` a target to its modules,
    `placed` (target, file) to the module names that the target gives the file, `folders` holds the dotted names of
    folders that have Python files below them, `tops` those that `imports` puts on the path, with the targets
    that do so.
    """

    files: Mapping[str, tuple[str, ...]]
    providers: Mapping[str, tuple[Label, ...]]
    of_target: Mapping[Label, frozenset[str]]
    placed: Mapping[tuple[Label, str], tuple[str, ...]]
    folders: frozenset[str]
    roots: tuple[ImportRoot, ...]
    sources: Mapping[str, Source] = field(repr=False)
    tops: Mapping[str, tuple[Label, ...]] = field(default_factory=dict)
    _bound: dict[str, Mapping[str, bool]] = field(default_factory=dict, repr=False)

    def known(self, module: str) -> bool:
        """Whether the repository has the module, as a file or as something that a target makes."""
        return module in self.files or module in self.providers

    def longest_known(self, dotted: str) -> str:
        """The longest leading part of a dotted name that is a module, "" if none is."""
        while dotted and not self.known(dotted):
            dotted = dotted.rpartition(".")[0]
        return dotted

    def below(self, prefix: str) -> Iterator[str]:
        """The provided modules at or below a dotted prefix."""
        for module in self.providers:
            if module == prefix or module.startswith(prefix + "."):
                yield module

    def ending(self, dotted: str) -> tuple[str, ...]:
        """The modules whose name ends like a dotted name that is itself none."""
        return tuple(m for m in self._endings.get(dotted.rpartition(".")[2], ()) if m.endswith(f".{dotted}"))

    @cached_property
    def _endings(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for module in sorted({*self.files, *self.providers}):
            found.setdefault(module.rpartition(".")[2], []).append(module)
        return {last: tuple(modules) for last, modules in found.items()}

    def parents(self, module: str) -> tuple[str, ...]:
        """The packages above a module that have an `__init__` of their own."""
        found = []
        while "." in module:
            module = module.rpartition(".")[0]
            if self.known(module):
                found.append(module)
        return tuple(found)

    def resolve(self, statement: Import, package: str) -> Resolution:
        """What an imported name stands for, seen from a file whose package is the dotted `package`."""
        module = statement.module
        if statement.level:
            base = package.split(".") if package else []
            kept = base[: len(base) - (statement.level - 1)]
            if statement.level - 1 > len(base):
                return Resolution(unresolved="." * statement.level + module)
            module = ".".join((*kept, module) if module else kept)
        elif stdlib.has(module):
            return self._standard(module, statement.name)
        if not statement.name:
            return self._import(module)
        if statement.name == "*":
            return self._star(module)
        return self._from(module, statement.name, relative=bool(statement.level))

    def _standard(self, module: str, name: str) -> Resolution:
        candidates = (module, f"{module}.{name}") if name and name != "*" else (module,)
        return Resolution(touches=tuple(m for m in candidates if self.known(m)))

    def _import(self, module: str) -> Resolution:
        if self.known(module):
            return Resolution((module,), self.parents(module))
        if module in self.folders:
            return Resolution(touches=self.parents(module))
        return self._nowhere(module)

    def _nowhere(self, module: str, name: str = "") -> Resolution:
        near = self.longest_known(module)
        if near:
            return Resolution(touches=(near, *self.parents(near)), unresolved=module)
        top = module.partition(".")[0]
        if top in self.folders and "." in module:
            return Resolution(unresolved=module)
        return Resolution(external=f"{module}.{name}" if name else module)

    def _from(self, module: str, name: str, relative: bool) -> Resolution:
        sub = f"{module}.{name}" if module else name
        if self.known(sub) and not self._hides(module, name):
            return Resolution((sub,), self.parents(sub))
        if self.known(module):
            hidden = (sub,) if self.known(sub) else ()
            if sub in self.folders and not hidden and not self._hides(module, name):
                return Resolution(touches=(module, *self.parents(module)))
            return Resolution((module,), (*self.parents(module), *hidden))
        if sub in self.folders:
            return Resolution(touches=self.parents(sub))
        if module in self.folders or relative:
            return Resolution(touches=self.parents(sub), unresolved=sub if module in self.folders else module)
        return self._nowhere(module, name)

    def _star(self, module: str) -> Resolution:
        if not self.known(module):
            return Resolution() if module in self.folders else self._nowhere(module)
        needs = [module]
        for path in self.files.get(module, ())[:1]:
            for name in self.sources[path].all or ():
                sub = f"{module}.{name}"
                if self.known(sub) and not self._hides(module, name):
                    needs.append(sub)
        return Resolution(tuple(needs), self.parents(module))

    def _hides(self, module: str, name: str) -> bool:
        """Whether the package `module` binds `name` to something else than its submodule."""
        files = self.files.get(module)
        if not files or (not files[0].endswith(("/__init__.py", "/__init__.pyi")) and "/" in files[0]):
            return False
        if module not in self._bound:
            self._bound[module] = _bindings(self.sources[files[0]], module)
        return self._bound[module].get(name, False)

    def package_of(self, path: str) -> str:
        """The dotted package from which a file's relative imports count, by its place below the first import root."""
        name = next(_names_of_path(path, self.roots), "")
        return name if path.endswith(("__init__.py", "__init__.pyi")) else name.rpartition(".")[0]

    def names_of(self, path: str) -> tuple[str, ...]:
        """The module names of a file, by its place below the import roots."""
        return tuple(_names_of_path(path, self.roots))

    def owned(self, target: Target) -> frozenset[str]:
        """The modules that a target provides itself."""
        return self.of_target.get(target.label, frozenset())


def _bindings(source: Source, module: str) -> dict[str, bool]:
    """The names that an `__init__` binds, with whether that is something else than the submodule of that name."""
    bound = dict.fromkeys(source.names, True)
    for statement in source.imports:
        if _type_checking_only(source, statement.block):
            continue
        if statement.name and statement.name != "*":
            own = (statement.level == 1 and not statement.module) or statement.module == module
            name = statement.asname or statement.name
            bound[name] = bound.get(name, False) or not (own and name == statement.name)
        elif statement.asname:
            own = statement.module == f"{module}.{statement.asname}"
            bound[statement.asname] = bound.get(statement.asname, False) or not own
    return bound


def _type_checking_only(source: Source, block: int) -> bool:
    while block >= 0:
        kind, head, parent, _ = source.blocks[block]
        if kind in ("if", "elif") and head.endswith("TYPE_CHECKING") and not head.startswith("not "):
            return True
        block = parent
    return False


def build(graph: TargetGraph, sources: Iterable[Source], roots: tuple[ImportRoot, ...]) -> Modules:
    """Name every file and every provided module of the repository, below each import root."""
    by_path = {source.path: source for source in sources}
    files: dict[str, list[str]] = {}
    for path in by_path:
        for name in _names_of_path(path, roots):
            files.setdefault(name, []).append(path)
    providers: dict[str, list[Label]] = {}
    of_target: dict[Label, frozenset[str]] = {}
    placed: dict[tuple[Label, str], tuple[str, ...]] = {}
    for label, target in sorted(graph.targets.items()):
        names = dict(_provided(target, graph.workspace, roots))
        for src, modules in names.items():
            if src.path is not None:
                key = (label, src.path)
                placed[key] = tuple(dict.fromkeys((*placed.get(key, ()), *modules)))
        own = dict.fromkeys(module for modules in names.values() for module in modules)
        if own:
            of_target[label] = frozenset(own)
            for module in own:
                providers.setdefault(module, []).append(label)
    everything = {**files, **providers}
    folders = frozenset(parent for module in everything for parent in _ancestors(module))
    return Modules(
        files={name: tuple(sorted(paths, key=_init_first)) for name, paths in files.items()},
        providers={module: tuple(sorted(owners)) for module, owners in providers.items()},
        of_target=of_target,
        placed=placed,
        folders=folders,
        roots=roots,
        sources=by_path,
        tops=_tops(graph),
    )


def _tops(graph: TargetGraph) -> dict[str, tuple[Label, ...]]:
    """The dotted names of the folders that targets put on the path of whoever depends on them, with the targets."""
    found: dict[str, list[Label]] = {}
    for target in graph.python:
        for folder in target.strings("imports"):
            top = _normal(f"{target.folder}/{folder}").replace("/", ".")
            if top:
                found.setdefault(top, []).append(target.label)
    return {top: tuple(dict.fromkeys(labels)) for top, labels in sorted(found.items())}


def _init_first(path: str) -> tuple[bool, bool, str]:
    """A package hides a module of its name, and source hides its stub."""
    return (not path.endswith(("/__init__.py", "/__init__.pyi")), path.endswith(".pyi"), path)


def _ancestors(module: str) -> Iterator[str]:
    while "." in module:
        module = module.rpartition(".")[0]
        yield module


def module_of(path: str) -> str:
    """The dotted name of a file's path: `a/b/__init__.py` is `a.b`; "" if it cannot be imported by name."""
    stem = path.rsplit(".", 1)[0]
    if stem.endswith("/__init__") or stem == "__init__":
        stem = stem[: -len("__init__")].rstrip("/")
    return stem.replace("/", ".")


def _names_of_path(path: str, roots: tuple[ImportRoot, ...]) -> Iterator[str]:
    for root in roots:
        if root.path and not path.startswith(root.path + "/"):
            continue
        inner = module_of(path[len(root.path) :].lstrip("/"))
        name = f"{root.prefix}.{inner}" if root.prefix and inner else root.prefix or inner
        if name:
            yield name


def _provided(
    target: Target, workspace: Workspace, roots: tuple[ImportRoot, ...]
) -> Iterator[tuple[Src, tuple[str, ...]]]:
    """(source, module names) of a target, and (a pseudo-source, module names) of what it makes."""
    for src in target.srcs:
        if src.inner.endswith((".py", ".pyi")):
            names = dict.fromkeys(_placed(target, src.inner, workspace, roots))
            yield src, tuple(name for name in names if name)
    if target.rule.role is Role.EXTENSION:
        stem = target.argument("module_name") or target.label.name
        if isinstance(stem, str):
            names = dict.fromkeys(_placed(target, stem.replace(".", "/") + ".so", workspace, roots))
            yield Src(None, target.label, stem), tuple(names)


def _placed(target: Target, inner: str, workspace: Workspace, roots: tuple[ImportRoot, ...]) -> Iterator[str]:
    base = target.argument("base_module")
    if isinstance(base, str):
        yield ".".join(part for part in (base, module_of(inner)) if part)
        return
    path = f"{target.folder}/{inner}" if target.folder else inner
    for folder in target.strings("imports"):
        own = _normal(f"{target.folder}/{folder}")
        if own == "" or path.startswith(own + "/"):
            yield module_of(path[len(own) :].lstrip("/"))
    cell = workspace.cell_of(target.folder)
    if cell.path:  # a cell, or a Bazel repository within the tree, is an import root of its own
        yield module_of(path[len(cell.path) :].lstrip("/"))
    yield from _names_of_path(path, roots)


def _normal(path: str) -> str:
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if parts:
                parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def learn_roots(sources: Iterable[Source], workspace: Workspace, name_hints: frozenset[str]) -> tuple[ImportRoot, ...]:
    """The import roots that the sources themselves show: the root, and each name under which it is imported.

    A first component that no folder or file at the root has is such a name if what follows it exists at the root in
    most of its imports; a single import is enough where the name is hinted at (it is a label prefix, the root
    folder's or the module's own name), else ten must agree nearly always.
    """
    listed = list(sources)
    paths = {module_of(source.path) for source in listed}
    known = paths | {parent for module in paths for parent in _ancestors(module)}
    hits: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for source in listed:
        for statement in source.imports:
            if statement.level:
                continue
            top, _, rest = statement.module.partition(".")
            rest = rest or statement.name
            if not rest or rest == "*" or top in known or stdlib.is_top_level(top):
                continue
            total[top] += 1
            hits[top] += rest in known
    roots = [ImportRoot("", "")]
    for name, count in sorted(hits.items()):
        share = count / total[name]
        if (name in name_hints and count >= 1 and share >= 0.5) or (count >= 10 and share >= 0.9):
            roots.append(ImportRoot("", name))
    return tuple(roots)
