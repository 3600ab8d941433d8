"""A repair takes from no target a module that it imports: checked on two checkouts, before and after.

usage: soundness.py BEFORE AFTER             compare two checkouts
       soundness.py ROOT --apply [PATH ...]  copy ROOT, apply all safe fixes (below PATHs), compare the copy with ROOT

For every mode, for the deps as the rules really get them and for those that people wrote as well, and for what always
applies and what applies in some branch of a select:

  lost      a target imports a module, or names it in a string, could reach a target that has it, and no longer can
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

from buildfix import check, config, engine, workspace
from buildfix.engine import Call, Facts, Request, Source

SUFFIXES = (".py", ".pyi")
KINDS_OF_DEPS = ("deps", "actual", "plugins")
KINDS_OF_SOURCES = ("srcs", "gen_srcs", "versioned_srcs", "platform_srcs", "typings", "type_stubs", "pyi_srcs")
NATIVE_MODULES = ("python_extension", "pybind_extension", "nanobind_extension", "py_extension", "cython_library")
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


def strings(value: Any, conditional: bool = True) -> Iterator[str]:
    """The strings of an attribute's value; without `conditional`, only those that stand in every branch of a select."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings(item, conditional)
    elif isinstance(value, dict) and "$select" in value:
        branches = [list(strings(branch, conditional)) for _, branch in value["$select"]]
        everywhere = set.intersection(*map(set, branches)) if branches else set()
        yield from (text for branch in branches for text in branch if conditional or text in everywhere)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name not in ("$unknown", "$function", "$float", "$bytes"):
                yield from strings(item, conditional)


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
        text = text.partition("[")[0]
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
                pairs = list(placed(value)) or [(text, text) for text in strings(value)]
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
        for call in target.calls:
            for extra in strings(call.args.get("imports")):
                top = _joined(target.key.folder, extra)
                if not top or path.startswith(f"{top}/"):
                    yield _dotted(path.removeprefix(top).lstrip("/"))

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
                    longest = next((m for m in _upwards(text.partition(":")[0]) if m in self.providers), "")
                    yield Used(longest, None, f"{path}:{line} {text!r}")

    def _meant(self, statement: engine.Import, packages: Iterable[str]) -> Iterator[str]:
        """Every module that an import runs or might mean, known or not."""
        bases = [statement.module]
        if statement.level:
            bases = []
            for package in packages:
                parts = package.split(".") if package else []
                kept = parts[: len(parts) - statement.level + 1]
                bases.append(".".join((*kept, statement.module)).strip("."))
        for base in bases:
            yield from _upwards(base)
            if statement.name == "*":
                listed = (self.files[path].all or () for path in self.placed.get(base, ()))
                yield from (f"{base}.{name}" for names in listed for name in names)
            elif statement.name:
                yield f"{base}.{statement.name}".lstrip(".")

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

    def graph(self, evaluated: bool, conditional: bool) -> dict[Key, frozenset[Key]]:
        """The deps of every target: of the rule's own call or of the written one too; in some branch or in all."""
        found: dict[Key, set[Key]] = {key: set() for key in self.targets}
        for key, same in self.targets.items():
            for call in (c for target in same for c in (target.calls[:1] if evaluated else target.calls)):
                for attribute in call.args:
                    texts = _dep_strings(call, attribute, conditional)
                    found[key] |= {self.key(text, key.folder) for text in texts}
        return {key: frozenset(deps) for key, deps in found.items()}


def _dep_strings(call: Call, attribute: str, conditional: bool = True) -> Iterator[str]:
    if attribute != "external_deps" and (attribute in KINDS_OF_DEPS or attribute.endswith("_deps")):
        for text in strings(call.args[attribute], conditional):
            if ":" in text or "//" in text or attribute == "deps":
                yield text


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


def _upwards(module: str) -> Iterator[str]:
    while module:
        yield module
        module = _parent(module)


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
        for evaluated in (True, False):
            for conditional in (True, False):
                yield from self.edges(evaluated, conditional)

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

    def edges(self, evaluated: bool, conditional: bool) -> Iterator[Violation]:
        was, now = (side.graph(evaluated, conditional) for side in (self.before, self.after))
        view = f"{'evaluated' if evaluated else 'written'}, {'in some branch' if conditional else 'always'}"
        if evaluated and conditional:
            self.counts["edges before"] += sum(map(len, was.values()))
            self.counts["edges after"] += sum(map(len, now.values()))
            self.counts["edges dropped"] += sum(len(was[key] - now.get(key, frozenset())) for key in was)
            self.counts["edges added"] += sum(len(deps - was.get(key, frozenset())) for key, deps in now.items())
        yield from self.cycles(was, now, view)
        for key, same in sorted(self.before.targets.items()):
            if key in self.after.targets and any(target.uses for target in same if target.python):
                had, has = reachable(was, key), reachable(now, key)
                yield from self.lost(key, same, had, has, was, view)

    def lost(
        self, key: Key, same: list[Target], had: set[Key], has: set[Key], was: Mapping[Key, Iterable[Key]], view: str
    ) -> Iterator[Violation]:
        outside: dict[str, set[Key]] = defaultdict(set)
        for dep in had:
            if dep.folder == "//":
                outside[_normal(dep.name.rpartition(":" if ":" in dep.name else "/")[2])].add(dep)
        own = {module for target in same for module in target.modules}
        for used in sorted({used for target in same for used in target.uses}, key=str):
            if used.module in own:
                continue
            if used.label is not None:
                givers: Iterable[Key] = {used.label} & had
            elif used.module in self.before.providers:
                givers = self.before.providers[used.module] & had
            else:
                givers = outside.get(_normal(used.module.partition(".")[0]), set())
            if givers:
                self.counts["uses reached"] += 1
                if not has & set(givers):
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
    request = check.request(workspace.read(root, settings), settings, check.Options())
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
