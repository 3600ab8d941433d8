"""The whole way from a repository on disk to a Result: what the command line and other tools call.

Each step takes what the one before returned; only `load` (through engine.py) and `apply` touch the disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

import msgspec
from msgspec import UNSET

from buildfix import (
    affected,
    assemble,
    baseline,
    byname,
    conclude,
    diagnose,
    directives,
    disk,
    engine,
    faults,
    hubs,
    idle_markers,
    kept,
    learn,
    manifests,
    markers,
    modules,
    parts,
    proof,
    records,
    selection,
    since,
    thirdparty,
    uses,
    values,
    workspace,
    write,
)
from buildfix import config as configuration
from buildfix.config import Config, ImportRoot
from buildfix.directives import Directives
from buildfix.engine import Cache, Facts, Mode, Package, Progress, Request, Shard, Symbols
from buildfix.findings import Code, Finding, Result, Summary
from buildfix.knowledge import Knowledge
from buildfix.labels import Label
from buildfix.manifests import Distribution
from buildfix.modules import Modules
from buildfix.permits import Permits
from buildfix.policy import DEFAULT, Policy, selected
from buildfix.proof import Proven
from buildfix.reach import Reach
from buildfix.roots import Dialect, relative
from buildfix.sites import Sites
from buildfix.targets import TargetGraph
from buildfix.thirdparty import Origin, ThirdParty
from buildfix.uses import TargetUses
from buildfix.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Options:
    """What a run is asked to do. `paths` are relative to the root, () means everything; so does `since`, a git
    revision, if it is "". `select` are the only findings to look for, () for the usual ones, less those of `ignore`.
    `parts` asks for the repair in parts, too (Result.repairs). `records` are files with the facts of an earlier run
    (records.py), to be judged instead of what the engine would state now; `cache` says whether what was seen of the
    sources may be kept for the next run."""

    paths: tuple[str, ...] = ()
    jobs: int = 0
    policy: Policy = DEFAULT
    since: str = ""
    records: tuple[Path, ...] = ()
    cache: bool = False
    select: frozenset[Code] = frozenset()
    ignore: frozenset[Code] = frozenset()
    parts: bool = False


def check(
    root: Path, paths: Iterable[Path] = (), options: Options | None = None, progress: Progress | None = None
) -> Result:
    """Find what is wrong in the repository at `root`, below `paths`, and how to repair it. Writes nothing.

    Raises ConfigError, WorkspaceError, PathError, SinceError or EngineError.
    """
    known, rerun = look(root, paths, options, progress)
    return judge(known, rerun)


def look(
    root: Path, paths: Iterable[Path] = (), options: Options | None = None, progress: Progress | None = None
) -> tuple[Knowledge, Rerun]:
    """All that is known of the repository at `root`, narrowed to what the paths and options ask about; raises what
    `check` does."""
    config = configuration.load(root)
    space = workspace.read(root, config)
    options = options or Options()
    policy = options.policy
    codes = selected(config.findings, options.select, options.ignore)
    options = replace(
        options,
        paths=tuple(relative(space.root, path) for path in paths),
        policy=replace(policy, codes=codes),
    )
    change = since.Change(space.root, options.since) if options.since else None
    known = load(space, config, options, progress)
    rerun = Rerun(space, config, options, known)
    if change is not None:
        known = since.narrow(known, change, rerun)
    return known, rerun


@dataclass(frozen=True, slots=True)
class Judgement:
    """What follows from the knowledge of a repository: the findings, the proven plan, and what they were made with."""

    findings: tuple[Finding, ...]
    proven: Proven
    sites: Sites
    permits: Permits
    reach: Reach


def judge(known: Knowledge, rerun: Rerun) -> Result:
    """Diagnose, decide, prove, conclude."""
    policy = rerun.options.policy
    judged = weigh(known, rerun)
    told, notes = baseline.tell(judged.findings, known.graph, policy, known.selected)
    inside = selection.files(rerun.options.paths)
    changes = tuple(replace(change, outside=not inside(change.path)) for change in judged.proven.changes)
    result = Result(told, changes, replace(summary(known), notes=(*summary(known).notes, *notes)))
    if rerun.options.parts:
        result = replace(
            result,
            repairs=parts.split(known, judged.proven.plan, told, judged.sites, judged.permits, judged.reach),
        )
    return result


def weigh(known: Knowledge, rerun: Rerun) -> Judgement:
    """Diagnose, decide, prove."""
    policy = rerun.options.policy
    found = faults.find(known, policy.codes, rerun.exists)
    diagnosis = replace(diagnose.diagnose(known), faults=found)
    sites = Sites(known.facts, rerun.read)
    permits = Permits(known.graph, sites, known.config, policy, known.directives)
    reach = Reach(known)
    proven = proof.prove(known, diagnosis, rerun, sites, permits, reach, policy)
    if Code.UNUSED_MARKER in policy.codes:
        idle = idle_markers.find(known, diagnosis, permits, proven.plan.held)
        diagnosis = replace(diagnosis, faults=(*diagnosis.faults, *idle))
    findings = conclude.conclude(known, diagnosis, proven, permits, reach)
    asked = tuple(finding for finding in findings if finding.code in policy.codes or finding.fix)
    return Judgement(asked, proven, sites, permits, reach)


def apply(root: Path, result: Result) -> Result:
    """Write the changes of a Result, all or none. Raises WriteError."""
    write.write_all(root, result.changes)
    return replace(result, applied=True)


def request(
    space: Workspace,
    config: Config,
    options: Options,
    overlay: Mapping[str, str] | None = None,
    packages: Iterable[str] | None = None,
) -> Request:
    """The engine's request for a whole repository; with an overlay, for evaluating `packages` again."""
    return Request(
        root=str(space.root),
        dialect=space.dialect,
        cells=space.cells,
        aliases=dict(space.aliases),
        modes=_modes(space, config),
        symbols=_symbols(space),
        overlay=overlay or {},
        do=("evaluate",) if overlay is not None else ("evaluate", "scan", "fingerprint"),
        packages=UNSET if packages is None else tuple(sorted(packages)),
        cache=Cache(str(kept.place(space.root) / "sources"), kept.program()) if options.cache else Cache(),
        ignore=space.ignore,
        marker_words=markers.MARKER_WORDS,
        callee_words=tuple(byname.CALLEES),
        holder_words=byname.HOLDERS,
        jobs=options.jobs,
    )


