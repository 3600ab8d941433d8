"""All that is known of a repository before anything is judged, and the plain questions that it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from buildfix.config import Config
from buildfix.directives import NOTHING, Directives
from buildfix.engine import Facts
from buildfix.labels import Label
from buildfix.modules import Modules
from buildfix.rules import Role
from buildfix.targets import Edge, Target, TargetGraph
from buildfix.thirdparty import ThirdParty, normal
from buildfix.uses import TargetUses


@dataclass(frozen=True)
class Knowledge:
    """All that is known before anything is judged; `selected` says which targets were asked about."""

    graph: TargetGraph
    modules: Modules
    uses: Mapping[Label, TargetUses]
    third_party: ThirdParty
    config: Config
    facts: Facts = field(repr=False)
    directives: Directives = NOTHING
    selected: Callable[[Target], bool] = lambda _: True
    selected_folder: Callable[[str], bool] = lambda _: True

    def behind(self, label: Label) -> tuple[Label, ...]:
        """What a dep on `label` gives directly: itself, or, through an alias or a target without sources, what that
        one gathers."""
        known = self._behind.get(label)
        if known is None:
            known = self._behind[label] = tuple(self._gather(label, set()))
        return known

    @cached_property
    def _behind(self) -> dict[Label, tuple[Label, ...]]:
        return {}

    def _gather(self, label: Label, seen: set[Label]) -> Iterator[Label]:
        if label in seen:
            return
        seen.add(label)
        yield label
        target = self.graph.targets.get(label)
        if target is not None and gathers(target, self.modules):
            for edge in target.edges:
                yield from self._gather(edge.label, seen)

    @cached_property
    def importers(self) -> Mapping[str, tuple[Label | None, ...]]:
        """Who has any use of a module; None is a source that no target has."""
        found: dict[str, dict[Label | None, None]] = {}
        for label, uses in self.uses.items():
            for module in uses.needs:
                found.setdefault(module, {})[label] = None
        owned = {src.path for target in self.graph.targets.values() for src in target.srcs}
        for path, source in self.modules.sources.items():
            package = self.modules.package_of(path)
            for statement in source.imports if path not in owned else ():
                resolution = self.modules.resolve(statement, package)
                for module in (*resolution.needs, *resolution.touches):
                    found.setdefault(module, {})[None] = None
        return {module: tuple(who) for module, who in found.items()}

    def dep_names(self, target: Target) -> frozenset[str]:
        """The names of all that a target has a dep on, `external_deps` too, in the form that labels share with modules
        from outside."""
        have = (label for edge in target.edges for label in self.behind(edge.label))
        return frozenset((*(normal(label.name) for label in have), *map(normal, target.strings("external_deps"))))

    def is_blurred(self, target: Target) -> bool:
        """Whether a target has a dep that may provide any module from outside."""
        return any(self.is_opaque(label) for edge in target.edges for label in self.behind(edge.label))

    def is_opaque(self, label: Label) -> bool:
        """Whether a dep may provide modules from outside that nobody knows of: neither a name nor what others do with
        it says what it is for."""
        return label not in self.graph.targets and label not in self._explained

    @cached_property
    def _explained(self) -> frozenset[Label]:
        named = {normal(provision.label.name) for provision in self.third_party.provisions()}
        deps = {edge.label for target in self.graph.python for edge in target.edges}
        return frozenset(label for label in deps if normal(label.name) in named)

    def satisfied(self, target: Target, module: str) -> bool:
        """Whether the target has the module itself, or from one of its direct deps."""
        return module in self.modules.owned(target) or bool(self.suppliers(target, module))

    def suppliers(self, target: Target, module: str) -> tuple[Edge, ...]:
        """The entries of a target by which it gets a module directly."""
        given = self._given.get(target.label)
        if given is None:
            given = self._given[target.label] = {}
            for edge in target.edges:
                if edge.attribute != "data":  # what stands there is carried along, not declared
                    for label in self.behind(edge.label):
                        given.setdefault(label, []).append(edge)
        found = [given[label] for label in self.modules.providers.get(module, ()) if label in given]
        if len(found) > 1:
            return tuple(edge for edge in target.edges if any(edge in edges for edges in found))
        return tuple(found[0]) if found else ()

    @cached_property
    def _given(self) -> dict[Label, dict[Label, list[Edge]]]:
        """For each target that was asked about, what its entries give directly, and which entries do."""
        return {}


def gathers(target: Target, modules: Modules) -> bool:
    """Whether a target only passes on what its deps provide."""
    if target.rule.role is Role.ALIAS:
        return True
    return target.rule.role is Role.LIBRARY and not target.has_sources and not modules.owned(target)


def import_only(target: Target, modules: Modules) -> bool:
    """Whether a target can do nothing for its dependents but provide modules that are known."""
    rule = target.rule
    return (
        rule.imports_only
        and bool(modules.owned(target))
        and not _has_resources(target)
        and not has_made_sources(target)
    )


def _has_resources(target: Target) -> bool:
    return any(bool(target.argument(name)) or target.strings(name) for name in target.rule.resources)


def has_made_sources(target: Target) -> bool:
    """Whether some of its sources are made by other targets, so that their modules are not known."""
    return bool(target.unknown) or any(
        src.path is None or not src.inner.endswith((".py", ".pyi")) for src in target.srcs
    )
