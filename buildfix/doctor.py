"""What buildfix sees of a repository before it judges anything: what a report about a fault needs to say."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields

from buildfix import __version__, config, kept, markers
from buildfix.config import Config
from buildfix.engine import Facts
from buildfix.knowledge import Knowledge
from buildfix.markers import source_marks
from buildfix.roots import engine_path
from buildfix.thirdparty import Origin


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, and what stands below it: names with what is to be said of them, in order."""

    title: str
    rows: tuple[tuple[str, str], ...]


def look(known: Knowledge, read: Callable[[str], bytes | None]) -> tuple[Section, ...]:
    """Everything, section by section; `read` gives a build file's bytes."""
    makers: Mapping[str, Iterator[tuple[str, str]]] = {
        "buildfix": _program(),
        "repository": _repository(known),
        "configuration": _configuration(known.config),
        "build files": _build_files(known.facts),
        "packages that could not be wholly analysed": _failed(known.facts),
        "targets": _targets(known),
        "sources": _sources(known.facts),
        "modules from outside": _outside(known),
        "markers": _markers(known, read),
    }
    return tuple(Section(title, tuple(rows)) for title, rows in makers.items())


def _program() -> Iterator[tuple[str, str]]:
    yield "version", __version__
    yield "engine", str(engine_path())
    yield "python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    yield "kept between runs in", str(kept.folder())


def _repository(known: Knowledge) -> Iterator[tuple[str, str]]:
    space = known.graph.workspace
    yield "root", str(space.root)
    yield "dialect", space.dialect
    for cell in space.cells:
        yield f"cell {cell.name or '(main repository)'}", f"{cell.path or '.'}: {', '.join(cell.build_files)}"
    for alias, name in sorted(space.aliases.items()):
        yield f"alias {alias}", name or "(main repository)"
    for prefix, folder in sorted(space.prefixes.items()):
        yield f"label prefix //{prefix}", folder or "the root"
    for root in known.modules.roots:
        yield "import root", f"{root.path or 'the root'}{f' as {root.prefix}' if root.prefix else ''}"
    yield "not looked at", ", ".join(space.ignore)


def _configuration(settings: Config) -> Iterator[tuple[str, str]]:
    usual = config.Config()
    for field in fields(settings):
        value = getattr(settings, field.name)
        if value != getattr(usual, field.name):
            yield field.name, str(dict(value) if isinstance(value, Mapping) else value)


def _build_files(facts: Facts) -> Iterator[tuple[str, str]]:
    yield "packages", str(len({package.path for package in facts.packages}))
    yield "modes", ", ".join(sorted({package.mode for package in facts.packages if package.mode})) or "one"
    how = Counter[str](load.how for part in (facts.packages, facts.files) for one in part for load in one.loads)
    words = {
        "exact": "loads of files in the tree",
        "suffix": "loads found by the end of their path",
        "symbols": "loads of symbols that buildfix knows",
        "stub": "loads that cannot be resolved",
    }
    for kind, text in words.items():
        if how[kind]:
            yield text, str(how[kind])
    opaque = sum(bool(package.opaque) for package in facts.packages)
    if opaque:
        yield "packages with calls that may make targets nobody sees", str(opaque)


def _failed(facts: Facts) -> Iterator[tuple[str, str]]:
    for package in facts.packages:
        for error in package.errors:
            where = f"{error.file or package.file}:{error.line}" if error.line else error.file or package.file
            yield f"//{package.path}", f"{where}: {error.kind}: {error.message}"
    for walk in facts.walk:
        yield walk.path, f"{walk.kind}: {walk.message}"


def _targets(known: Knowledge) -> Iterator[tuple[str, str]]:
    kinds = Counter(
        (target.rule.kind, target.rule.python, target.rule.known) for target in known.graph.targets.values()
    )
    yield "all", str(kinds.total())
    for (kind, python, certain), count in sorted(kinds.items(), key=lambda item: (-item[1], item[0])):
        if python or not certain:
            yield kind, f"{count}{'' if python else ', a kind that is not known'}"


def _sources(facts: Facts) -> Iterator[tuple[str, str]]:
    yield "Python files", str(len(facts.sources))
    for source in facts.sources:
        if source.error is not None:
            yield source.path, f"line {source.error.line}: {source.error.kind}: {source.error.message}"


def _outside(known: Knowledge) -> Iterator[tuple[str, str]]:
    for provision in known.third_party.provisions():
        sure = "" if known.third_party.provider(provision.module) else "guessed: "
        rests = f" ({provision.evidence})" if provision.evidence and provision.origin is not Origin.CONFIG else ""
        yield provision.module, f"{provision.label}, {sure}{provision.origin}{rests}"


def _markers(known: Knowledge, read: Callable[[str], bytes | None]) -> Iterator[tuple[str, str]]:
    words = Counter[str]()
    files = {package.file for package in known.facts.packages if package.file}
    files |= {file.path for file in known.facts.files}
    for file in files:
        data = read(file) or b""
        words.update(word for word in markers.MARKER_WORDS if word.encode() in data)
    for word, count in sorted(words.items()):
        yield f"{word} in build files", str(count)
    marked = [source_marks(source) for source in known.facts.sources if source.markers]
    for text, many in (
        ("sources that are left alone", sum(mark.frozen for mark in marked)),
        ("imports that ask for no dep", sum(len(mark.no_dep) for mark in marked)),
        ("comments that name a dep", sum(len(mark.labels) for mark in marked)),
    ):
        if many:
            yield text, str(many)
