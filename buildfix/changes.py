"""What can be changed in a build file: values that name a place by a byte of the file as it was parsed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from buildfix.buildfile import Span
from buildfix.literals import Affix, Element
from buildfix.order import Order
from buildfix.places import AddPlace


class EditError(Exception):
    """A change that cannot be made, or whose result would not be what was asked for. Nothing was changed."""


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace the bytes [start, end) of a file by `text`."""

    start: int
    end: int
    text: bytes


class WhenEmpty(StrEnum):
    """What becomes of a list that lost its last entry.

    `[]`; or it goes where nothing is lost by that: an operand of a sum, a statement that adds nothing more; or the
    attribute goes too, where the list is all of it.
    """

    BRACKETS = "brackets"
    TIDY = "tidy"
    ATTRIBUTE = "attribute"


@dataclass(frozen=True, slots=True)
class ListChange:
    """Change a list (or tuple) that starts at byte `at`.

    `add` are label texts without quotes; with `wrap`, each is written as a call: `requirement("x")`. `drop` are the
    bytes at which the elements to drop start.
    """

    at: int
    add: tuple[str, ...] = ()
    drop: tuple[int, ...] = ()
    order: Order = Order.NEIGHBOURS
    when_empty: WhenEmpty = WhenEmpty.BRACKETS
    wrap: str = ""


@dataclass(frozen=True, slots=True)
class NewAttribute:
    """Give the call whose opening parenthesis is at byte `at` a new attribute `name = [...]`."""

    at: int
    name: str
    add: tuple[str, ...]
    wrap: str = ""


@dataclass(frozen=True, slots=True)
class Extend:
    """Add a list to the expression with these bytes: `COMMON` to `COMMON + ["//x"]`; before a select, in front of it.

    A literal `None` is replaced by the list.
    """

    span: Span
    add: tuple[str, ...]
    wrap: str = ""


@dataclass(frozen=True, slots=True)
class DropStatement:
    """Drop the statement that starts at byte `at`; one that is alone in its block becomes `pass`."""

    at: int


Change = ListChange | NewAttribute | Extend | DropStatement


def adding(where: AddPlace, add: Sequence[str], order: Order = Order.NEIGHBOURS) -> Change:
    """The change that adds labels at a place that sites.py found; it is for `where.file`."""
    match where.kind:
        case "list":
            if where.wrap is not None:
                inner = [_within(text, where.wrap.affix) for text in add]
                if None not in inner:
                    plain = tuple(text for text in inner if text is not None)
                    return ListChange(where.span.start, plain, order=order, wrap=where.wrap.function)
            cut = [_within(text, where.affix) for text in add]
            if None in cut and where.otherwise is not None:
                return adding(where.otherwise, add, order)
            if None in cut:
                raise EditError(f"{where.file}:{where.line}: the entries here stand for {'...'.join(where.affix)}")
            return ListChange(where.span.start, tuple(text for text in cut if text is not None), order=order)
        case "attribute":
            return NewAttribute(where.span.start, where.name, tuple(add))
    return Extend(where.span, tuple(add))


def dropping(element: Element, when_empty: WhenEmpty | None = None) -> Change:
    """The change that drops an element that sites.py found; it is for `element.file`.

    Raises EditError, with the element's own words, if it cannot be dropped.
    """
    if element.statement is not None and not element.problem:
        return DropStatement(element.statement)
    if element.problem or element.sequence is None:
        raise EditError(element.problem or f"{element.file}:{element.line}: it is no entry of a list")
    if when_empty is None:
        when_empty = WhenEmpty.ATTRIBUTE if element.optional else WhenEmpty.TIDY
    return ListChange(element.sequence.start, drop=(element.span.start,), when_empty=when_empty)


def _within(text: str, affix: Affix) -> str | None:
    """What must be written for a label, where the rest of it is put around it."""
    before, behind = affix
    if len(text) <= len(before) + len(behind) or not text.startswith(before) or not text.endswith(behind):
        return None
    return text[len(before) : len(text) - len(behind)] if before or behind else text
