"""Who provides a module, and which of several a missing dep would name: what `buildfix index` answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from buildfix import asked, stdlib
from buildfix.contexts import Need
from buildfix.findings import Place
from buildfix.knowledge import Knowledge
from buildfix.labels import Label
from buildfix.preference import sift
from buildfix.provides import module_of


@dataclass(frozen=True, slots=True)
class Provider:
    """A target that has the module, and how many of those who import it have a dep on this one."""

    label: Label
    place: Place
    kind: str
    users: int


@dataclass(frozen=True, slots=True)
class Outside:
    """The label that provides a module from outside the repository, how that is known and on what it rests; `guessed`
    if nobody has said so."""

    label: Label
    origin: str
    evidence: str
    guessed: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of one module.

    `files` it may be, `roots` the folders (with the dotted prefix) from which it is imported so. `steps` are the
    criteria that left fewer of the providers, with those that each left; `chosen` is the one that is left at the end.
    `importers` counts the targets that import it, `without` those of them that have no provider as a dep.
    """

    module: str
    files: tuple[str, ...]
    roots: tuple[tuple[str, str], ...]
    providers: tuple[Provider, ...]
    steps: tuple[tuple[str, tuple[Label, ...]], ...]
    chosen: Label | None
    user: Label | None
    declared: tuple[Label, ...]
    importers: int
    without: int
    outside: Outside | None = None
    standard: bool = False
    incomplete: bool = False


def entry(module: str, user: Label | None, known: Knowledge) -> Entry:
    """All about one module; the choice is for `user`, if one is named, else as far as it is the same for everybody."""
    labels = known.modules.providers.get(module, ())
    importers = [
        target
        for target in known.graph.python
        if known.uses[target.label].needs.get(module, (Need.IMPLIED,))[0] is Need.MUST and target.label not in labels
    ]
    users: Counter[Label] = Counter()
    without = 0
    for target in importers:
        gives = {label for edge in target.edges for label in known.behind(edge.label)} & set(labels)
        users.update(gives)
        without += not gives
    steps, chosen = _choice(module, user, known)
    files = known.modules.files.get(module, ())
    importing = known.graph.targets[user] if user is not None else None
    return Entry(
        module=module,
        files=files,
        roots=tuple(_roots(module, files, known)),
        providers=tuple(_provider(label, users, known) for label in labels),
        steps=steps,
        chosen=chosen,
        user=user,
        declared=tuple(edge.label for edge in known.suppliers(importing, module)) if importing else (),
        importers=len(importers),
        without=without,
        outside=_outside(module, known),
        standard=not labels and stdlib.has(module),
        incomplete=not labels and any(asked.unseen_above(path, known) for path in files),
    )


def _provider(label: Label, users: Counter[Label], known: Knowledge) -> Provider:
    target = known.graph.targets[label]
    return Provider(label, target.place, target.rule.kind, users[label])


def _choice(
    module: str, user: Label | None, known: Knowledge
) -> tuple[tuple[tuple[str, tuple[Label, ...]], ...], Label | None]:
    target = known.graph.targets[user] if user is not None else None
    left = tuple(label for label in known.modules.providers.get(module, ()) if label != user)
    steps = []
    for step in sift(target, module, known):
        now = tuple(provider.label for provider in step.left)
        if len(now) < len(left):
            steps.append((step.criterion.words, now))
        left = now
    return tuple(steps), left[0] if len(left) == 1 else None


def _roots(module: str, files: tuple[str, ...], known: Knowledge) -> Iterator[tuple[str, str]]:
    """The import roots below which a file has the module's name, or those of the targets that place it so."""
    for root in known.modules.roots:
        if any(_named(root.path, root.prefix, path) == module for path in files):
            yield root.path, root.prefix


def _named(folder: str, prefix: str, path: str) -> str:
    if folder and not path.startswith(f"{folder}/"):
        return ""
    return ".".join(part for part in (prefix, module_of(path[len(folder) :].lstrip("/"))) if part)


def _outside(module: str, known: Knowledge) -> Outside | None:
    if known.modules.known(module):
        return None
    said = known.third_party.provider(module)
    found = said or known.third_party.guess(module)
    return None if found is None else Outside(found.label, found.origin.value, found.evidence, said is None)


def everything(known: Knowledge) -> Iterator[tuple[str, Label]]:
    """Each module of the repository with each target that provides it, in order."""
    for module, labels in sorted(known.modules.providers.items()):
        for label in labels:
            yield module, label
