"""A repair takes from no target a module that it imports: checked on two checkouts, before and after.

usage: soundness.py BEFORE AFTER             compare two checkouts
       soundness.py ROOT --apply [PATH ...]  copy ROOT, apply all safe fixes (below PATHs), compare the copy with ROOT

For every mode and every branch of a select, for the deps as the rules really get them and for those that people wrote
as well:

  lost      a target imports a module or names it in another way, could reach a target that has it, and no longer can
  errors    a build file fails where it did not
  cycles    targets depend on each other that did not
  targets   a target is gone or new
  changed   an attribute of a target, other than `deps` of a Python target, or a Python source is not as it was

Only the engine and the description of the workspace (request) are buildfix's; labels, modules, imports and reachability
are worked out here, in the plainest way, so that a fault of the tool cannot hide itself. Where in doubt, an import
counts for every module that it may mean.

Exit status: 0 if there is none, 1 if there is any, 2 if it could not be checked.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from buildfix import config, engine, pipeline, workspace
from buildfix.engine import Call, Facts, Request, Source

SUFFIXES = (".py", ".pyi")
KINDS_OF_DEPS = ("deps", "actual", "plugins", "data")
KINDS_OF_SOURCES = ("srcs", "gen_srcs", "versioned_srcs", "platform_srcs", "typings", "type_stubs", "pyi_srcs")
NATIVE_MODULES = ("python_extension", "pybind_extension", "nanobind_extension", "py_extension", "cython_library")
DEFAULTS = ("DEFAULT", "//conditions:default")
SHOWN = 50


class Violation(NamedTuple):
    """Something that was not so before; `kind` is one of those that the module's docstring lists."""

    kind: str
    where: str
    what: str


class Key(NamedTuple):
    """A target: the folder of its package and its name; what lies elsewhere has the folder `//` and the label."""

    folder: str
    name: str

    def __str__(self) -> str:
        return self.name if self.folder == "//" else f"//{self.folder}:{self.name}"


class Used(NamedTuple):
    """A module that a target may mean, and where; "" and a label's key where a source names a label."""

    module: str
    label: Key | None
    evidence: str


# --- values ----------------------------------------------------------------------------------------------------------


def strings(value: Any, branch: str | None = None) -> Iterator[str]:
    """The strings of an attribute's value; of a select only those that apply under `branch`, or all if that is None."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings(item, branch)
    elif isinstance(value, dict) and "$select" in value:
        named = dict(value["$select"])
        default: Any = next((named[name] for name in DEFAULTS if name in named), [])
        chosen = list(named.values()) if branch is None else [named.get(branch, default)]
        yield from strings(chosen, branch)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name not in ("$unknown", "$function", "$float", "$bytes"):
                yield from strings(item, branch)


def branches(value: Any) -> Iterator[str]:
    """The conditions of all selects in a value."""
    if isinstance(value, list):
        for item in value:
            yield from branches(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name == "$select":
                yield from (condition for condition, _ in item)
                yield from branches([inside for _, inside in item])
            else:
                yield from branches(item)


def placed(value: Any) -> Iterator[tuple[str, str]]:
    """(key, value) of the dicts of strings in an attribute's value."""
    if isinstance(value, dict):
        for name, item in value.items():
            if name == "$select":
                for _, branch in item:
                    yield from placed(branch)
            elif isinstance(item, str) and not name.startswith("$"):
                yield name, item
            else:
                yield from placed(item)
    elif isinstance(value, list):
        for item in value:
            yield from placed(item)


# --- a checkout ------------------------------------------------------------------------------------------------------


@dataclass
class Target:
    """A target in one mode: the rule's own call, and the outermost call of its name around it."""

    key: Key
    leaf: Call
    written: Call
    modules: set[str] = field(default_factory=set)
    uses: set[Used] = field(default_factory=set)
    sources: dict[str, set[str]] = field(default_factory=dict)

    @property
    def calls(self) -> tuple[Call, ...]:
        return (self.leaf,) if self.leaf is self.written else (self.leaf, self.written)

    @property
    def python(self) -> bool:
        return "py" in self.leaf.kind or bool(self.sources)


