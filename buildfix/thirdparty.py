"""Module to external label: which label outside the sources provides a dotted module, and how that is known.

Sources of this knowledge are asked in the order of `Origin`; the first that knows a leading part of the name decides.
What is only guessed, from names or from what the repository's own targets do, is kept apart: it is offered, and never
applied of buildfix's own accord.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache, cached_property
from typing import NamedTuple

from buildfix.labels import Label
from buildfix.workspace import Workspace


class Origin(StrEnum):
    """How the label of a module is known, the surest way first. The value is what people read."""

    CONFIG = "buildfix.yaml says so"
    MANIFEST = "gazelle_python.yaml says so"
    MARKER = "a marker in a source says so"
    METADATA = "the distribution's metadata says so"
    NAME = "it has the module's name"
    LEARNT = "the targets that import the module have it"


class Provision(NamedTuple):
    """`label` provides `module`, the part of a dotted name that is mapped. `text` is how it is written, "" for as
    usual; `evidence` what the origin rests on."""

    module: str
    label: Label
    origin: Origin
    text: str = ""
    evidence: str = ""


class ThirdParty:
    """What is known of modules from outside the repository, and what is guessed."""

    def __init__(self, known: Iterable[Provision], guessed: Iterable[Provision] = ()) -> None:
        self._known = _tables(known)
        self._guessed = _tables(guessed)

    def provider(self, dotted: str) -> Provision | None:
        """Who provides a dotted name, as far as anybody has said so; None if nobody has."""
        return _find(self._known, dotted)

    def guess(self, dotted: str) -> Provision | None:
        """Who may provide a dotted name that nobody has said anything of."""
        return _find(self._guessed, dotted) if self.provider(dotted) is None else None

    def is_shared(self, dotted: str) -> bool:
        """Whether a name is only the beginning of names that are known: a namespace that is nobody's own."""
        return any(m.startswith(f"{dotted}.") for table in self._known.values() for m in table)

    def modules_of(self, label: Label) -> tuple[str, ...]:
        """All modules that a label provides, if they are known for certain; () if they are not."""
        return self._sure.get(label, ())

    @cached_property
    def _sure(self) -> Mapping[Label, tuple[str, ...]]:
        found: dict[Label, dict[str, None]] = {}
        for origin in (Origin.CONFIG, Origin.MANIFEST, Origin.METADATA):
            for provision in self._known.get(origin, {}).values():
                found.setdefault(provision.label, {})[provision.module] = None
        return {label: tuple(modules) for label, modules in found.items()}

    def provisions(self) -> Sequence[Provision]:
        """For each module that is known or guessed the surest provision, in the order of the modules."""
        found: dict[str, Provision] = {}
        for table in (*self._known.values(), *self._guessed.values()):
            for module, provision in table.items():
                found.setdefault(module, provision)
        return [found[module] for module in sorted(found)]


_Tables = Mapping[Origin, Mapping[str, Provision]]


def _tables(provisions: Iterable[Provision]) -> _Tables:
    found: dict[Origin, dict[str, Provision]] = {}
    for provision in provisions:
        found.setdefault(provision.origin, {}).setdefault(provision.module, provision)
    return {origin: found[origin] for origin in Origin if origin in found}


def _find(tables: _Tables, dotted: str) -> Provision | None:
    for table in tables.values():
        module = dotted
        while module:
            if module in table:
                return table[module]
            module = module.rpartition(".")[0]
    return None


def configured(modules: Mapping[str, str], workspace: Workspace) -> Iterable[Provision]:
    """What `third_party:` in buildfix.yaml says."""
    for module, text in modules.items():
        label = workspace.resolve(text, "")
        if label is not None:
            yield Provision(module, label, Origin.CONFIG, text)


@cache
def normal(name: str) -> str:
    """A distribution's name, or a label's, in the form in which all its spellings are the same."""
    return "_".join(part for part in name.lower().replace("-", "_").replace(".", "_").split("_") if part)


def described(module: str) -> str:
    """The module that a module of a stub distribution describes; any other is itself."""
    top, dot, rest = module.partition(".")
    return top.removesuffix("-stubs") + dot + rest