def _modes(space: Workspace, config: Config) -> tuple[Mode, ...]:
    """The modes to evaluate in: those of the configuration, each on top of what holds for all; else the one."""
    general = Mode("", dict(space.build_config), dict(config.symbols))
    own = (
        Mode(mode.name, {**general.config, **mode.build_config}, {**general.symbols, **mode.symbols})
        for mode in config.modes
    )
    return tuple(own) or (general,)


_SYMBOLS: Mapping[Dialect, tuple[str, ...]] = {"buck": ("buck.bzl", "common.bzl"), "bazel": ("common.bzl",)}


def _symbols(space: Workspace) -> tuple[Symbols, ...]:
    """The built-in symbols' texts; their paths are what call stacks show."""
    folder = resources.files("buildfix").joinpath("symbols")
    own = (Symbols(f"<buildfix>/{name}", folder.joinpath(name).read_text("utf-8")) for name in _SYMBOLS[space.dialect])
    return (*(hubs.symbols(space.root) if space.dialect == "bazel" else ()), *own)


def load(space: Workspace, config: Config, options: Options, progress: Progress | None = None) -> Knowledge:
    """Run the engine over the repository and put everything in order."""
    asked = request(space, config, options)
    facts = records.read(options.records, asked) if options.records else engine.run(asked, progress)
    distributions = manifests.read(space.root, {package.path for package in facts.packages})
    return know(facts, space, config, options, distributions)