class Checkout:
    """What the engine says of a checkout, in one mode."""

    def __init__(self, request: Request, facts: Facts, mode: str, name: str) -> None:
        self.facts = facts
        self.cells = sorted(request.cells, key=lambda cell: -len(cell.path))
        self.aliases = request.aliases
        self.root_name = name
        self._keys: dict[tuple[str, str], Key] = {}
        self.packages = {package.path for package in facts.packages if package.mode == mode}
        self.files: Mapping[str, Source] = {source.path: source for source in facts.sources}
        self.calls = [call for call in facts.calls if call.mode == mode]
        self.targets: dict[Key, list[Target]] = {}
        for target in self._targets():
            self.targets.setdefault(target.key, []).append(target)
        for same in self.targets.values():
            for target in same:
                self._place(target)
        for same in self.targets.values():
            for target in same:
                target.uses = {used for used in self._uses(target) if used.module not in target.modules}

    def _targets(self) -> Iterator[Target]:
        by_id = {(call.package, call.id): call for call in self.calls}
        parents = {(call.package, call.parent) for call in self.calls}
        for call in self.calls:
            made_inside = call.how == "rule" and (call.package, call.id) in parents
            if not call.name or call.how == "function" or made_inside:
                continue
            written = outer = call
            while outer.parent:
                outer = by_id[(call.package, outer.parent)]
                written = outer if outer.name == call.name else written
            yield Target(Key(call.package, call.name), call, written)

    # Labels

    def cell(self, folder: str) -> str:
        """The path of the cell that holds a folder."""
        inside = (cell.path for cell in self.cells if not cell.path or f"{folder}/".startswith(f"{cell.path}/"))
        return next(inside, "")

    def key(self, text: str, folder: str) -> Key:
        """The target that a label means, written in the package at `folder`."""
        known = self._keys.get((text, folder))
        if known is None:
            known = self._keys[(text, folder)] = self._key(text.partition("[")[0], folder)
        return known

    def _key(self, text: str, folder: str) -> Key:
        if "//" not in text:
            return Key(folder, text.lstrip(":")) if text[:1] != "@" else Key("//", text.lstrip("@"))
        candidates = list(self._spelled(text, folder))
        known = (key for key in candidates if key.folder in self.packages)
        return next(known, Key("//", text.lstrip("@")))

    def _spelled(self, text: str, folder: str) -> Iterator[Key]:
        repository, _, rest = text.partition("//")
        package, colon, name = rest.partition(":")
        name = name if colon else package.rpartition("/")[2]
        repository = repository.lstrip("@")
        repository = self.aliases.get(repository, repository)
        here = [cell.path for cell in self.cells if cell.name == repository]
        if not repository:
            here = [self.cell(folder) if not text.startswith("@") else ""]
        for home in dict.fromkeys((*here, "")) if here else ():
            yield Key(f"{home}/{package}".strip("/"), name)
            if package.partition("/")[0] in self.prefixes:
                yield Key(f"{home}/{package.partition('/')[2]}".strip("/"), name)

    @cached_property
    def prefixes(self) -> frozenset[str]:
        """First parts of packages that are no folder, and without which most labels name a target."""
        hits: Counter[str] = Counter()
        texts = {text for call in self.calls for name in call.args for text in _dep_strings(call, name)}
        for text in texts:
            first, _, rest = text.partition("//")[2].partition("/")
            package, _, name = rest.partition(":")
            if rest and first not in self.folders:
                found = Key(package, name or package.rpartition("/")[2]) in self.targets
                hits[first] += 1 if found else -1
        return frozenset(first for first, count in hits.items() if count >= 0)

    @cached_property
    def folders(self) -> frozenset[str]:
        """The names of the folders and modules at the root."""
        paths = (*self.packages, *self.files)
        return frozenset(path.partition("/")[0].removesuffix(".py") for path in paths)

    # Modules

    def _place(self, target: Target) -> None:
        """Which of its files a target has, under which names, and which modules are its own."""
        folder = target.key.folder
        for call in target.calls:
            base = call.args.get("base_module")
            for attribute in KINDS_OF_SOURCES:
                value = call.args.get(attribute)
                pairs = list(placed(value)) or [(text, text) for text in self._expanded(strings(value), folder)]
                for one, other in pairs:
                    file = next((path for text in (one, other) if (path := self._file(text, folder))), "")
                    place = one if self._file(other, folder) and not self._file(one, folder) else other
                    place = self.key(place, folder).name if ":" in place else place
                    if not place.endswith(SUFFIXES):
                        continue
                    names = {_dotted(place, base)} if isinstance(base, str) else set(self._names(target, place))
                    target.modules |= names
                    if file:
                        target.sources.setdefault(file, set()).update(names)
            if call.kind.endswith(NATIVE_MODULES):
                stem = call.args.get("module_name") or call.name
                if isinstance(stem, str):
                    one = f"{stem.replace('.', '/')}.so"
                    target.modules |= {_dotted(one, base)} if isinstance(base, str) else set(self._names(target, one))

    def _expanded(self, texts: Iterable[str], folder: str, depth: int = 0) -> Iterator[str]:
        """Sources, those of file groups in place of the groups."""
        for text in texts:
            key = self.key(text, folder)
            groups = self.targets.get(key, ()) if (":" in text or "//" in text) and depth < 9 else ()
            files = [inside for group in groups for inside in strings(group.leaf.args.get("srcs"))]
            if files and not self._file(text, folder):
                for inside in self._expanded(files, key.folder, depth + 1):
                    yield inside if "//" in inside else f"//{key.folder}:{inside.lstrip(':')}"
            else:
                yield text

    def _file(self, text: str, folder: str) -> str:
        """The Python file that an entry of `srcs` means, "" if it is none."""
        if ":" in text or "//" in text:
            key = self.key(text, folder)
            text, folder = key.name, key.folder
        path = f"{folder}/{text}".lstrip("/")
        return path if path in self.files else ""

    def _names(self, target: Target, place: str) -> Iterator[str]:
        path = f"{target.key.folder}/{place}".lstrip("/")
        yield from self._importable(path)
        yield _dotted(path.removeprefix(self.cell(target.key.folder)).lstrip("/"))
        for top in self.import_folders:
            if not top or path.startswith(f"{top}/"):
                yield _dotted(path.removeprefix(top).lstrip("/"))

    @cached_property
    def import_folders(self) -> frozenset[str]:
        """The folders that some target's `imports` puts on the path of all that depend on it."""
        return frozenset(
            _joined(call.package, extra) for call in self.calls for extra in strings(call.args.get("imports"))
        )

    def _importable(self, path: str) -> Iterator[str]:
        name = _dotted(path)
        yield name
        for top in self.import_names:
            yield f"{top}.{name}" if name else top

    @cached_property
    def import_names(self) -> frozenset[str]:
        """Names under which the root itself is imported: most of what is imported below them is there."""
        known = {parent for path in self.files for parent in _upwards(_dotted(path))}
        hits: Counter[str] = Counter()
        total: Counter[str] = Counter()
        for source in self.facts.sources:
            for statement in source.imports:
                first, _, rest = statement.module.partition(".")
                if not statement.level and rest and first not in self.folders:
                    total[first] += 1
                    hits[first] += rest in known
        likely = self.prefixes | {self.root_name} | {cell.name for cell in self.cells} | set(self.aliases)
        return frozenset(
            name for name, count in hits.items() if 2 * count >= total[name] and (name in likely or count >= 10)
        )

    # What a target uses

    @cached_property
    def providers(self) -> Mapping[str, frozenset[Key]]:
        """Who has a module, as a source, an output or an extension."""
        found: dict[str, set[Key]] = defaultdict(set)
        for key, same in self.targets.items():
            for target in same:
                for module in target.modules:
                    found[module].add(key)
        return {module: frozenset(keys) for module, keys in found.items()}

    def _uses(self, target: Target) -> Iterator[Used]:
        for path, names in target.sources.items():
            source = self.files[path]
            packages = names if path.rpartition("/")[2].startswith("__init__.") else {_parent(name) for name in names}
            for statement in source.imports:
                for module in self._meant(statement, packages):
                    yield Used(module, None, f"{path}:{statement.line}")
            for text, line, _, _ in source.strings:
                if "//" in text:
                    yield Used("", self.key(text, target.key.folder), f"{path}:{line} {text!r}")
                else:
                    yield Used(self._longest(text.partition(":")[0]), None, f"{path}:{line} {text!r}")
            for _, line, argument, form in source.dynamic:
                for module in self._by_value(argument, form, packages):
                    yield Used(module, None, f"{path}:{line}")
            for module, line in self._chained(source, packages):
                yield Used(module, None, f"{path}:{line}")
        if "test" in target.leaf.kind:  # pytest imports the conftest.py of every folder above
            for folder in ("", *_upwards(target.key.folder, "/")):
                path = f"{folder}/conftest.py".lstrip("/")
                if path in self.files:
                    yield Used(_dotted(path), None, path)

    def _longest(self, dotted: str) -> str:
        return next((module for module in _upwards(dotted) if module in self.providers), "")

    def _meant(self, statement: engine.Import, packages: Iterable[str]) -> Iterator[str]:
        """Every module that an import runs or might mean, known or not; a script finds its siblings without a dot."""
        bases = {statement.module}
        if statement.module.partition(".")[0] not in sys.stdlib_module_names:
            bases |= {f"{package}.{statement.module}" for package in packages}
        if statement.level:
            bases = {base for package in packages for base in _relative(package, statement.level, statement.module)}
        for base in sorted(bases):
            yield from _upwards(base)
            if statement.name == "*":
                sources = [self.files[path] for path in self.placed.get(base, ())]
                yield from (f"{base}.{name}" for source in sources for name in source.all or ())
                if any(source.all_dynamic for source in sources):
                    yield from (module for module in self.providers if module.startswith(f"{base}."))
            elif statement.name:
                yield f"{base}.{statement.name}".lstrip(".")

    def _by_value(self, argument: str, form: str, packages: Iterable[str]) -> Iterator[str]:
        """The modules that `import_module` and its kin may import by the beginning of a name."""
        if form not in ("const", "prefix"):
            return
        level = len(argument) - len(argument.lstrip("."))
        bases = [argument] if not level else [b for p in packages for b in _relative(p, level, argument[level:])]
        for base in bases:
            yield self._longest(base)
            if form == "prefix" and base:
                yield from (module for module in self.providers if module.startswith(base))

    def _chained(self, source: Source, packages: Iterable[str]) -> Iterator[tuple[str, int]]:
        """The modules that attributes of imported names spell: `import a` and then `a.b.f()`."""
        bound: dict[str, set[str]] = defaultdict(set)
        for statement in source.imports:
            bases = {statement.module}
            if statement.level:
                bases = {b for package in packages for b in _relative(package, statement.level, statement.module)}
            whole = {f"{base}.{statement.name}".strip(".") for base in bases}
            name = statement.asname or statement.name
            if name:
                bound[name] |= whole
            else:
                bound[statement.module.partition(".")[0]] |= {statement.module.partition(".")[0]}
        for text, line in source.chains:
            first, _, rest = text.partition(".")
            for module in bound.get(first, ()):
                yield self._longest(f"{module}.{rest}"), line

    @cached_property
    def placed(self) -> Mapping[str, set[str]]:
        """The files of a module's name."""
        found: dict[str, set[str]] = defaultdict(set)
        for same in self.targets.values():
            for target in same:
                for path, names in target.sources.items():
                    for name in names:
                        found[name].add(path)
        return found

    # Edges

    def graph(self, evaluated: bool, branch: str | None) -> dict[Key, frozenset[Key]]:
        """The deps of every target: of the rule's own call or the written one too; in a branch, or in any."""
        found: dict[Key, set[Key]] = {key: set() for key in self.targets}
        for key, same in self.targets.items():
            for call in (c for target in same for c in (target.calls[:1] if evaluated else target.calls)):
                for attribute in call.args:
                    found[key] |= {self.key(text, key.folder) for text in _dep_strings(call, attribute, branch)}
        return {key: frozenset(deps) for key, deps in found.items()}

    def real(self, keys: Iterable[Key]) -> set[Key]:
        """Less those that name a target of a package here which has none of that name."""
        return {key for key in keys if key.folder == "//" or key in self.targets}

    def given(self, module: str, keys: Iterable[Key]) -> set[str | Key]:
        """The files that a module of some targets is, or the target where that makes it."""
        found: set[str | Key] = set()
        for target in (target for key in keys for target in self.targets[key] if module in target.modules):
            files = {path for path, names in target.sources.items() if module in names}
            found |= files or {target.key}
        return found

    @cached_property
    def branches(self) -> frozenset[str]:
        """The conditions of the selects in deps."""
        values = (call.args[name] for call in self.calls for name in call.args if _holds_deps(name))
        return frozenset(branch for value in values for branch in branches(value))


