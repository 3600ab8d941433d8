"""Markers that keep nothing: if they went, buildfix would say and do the same.

Careful on purpose: a marker is told only if what it is about is plain to see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from buildfix import markers
from buildfix.diagnose import Diagnosis
from buildfix.engine import Source
from buildfix.faults import Fault
from buildfix.findings import Code, Place, Reason
from buildfix.knowledge import Knowledge
from buildfix.labels import Label
from buildfix.permits import Permits, Refusal
from buildfix.reach import Pair
from buildfix.targets import Target
from buildfix.uses import Need


def find(
    known: Knowledge, diagnosis: Diagnosis, permits: Permits, held: Mapping[Pair, tuple[Refusal, ...]]
) -> tuple[Fault, ...]:
    """The markers of the selected targets that keep nothing; `held` is why edges are held back."""
    chosen = [target for target in known.graph.python if known.selected(target)]
    unused = {Pair(one.target, one.dep) for one in diagnosis.unused}
    found: dict[tuple[Place, str], Fault] = {}
    for fault in (
        *(fault for target in chosen for fault in _entries(target, known, permits, unused)),
        *_scopes(chosen, known, permits, held),
        *_sources(chosen, known),
    ):
        assert fault.place is not None
        found.setdefault((fault.place, fault.message), fault)
    return tuple(found.values())


def _entries(target: Target, known: Knowledge, permits: Permits, unused: set[Pair]) -> Iterator[Fault]:
    """A marker at an entry that all its targets import plainly: nobody would drop it."""
    if not permits.has_kept_entries(target):
        return
    for entry in permits.site(target).elements:
        label = known.graph.workspace.resolve(entry.text, target.folder) if entry.text else None
        if label is None or not any(markers.keeps_entry(comment.text) for comment in entry.comments):
            continue
        owners = permits.owners(entry)
        if all(Pair(owner, label) not in unused and _imports(owner, label, known) for owner in owners):
            message = f"the marker at {entry.text} keeps nothing: the dep is imported"
            yield _fault(target, message, Place(entry.file, entry.line), entry.text or "")


def _imports(owner: Label, dep: Label, known: Knowledge) -> bool:
    if owner not in known.uses:
        return False
    owned = {m for label in known.behind(dep) for m in known.modules.of_target.get(label, ())}
    return any(need is Need.MUST and module in owned for module, (need, _) in known.uses[owner].needs.items())


def _scopes(
    chosen: list[Target], known: Knowledge, permits: Permits, held: Mapping[Pair, tuple[Refusal, ...]]
) -> Iterator[Fault]:
    """A marker that turns automatic changes off where there are none to make."""
    busy = {one.detail for refusals in held.values() for one in refusals if one.reason is Reason.NO_AUTODEPS}
    below: dict[str, list[Target]] = {}
    files = {target.place.file for target in chosen}
    for target in known.graph.python:
        refusal = permits.frozen(target) if target.place.file in files else None
        if refusal is not None:
            below.setdefault(refusal.detail, []).append(target)
    for detail, targets in below.items():
        if detail in busy or not all(known.selected(target) for target in targets):
            continue
        file, _, line = detail.partition(": ")[0].rpartition(":")
        message = "the marker keeps nothing: there is nothing to change below it"
        yield _fault(targets[0], message, Place(file, int(line)))


def _sources(chosen: list[Target], known: Knowledge) -> Iterator[Fault]:
    """A marker at an import that would ask for no dep: of the standard library, of the target's own, or of a dep that
    is declared."""
    owners: dict[str, list[Target]] = {}
    for target in known.graph.python:
        for src in target.srcs:
            if src.path is not None:
                owners.setdefault(src.path, []).append(target)
    for path in dict.fromkeys(src.path for target in chosen for src in target.srcs if src.path is not None):
        source = known.modules.sources.get(path)
        if source is None or not source.markers:
            continue
        for index in sorted(markers.source_marks(source).no_dep):
            targets = owners[path]
            if all(known.selected(target) and _needs_no_mark(source, index, target, known) for target in targets):
                line = source.imports[index].line
                yield _fault(targets[0], "the marker keeps nothing: the import asks for no dep", Place(path, line))


def _needs_no_mark(source: Source, index: int, target: Target, known: Knowledge) -> bool:
    found = known.modules.resolve(source.imports[index], known.modules.package_of(source.path))
    if found.external or found.unresolved:
        return False
    return all(known.satisfied(target, module) for module in found.needs)


def _fault(target: Target, message: str, place: Place, text: str = "") -> Fault:
    return Fault(Code.UNUSED_MARKER, target.label, message, text=text, place=place, module=str(place), fails=False)