def emit(
    root: Path,
    shard: tuple[int, int],
    file: Path,
    options: Options | None = None,
    progress: Progress | None = None,
) -> None:
    """Write the facts of a part (which, of how many, from 0) of the repository at `root` to a file. Raises what `check`
    does, and WriteError."""
    config = configuration.load(root)
    asked = request(workspace.read(root, config), config, options or Options())
    records.emit(asked, Shard(*shard), file, progress)


def know(
    facts: Facts,
    space: Workspace,
    config: Config,
    options: Options,
    distributions: Iterable[Distribution] = (),
    basis: Knowledge | None = None,
    changed: frozenset[str] | None = None,
) -> Knowledge:
    """Everything that follows from the engine's facts without judging anything.

    `basis` is what was known before build files changed: what was learnt from it still holds. `changed` are the folders
    of the packages that may differ from it, None all.
    """
    space = space.with_packages(package.path for package in facts.packages)
    if basis is not None and basis.graph.workspace.packages == space.packages:
        space = basis.graph.workspace
    elif basis is not None:
        space = space.with_prefixes(basis.graph.workspace.prefixes)
    elif config.label_prefixes is None:
        space = space.with_prefixes(workspace.learn_prefixes(_spelled(facts), _names(facts), space))
    old = None
    if basis is not None and changed is not None and space is basis.graph.workspace:
        old = assemble.Basis(basis.graph, changed)
    graph = assemble.build(facts, space, config, old)
    said = basis.directives if basis else directives.read(_ruled_by_gazelle(facts, space), _reader(space))
    roots = basis.modules.roots if basis else config.import_roots or _learnt_roots(facts, space, said)
    found = modules.build(graph, facts.sources, roots)
    used = uses.collect(graph, found, config, said, _same_uses(graph, found, basis))
    return Knowledge(
        graph=graph,
        modules=found,
        uses=used,
        third_party=basis.third_party if basis else _third_party(graph, found, used, config, distributions),
        config=config,
        facts=facts,
        directives=said,
        selected=selection.targets(options.paths),
        selected_folder=selection.folders(options.paths),
    )


def _third_party(
    graph: TargetGraph,
    found: Modules,
    used: Mapping[Label, TargetUses],
    config: Config,
    distributions: Iterable[Distribution],
) -> ThirdParty:
    said = thirdparty.configured(config.third_party, graph.workspace)
    listed = tuple(distributions)
    declared = (provision for one in listed for provision in one.provisions(graph.workspace))
    named = learn.declared(graph, found, listed)
    guessed = learn.guess(graph, found, used)
    in_the_tree = (one for one in guessed if one.origin is Origin.NAME and one.label in graph.targets)
    return ThirdParty((*said, *declared, *named, *learn.marked(used.values()), *in_the_tree), guessed)


def _same_uses(graph: TargetGraph, found: Modules, basis: Knowledge | None) -> Mapping[Label, TargetUses]:
    """The uses that cannot have changed: those of targets with the same sources, if every module is where it was."""
    if basis is None or (found.providers, found.placed) != (basis.modules.providers, basis.modules.placed):
        return {}
    return {
        target.label: basis.uses[target.label]
        for target in graph.python
        if target.label in basis.uses and target.srcs == basis.graph.targets[target.label].srcs
    }


def _ruled_by_gazelle(facts: Facts, space: Workspace) -> Iterable[Package]:
    return facts.packages if space.dialect == "bazel" else ()


def _reader(space: Workspace) -> Callable[[str], bytes | None]:
    def read(path: str) -> bytes | None:
        try:
            return disk.read(space.root, path)
        except OSError:
            return None

    return read


