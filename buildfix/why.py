"""Why a target has a dep, or should: what `buildfix why` answers about one edge.

The answer is put together from what a check of the target finds, so that the two cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from buildfix import diagnose, markers, pipeline, stdlib
from buildfix.asked import Subject
from buildfix.contexts import Need
from buildfix.diagnose import Use
from buildfix.findings import Dependent, Evidence, Finding, Place
from buildfix.knowledge import Knowledge
from buildfix.labels import Label
from buildfix.permits import Refusal
from buildfix.pipeline import Judgement
from buildfix.policy import QUIET
from buildfix.reach import Pair
from buildfix.rules import Role
from buildfix.targets import Target
from buildfix.uses import TargetUses


@dataclass(frozen=True, slots=True)
class Declared:
    """An entry of the target that names the dep. `place` is the target's own where the entry's cannot be found."""

    place: Place
    text: str
    attribute: str
    condition: str = ""


@dataclass(frozen=True, slots=True)
class Marker:
    """A comment or label that steers what becomes of the edge: what it does, and where it stands."""

    text: str
    where: str


@dataclass(frozen=True, slots=True)
class Answer:
    """All about one edge, or about one that is not there.

    `dep` is the label that is declared, or the one that provides the module; None if none does. `path` is the shortest
    way by which the subject arrives today; `otherwise` maps each module that is used to the way that is left without
    the edge, () for none. `relied_on` are other targets that would lose a module with the edge, the nearest first;
    `run_time` those that would lose something of it that they do not import (the `__init__` of a parent package, data,
    an extension); `unseen` is an import of something that comes through the edge, in a package that is not wholly
    known. `verdict` says what a run would do where no finding says it.
    """

    target: Label
    place: Place
    subject: Subject
    dep: Label | None
    dep_place: Place | None
    declared: tuple[Declared, ...]
    uses: tuple[Use, ...]
    path: tuple[Label, ...]
    otherwise: tuple[tuple[str, tuple[Label, ...]], ...]
    relied_on: tuple[Dependent, ...]
    run_time: tuple[Label, ...]
    unseen: Place | None
    markers: tuple[Marker, ...]
    findings: tuple[Finding, ...]
    verdict: str
    not_analysed: tuple[str, ...]


def answer(targets: tuple[Label, ...], subject: Subject, known: Knowledge, rerun: pipeline.Rerun) -> tuple[Answer, ...]:
    """The answers for each target and each of its deps that the subject stands for."""
    folders = {known.graph.targets[label].folder for label in targets}
    asked = replace(known, selected=lambda one: one.label in targets, selected_folder=lambda folder: folder in folders)
    judged = pipeline.weigh(asked, rerun)
    found: list[Answer] = []
    for label in targets:
        asking = _Asking(known.graph.targets[label], subject, known, judged)
        found.extend(asking.answer(dep) for dep in asking.deps())
    return tuple(found)


_NO_USES = TargetUses(needs={})


@dataclass(frozen=True)
class _Asking:
    target: Target
    subject: Subject
    known: Knowledge
    judged: Judgement

    @property
    def is_own(self) -> bool:
        """Whether the target has the module that was asked about itself."""
        return self.subject.module in self.known.modules.owned(self.target)

    @property
    def _uses(self) -> TargetUses:
        return self.known.uses.get(self.target.label, _NO_USES)

    def deps(self) -> tuple[Label | None, ...]:
        """The deps that the subject stands for: those that are declared, else the one that would be."""
        wanted = self.subject.label
        goals = {wanted} if wanted is not None else set(self._providers(self.subject.module))
        declared = [edge.label for edge in self.target.edges if goals & set(self.known.behind(edge.label))]
        if declared:
            return tuple(dict.fromkeys(declared))
        if self.subject.label is not None:
            return (self.subject.label,)
        if not goals or self.is_own:
            return (None,)
        chosen = diagnose.choose(self.target, self.subject.module, (), self.known).provider
        return (chosen or (min(goals) if len(goals) == 1 else None),)

    def _providers(self, module: str) -> tuple[Label, ...]:
        """Who provides a module, of the repository or from outside."""
        if module in self._uses.provided:
            return (self._uses.provided[module],)
        if self.known.modules.known(module):
            return self.known.modules.providers.get(module, ())
        found = self.known.third_party.provider(module) or self.known.third_party.guess(module)
        return () if found is None else (found.label,)

    def answer(self, dep: Label | None) -> Answer:
        label = self.target.label
        edge = Pair(label, dep) if dep is not None and any(e.label == dep for e in self.target.edges) else None
        declared = tuple(self._declared(edge.dep)) if edge else ()
        uses = tuple(dict.fromkeys(self._used(dep)))
        losses = tuple(self._losses(edge)) if edge else ()
        found = tuple(self._findings(dep, declared))
        provider = self.known.graph.targets.get(dep) if dep is not None else None
        return Answer(
            target=label,
            place=self.target.place,
            subject=self.subject,
            dep=dep,
            dep_place=provider.place if provider else None,
            declared=declared,
            uses=uses,
            path=self._path(dep),
            otherwise=tuple(self._otherwise(edge, uses)) if edge else (),
            relied_on=tuple(loss for loss in losses if isinstance(loss, Dependent)),
            run_time=tuple(loss for loss in losses if isinstance(loss, Label)),
            unseen=self.judged.reach.unseen_user(edge) if edge else None,
            markers=tuple(dict.fromkeys(self._markers(edge, dep))),
            findings=found,
            verdict="" if found else self._verdict(edge, dep, declared, uses),
            not_analysed=tuple(self._not_analysed(dep)),
        )

    def _declared(self, dep: Label) -> Iterator[Declared]:
        resolve = self.known.graph.workspace.resolve
        written: set[str] = set()
        attributes = dict.fromkeys(edge.attribute for edge in self.target.edges if edge.label == dep)
        for attribute in attributes:
            for leaf in self.target.leaves or (self.target.leaf,):
                for entry in self.judged.sites.locate(leaf, attribute).elements:
                    if entry.text and resolve(entry.text, self.target.folder) == dep:
                        written.add(attribute)
                        under = " and ".join(entry.conditions)
                        yield Declared(Place(entry.file, entry.line), entry.text, attribute, under)
        for edge in self.target.edges:
            if edge.label == dep and edge.attribute not in written:
                written.add(edge.attribute)
                yield Declared(self.target.place, edge.text, edge.attribute, edge.condition)

    def _used(self, dep: Label | None) -> Iterator[Use]:
        """What shows that the target uses the subject, the firmest first."""
        uses = self._uses
        found = list(self._outside(dep))
        if dep is not None:
            for label in self._asked(dep):
                found.extend(diagnose.uses_of(self.target, label, uses, self.known))
        if self.subject.module:
            for name, (need, evidence) in (*uses.needs.items(), *uses.unresolved.items()):
                if self._is_subject(name):
                    found.append(Use(name, need, evidence))
            found = [one for one in found if not one.module or self._is_subject(one.module)]
        yield from sorted(dict.fromkeys(found), key=lambda one: (-one.need, one.module))

    def _is_subject(self, module: str) -> bool:
        """Whether a module is the one that was asked about: by any of its names, or, from outside, below it."""
        if self.known.modules.known(self.subject.module):
            return module in self._names
        return f"{module}.".startswith(f"{self.subject.module}.")

    @cached_property
    def _names(self) -> frozenset[str]:
        """All names of the module that was asked about: its file may be importable from several roots."""
        modules, asked = self.known.modules, self.subject.module
        files = set(modules.files.get(asked, ()))
        placed = (names for (_, file), names in modules.placed.items() if file in files or asked in names)
        return frozenset((asked, *(name for names in placed for name in names)))

    def _asked(self, dep: Label) -> tuple[Label, ...]:
        """The dep, or what was asked about of all that it gathers."""
        return (self.subject.label,) if self.subject.label in self.known.behind(dep) and self.subject.label else (dep,)

    def _outside(self, dep: Label | None) -> Iterator[Use]:
        """Imports of modules from outside that are the subject, or that the dep provides."""
        for name, (need, evidence) in self._uses.externals.items():
            if self._is_subject(name) if self.subject.module else dep is not None and dep in self._providers(name):
                yield Use(name, need, evidence)

    def _goals(self, module: str) -> tuple[Label, ...]:
        reach = self.judged.reach
        return tuple(p for p in self._providers(module) if p in reach.number and p != self.target.label)

    def _path(self, dep: Label | None) -> tuple[Label, ...]:
        reach = self.judged.reach
        goals = self._goals(self.subject.module) if self.subject.module else (self.subject.label,)
        known = [goal for goal in goals if goal in reach.number and goal is not None]
        return reach.path(self.target.label, known) if known and self.target.label not in known else ()

    def _otherwise(self, edge: Pair, uses: tuple[Use, ...]) -> Iterator[tuple[str, tuple[Label, ...]]]:
        for module in dict.fromkeys(one.module for one in uses if one.module and one.need > Need.MENTIONED):
            if goals := self._goals(module):
                yield module, self.judged.reach.path(self.target.label, goals, without=edge)

    def _losses(self, edge: Pair) -> Iterator[Dependent | Label]:
        """Who else would lose a module with the edge, the nearest first; then who would lose something else of it."""
        lost: dict[Label, Dependent] = {}
        bare: set[Label] = set()
        for loss in self.judged.reach.losses((), [edge]):
            user = loss.user or loss.target
            if user == self.target.label:
                continue
            if not loss.module or loss.need is Need.IMPLIED:
                bare.add(user)
                continue
            target, uses = self.known.graph.targets[user], self.known.uses[user]
            _, where = uses.needs.get(loss.module) or uses.externals.get(loss.module) or (None, ())
            evidence = where[0] if where else Evidence(target.place, f"use of {loss.module}")
            way = tuple(str(label) for label in self.judged.reach.path(loss.target, loss.providers))
            one = Dependent(str(user), target.place, loss.module, evidence, way, False)
            if user not in lost or (len(way), loss.module) < (len(lost[user].path), lost[user].module):
                lost[user] = one
        yield from sorted(lost.values(), key=lambda one: (len(one.path), one.target))
        yield from sorted(bare - lost.keys())

    def _markers(self, edge: Pair | None, dep: Label | None) -> Iterator[Marker]:
        permits = self.judged.permits
        refusals = [permits.frozen(self.target)] if self.target.rule.python else []
        if edge is not None:
            answer = permits.drop(self.target, edge.dep)
            refusals += [answer] if isinstance(answer, Refusal) else []
        for refusal in refusals:
            if refusal is not None and refusal.reason in QUIET:
                yield Marker(refusal.reason.value, refusal.detail)
        yield from self._source_markers(dep)

    def _source_markers(self, dep: Label | None) -> Iterator[Marker]:
        modules = self.known.modules
        for path in dict.fromkeys(src.path for src in self.target.srcs if src.path in modules.sources):
            assert path is not None
            source = modules.sources[path]
            marks = markers.source_marks(source)
            if marks.frozen:
                yield Marker("nothing is proposed for this source", path)
            for index in sorted(marks.no_dep):
                statement = source.imports[index]
                found = modules.resolve(statement, modules.package_of(path))
                names = (*found.needs, found.external) if found.external else found.needs
                if any(self._is_asked(name, dep) for name in names):
                    yield Marker("the import asks for no dep", f"{path}:{statement.line}")

    def _is_asked(self, module: str, dep: Label | None) -> bool:
        if self.subject.module:
            return self._is_subject(module)
        return dep is not None and bool(set(self._providers(module)) & set(self.known.behind(dep)))

    def _findings(self, dep: Label | None, declared: tuple[Declared, ...]) -> Iterator[Finding]:
        kin = {str(label) for label in self.known.graph.kin(self.target.label)}
        texts = {one.text for one in declared}
        for finding in self.judged.findings:
            about = (dep is not None and str(dep) in (finding.dep_label, *finding.choices)) or finding.dep in texts
            if self.subject.module:
                about = about or (bool(finding.module) and self._is_subject(finding.module))
            if finding.target in kin and about:
                yield finding

    def _not_analysed(self, dep: Label | None) -> Iterator[str]:
        graph = self.known.graph
        for source in self._uses.broken:
            yield f"{source.path} could not be wholly analysed"
        folders = [self.target.folder]
        if dep in graph.targets and dep is not None:
            folders.append(graph.targets[dep].folder)
        for folder in dict.fromkeys(folders):
            if folder in graph.incomplete:
                yield f"the package //{folder} could not be wholly analysed"

    # What a run would do where there is no finding

    def _verdict(
        self, edge: Pair | None, dep: Label | None, declared: tuple[Declared, ...], uses: tuple[Use, ...]
    ) -> str:
        firmest = max((one.need for one in uses), default=None)
        if edge is None:
            return self._not_declared(dep, firmest)
        held = self.judged.proven.plan.held.get(edge, ())
        if held:
            why = "; ".join(f"{one.reason.value} ({one.detail})" if one.detail else one.reason.value for one in held)
            return f"keeps it: {why}"
        if firmest is Need.MUST:
            return "keeps it: it is imported"
        if firmest is not None:
            return "keeps it: no plain import asks for it, but what is listed above may use it"
        return f"leaves it alone: {self._beyond(edge, declared)}"

    def _beyond(self, edge: Pair, declared: tuple[Declared, ...]) -> str:
        """Why an edge that nothing is known to use is not judged."""
        rule, dep = self.target.rule, self.known.graph.targets.get(edge.dep)
        if not rule.python:
            return f"{rule.kind} is not a Python rule"
        if all(one.attribute != rule.deps for one in declared):
            return f"what stands in {declared[0].attribute} may be there for more than imports"
        if not self.target.has_sources:
            return "the target has no sources and passes on what its deps provide"
        if dep is None:
            return "it is not in the repository, and it is not known for certain which modules it provides"
        if dep.rule.role is not Role.LIBRARY or not dep.rule.known:
            return f"a {dep.rule.kind} may be there for more than imports"
        return "which modules it provides is not known"

    def _not_declared(self, dep: Label | None, firmest: Need | None) -> str:
        module = self.subject.module
        if self.is_own:
            return "asks for no dep: the module is the target's own"
        if module and not self.known.modules.known(module) and stdlib.has(module):
            return "asks for no dep: the module is the standard library's"
        if firmest is None:
            return "asks for no dep"
        if firmest < Need.MUST:
            return "asks for no dep: no plain import needs it"
        if dep is None:
            return "asks for no dep: no label is known to provide it"
        return "asks for no dep"
