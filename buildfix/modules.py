"""Import roots; which module each file is; which targets provide it; what an import statement stands for.

A module name is looked up as Python would: the longest first-party module first. Where a repository's root is itself
importable under a name (`executorch.exir` is the folder `exir`), that prefix is learnt from the sources.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from buildfix import stdlib
from buildfix.config import ImportRoot
from buildfix.contexts import Need, need_of, typing_names
from buildfix.engine import Import, Source
from buildfix.labels import Label
from buildfix.provides import module_of, names_of_path, normal, provided
from buildfix.targets import Target, TargetGraph
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


NOTHING = Resolution()


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
    _resolutions: dict[tuple[str, int, str, str], Resolution] = field(default_factory=dict, repr=False)

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
        if prefix in self.providers:
            yield prefix
        start, end = (bisect_left(self._sorted, f"{prefix}{sign}") for sign in "./")  # what follows "." is "/"
        yield from self._sorted[start:end]

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self.providers)

    def ending(self, dotted: str) -> tuple[str, ...]:
        """The modules whose name ends like a dotted name that is itself none."""
        return tuple(m for m in self._endings.get(dotted.rpartition(".")[2], ()) if m.endswith(f".{dotted}"))

    @cached_property
    def folded(self) -> Mapping[str, tuple[str, ...]]:
        """The modules by their names without case."""
        found: dict[str, list[str]] = {}
        for module in sorted({*self.files, *self.providers}):
            found.setdefault(module.casefold(), []).append(module)
        return {name: tuple(modules) for name, modules in found.items()}

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
        """What an imported name stands for, seen from a file whose package is the dotted `package`; NOTHING itself if
        that is nothing that matters."""
        key = (statement.module, statement.level, statement.name, package if statement.level else "")
        found = self._resolutions.get(key)
        if found is None:
            found = self._resolve(statement, package)
            self._resolutions[key] = found = NOTHING if found == NOTHING else found
        return found

    def _resolve(self, statement: Import, package: str) -> Resolution:
        module = absolute(statement.module, statement.level, package)
        if statement.level:
            if statement.level - 1 > (package.count(".") + 1 if package else 0):
                return Resolution(unresolved="." * statement.level + statement.module)
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
        name = next(names_of_path(path, self.roots), "")
        return name if path.endswith(("__init__.py", "__init__.pyi")) else name.rpartition(".")[0]

    def names_of(self, path: str) -> tuple[str, ...]:
        """The module names of a file, by its place below the import roots."""
        return tuple(names_of_path(path, self.roots))

    def modules_of(self, path: str) -> tuple[str, ...]:
        """All module names of a file, by its place and as targets name it."""
        return tuple(dict.fromkeys((*self.names_of(path), *self._placed_names.get(path, ()))))

    @cached_property
    def _placed_names(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for (_, path), names in self.placed.items():
            found[path] = (*found.get(path, ()), *names)
        return found

    def on_path(self, user: Target, providers: list[Target], module: str) -> list[Target]:
        """Of the providers of a module, those whose file it is for `user`.

        Where import roots each have a module of that name, the roots that `user` itself puts on the path decide, then
        the import roots that it lies in; the list is empty if none of them has one.
        """
        homes = {provider.label: self._homes(provider, module) for provider in providers}
        if len(frozenset().union(*homes.values())) < 2 or not all(homes.values()):
            return providers
        own = {normal(f"{user.folder}/{folder}") for folder in user.strings("imports")}
        around = {root.path for root in self.roots if f"{user.folder}/".startswith(f"{root.path}/".lstrip("/"))}
        for root in (*sorted(own), *sorted(around, reverse=True)):
            inside = f"{root}/" if root else ""
            found = [
                provider
                for provider in providers
                if any(
                    home.startswith(inside) and module_of(home[len(inside) :]) == module
                    for home in homes[provider.label]
                )
            ]
            if found:
                return found
        return []

    def _homes(self, provider: Target, module: str) -> frozenset[str]:
        paths = (src.path for src in provider.srcs if src.path is not None)
        return frozenset(path for path in paths if module in self.placed.get((provider.label, path), ()))

    def owned(self, target: Target) -> frozenset[str]:
        """The modules that a target provides itself."""
        return self.of_target.get(target.label, frozenset())


def _bindings(source: Source, module: str) -> dict[str, bool]:
    """The names that an `__init__` binds, with whether that is something else than the submodule of that name."""
    bound = dict.fromkeys(source.names, True)
    names = typing_names(source)
    for statement in source.imports:
        if need_of(source, statement, names) is Need.TYPE_CHECKING:
            continue
        if statement.name and statement.name != "*":
            own = (statement.level == 1 and not statement.module) or statement.module == module
            name = statement.asname or statement.name
            bound[name] = bound.get(name, False) or not (own and name == statement.name)
        elif statement.asname:
            own = statement.module == f"{module}.{statement.asname}"
            bound[statement.asname] = bound.get(statement.asname, False) or not own
    return bound


def build(graph: TargetGraph, sources: Iterable[Source], roots: tuple[ImportRoot, ...]) -> Modules:
    """Name every file and every provided module of the repository, below each import root."""
    by_path = {source.path: source for source in sources}
    files: dict[str, list[str]] = {}
    for path in by_path:
        for name in names_of_path(path, roots):
            files.setdefault(name, []).append(path)
    providers: dict[str, list[Label]] = {}
    stubs: dict[str, list[Label]] = {}
    of_target: dict[Label, frozenset[str]] = {}
    placed: dict[tuple[Label, str], tuple[str, ...]] = {}
    for label, target in sorted(graph.targets.items()):
        own: dict[str, bool] = {}
        for place, modules, stub in provided(target, graph, roots):
            if place is not None:
                placed[label, place] = tuple(dict.fromkeys((*placed.get((label, place), ()), *modules)))
            for module in modules:
                own[module] = own.get(module, True) and stub
        if own:
            of_target[label] = frozenset(own)
        for module, stub in own.items():
            (stubs if stub else providers).setdefault(module, []).append(label)
    for name, owners in stubs.items():  # where there is code, a stub does not stand for it
        providers.setdefault(name, owners)
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
            top = normal(f"{target.folder}/{folder}").replace("/", ".")
            if top:
                found.setdefault(top, []).append(target.label)
    return {top: tuple(dict.fromkeys(labels)) for top, labels in sorted(found.items())}


def absolute(module: str, level: int, package: str) -> str:
    """The dotted name of a module that is imported with `level` dots in a package."""
    if not level:
        return module
    parts = package.split(".") if package else []
    return ".".join((*parts[: max(len(parts) - level + 1, 0)], *([module] if module else ())))


def _init_first(path: str) -> tuple[bool, bool, str]:
    """A package hides a module of its name, and source hides its stub."""
    return (not path.endswith(("/__init__.py", "/__init__.pyi")), path.endswith(".pyi"), path)


def _ancestors(module: str) -> Iterator[str]:
    while "." in module:
        module = module.rpartition(".")[0]
        yield module


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
