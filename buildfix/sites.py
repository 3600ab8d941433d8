"""An edge of a target: the literals where people wrote it, whom else they feed, and where a new edge can be written.

The entrance to locate.py (from an attribute to its literals) and owners.py (from a literal to its targets).
"""

from __future__ import annotations

import ast
import heapq
from collections.abc import Callable, Iterator
from dataclasses import replace

from buildfix.bindings import accepts
from buildfix.buildfile import BuildFile, BuildFileError, Span, is_none
from buildfix.engine import Call, Facts
from buildfix.findings import Reason
from buildfix.literals import Element, Holder
from buildfix.literals import Sequence as Listed
from buildfix.locate import AttributeSite, Locator, Unlocated
from buildfix.owners import Owners
from buildfix.places import AddPlace, Blocked, Owner
from buildfix.scopes import Scopes
from buildfix.stacks import Stacks

__all__ = ["AddPlace", "AttributeSite", "Blocked", "Element", "Owner", "Sites", "Unlocated"]


class Sites:
    """All targets of a run. `read` returns the bytes of a root-relative path, or of a symbols text's path; None if
    there is no such file. Files are parsed, and owners computed, when first asked for."""

    def __init__(self, facts: Facts, read: Callable[[str], bytes | None]) -> None:
        by_file = [(package.file, package.loads) for package in facts.packages]
        by_file += [(file.path, file.loads) for file in facts.files]
        loads = {(file, load.module): load.path for file, loaded in by_file for load in loaded if load.path}
        self._scopes = Scopes(read, loads)
        self._stacks = Stacks(facts, self._scopes)
        self._locator = Locator(self._scopes, self._stacks)
        self._owners = Owners(self._scopes, self._stacks, self._locator)
        self._made: dict[tuple[str, Holder], frozenset[Owner]] = {}

    def file(self, path: str) -> BuildFile:
        """A parsed file; raises BuildFileError if it cannot be read or parsed."""
        return self._scopes.file(path)

    def has_comments(self, path: str) -> bool:
        """Whether a file may have comments at all; it need not be parsed for that."""
        return b"#" in (self._scopes.data(path) or b"")

    def locate(self, leaf: Call, attribute: str) -> AttributeSite:
        """Where the entries of a target's attribute are written; `leaf` is the rule's own call."""
        return self._locator.locate(leaf, attribute)

    def owners(self, literal: Element | AddPlace) -> frozenset[Owner]:
        """All targets, of all kinds, packages and modes, that a literal feeds, or that an entry added here would."""
        return self._owners.of(literal)

    def adds(self, site: AttributeSite) -> AddPlace | Blocked:
        """The nearest place that is the target's own where an entry can be added; or why there is none.

        `owners` of the place says whom else the added entry would reach: the other targets of one call site.
        """
        if site.problem:
            return Blocked(Reason.NOT_EDITABLE, site.problem, site.file, site.line)
        places = list(self._places(site))
        if not places:
            text = isinstance(site.written.args.get(site.attribute), str)
            problem = (
                f"{site.attribute} is a string, not a list"
                if text
                else f"{site.written.kind} takes no {site.attribute}"
            )
            words = f"{site.file}:{site.line}: {problem}"
            return Blocked(Reason.NOT_EDITABLE, words, site.file, site.line)
        families = self._families(site)
        for family in families:
            own = (place for place in places if self._owners.within(place, family))
            place = next(own, None)
            if place is not None and place.affix != ("", ""):
                return replace(place, otherwise=next((one for one in own if one.affix == ("", "")), None))
            if place is not None:
                return place
        shared = places[0]
        others = self.owners(shared) - families[-1]
        first = heapq.nsmallest(3, (f"//{other.package}:{other.name}" for other in others))
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        words = f"{shared.file}:{shared.line} also feeds {', '.join(first)}{more}"
        return Blocked(Reason.SHARED, words, shared.file, shared.line)

    def _places(self, site: AttributeSite) -> Iterator[AddPlace]:
        """Everywhere that an entry could be added, the best place first: what people wrote for the target, then what
        its macros and helper functions hold."""
        lists = sorted((one for one in site.sequences if one.affix is not None), key=lambda one: one.depth)
        written, *inner = self._stacks.chain(site.leaf)
        mine = [one for one in lists if not self._of_macro(one, site)]
        yield from (self._list_place(site, one) for one in mine)
        yield from self._call_place(site, written)
        yield from (self._list_place(site, one) for one in lists if one not in mine)
        for call in inner:
            yield from self._call_place(site, call)

    def _of_macro(self, listed: Listed, site: AttributeSite) -> bool:
        """Whether a list stands in a function that the written call calls, or in its head."""
        function = self.file(listed.file).function_at(listed.span.start)
        on_the_way = {(frame.file, frame.function) for frame in site.written.stack}
        inside = isinstance(function, ast.FunctionDef) and (listed.file, function.name) not in on_the_way
        return listed.default or inside

    def _families(self, site: AttributeSite) -> tuple[frozenset[Owner], ...]:
        """Whom an added entry may reach, the best choice first: what the written call makes, then what the outermost
        recorded call makes (a library and its static twin)."""
        target = Owner(site.leaf.package, site.leaf.name)
        made = (self._made_by(call, target.package) for call in (site.written, self._stacks.outermost(site.leaf)))
        return tuple(family if target in family else family | {target} for family in made)

    def _made_by(self, call: Call, package: str) -> frozenset[Owner]:
        frame = call.stack[-1]
        holder = Holder("call", frame.file, frame.line, frame.col)
        if (package, holder) not in self._made:
            leaves = self._stacks.through(holder)
            owners = (Owner(leaf.package, leaf.name) for leaf in leaves if leaf.package == package)
            self._made[(package, holder)] = frozenset(owners)
        return self._made[(package, holder)]

    def _list_place(self, site: AttributeSite, listed: Listed) -> AddPlace:
        assert listed.affix is not None
        return AddPlace(
            Owner(site.leaf.package, site.leaf.name),
            "list",
            listed.file,
            listed.line,
            listed.span,
            site.attribute,
            listed.holder,
            listed.texts,
            listed.wrap,
            listed.affix,
        )

    def _call_place(self, site: AttributeSite, call: Call) -> Iterator[AddPlace]:
        """A recorded call as the place: its attribute's expression is extended, or a new attribute is made."""
        frame = call.stack[-1]
        holder = Holder("call", frame.file, frame.line, frame.col)
        try:
            env = self._stacks.env(call)
        except BuildFileError:
            return
        if env is None or env.call is None:
            return
        file, target = env.file, Owner(site.leaf.package, site.leaf.name)
        for keyword in env.call.keywords:
            if keyword.arg == site.attribute:
                if isinstance(keyword.value, ast.Dict | ast.Constant) and not is_none(keyword.value):
                    return
                span = file.span(keyword.value)
                yield AddPlace(target, "extend", file.path, keyword.value.lineno, span, site.attribute, holder)
                return
        callee = self._stacks.callee(call)
        if callee is not None and not accepts(callee, site.attribute):
            return
        if self._scopes.argument(env.call, site.attribute, env, callee):
            return
        if any(listed.default and listed.texts for listed in site.sequences):
            return  # an argument would take the place of the default
        opening = Span(file.opening(env.call), file.opening(env.call) + 1)
        place = AddPlace(target, "attribute", file.path, frame.line, opening, site.attribute, holder)
        if call is site.leaf or self._owners.would_get(site.leaf, place):
            yield place
