"""Per target: the modules that it must have, and those for which there is evidence that it uses them.

What must be there and is not is a missing dep; what has any evidence is never an unused one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from buildfix import byname, markers, values
from buildfix import labels as label_text
from buildfix.byname import Kind
from buildfix.config import Config
from buildfix.contexts import Need, need_of, typing_names
from buildfix.directives import Directives
from buildfix.engine import Import, Source
from buildfix.findings import Evidence, Place
from buildfix.labels import Label
from buildfix.modules import NOTHING, Modules, Resolution, absolute
from buildfix.provides import normal
from buildfix.rules import Role
from buildfix.targets import NO_REFS, Target, TargetGraph
from buildfix.workspace import Workspace


@dataclass(frozen=True, slots=True)
class TargetUses:
    """What one target uses.

    `needs` maps a module to how firmly it is needed and where; `prefixes` holds dotted prefixes below which any module
    may be used; `paths` the folders below which it finds modules because some target's `imports` puts them on the path;
    `labels` are labels that sources name; `provided` maps a module to the label that a marker names as its provider,
    `spelled` that label to how it is written there; `declared` are the labels that a marker says it depends on;
    `externals` maps dotted names that are not the repository's to where they are imported; `unresolved` the ones that
    look first-party and exist nowhere; `named` is what strings name that may be modules from elsewhere. `broken`
    sources could not be read; `dynamic` holds the places of imports by value. `frozen` sources ask for no proposals.
    """

    needs: Mapping[str, tuple[Need, tuple[Evidence, ...]]]
    prefixes: Mapping[str, Evidence] = field(default_factory=dict)
    paths: Mapping[str, Evidence] = field(default_factory=dict)
    labels: Mapping[Label, Evidence] = field(default_factory=dict)
    externals: Mapping[str, tuple[Need, tuple[Evidence, ...]]] = field(default_factory=dict)
    provided: Mapping[str, Label] = field(default_factory=dict)
    spelled: Mapping[Label, str] = field(default_factory=dict)
    declared: Mapping[Label, Evidence] = field(default_factory=dict)
    unresolved: Mapping[str, tuple[Need, tuple[Evidence, ...]]] = field(default_factory=dict)
    named: tuple[str, ...] = ()
    broken: tuple[Source, ...] = ()
    missing: tuple[str, ...] = ()
    dynamic: tuple[Evidence, ...] = ()
    frozen: bool = False


# --- collecting ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Collector:
    """Gathers the uses of one target, source by source."""

    target: Target
    modules: Modules
    workspace: Workspace
    config: Config
    directives: Directives
    needs: dict[str, tuple[Need, dict[Evidence, None]]] = field(default_factory=dict)
    externals: dict[str, tuple[Need, dict[Evidence, None]]] = field(default_factory=dict)
    prefixes: dict[str, Evidence] = field(default_factory=dict)
    paths: dict[str, Evidence] = field(default_factory=dict)
    labels: dict[Label, Evidence] = field(default_factory=dict)
    provided: dict[str, Label] = field(default_factory=dict)
    spelled: dict[Label, str] = field(default_factory=dict)
    declared: dict[Label, Evidence] = field(default_factory=dict)
    unresolved: dict[str, tuple[Need, dict[Evidence, None]]] = field(default_factory=dict)
    broken: list[Source] = field(default_factory=list)
    named: dict[str, None] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    dynamic: list[Evidence] = field(default_factory=list)
    frozen: bool = False

    def result(self) -> TargetUses:
        return TargetUses(
            needs={module: (need, tuple(where)) for module, (need, where) in sorted(self.needs.items())},
            prefixes=self.prefixes,
            paths=self.paths,
            labels=self.labels,
            externals={name: (need, tuple(where)) for name, (need, where) in sorted(self.externals.items())},
            provided=self.provided,
            spelled=self.spelled,
            declared=self.declared,
            unresolved={name: (need, tuple(where)) for name, (need, where) in sorted(self.unresolved.items())},
            named=tuple(self.named),
            broken=tuple(self.broken),
            missing=tuple(self.missing),
            dynamic=tuple(self.dynamic),
            frozen=self.frozen,
        )

    def add_source(self, source: Source, mentions: bool = False) -> None:
        """`mentions`: it is none of the target's sources, so that what it imports is evidence and no more."""
        if source.error is not None:
            self.broken.append(source)
        marks = markers.source_marks(source)
        if self.directives.left_alone(source.path):
            marks = replace(marks, frozen=True)
        packages = self._packages(source)
        names = typing_names(source)
        provided = dict(marks.provided_by)
        for index, statement in enumerate(source.imports):
            need = need_of(source, statement, names)
            if source.path.endswith(".pyi"):  # only type checkers read it
                need = min(need, Need.TYPE_CHECKING)
            if (
                mentions
                or index in marks.no_dep
                or marks.frozen
                or any(ignores(statement, one.label) for one in marks.ignored)
            ):
                need = Need.MENTIONED
            mark = provided.get(index)
            self._add_import(source, statement, need, packages, mark.label if mark else "")
        self._add_strings(source, packages)
        self._add_chains(source, packages)
        for marked in marks.labels:
            evidence = Evidence(Place(source.path, marked.line), f"comment names {marked.label}")
            self._add_label(marked.label, evidence)
            label = self.workspace.resolve(marked.label, self.target.folder) if marked in marks.declared else None
            if label is not None and not marks.frozen and not mentions:
                self.declared.setdefault(label, evidence)
                self.spelled.setdefault(label, marked.label)
        self.frozen |= marks.frozen

    def _packages(self, source: Source) -> tuple[str, ...]:
        """The dotted packages that relative imports of this file may count from, the target's own naming first."""
        names = self.modules.placed.get((self.target.label, source.path), ())
        if source.path.endswith(("/__init__.py", "/__init__.pyi")) or source.path in ("__init__.py", "__init__.pyi"):
            return names or ("",)
        return tuple(name.rpartition(".")[0] for name in names) or ("",)

    def _add_import(self, source: Source, statement: Import, need: Need, packages: tuple[str, ...], label: str) -> None:
        found = self._resolve(statement, packages, source.path)
        if found is NOTHING and not label:
            return
        name = ".".join(part for part in (statement.module, statement.name if statement.name != "*" else "") if part)
        spelled = "." * statement.level + name
        evidence = Evidence(Place(source.path, statement.line), f"import of {spelled}")
        if label:
            identity = self.workspace.resolve(label, self.target.folder)
            if identity is not None:
                for module in (*found.needs, *(name for name in (found.external, found.unresolved) if name)):
                    self.provided[module] = identity
                    self.spelled.setdefault(identity, label)
        for module in found.needs:
            _note(self.needs, module, need, evidence)
        for module in found.touches:
            _note(self.needs, module, Need.IMPLIED, evidence)
        if found.external:
            _note(self.externals, found.external, need, evidence)
            self._beside(name, packages, evidence)
            for dotted in dict.fromkeys((name, statement.module)):
                for module in self.modules.ending(dotted):  # a folder that `sys.path` or an unknown `imports` names
                    _note(self.needs, module, Need.IMPLIED, evidence)
        if statement.name == "*" and found.needs and self._star_is_open(found.needs[0]):
            self.prefixes.setdefault(found.needs[0], evidence)
        if found.unresolved:
            _note(self.unresolved, found.unresolved, need, evidence)

    def _beside(self, name: str, packages: tuple[str, ...], evidence: Evidence) -> None:
        """A script finds its siblings without their package, and anybody what an `imports` puts on the path."""
        for top in dict.fromkeys((*packages, *self.modules.tops)):
            known = self.modules.longest_known(f"{top}.{name}")
            if top and known.startswith(f"{top}."):
                _note(self.needs, known, Need.MENTIONED, evidence)
                if top in self.modules.tops:
                    self.paths.setdefault(top, evidence)

    def _star_is_open(self, module: str) -> bool:
        """Whether an `__all__` that is computed says what a star import takes."""
        return any(self.modules.sources[path].all_dynamic for path in self.modules.files.get(module, ())[:1])

    def _resolve(self, statement: Import, packages: tuple[str, ...], path: str) -> Resolution:
        first = self.modules.resolve(statement, packages[0])
        if first.external and self.directives.finds_siblings(path.rpartition("/")[0]):
            # What lies beside the file is imported as if it were named by a dot; the folder's own `__init__`, too.
            beside = statement.module.removeprefix("__init__").lstrip(".")
            statement = statement._replace(module=beside, level=1)
        if not statement.level or first.needs:
            return first
        for package in packages if first.external else packages[1:]:
            other = self.modules.resolve(statement, package)
            if other.needs:
                return other
        return first

    def _add_strings(self, source: Source, packages: tuple[str, ...]) -> None:
        for kind, text, line, what in byname.mentions(source, packages):
            evidence = Evidence(Place(source.path, line), what)
            match kind:
                case Kind.LABEL:
                    self._add_label(text, evidence)
                case Kind.PATH:
                    self._mention_path(text, source.path, evidence)
                case Kind.MODULE:
                    self._mention(text, evidence)
                case Kind.IMPORT:
                    self._mention(text, evidence)
                    if not self.modules.longest_known(text):
                        self._beside(text, packages, evidence)
        for call in byname.open_calls(source):
            self.dynamic.append(Evidence(Place(source.path, call.line), f"call of {call.callee}"))

    def _mention_path(self, text: str, source: str, evidence: Evidence) -> None:
        """A path counts from the root, from the folder of whoever names it, or from one above that."""
        folder = source
        while folder:
            folder = folder.rpartition("/")[0]
            for module in self.modules.modules_of(normal(f"{folder}/{text}")):
                _note(self.needs, module, Need.MENTIONED, evidence)

    def _mention(self, dotted: str, evidence: Evidence) -> None:
        """A string may name a module, something in one, or the beginning of any module below a package."""
        known = self.modules.longest_known(dotted)
        if known:
            _note(self.needs, known, Need.MENTIONED, evidence)
            for parent in self.modules.parents(known):
                _note(self.needs, parent, Need.IMPLIED, evidence)
        else:
            self.named.setdefault(dotted)
        if dotted in self.modules.folders and all(dotted != root.prefix for root in self.modules.roots):
            self.prefixes.setdefault(dotted, evidence)

    def _add_chains(self, source: Source, packages: tuple[str, ...]) -> None:
        bound: dict[str, str] = {}
        for statement in source.imports:
            if statement.name == "*":
                continue
            if statement.name:
                module = absolute(statement.module, statement.level, packages[0])
                bound[statement.asname or statement.name] = f"{module}.{statement.name}".lstrip(".")
            elif statement.asname:
                bound[statement.asname] = statement.module
            else:
                top = statement.module.partition(".")[0]
                bound[top] = top
        for text, line in source.chains:
            first, _, rest = text.partition(".")
            if first in bound:
                module = self.modules.longest_known(f"{bound[first]}.{rest}")
                if module.startswith(bound[first] + "."):
                    _note(self.needs, module, Need.MENTIONED, Evidence(Place(source.path, line), f"use of {text}"))

    def _add_label(self, text: str, evidence: Evidence) -> None:
        if label_text.split(text) is None:
            return
        label = self.workspace.resolve(text, self.target.folder)
        if label is not None:
            self.labels.setdefault(label, evidence)

    def add_pytest(self) -> None:
        """pytest loads the conftest.py of a test's folder and of those above it, and plugins, without any import."""
        need = Need.MUST if self.config.conftest == "require" else Need.MENTIONED
        folder = self.target.folder
        while self.config.conftest != "ignore":
            path = f"{folder}/conftest.py" if folder else "conftest.py"
            if path in self.modules.sources:
                evidence = Evidence(Place(path), "pytest loads it")
                for module in self.modules.modules_of(path)[:1] if need is Need.MUST else self.modules.modules_of(path):
                    _note(self.needs, module, need, evidence)
            if not folder:
                break
            folder = folder.rpartition("/")[0]
        for plugin in self.config.pytest_plugins:
            self._mention(plugin, Evidence(self.target.place, f"{plugin} is a pytest plugin"))

    def add_unowned(self, seen: set[str]) -> None:
        """What a file imports that no target has and that is imported plainly: who runs it may need that."""
        plainly = [module for module, (need, _) in self.needs.items() if need is Need.MUST]
        for module in plainly:
            for path in () if module in self.modules.providers else self.modules.files.get(module, ())[:1]:
                if path not in seen:
                    seen.add(path)
                    self.add_source(self.modules.sources[path], mentions=True)

    def add_entry_points(self) -> None:
        """Modules that attributes name: `main_module`, and `main_function`, with the function behind it."""
        for attribute in ("main_module", "main_function"):
            value = self.target.argument(attribute)
            if not isinstance(value, str) or not value:
                continue
            evidence = Evidence(self.target.place, f"{attribute} = {value!r}")
            value = value.replace(":", ".")
            module = value.rpartition(".")[0] if attribute == "main_function" else value
            known = self.modules.longest_known(value)
            if known and known not in self.modules.owned(self.target):
                _note(self.needs, known, Need.MUST if known in (module, value) else Need.MENTIONED, evidence)

    def add_directives(self) -> None:
        """Build files may say who provides a module, whoever has it among its sources."""
        for module, (need, _) in (*self.needs.items(), *self.externals.items(), *self.unresolved.items()):
            found = self.directives.provider(self.target.folder, module) if need is Need.MUST else None
            if found is None or module in self.provided or module in self.modules.owned(self.target):
                continue
            label = self.workspace.resolve(found.label, found.folder)
            if label is not None:
                self.provided[module] = label
                self.spelled.setdefault(label, found.label)
                self.labels.setdefault(label, Evidence(found.place, f"{found.label} provides {module}"))

    def add_attributes(self) -> None:
        """Modules and Python files that any other attribute names: `args = ["-m", "kit.axe"]`, `data`, `main`."""
        rule = self.target.rule
        known = {rule.deps, *rule.fixed_deps, *rule.partial_deps, *rule.srcs, *NO_REFS}
        own = {src.path for src in self.target.srcs}
        for name, value in self.target.leaf.args.items():  # a macro's arguments may well be forwarded to its deps
            if name in known:
                continue
            for text in byname.in_attribute(value):
                self._mention(text, Evidence(self.target.place, f"{name} names {text}"))
            for text in values.walk_strings(value):
                evidence = Evidence(self.target.place, f"{name} names {text}")
                path = normal(f"{self.target.folder}/{text}")
                if name in rule.resources and label_text.looks_like_label(text):
                    self._add_label(text, evidence)
                elif name == "main" and (label := self.workspace.resolve(text, self.target.folder)) is not None:
                    path = f"{self.workspace.folder(label)}/{label.name}".lstrip("/")
                if path.endswith(".ipynb"):
                    self.dynamic.append(Evidence(self.target.place, f"{name} names a notebook"))
                if path in self.modules.sources and path not in own:
                    own.add(path)
                    self.add_source(self.modules.sources[path], mentions=True)
                    for module in self.modules.modules_of(path):
                        _note(self.needs, module, Need.MENTIONED, evidence)


