"""Whom a literal in a build file feeds: all targets that an entry there, or a new one, would reach."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from buildfix import values
from buildfix.buildfile import BuildFileError
from buildfix.engine import Call
from buildfix.literals import Element
from buildfix.locate import Locator, akin, akin_name
from buildfix.places import AddPlace, Owner
from buildfix.scopes import Scopes
from buildfix.stacks import Stacks
from buildfix.walk import Walk


class Owners:
    """Answers for all literals of a run."""

    def __init__(self, scopes: Scopes, stacks: Stacks, locator: Locator) -> None:
        self._scopes = scopes
        self._stacks = stacks
        self._locator = locator
        self._fed: dict[tuple[object, ...], tuple[frozenset[Owner], bool]] = {}
        self._said: dict[tuple[str, str, int], dict[str, dict[tuple[str, str], None]]] = {}
        self._asked: dict[tuple[str, str, int, str], frozenset[ast.Call] | None] = {}

    def of(self, literal: Element | AddPlace) -> frozenset[Owner]:
        """All targets, of all kinds, packages and modes, that a literal feeds, or that an entry added here would."""
        target = Owner(*literal.target)
        fed = self.fed(literal)
        return fed if target in fed else fed | {target}

    def within(self, literal: AddPlace, family: frozenset[Owner]) -> bool:
        """Whether only targets of a family own a place."""
        fed = self.fed(literal)
        return len(fed) <= len(family) + 1 and fed - {Owner(*literal.target)} <= family

    def fed(self, literal: Element | AddPlace) -> frozenset[Owner]:
        """The owners of a literal as far as they show, whoever asks."""
        attribute = literal.attribute if isinstance(literal, Element) else literal.name
        texts = literal.texts if isinstance(literal, AddPlace) else (literal.text,) if literal.constant else ()
        key = (literal.holder, literal.file, literal.span, attribute, texts)
        if key not in self._fed:
            leaves = self._stacks.through(literal.holder)
            found = self._feeds(literal, attribute, leaves, [text for text in texts if text])
            self._fed[key] = frozenset(_owner(leaf) for leaf in found), literal.holder.kind == "call"
        fed, by_labels = self._fed[key]
        # A macro may make several targets and hand a list to some of them only. That shows in the evaluated
        # arguments, unless it drops the labels for the target in question.
        if by_labels and Owner(*literal.target) not in fed and not _is_new(literal):
            return self._all_through(literal)
        return fed

    def _all_through(self, literal: Element | AddPlace) -> frozenset[Owner]:
        key = ("through", literal.holder)
        if key not in self._fed:
            self._fed[key] = frozenset(_owner(leaf) for leaf in self._stacks.through(literal.holder)), False
        return self._fed[key][0]

    def _feeds(
        self, literal: Element | AddPlace, attribute: str, leaves: list[Call], texts: list[str]
    ) -> Iterable[Call]:
        if isinstance(literal, AddPlace) and literal.kind == "attribute":
            return [leaf for leaf in leaves if self.would_get(leaf, literal)]
        if literal.holder.kind == "call":
            return [leaf for leaf in leaves if self._has(leaf, attribute, texts)]
        return [leaf for leaf in leaves if self._reached(literal, leaf, attribute, texts)]

    def _reached(self, literal: Element | AddPlace, leaf: Call, attribute: str, texts: list[str]) -> bool:
        """Whether the walk of any of a target's attributes comes by a literal."""
        names = {attribute: None} | {name: None for text in texts for name in self._attributes_with(leaf, text)}
        for name in names:
            site = self._locator.locate(leaf, name)
            if (literal.file, literal.span) in site.keys:
                return True
            if site.missing and any(akin(text, lost.text) for lost in site.missing for text in texts):
                return True
        return False

    def would_get(self, leaf: Call, place: AddPlace) -> bool:
        """Whether a new attribute of a call on a target's stack would reach the rule's own call."""
        key = (leaf.mode, leaf.package, leaf.id, place.name)
        if key not in self._asked:
            self._scopes.restart()
            try:
                Walk(self._scopes, _owner(leaf), place.name).run(self._stacks.parts(leaf, place.name)[0])
                self._asked[key] = self._scopes.asked(place.name)
            except BuildFileError:
                self._asked[key] = None
        asked = self._asked[key]
        node = self._scopes.file(place.file).call_at(place.holder.line, place.holder.col)
        return asked is None or node in asked

    def _has(self, leaf: Call, attribute: str, texts: list[str]) -> bool:
        """Whether a call of a target's own name has one of some labels among its arguments; where there are none to
        look for, whether it has anything in the attribute."""
        if not texts:
            return any(call.args.get(attribute) for call in self._stacks.chain(leaf) if call.name == leaf.name)
        return any(True for text in texts for _ in self._attributes_with(leaf, text))

    def _attributes_with(self, leaf: Call, text: str) -> Iterator[str]:
        """The attributes that have a label like this, in the calls of a target's own name."""
        key = (leaf.mode, leaf.package, leaf.id)
        if key not in self._said:
            said: dict[str, dict[tuple[str, str], None]] = {}
            for call in (one for one in self._stacks.chain(leaf) if one.name == leaf.name):
                for name, value in call.args.items():
                    for found in values.walk_strings(value):
                        said.setdefault(akin_name(found), {})[(found, name)] = None
            self._said[key] = said
        return (name for found, name in self._said[key].get(akin_name(text), ()) if akin(text, found))


def _owner(leaf: Call) -> Owner:
    return Owner(leaf.package, leaf.name)


def _is_new(literal: Element | AddPlace) -> bool:
    return isinstance(literal, AddPlace) and literal.kind == "attribute"