def _learnt_roots(facts: Facts, space: Workspace, said: Directives) -> tuple[ImportRoot, ...]:
    names = {prefix.replace("/", ".") for prefix, folder in space.prefixes.items() if folder == ""}
    hints = frozenset((*names, *space.aliases, space.cells[0].name, space.root.name))
    learnt = modules.learn_roots(facts.sources, space, hints)
    return tuple(dict.fromkeys((*learnt, *(ImportRoot(folder, "") for folder in said.roots))))


def _spelled(facts: Facts) -> Iterable[tuple[str, str]]:
    for call in facts.calls:
        for attribute in ("deps", "exported_deps", "preload_deps", "actual"):
            for text in values.texts(call.args.get(attribute)):
                if "//" in text:
                    yield text, call.package


def _names(facts: Facts) -> frozenset[tuple[str, str]]:
    return frozenset((call.package, call.name) for call in facts.calls if call.name)


@dataclass(frozen=True, slots=True)
class Rerun:
    """The way back to the engine, for the proof: evaluate the repository again with changed build files."""

    space: Workspace
    config: Config
    options: Options
    known: Knowledge

    def read(self, path: str) -> bytes | None:
        """A build file's bytes, or those of the built-in symbols; None if it cannot be read."""
        if path.startswith("<buildfix>/"):
            return next((one.text.encode() for one in _symbols(self.space) if one.path == path), None)
        return _reader(self.space)(path)

    def exists(self, path: str) -> bool:
        """Whether there is such a file, as far as anybody can look."""
        return disk.is_there(self.space.root / path)

    def evaluate(self, overlay: Mapping[str, str]) -> Knowledge:
        """What would be known if the files of `overlay` had that text; the sources are those already scanned."""
        before = self.known.facts
        changed = affected.packages(before, overlay)
        facts = engine.run(request(self.space, self.config, self.options, overlay, changed))
        if changed is None:
            again = replace(facts, sources=before.sources)
            return know(again, self.space, self.config, self.options, basis=self.known)
        again = affected.merge(before, facts, changed)
        return know(again, self.space, self.config, self.options, basis=self.known, changed=changed)


_CHANCE = frozenset(("time", "memory", "internal"))
"""Kinds of errors that may not come up again in another run over the same files."""


def basis(known: Knowledge, rerun: Rerun, read: dict[str, disk.Signature]) -> kept.Basis | None:
    """What a judgement of the repository rests on; None if it may be another one next time. `read` is the record of
    what was read so far."""
    facts = known.facts
    problems = [error for package in facts.packages for error in package.errors]
    problems += [source.error for source in facts.sources if source.error is not None]
    if any(problem.kind in _CHANCE for problem in problems):
        return None
    loads = {load.path for part in (facts.packages, facts.files) for one in part for load in one.loads if load.path}
    for path in loads:  # they may lie where the walk does not go
        disk.note(os.path.join(rerun.space.root, path))
    whole = request(rerun.space, rerun.config, rerun.options)
    asked = Request(
        whole.root, whole.dialect, whole.cells, aliases=whole.aliases, ignore=whole.ignore, do=("fingerprint",)
    )
    found = facts.fingerprint
    return kept.Basis(msgspec.json.encode(asked), found.value, found.newest, found.now, dict(read))


def summary(known: Knowledge) -> Summary:
    """The counts of what was looked at."""
    elsewhere = sum(not known.selected_folder(folder) for folder in known.graph.incomplete)
    notes: tuple[str, ...] = ()
    if elsewhere:
        packages = "1 package" if elsewhere == 1 else f"{elsewhere} packages"
        notes = (f"{packages} outside the paths could not be wholly analysed; a check of everything names them",)
    return Summary(
        notes=notes,
        packages=len({package.path for package in known.facts.packages}),
        packages_incomplete=len(known.graph.incomplete),
        targets=len(known.graph.targets),
        python_targets=len(known.graph.python),
        sources=len(known.facts.sources),
        sources_broken=sum(source.error is not None for source in known.facts.sources),
    )
