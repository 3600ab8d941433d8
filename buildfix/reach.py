"""Who can reach what: closures over sets of edges, cycles, and what a change of edges would lose.

Nodes are numbered in the order of their labels; closure.py knows what follows from the numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from buildfix import closure
from buildfix.contexts import Need
from buildfix.findings import Place
from buildfix.knowledge import Knowledge, import_only
from buildfix.labels import Label
from buildfix.rules import Role
from buildfix.targets import Target, TargetGraph


class Pair(NamedTuple):
    """An edge: a target and one of its deps."""

    target: Label
    dep: Label


_DEFAULTS = ("DEFAULT", "//conditions:default")


class Loss(NamedTuple):
    """`target` uses `module` (or, where that is "", depends at run time on `lost` itself) and would no longer reach it.

    `need` says how firmly; `providers` are the nodes that gave it before. `user` is who really uses the module, where
    that is a target which `target` depends on and which does not reach it by itself.
    """

    target: Label
    module: str
    need: Need
    providers: tuple[Label, ...]
    user: Label | None = None


class Reach:
    """The repository's edges as they stand, and what any change of them would lose."""

    def __init__(self, known: Knowledge) -> None:
        graph = known.graph
        self._known = known
        mentioned = {edge.label for target in graph.targets.values() for edge in target.edges}
        self.labels: tuple[Label, ...] = tuple(sorted(mentioned | set(graph.targets)))
        self.number: Mapping[Label, int] = {label: i for i, label in enumerate(self.labels)}

    # What follows is made when it is first asked for: where no edge is to go, hardly any of it is.

    @cached_property
    def _any(self) -> list[list[int]]:
        return [self._edges(label, conditional=True) for label in self.labels]

    @cached_property
    def _refs(self) -> list[list[int]]:
        return [self._ref_edges(label) for label in self.labels]

    @cached_property
    def _before(self) -> list[int]:
        return closure.closures(self._any)

    @cached_property
    def _worlds(self) -> list[tuple[list[list[int]], list[int]]]:
        return [(edges, closure.closures(edges)) for edges in self._other_worlds()]

    @cached_property
    def _wanted(self) -> Mapping[Label, tuple[tuple[str, Need, int], ...]]:
        return {label: tuple(self._wants(label)) for label in self._known.uses}

    @cached_property
    def _blind(self) -> frozenset[Label]:
        targets = self._known.graph.targets
        return frozenset(label for label in self._known.uses if self._is_blind(targets[label]))

    @cached_property
    def _everything(self) -> int:
        return self._mask(self._known.graph.targets)

    @cached_property
    def _opaque(self) -> int:
        return self._mask(label for label in self.labels if self._is_opaque(label))

    @cached_property
    def _outsiders(self) -> list[Label]:
        return [label for label in self.labels if label not in self._known.graph.targets]

    @cached_property
    def _outside(self) -> int:
        return self._mask(self._outsiders)

    @cached_property
    def _by_name(self) -> Mapping[str, int]:
        return self._named_alike(self._outsiders)

    @cached_property
    def _anything(self) -> int:
        imported = {_top(name) for uses in self._known.uses.values() for name in uses.externals}
        return self._mask(label for label in self._outsiders if _normal(label.name) not in imported)

    @cached_property
    def _unseen(self) -> tuple[tuple[Place, int], ...]:
        return tuple(self._unseen_sources())

    def _edges(self, label: Label, conditional: bool) -> list[int]:
        target = self._known.graph.targets.get(label)
        if target is None:
            return []
        chosen = (edge.label for edge in target.edges if conditional or not edge.condition)
        return [self.number[dep] for dep in dict.fromkeys(chosen)]

    def _other_worlds(self) -> list[list[list[int]]]:
        """The edges as they apply in each mode and each branch, as far as these differ from all edges together.

        A branch is taken alone and with the defaults of other selects.
        """
        graph = self._known.graph
        found = [[self._edges(label, conditional=False) for label in self.labels]]
        modes = {mode for target in graph.targets.values() for mode, _, _ in target.real}
        branches = {c for target in graph.targets.values() for _, _, c in target.real if c}
        for mode in sorted(modes):
            found.append([self._real(graph, label, mode, branches | {""}) for label in self.labels])
            for branch in sorted(branches | {""}):
                for chosen in ({"", branch}, {"", branch, *_DEFAULTS}):
                    found.append([self._real(graph, label, mode, chosen) for label in self.labels])
        distinct = {tuple(map(tuple, edges)): edges for edges in found}
        return [edges for edges in distinct.values() if edges != self._any]

    def _real(self, graph: TargetGraph, label: Label, mode: str, conditions: set[str]) -> list[int]:
        target = graph.targets.get(label)
        if target is None:
            return []
        chosen = (dep for m, dep, condition in target.real if m == mode and condition in conditions)
        return [self.number[dep] for dep in dict.fromkeys(chosen)]

    def _is_blind(self, target: Target) -> bool:
        """Whether a target has sources whose imports are not known: it may use anything that it reaches.

        A source that is not on disk does not count, for such a target does not build; and an import by value holds
        the target's own edges only (diagnose.py), for every larger program has one somewhere.
        """
        uses = self._known.uses[target.label]
        made = any(src.path is None for src in target.srcs) and not target.reads
        return bool(uses.broken or made or target.unknown & {"", *target.rule.srcs})

    def _ref_edges(self, label: Label) -> list[int]:
        graph = self._known.graph
        target = graph.targets.get(label)
        if target is None:
            return []
        # Whoever has a file that another target makes depends on that target.
        made = (Label(label.repo, label.package, src.inner) for src in target.srcs if src.label is None)
        refs = dict.fromkeys(graph.outputs.get(ref, ref) for ref in (*target.refs, *made))
        return [self.number[ref] for ref in refs if ref in self.number and ref != label]

    def _mask(self, labels: Iterable[Label]) -> int:
        bits = bytearray((len(self.labels) + 7) // 8)
        for label in labels:
            node = self.number[label]
            bits[node >> 3] |= 1 << (node & 7)
        return int.from_bytes(bits, "little")

    def _is_opaque(self, label: Label) -> bool:
        """Whether a target can serve those that reach it in other ways than by modules: at run time, unseen."""
        target = self._known.graph.targets.get(label)
        if target is None or target.rule.role in (Role.ALIAS, Role.TEST):
            return False
        return not import_only(target, self._known.modules) and (
            target.has_sources or not target.rule.python or bool(self._known.modules.owned(target))
        )

    def _wants(self, label: Label) -> Iterator[tuple[str, Need, int]]:
        """(module, need, nodes that provide it) of all that a target uses and does not have itself."""
        modules = self._known.modules
        uses = self._known.uses[label]
        own = modules.of_target.get(label, frozenset())
        for module, (need, _) in uses.needs.items():
            if module not in own:
                providers = modules.providers.get(module, ())
                if providers:
                    yield module, need, self._mask(providers)
        for prefix in uses.prefixes:
            for module in modules.below(prefix):
                if module not in own and module not in uses.needs:
                    yield module, Need.IMPLIED, self._mask(modules.providers[module])
        for top in uses.paths:
            if label not in modules.tops[top]:
                yield "", Need.MENTIONED, self._mask(modules.tops[top])
        for used in uses.labels:
            if used in self.number and used != label:
                yield "", Need.MENTIONED, 1 << self.number[used]

    def _unseen_sources(self) -> Iterator[tuple[Place, int]]:
        """(a source that no known target has, in a package of which not every target is known; what it imports)."""
        graph, modules = self._known.graph, self._known.modules
        if not graph.unseen:
            return
        packages = {package.path for package in graph.packages}
        owned = {src.path for target in graph.targets.values() for src in target.srcs}
        for path, source in modules.sources.items():
            if path in owned or _package_of(path, packages) not in graph.unseen:
                continue
            for statement in source.imports:
                found = modules.resolve(statement, modules.package_of(path))
                providers = {p for module in (*found.needs, *found.touches) for p in modules.providers.get(module, ())}
                if providers:
                    yield Place(path, statement.line), self._mask(providers)

    def unseen_user(self, edge: Pair) -> Place | None:
        """An import in a package that could not be analysed, of something that is reached through the edge."""
        bits = self._before[self.number[edge.dep]]
        return next((place for place, mask in self._unseen if mask & bits), None)

    def reaches(self, start: Label, goal: Label) -> bool:
        """Whether `start` reaches `goal` as things stand."""
        a, b = self.number.get(start), self.number.get(goal)
        return a is not None and b is not None and bool(self._before[a] >> b & 1)

    def _changed(self, edges: Sequence[Sequence[int]], adds: Iterable[Pair], drops: Iterable[Pair]) -> list[list[int]]:
        gone = {(self.number[pair.target], self.number[pair.dep]) for pair in drops}
        sources = {node for node, _ in gone}
        after = [
            [child for child in children if (node, child) not in gone] if node in sources else list(children)
            for node, children in enumerate(edges)
        ]
        for pair in adds:
            target, dep = self.number.get(pair.target), self.number.get(pair.dep)
            if target is not None and dep is not None:
                after[target].append(dep)
        return after

    def cycles(self, adds: Sequence[Pair], drops: Iterable[Pair]) -> dict[Pair, tuple[Label, ...]]:
        """Those of `adds`, taken in their order, that would close a cycle once the drops are made, each with the cycle
        (from the dep back to the target)."""
        base = self._changed([[*a, *r] for a, r in zip(self._any, self._refs, strict=True)], (), drops)
        whole = [list(children) for children in base]
        numbered = [
            (pair, self.number[pair.target], self.number[pair.dep])
            for pair in adds
            if pair.target in self.number and pair.dep in self.number
        ]
        for _, target, dep in numbered:
            whole[target].append(dep)
        component = [0] * len(whole)
        for i, members in enumerate(closure.components(whole)):
            for member in members:
                component[member] = i
        refused: dict[Pair, tuple[Label, ...]] = {}
        for pair, target, dep in numbered:
            if target != dep and component[target] != component[dep]:
                base[target].append(dep)
                continue
            way = closure.path(base, dep, 1 << target)
            if way:
                refused[pair] = tuple(self.labels[node] for node in way)
            else:
                base[target].append(dep)
        return refused

    def losses(self, adds: Sequence[Pair], drops: Sequence[Pair], accepted: Iterable[Label] = ()) -> list[Loss]:
        """What any target uses and reaches now, and would not reach after the change.

        `accepted` are targets of which it is accepted that they, and what they reach, are no longer there at run time
        for those who import nothing of them.
        """
        if not drops:
            return []
        waived = self._waived(accepted)
        touched = self._mask(pair.target for pair in drops)
        found: dict[Loss, None] = {}
        for edges, before in ((self._any, self._before), *self._worlds):
            after = closure.closures(self._changed(edges, adds, drops))
            losing = [label for label in self._wanted if self._loses(self.number[label], before, after, touched)]
            lost = 0
            for label in losing:
                node = self.number[label]
                lost |= before[node] & ~after[node]
            wants = self._brought(before, after, lost) if losing else []
            for label in losing:
                node = self.number[label]
                found.update(dict.fromkeys(self._lost(label, self._wanted[label], before[node], after[node], waived)))
                found.update(dict.fromkeys(self._lost_below(label, wants, before[node], after[node])))
        return list(found)

    def _loses(self, node: int, before: Sequence[int], after: Sequence[int], touched: int) -> bool:
        return bool(before[node] & touched and before[node] & ~after[node])

    def _brought(self, before: Sequence[int], after: Sequence[int], lost: int) -> list[tuple[int, str, Need, int]]:
        """(node, module, need, providers) of all that a target uses and never reaches itself, as far as anybody loses
        it: it is given the dep, or whoever depends on it has to bring it along (an optional import, a plugin, a dep
        that would close a cycle)."""
        return [
            (node, module, need, providers)
            for label, wanted in self._wanted.items()
            for node in (self.number[label],)
            for module, need, providers in wanted
            if providers & lost and module and need is not Need.IMPLIED
            if not providers & (before[node] | after[node])
        ]

    def _lost_below(
        self, label: Label, wants: list[tuple[int, str, Need, int]], before: int, now: int
    ) -> Iterator[Loss]:
        """What a target would no longer bring along for those that it depends on."""
        lost = before & ~now
        for node, module, need, providers in wants:
            if lost & providers and not now & providers and now >> node & 1:
                yield Loss(label, module, need, self._named(lost & providers), self.labels[node])

    def _waived(self, accepted: Iterable[Label]) -> int:
        bits = 0
        for label in accepted:
            bits |= self._before[self.number[label]]
        return bits

    def _lost(
        self, label: Label, wanted: tuple[tuple[str, Need, int], ...], before: int, now: int, waived: int
    ) -> Iterator[Loss]:
        for module, need, providers in wanted:
            if providers & before and not providers & now:
                yield Loss(label, module, need, self._named(providers & before))
        target = self._known.graph.targets[label]
        if not (target.has_sources or target.reads):
            return
        unseen = self._everything if label in self._blind else self._opaque & ~waived
        for node in closure.bits_of(before & ~now & unseen):
            yield Loss(label, "", Need.MENTIONED, (self.labels[node],))
        if before & ~now & self._outside:
            yield from self._lost_outside(label, before, now)

    def _lost_outside(self, label: Label, before: int, now: int) -> Iterator[Loss]:
        """The modules from outside the repository that may have come by a label which the target no longer reaches.

        A label provides the module of its name (or of the configuration). One whose name nobody imports could provide
        any import that no label is named after.
        """
        for name, (need, _) in self._known.uses[label].externals.items():
            configured = self._known.third_party.provider(name)
            if configured is not None:
                providers = self._mask([configured.label]) if configured.label in self.number else 0
            else:
                providers = self._by_name.get(_top(name), 0)
            if providers:
                if providers & before and not providers & now:
                    yield Loss(label, name, need, self._named(providers & before))
            elif before & ~now & self._anything:
                yield Loss(label, name, Need.MENTIONED, self._named(before & ~now & self._anything))

    def _named_alike(self, labels: Iterable[Label]) -> dict[str, int]:
        alike: dict[str, list[Label]] = {}
        for label in labels:
            alike.setdefault(_normal(label.name), []).append(label)
        return {name: self._mask(same) for name, same in alike.items()}

    def _named(self, bits: int) -> tuple[Label, ...]:
        return tuple(self.labels[node] for node in closure.bits_of(bits))

    def lost_in(self, after: Knowledge, accepted: Iterable[Label] = ()) -> Iterator[tuple[Label, str]]:
        """(target, module or label) of all that is used and reached here, and not reached in the graph of `after`, in
        any mode and branch; `accepted` as in `losses`."""
        if self._only_grew(after):
            return
        waived = self._waived(accepted)
        other = Reach(after)
        same = other.labels == self.labels
        ours = (self._before, *(before for _, before in self._worlds))
        theirs = (other._before, *(before for _, before in other._worlds))
        for label, wanted in self._wanted.items():
            node, there = self.number[label], other.number.get(label)
            if there is None:
                continue
            for before, now in zip(ours, theirs, strict=False):
                has = now[there] if same else self._renumbered(other, now[there])
                if before[node] & ~has:
                    for loss in self._lost(label, wanted, before[node], has, waived):
                        yield label, loss.module or str(loss.providers[0])

    def _only_grew(self, after: Knowledge) -> bool:
        """Whether every target has at least the edges that it had, under the same conditions."""
        for label, old in self._known.graph.targets.items():
            new = after.graph.targets.get(label)
            if new is old:
                continue
            if new is None or not set(old.real) <= set(new.real):
                return False
            if not {(e.label, e.condition) for e in old.edges} <= {(e.label, e.condition) for e in new.edges}:
                return False
        return True

    def _renumbered(self, other: Reach, bits: int) -> int:
        named = (other.labels[node] for node in closure.bits_of(bits))
        return self._mask(label for label in named if label in self.number)

    def path(self, start: Label, goals: Iterable[Label], without: Pair | None = None) -> tuple[Label, ...]:
        """The shortest way along the deps as they stand, or as they would be `without` one; () if there is none."""
        edge = (self.number[without.target], self.number[without.dep]) if without else (-1, -1)
        wanted = self._mask(goals)
        way = closure.path(self._any, self.number[start], wanted, edge, lambda node: bool(self._before[node] & wanted))
        return tuple(self.labels[node] for node in way)

    def hangs_on(self, loss: Loss, edge: Pair) -> bool:
        """Whether the target of a loss gets what it would lose through this one edge and in no other way."""
        start, goals = self.number[loss.target], self._goals(loss.providers)
        target, dep = self.number[edge.target], self.number[edge.dep]
        return self.may_hang_on(loss, edge) and not closure.path(self._any, start, goals, (target, dep))

    def may_hang_on(self, loss: Loss, edge: Pair) -> bool:
        """Whether the edge lies on a way, one of perhaps several, by which the target gets what it would lose."""
        start, target, dep = self.number[loss.target], self.number[edge.target], self.number[edge.dep]
        return bool(self._before[start] >> target & 1 and self._before[dep] & self._goals(loss.providers))

    def _goals(self, labels: tuple[Label, ...]) -> int:
        known = self._masks.get(labels)
        if known is None:
            known = self._masks[labels] = self._mask(labels)
        return known

    @cached_property
    def _masks(self) -> dict[tuple[Label, ...], int]:
        return {}


def _package_of(path: str, packages: set[str]) -> str | None:
    """The folder of the package that a file lies in."""
    folder = path.rpartition("/")[0]
    while folder not in packages:
        if not folder:
            return None
        folder = folder.rpartition("/")[0]
    return folder


def _top(module: str) -> str:
    return _normal(module.partition(".")[0])


def _normal(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")
