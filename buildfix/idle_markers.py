"""Markers that keep nothing: if they went, buildfix would say and do the same.

Careful on purpose: a marker is told only if what it is about is plain to see, and never if it says something of its
own, as `@manual=LABEL` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from buildfix import markers
from buildfix.contexts import Need
from buildfix.diagnose import Diagnosis
from buildfix.engine import Source
from buildfix.faults import Fault
from buildfix.findings import Code, Place
from buildfix.knowledge import Knowledge
from buildfix.permits import Permits, Refusal
from buildfix.reach import Pair
from buildfix.sites import Element
from buildfix.targets import Target
from buildfix.uses import ignores


def find(
    known: Knowledge, diagnosis: Diagnosis, permits: Permits, held: Mapping[Pair, tuple[Refusal, ...]]
) -> tuple[Fault, ...]:
    """The markers of the selected targets that keep nothing; `held` is why edges are held back."""
    return tuple(_Finder(known, diagnosis, permits, held).find())


class _Finder:
    def __init__(
        self, known: Knowledge, diagnosis: Diagnosis, permits: Permits, held: Mapping[Pair, tuple[Refusal, ...]]
    ) -> None:
        self._known = known
        self._permits = permits
        self._chosen = [target for target in known.graph.python if known.selected(target)]
        self._unused = {Pair(one.target, one.dep) for one in diagnosis.unused}
        doubled = ((one.target, one.dep) for one in diagnosis.faults if one.code is Code.DUPLICATE_DEP)
        self._doubled = {Pair(target, dep) for target, dep in doubled if dep is not None}
        # Whatever is wrong with a target, a marker around it may be what it is for.
        self._troubled = {
            *(missing.target for missing in diagnosis.missing),
            *(unused.target for unused in diagnosis.unused),
            *(fault.target for fault in diagnosis.faults),
            *(pair.target for pair in held),
        }
        self._asked = {refusal.detail for refusals in held.values() for refusal in refusals}

    def find(self) -> Iterator[Fault]:
        told: set[Place] = set()
        for fault in (*self._entries(), *self._scopes(), *self._sources()):
            assert fault.place is not None
            if fault.place not in told:
                told.add(fault.place)
                yield fault

    # In build files

    def _entries(self) -> Iterator[Fault]:
        """A marker at an entry that all its targets import plainly: nobody would drop it."""
        for target in self._chosen:
            if not self._permits.has_kept_entries(target):
                continue
            marked = [
                (
                    entry,
                    {(entry.file, comment.start) for comment in entry.comments if markers.keeps_entry(comment.text)},
                )
                for entry in self._permits.site(target).elements
            ]
            busy = {mark for entry, marks in marked for mark in marks if not self._is_idle(entry, target)}
            for entry, marks in marked:
                if marks and not marks & busy:  # what several entries share is idle only for all of them
                    message = f"the marker at {entry.text} keeps nothing: the dep is imported"
                    yield _fault(target, message, Place(entry.file, entry.line), entry.text or "")

    def _is_idle(self, entry: Element, target: Target) -> bool:
        label = self._known.graph.workspace.resolve(entry.text, target.folder) if entry.text else None
        return label is not None and all(self._is_plain(Pair(owner, label)) for owner in self._permits.owners(entry))

    def _is_plain(self, edge: Pair) -> bool:
        """Whether an edge is needed, and stands there once."""
        uses = self._known.uses.get(edge.target)
        if uses is None or edge in self._unused or edge in self._doubled:
            return False
        owned = {m for label in self._known.behind(edge.dep) for m in self._known.modules.of_target.get(label, ())}
        return any(need is Need.MUST and module in owned for module, (need, _) in uses.needs.items())

    def _scopes(self) -> Iterator[Fault]:
        """A marker that leaves targets, or their deps, alone where there is nothing to change."""
        below: dict[str, list[Target]] = {}
        files = {target.place.file for target in self._chosen}
        for target in self._known.graph.python:
            for refusal in self._permits.marks(target) if target.place.file in files else ():
                below.setdefault(refusal.detail, []).append(target)
        for detail, targets in below.items():
            troubled = any(target.label in self._troubled for target in targets)
            if troubled or detail in self._asked or not all(self._known.selected(target) for target in targets):
                continue
            file, _, line = detail.partition(": ")[0].rpartition(":")
            message = "the marker keeps nothing: there is nothing to change below it"
            yield _fault(targets[0], message, Place(file, int(line)))

    # In sources

    def _sources(self) -> Iterator[Fault]:
        """A marker at imports that would ask for no dep: of the standard library, of the target's own, or of a dep that
        is declared."""
        owners: dict[str, list[Target]] = {}
        for target in self._known.graph.python:
            for src in target.srcs:
                if src.path is not None:
                    owners.setdefault(src.path, []).append(target)
        chosen = dict.fromkeys(src.path for target in self._chosen for src in target.srcs if src.path is not None)
        for path in chosen:
            source = self._known.modules.sources.get(path)
            if source is None or not source.markers or source.error is not None:
                continue
            if all(self._known.selected(target) for target in owners[path]):
                yield from self._source(source, owners[path])

    def _source(self, source: Source, targets: list[Target]) -> Iterator[Fault]:
        marks = markers.source_marks(source)
        labelled = {index for index, _ in marks.provided_by}
        if marks.frozen:
            whole = range(len(source.imports))
            if not self._troubled & {target.label for target in targets} and self._need_none(source, whole, targets):
                line = next(one.line for one in source.markers if markers.turns_off(one.text))
                yield _fault(targets[0], "the marker keeps nothing: every import has its dep", Place(source.path, line))
            return
        for module in marks.ignored:
            of_module = [i for i, one in enumerate(source.imports) if ignores(one, module.label)]
            if self._need_none(source, of_module, targets):
                message = f"the marker keeps nothing: {module.label} asks for no dep"
                yield _fault(targets[0], message, Place(source.path, module.line))
        for line, imports in marks.covered:
            if imports and not labelled & set(imports) and self._need_none(source, imports, targets):
                yield _fault(
                    targets[0], "the marker keeps nothing: the import asks for no dep", Place(source.path, line)
                )

    def _need_none(self, source: Source, imports: range | list[int] | tuple[int, ...], targets: list[Target]) -> bool:
        """Whether none of the imports would ask for a dep that is not there if they were not marked."""
        package = self._known.modules.package_of(source.path)
        for index in imports:
            found = self._known.modules.resolve(source.imports[index], package)
            if found.external or found.unresolved:
                return False
            if not all(self._has(target, module) for target in targets for module in found.needs):
                return False
        return True

    def _has(self, target: Target, module: str) -> bool:
        """Whether a target has a module itself or from a dep that always applies."""
        suppliers = self._known.suppliers(target, module)
        return module in self._known.modules.owned(target) or any(not edge.condition for edge in suppliers)


def _fault(target: Target, message: str, place: Place, text: str = "") -> Fault:
    return Fault(Code.UNUSED_MARKER, target.label, message, text=text, place=place, module=str(place), fails=False)