def ignores(statement: Import, module: str) -> bool:
    """Whether a marker that names a module is about an import."""
    dotted = f"{statement.module}.{statement.name}"
    return statement.module == module or statement.module.startswith(module + ".") or dotted == module


def _note(into: dict[str, tuple[Need, dict[Evidence, None]]], module: str, need: Need, evidence: Evidence) -> None:
    """Keep the firmest need of a module, with the places that show it; of mere mentions, one is enough."""
    known = into.get(module)
    if known is None or need > known[0]:
        into[module] = (need, {evidence: None})
    elif need == known[0] and need > Need.MENTIONED:
        known[1][evidence] = None


def collect(
    graph: TargetGraph,
    modules: Modules,
    config: Config,
    directives: Directives,
    known: Mapping[Label, TargetUses],
) -> dict[Label, TargetUses]:
    """The uses of every Python target; `known` are those that need not be collected again."""
    found: dict[Label, TargetUses] = {}
    for target in (target for _, target in sorted(graph.targets.items()) if target.rule.python or target.reads):
        if target.label in known:
            found[target.label] = known[target.label]
            continue
        collector = _Collector(target, modules, graph.workspace, config, directives)
        paths = (*(src.path for src in target.srcs if src.path is not None), *target.reads)
        for path in dict.fromkeys(paths):
            if not path.endswith((".py", ".pyi")):
                continue
            source = modules.sources.get(path)
            if source is None:
                collector.missing.append(path)
            else:
                collector.add_source(source)
        collector.add_unowned(set(paths))
        collector.add_entry_points()
        if target.rule.python:
            collector.add_attributes()
        if target.rule.role is Role.TEST:
            collector.add_pytest()
        collector.add_directives()
        found[target.label] = collector.result()
    return found
