"""Whether an edge of a target may be added or dropped where it is written, or why not.

Puts together what sites.py found (the literals, and who else they feed) and what markers.py says of the comments there.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from buildfix import labels, markers
from buildfix.buildfile import BuildFile, BuildFileError
from buildfix.config import Config
from buildfix.directives import NOTHING, Directives
from buildfix.findings import Place, Reason
from buildfix.labels import Label
from buildfix.order import Order
from buildfix.policy import DEFAULT, Policy
from buildfix.sites import AddPlace, AttributeSite, Element, Sites
from buildfix.spelling import Speller
from buildfix.targets import Target, TargetGraph

_HEAD_BYTES = 2_000
_PRIVATE = "//visibility:private"


class Refusal(NamedTuple):
    """Why an edit may not be made, with the place in words."""

    reason: Reason
    detail: str = ""


class Opening(NamedTuple):
    """The entry `text` that a provider's visibility has to have, where it goes, and the entries that it replaces."""

    provider: Label
    text: str
    place: AddPlace
    replaced: tuple[Element, ...] = ()

    def __str__(self) -> str:
        return f'its visibility at {self.place.file}:{self.place.line} needs "{self.text}"'


class Permits:
    """Answers for the targets of one graph; every answer is computed once."""

    def __init__(
        self,
        graph: TargetGraph,
        sites: Sites,
        config: Config,
        policy: Policy = DEFAULT,
        directives: Directives = NOTHING,
    ) -> None:
        self._policy = policy
        self._directives = directives
        self._speller = Speller(graph)
        self._graph = graph
        self._sites = sites
        self._config = config
        self._frozen: dict[Label, tuple[Refusal | None, Refusal | None]] = {}
        self._files: dict[str, Refusal | None] = {}
        self._keeping: dict[str, bool] = {}

    def site(self, target: Target) -> AttributeSite:
        """Where the target's deps are written."""
        return self._sites.locate(target.leaf, target.rule.deps)

    def add(self, target: Target, rescue: bool = False) -> AddPlace | Refusal:
        """The place where a dep of the target can be added."""
        if not target.rule.deps:
            return Refusal(Reason.NOT_EDITABLE, f"the kind {target.rule.kind} has no attribute for deps")
        never, of_own_accord = self._target(target)
        refusal = never or (None if rescue and self._config.noautodeps == "rescue" else of_own_accord)
        if refusal is not None:
            return refusal
        place = self._sites.adds(self.site(target))
        if not isinstance(place, AddPlace):
            return Refusal(place.reason, place.words)
        return self._file(place.file) or place

    def drop(self, target: Target, dep: Label) -> tuple[Element, ...] | Refusal:
        """All entries of the target's deps that name `dep`, if each of them may go."""
        never, of_own_accord = self._target(target)
        if never or of_own_accord:
            return never or of_own_accord  # type: ignore[return-value]
        resolve = self._graph.workspace.resolve
        entries = self.entries(target, dep)
        for site in self._sites_of(target):
            for lost in site.missing:
                if resolve(lost.text, target.folder) == dep:
                    return Refusal(Reason.NOT_EDITABLE, lost.words)
        if not entries:
            site = self.site(target)
            return Refusal(Reason.NOT_EDITABLE, f"no entry of {site.file}:{site.line} names it")
        for entry in entries:
            refusal = self._entry(entry) or self._of_macro(entry, target) or self._computed(entry, target)
            if refusal is not None:
                return refusal
        return entries

    def open(self, provider: Target, user: Target) -> Opening | Refusal:
        """The change that makes a target visible to another one, if its visibility is a list of its own."""
        refusal = next(iter(self.marks(provider)), None)
        if refusal is not None:
            return refusal
        site = self._sites.locate(provider.leaf, "visibility")
        place = self._sites.adds(site)
        if not isinstance(place, AddPlace):
            return Refusal(place.reason, place.words)
        if place.kind != "list" or not self.owners(place) <= set(self._graph.kin(provider.label)):
            words = f"{place.file}:{place.line}: {provider.label} has no list of its own for its visibility"
            return Refusal(Reason.NOT_EDITABLE, words)
        spelling = labels.split(self._speller.spell(user.label, provider, place.texts))
        if spelling is None or spelling.prefix is None:
            return Refusal(Reason.NOT_EDITABLE, f"{place.file}:{place.line}")
        name = "__pkg__" if self._graph.workspace.dialect == "bazel" else user.label.name
        alone = tuple(e for e in site.elements if e.text == _PRIVATE)  # it may not stand beside others
        text = f"{spelling.prefix}//{spelling.package}:{name}"
        return self._file(place.file) or Opening(provider.label, text, place, alone)

    def entries(self, target: Target, dep: Label) -> tuple[Element, ...]:
        """All entries that name `dep`, whether they may go or not."""
        resolve = self._graph.workspace.resolve
        found = {
            (e.file, e.span): e
            for site in self._sites_of(target)
            for e in site.elements
            if e.text and resolve(e.text, target.folder) == dep
        }
        return tuple(found.values())

    def frozen(self, target: Target) -> Refusal | None:
        """Why nothing may be changed of buildfix's own accord, if a marker says so."""
        return self._target(target)[1]

    def marks(self, target: Target) -> tuple[Refusal, ...]:
        """The markers that leave the target, or its deps, alone."""
        return tuple(refusal for refusal in self._target(target) if refusal is not None)

    def has_kept_entries(self, target: Target) -> bool:
        """Whether a file on the way to the target has markers that keep entries."""
        return any(self._keeps(file) for file, _ in self._commented(target))

    def _keeps(self, file: BuildFile) -> bool:
        if file.path not in self._keeping:
            self._keeping[file.path] = any(markers.keeps_entry(comment.text) for comment in file.comments)
        return self._keeping[file.path]

    def source_place(self, target: Target, path: str) -> Place | None:
        """Where a source is written among those of the target, if it is written out."""
        for attribute in target.rule.srcs:
            for entry in self._sites.locate(target.leaf, attribute).elements:
                if entry.text and f"{target.folder}/{entry.text}".lstrip("/") == path:
                    return Place(entry.file, entry.line)
        return None

    def _sites_of(self, target: Target) -> tuple[AttributeSite, ...]:
        """Where its deps are written, for each call that makes it: there is one for each mode."""
        leaves = target.leaves or (target.leaf,)
        return tuple(self._sites.locate(leaf, target.rule.deps) for leaf in leaves)

    def owners(self, literal: AddPlace | Element) -> frozenset[Label]:
        """All targets that a literal feeds."""
        names = self._graph.names
        return frozenset(
            names[key] for owner in self._sites.owners(literal) if (key := (owner.package, owner.name)) in names
        )

    def order(self, target: Target) -> Order:
        """What a comment at the target's deps asks of their order."""
        for file, call in reversed(self._commented(target)):
            for comment in file.attribute_comments(call, target.rule.deps):
                if markers.keeps_order(comment.text):
                    return Order.END
                if markers.keeps_sorted(comment.text):
                    return Order.SORTED
        return Order.NEIGHBOURS

    def _entry(self, entry: Element) -> Refusal | None:
        if any(markers.keeps_entry(comment.text) for comment in entry.comments):
            return Refusal(Reason.MARKED, f"{entry.file}:{entry.line}")
        if entry.problem:
            return Refusal(Reason.NOT_EDITABLE, entry.problem)
        return self._file(entry.file)

    def _computed(self, entry: Element, target: Target) -> Refusal | None:
        """An entry that is computed from a name is another label for each target that it feeds."""
        if entry.constant or self.owners(entry) <= {target.label}:
            return None
        return Refusal(Reason.NOT_EDITABLE, f"{entry.file}:{entry.line} is another label for each of its targets")

    def _of_macro(self, entry: Element, target: Target) -> Refusal | None:
        """A dep that a macro gives all its targets is the macro's own, even if none of those of today needs it."""
        file = self._parsed(entry.file)
        function = file.function_at(entry.span.start) if file is not None else None
        if not isinstance(function, ast.FunctionDef):
            return None
        if any((frame.file, frame.function) == (entry.file, function.name) for frame in target.written.stack):
            return None  # a function that only groups targets, as define_common_targets()
        return Refusal(Reason.OF_MACRO, f"{entry.file}:{entry.line}, {function.name}()")

    def _file(self, path: str) -> Refusal | None:
        if path not in self._files:
            file = self._parsed(path)
            refusal = None
            if not self._policy.writes(path):
                refusal = Refusal(Reason.NOT_TO_BE_WRITTEN, path)
            elif file is None:
                refusal = Refusal(Reason.NOT_EDITABLE, f"{path} cannot be read")
            elif self._config.generated_files == "report" and _is_generated(file):
                refusal = Refusal(Reason.GENERATED_FILE, path)
            elif place := self._left_alone(file):
                refusal = Refusal(Reason.MARKED, str(place))
            self._files[path] = refusal
        return self._files[path]

    def _left_alone(self, file: BuildFile) -> Place | None:
        """The directive by which a file is not to be written."""
        for found in file.scope_comments(len(file.data)):
            if not found.indent and markers.leaves_file_alone(found.comment.text):
                return Place(file.path, found.comment.line)
        return self._directives.left_alone(file.path)

    def _target(self, target: Target) -> tuple[Refusal | None, Refusal | None]:
        """(what forbids every edit, what forbids edits of buildfix's own accord)."""
        if target.label not in self._frozen:
            self._frozen[target.label] = (self._kept(target), self._turned_off(target))
        return self._frozen[target.label]

    def _kept(self, target: Target) -> Refusal | None:
        """`keep` above the rule, or above its deps."""
        for file, call in self._commented(target):
            start = file.start(file.statement(call))
            above = [c for c in file.call_comments(call) if c.own_line and c.start < start]
            over = [c for c in file.attribute_comments(call, target.rule.deps) if c.own_line]
            first = min((file.start(k) for k in call.keywords if k.arg == target.rule.deps), default=0)
            for comment in (*above, *(c for c in over if c.start < first)):
                if markers.keeps_below(comment.text):
                    return Refusal(Reason.MARKED, f"{file.path}:{comment.line}")
        return None

    def _turned_off(self, target: Target) -> Refusal | None:
        if self._config.noautodeps == "ignore":
            return None
        marks = {*target.strings("labels"), *target.strings("tags")} & markers.NO_AUTODEPS_LABELS
        if marks:
            return Refusal(Reason.NO_AUTODEPS, f"{target.place}: {min(marks)!r} among its labels or tags")
        for file, call in self._commented(target):
            offset = file.start(call)
            for scope in file.scope_comments(offset):
                if markers.turns_off(scope.comment.text):
                    return Refusal(Reason.NO_AUTODEPS, f"{file.path}:{scope.comment.line}")
            for scope in file.scope_comments(len(file.data)):
                if scope.indent == 0 and markers.skips_target(scope.comment.text):
                    return Refusal(Reason.NO_AUTODEPS, f"{file.path}:{scope.comment.line}")
            for comment in file.call_comments(call):
                if comment.start > offset and comment.own_line and markers.skips_target(comment.text):
                    return Refusal(Reason.NO_AUTODEPS, f"{file.path}:{comment.line}")
        return None

    def _parsed(self, path: str) -> BuildFile | None:
        try:
            return self._sites.file(path)
        except BuildFileError:
            return None

    def _commented(self, target: Target) -> list[tuple[BuildFile, ast.Call]]:
        """The calls on the way to the written one, outermost first, as far as their files can be read and have any
        comments."""
        found = []
        for frame in target.written.stack:
            if not self._sites.has_comments(frame.file):
                continue
            file = self._parsed(frame.file)
            call = file.call_at(frame.line, frame.col) if file is not None else None
            if file is not None and call is not None:
                found.append((file, call))
        return found


def _is_generated(file: BuildFile) -> bool:
    head = file.data[:_HEAD_BYTES].decode("utf-8", "replace")
    comments = [line for line in head.splitlines()[:20] if line.lstrip().startswith("#")]
    return any(markers.is_generated(line) for line in comments)