def _holds_deps(attribute: str) -> bool:
    return attribute != "external_deps" and (attribute in KINDS_OF_DEPS or attribute.endswith("_deps"))


def _dep_strings(call: Call, attribute: str, branch: str | None = None) -> Iterator[str]:
    if _holds_deps(attribute):
        for text in strings(call.args[attribute], branch):
            if ":" in text or "//" in text or attribute == "deps":
                yield text


def _located(call: Call) -> Iterator[str]:
    """The labels that an attribute must find among the deps: `$(location :x)`."""
    for name, value in call.args.items():
        if name != "deps":
            for text in strings(value):
                yield from re.findall(r"\$\(\w+ ([^\s()]+)\)", text)


def _dotted(path: str, base: str | None = None) -> str:
    stem = path.rpartition(".")[0].removesuffix("__init__").strip("/")
    return ".".join(part for part in (base or "", stem.replace("/", ".")) if part)


def _joined(folder: str, extra: str) -> str:
    parts: list[str] = []
    for part in (*folder.split("/"), *extra.split("/")):
        if part == "..":
            parts[-1:] = []
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _parent(module: str) -> str:
    return module.rpartition(".")[0]


def _relative(package: str, level: int, rest: str) -> Iterator[str]:
    """What a relative import means in a package; nothing if it leads out of it."""
    parts = package.split(".") if package else []
    if level <= len(parts) + 1:
        yield ".".join((*parts[: len(parts) - level + 1], rest)).strip(".")


