"""The answers of `buildfix why` and `buildfix index`, for people and for machines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from buildfix import __version__
from buildfix.contexts import Need
from buildfix.diagnose import Use
from buildfix.doctor import Section
from buildfix.findings import Dependent, Place
from buildfix.index import Entry
from buildfix.labels import Label
from buildfix.reports import json_report, wording
from buildfix.reports.plain import printable
from buildfix.reports.wording import count
from buildfix.why import Answer

VERSION = 1
_SHOWN = 5
"""How many lines of a kind are printed; the JSON has them all."""

_NEEDS = {
    Need.MUST: "",
    Need.GUARDED: " (guarded)",
    Need.TYPE_CHECKING: " (for type checking)",
    Need.MENTIONED: " (evidence only)",
    Need.IMPLIED: " (runs along)",
}


def why_text(answers: Sequence[Answer]) -> str:
    """One paragraph for each edge."""
    return _paragraphs(_why(one) for one in answers)


def _why(one: Answer) -> Iterator[str]:
    asked = one.subject.label or one.subject.module
    goal = f"{one.dep} ({one.dep_place})" if one.dep_place else f"{one.dep or asked}"
    yield f"{one.target} ({one.place}) -> {goal}"
    if one.dep is not None and asked != one.dep:
        yield f"  {'which gathers' if one.subject.label else 'which provides'} {asked}"
    for entry in one.declared:
        under = f", under {entry.condition}" if entry.condition else ""
        yield f'  declared at {entry.place}: "{entry.text}" in {entry.attribute}{under}'
    if not one.declared:
        yield "  not declared"
    if one.uses or one.dep is not None:
        yield from _uses(one.uses)
    yield from _ways(one)
    yield from _relied_on(one)
    for marker in one.markers:
        yield f"  {marker.where}: {marker.text}"
    for finding in one.findings:
        yield f"  {wording.title(finding)}: {finding.message}"
        yield from (f"  {line}" for line in wording.outcome(finding, applied=False))
    if one.verdict:
        yield f"  buildfix {one.verdict}"
    yield from (f"  note: {line}" for line in one.not_analysed)


def _uses(uses: Sequence[Use]) -> Iterator[str]:
    lines = list(dict.fromkeys(f"    {e.place}: {e.text}{_NEEDS[use.need]}" for use in uses for e in use.evidence))
    if not lines:
        yield "  nothing in the target uses it"
        return
    yield "  used by"
    yield from _first(lines)


def _ways(one: Answer) -> Iterator[str]:
    if not one.declared:
        if one.path:
            yield f"  arrives today through {_arrows(one.path)}"
        elif one.dep is not None:
            yield "  does not arrive today"
        return
    lost = [module for module, way in one.otherwise if not way]
    if lost:
        yield f"  without this entry the target would lose {', '.join(_short(lost))}"
    for module, way in one.otherwise[:_SHOWN]:
        if way:
            yield f"  without this entry {module} would still arrive through {_arrows(way)}"


def _relied_on(one: Answer) -> Iterator[str]:
    if one.relied_on:
        yield f"  relied on by {count(len(one.relied_on), 'other target')}, which would lose a module with it:"
        for item in one.relied_on[:_SHOWN]:
            yield f"    {_arrows(item.path)}"
            yield f"      {item.evidence.place}: {item.evidence.text}"
        if len(one.relied_on) > _SHOWN:
            yield f"    and {len(one.relied_on) - _SHOWN} more"
    elif one.declared:
        yield "  no other target would lose a module with it"
    if one.run_time:
        yield f"  {count(len(one.run_time), 'other target')} would lose something of it without importing it"
    if one.unseen is not None:
        yield f"  {one.unseen}: imports what comes through it, in a package that could not be wholly analysed"


def why_json(answers: Sequence[Answer]) -> str:
    """All answers as one JSON object."""
    return _object(answers=[_answer(one) for one in answers])


def _answer(one: Answer) -> dict[str, Any]:
    return {
        "target": str(one.target),
        "place": _place(one.place),
        "subject": str(one.subject),
        "dep": str(one.dep) if one.dep else "",
        "dep_place": _place(one.dep_place) if one.dep_place else None,
        "declared": [
            {"place": _place(e.place), "text": e.text, "attribute": e.attribute, "condition": e.condition}
            for e in one.declared
        ],
        "uses": [
            {
                "module": use.module,
                "need": use.need.name.lower().replace("_", "-"),
                "evidence": [json_report.plain(item) for item in use.evidence],
            }
            for use in one.uses
        ],
        "path": _texts(one.path),
        "otherwise": [{"module": module, "path": _texts(way)} for module, way in one.otherwise],
        "relied_on": [_reliant(item) for item in one.relied_on],
        "run_time": _texts(one.run_time),
        "unseen": _place(one.unseen) if one.unseen else None,
        "markers": [{"text": marker.text, "where": marker.where} for marker in one.markers],
        "findings": [json_report.plain(finding) for finding in one.findings],
        "verdict": one.verdict,
        "not_analysed": list(one.not_analysed),
    }


def _reliant(item: Dependent) -> dict[str, Any]:
    return {key: value for key, value in json_report.plain(item).items() if key != "rescued"}


# --- index -----------------------------------------------------------------------------------------------------------


def index_text(entries: Sequence[Entry]) -> str:
    """One paragraph for each module."""
    return _paragraphs(_index(one) for one in entries)


def _index(one: Entry) -> Iterator[str]:
    yield one.module
    for path in one.files:
        yield f"  {path}"
    for folder, prefix in one.roots:
        where = folder or "the root"
        yield f"  imported from {where}" + (f" as {prefix}" if prefix else "")
    if one.standard:
        yield "  of the standard library: it needs no dep"
    if one.outside is not None:
        sure = "guessed: " if one.outside.guessed else ""
        rests = f" ({one.outside.evidence})" if one.outside.evidence else ""
        yield f"  from outside: {one.outside.label}, {sure}{one.outside.origin}{rests}"
    elif not one.providers and not one.standard:
        yield "  no target provides it"
    if one.providers:
        yield "  provided by"
    for provider in one.providers:
        users = f", a dep of {provider.users} of those who import it" if one.importers else ""
        yield f"    {provider.label} ({provider.place}): {provider.kind}{users}"
    if one.providers:
        yield from _choice(one)
        missing = f", {one.without} of them without a dep that provides it" if one.without else ""
        yield f"  imported by {count(one.importers, 'other target')}{missing}"
    if one.incomplete:
        yield "  note: a package that may have the file could not be wholly analysed"


def _choice(one: Entry) -> Iterator[str]:
    if one.declared:
        yield f"  {one.user} has it from {' and '.join(map(str, one.declared))}"
        return
    whose = f"a dep of {one.user}" if one.user else "a missing dep"
    for words, left in one.steps:
        yield f"  {words}: {', '.join(map(str, left)) or 'none'}"
    if one.chosen is not None:
        only = "" if one.steps else ", the only one"
        yield f"  {whose} would name {one.chosen}{only}"
    elif one.user:
        yield f"  {whose} would name none of them" + (
            "" if any(not left for _, left in one.steps) else ": none is better"
        )
    else:
        yield "  which of them a missing dep would name depends on who imports it (--for TARGET)"


def index_json(entries: Sequence[Entry]) -> str:
    """All entries as one JSON object."""
    return _object(modules=[_entry(one) for one in entries])


def _entry(one: Entry) -> dict[str, Any]:
    outside = one.outside
    return {
        "module": one.module,
        "files": list(one.files),
        "roots": [{"path": folder, "prefix": prefix} for folder, prefix in one.roots],
        "providers": [
            {"label": str(p.label), "place": _place(p.place), "kind": p.kind, "users": p.users} for p in one.providers
        ],
        "for": str(one.user) if one.user else "",
        "declared": _texts(one.declared),
        "steps": [{"criterion": words, "left": _texts(left)} for words, left in one.steps],
        "chosen": str(one.chosen) if one.chosen else "",
        "importers": one.importers,
        "without": one.without,
        "outside": None
        if outside is None
        else {
            "label": str(outside.label),
            "origin": outside.origin,
            "evidence": outside.evidence,
            "guessed": outside.guessed,
        },
        "standard": one.standard,
        "incomplete": one.incomplete,
    }


# --- doctor ----------------------------------------------------------------------------------------------------------


def doctor_text(sections: Sequence[Section]) -> str:
    """Each section below its heading; one without rows says so."""
    return _paragraphs(_section(one) for one in sections)


def _section(section: Section) -> Iterator[str]:
    yield section.title
    for name, text in section.rows or (("none", ""),):
        yield f"  {name}: {text}" if text else f"  {name}"


def doctor_json(sections: Sequence[Section]) -> str:
    """All sections as one JSON object; rows are pairs, for a name may come more than once."""
    return _object(sections=[{"title": one.title, "rows": [list(row) for row in one.rows]} for one in sections])


# --- all -------------------------------------------------------------------------------------------------------------


def _paragraphs(paragraphs: Iterable[Iterable[str]]) -> str:
    return "\n".join("".join(f"{printable(line)}\n" for line in lines) for lines in paragraphs)


def _object(**fields: object) -> str:
    return (
        json.dumps({"version": VERSION, "tool": {"name": "buildfix", "version": __version__}, **fields}, indent=2)
        + "\n"
    )


def _place(place: Place) -> dict[str, Any]:
    return json_report.plain(place)


def _texts(labels: Iterable[Label | str]) -> list[str]:
    return [str(label) for label in labels]


def _arrows(labels: Iterable[Label | str]) -> str:
    return " -> ".join(_texts(labels))


def _first(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:_SHOWN]
    if len(lines) > _SHOWN:
        yield f"    and {len(lines) - _SHOWN} more"


def _short(names: Sequence[str]) -> list[str]:
    return [*names[:_SHOWN], *([f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else [])]