def _upwards(name: str, separator: str = ".") -> Iterator[str]:
    while name:
        yield name
        name = name.rpartition(separator)[0]


def reachable(graph: Mapping[Key, Iterable[Key]], start: Key) -> set[Key]:
    """All that a target reaches along its deps, itself included."""
    found, todo = {start}, [start]
    while todo:
        for dep in graph.get(todo.pop(), ()):
            if dep not in found:
                found.add(dep)
                todo.append(dep)
    return found


def way(graph: Mapping[Key, Iterable[Key]], start: Key, goals: Iterable[Key]) -> str:
    """The shortest way from a target to one of the goals, in words."""
    came: dict[Key, Key | None] = {start: None}
    todo = deque([start])
    wanted = set(goals)
    while todo:
        here: Key | None = todo.popleft()
        if here in wanted:
            steps = []
            while here is not None:
                steps.append(str(here))
                here = came[here]
            return " -> ".join(reversed(steps))
        assert here is not None
        for dep in sorted(graph.get(here, ())):
            if dep not in came:
                came[dep] = here
                todo.append(dep)
    return "?"


# --- the checks ------------------------------------------------------------------------------------------------------


@dataclass
class Comparison:
    """Two checkouts in one mode."""

    mode: str
    before: Checkout
    after: Checkout
    counts: Counter[str] = field(default_factory=Counter)

    def violations(self) -> Iterator[Violation]:
        yield from self.errors()
        yield from self.targets()
        yield from self.changed()
        yield from self.located()
        for branch in (None, *sorted(self.before.branches | {""})):
            for evaluated in (True, False):
                yield from self.edges(evaluated, branch)

    def where(self, key: Key) -> str:
        return f"{key} [{self.mode}]" if self.mode else str(key)

    def errors(self) -> Iterator[Violation]:
        was, now = (
            Counter((p.path, e.kind, e.message) for p in side.facts.packages if p.mode == self.mode for e in p.errors)
            for side in (self.before, self.after)
        )
        for path, kind, message in now - was:
            yield Violation("errors", f"//{path}", f"{kind}: {message}")

    def targets(self) -> Iterator[Violation]:
        was, now = (
            Counter((target.key, target.leaf.kind) for same in side.targets.values() for target in same)
            for side in (self.before, self.after)
        )
        self.counts["targets"] += was.total()
        for sign, left in (("gone", was - now), ("new", now - was)):
            for key, kind in sorted(left):
                yield Violation("targets", self.where(key), f"{kind} is {sign}")

    def changed(self) -> Iterator[Violation]:
        for key, same in self.before.targets.items():
            for old, new in zip(same, self.after.targets.get(key, ()), strict=False):
                names = {*old.leaf.args, *new.leaf.args} - ({"deps"} if old.python else set())
                for name in sorted(names):
                    if old.leaf.args.get(name) != new.leaf.args.get(name):
                        yield Violation("changed", self.where(key), f"attribute {name} is not as it was")
                self.counts["targets changed"] += old.leaf.args.get("deps") != new.leaf.args.get("deps")
        for path in {*self.before.files, *self.after.files}:
            if self.before.files.get(path) != self.after.files.get(path):
                yield Violation("changed", path, "a Python source is not as it was")

    def located(self) -> Iterator[Violation]:
        for key, same in self.before.targets.items():
            for old, new in zip(same, self.after.targets.get(key, ()), strict=False):
                for text in _located(old.leaf):
                    label = self.before.key(text, key.folder)
                    sides = ((self.before, old), (self.after, new))
                    had, has = (
                        {side.key(t, key.folder) for t in strings(one.leaf.args.get("deps"))} for side, one in sides
                    )
                    if label in had - has:
                        yield Violation("lost", self.where(key), f"{label}, that another attribute locates")

    def edges(self, evaluated: bool, branch: str | None) -> Iterator[Violation]:
        was, now = (side.graph(evaluated, branch) for side in (self.before, self.after))
        view = f"{'evaluated' if evaluated else 'written'}, {'any branch' if branch is None else branch or 'DEFAULT'}"
        if evaluated and branch is None:
            self.counts["edges before"] += sum(map(len, was.values()))
            self.counts["edges after"] += sum(map(len, now.values()))
            self.counts["edges dropped"] += sum(len(was[key] - now.get(key, frozenset())) for key in was)
            self.counts["edges added"] += sum(len(deps - was.get(key, frozenset())) for key, deps in now.items())
        yield from self.cycles(was, now, view)
        for key, same in sorted(self.before.targets.items()):
            if key in self.after.targets and any(target.uses for target in same if target.python):
                had, has = self.before.real(reachable(was, key)), self.after.real(reachable(now, key))
                yield from self.lost(key, same, had, has, was, view)

    def lost(
        self, key: Key, same: list[Target], had: set[Key], has: set[Key], was: Mapping[Key, Iterable[Key]], view: str
    ) -> Iterator[Violation]:
        if had <= has:
            return
        outside: dict[str, set[Key]] = defaultdict(set)
        for dep in had:
            if dep.folder == "//":
                outside[_normal(dep.name.rpartition(":" if ":" in dep.name else "/")[2])].add(dep)
        own = {module for target in same for module in target.modules}
        for used in sorted({used for target in same for used in target.uses}, key=str):
            if used.module in own:
                continue
            files: set[str | Key] = set()
            if used.label is not None:
                givers: Iterable[Key] = {used.label} & had
            elif used.module in self.before.providers:
                givers = self.before.providers[used.module] & had
                files = self.before.given(used.module, givers)
            else:
                givers = outside.get(_normal(used.module.partition(".")[0]), set())
            if givers:
                self.counts["uses looked at"] += 1
                left = self.after.providers.get(used.module, frozenset()) & has if files else ()
                if not (files & self.after.given(used.module, left) if files else has.intersection(givers)):
                    what = f"{used.module or used.label} ({used.evidence}) came by {way(was, key, givers)} ({view})"
                    yield Violation("lost", self.where(key), what)

    def cycles(
        self, was: Mapping[Key, frozenset[Key]], now: Mapping[Key, frozenset[Key]], view: str
    ) -> Iterator[Violation]:
        """An added edge whose dep reaches back, where the dep did not reach back or be reached before."""
        for key, deps in sorted(now.items()):
            for dep in sorted(deps - was.get(key, frozenset())):
                if key in reachable(now, dep):
                    together = key in reachable(was, dep) and dep in reachable(was, key)
                    if not together:
                        yield Violation("cycles", self.where(key), f"{way(now, dep, [key])} -> {dep} ({view})")


def _normal(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")


# --- running ---------------------------------------------------------------------------------------------------------


def states(root: Path) -> tuple[Request, Facts]:
    """What the engine says of a repository."""
    settings = config.load(root)
    request = pipeline.request(workspace.read(root, settings), settings, pipeline.Options())
    return request, engine.run(request)


def compare(before: Path, after: Path) -> tuple[list[Violation], Counter[str]]:
    """All violations, and what was looked at."""
    (one, old), (other, new) = states(before), states(after)
    found: list[Violation] = []
    counts: Counter[str] = Counter()
    for mode in dict.fromkeys(package.mode for package in (*old.packages, *new.packages)):
        name = before.resolve().name  # of both: a copy may have another
        was, now = Checkout(one, old, mode, name), Checkout(other, new, mode, name)
        found += Comparison(mode, was, now, counts).violations()
    return list(dict.fromkeys(found)), counts


def applied(root: Path, paths: Iterable[str], folder: Path) -> Path:
    """A copy of a repository, repaired; below a folder of its own, under the same name."""
    copy = folder / root.resolve().name
    shutil.copytree(root, copy, symlinks=True)
    command = [sys.executable, "-m", "buildfix", "--root", str(copy), "--apply", *(str(copy / path) for path in paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3) or "Traceback" in done.stderr:
        raise RuntimeError(f"buildfix --apply ended with status {done.returncode}: {done.stderr.strip()}")
    return copy


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", nargs="*")
    parser.add_argument("--apply", action="store_true")
    options = parser.parse_args(arguments)
    if not options.apply and len(options.after) != 1:
        parser.error("give two checkouts, or --apply")
    try:
        if options.apply:
            with tempfile.TemporaryDirectory() as folder:
                violations, counts = compare(options.before, applied(options.before, options.after, Path(folder)))
        else:
            violations, counts = compare(options.before, Path(options.after[0]))
    except (OSError, RuntimeError, config.ConfigError, workspace.WorkspaceError, engine.EngineError) as error:
        print(f"soundness: {error}", file=sys.stderr)
        return 2
    kinds = Counter(violation.kind for violation in violations)
    for violation in violations[:SHOWN]:
        print(f"{violation.kind}: {violation.where}: {violation.what}")
    if len(violations) > SHOWN:
        print(f"... and {len(violations) - SHOWN} more")
    print(", ".join(f"{count} {name}" for name, count in counts.items()))
    print(", ".join(f"{kinds[kind]} {kind}" for kind in ("lost", "errors", "cycles", "targets", "changed")))
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
