"""Where an entry of an attribute can be added, or why it cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from buildfix.buildfile import Span
from buildfix.findings import Reason
from buildfix.literals import Affix, Holder, Wrap


class Owner(NamedTuple):
    """A target that a literal feeds: the folder of its package, and its name."""

    package: str
    name: str


@dataclass(frozen=True, slots=True)
class AddPlace:
    """Where an entry can be added to attribute `name` of `target` (package, name).

    `kind` "list": into the list literal at `span`; "attribute": as a new attribute of the call whose opening
    parenthesis is at `span.start`; "extend": as a list added to the expression at `span`. `texts` are the labels that
    the list holds. What is written in a list stands for a label that has `affix` around it, and labels that have not
    go to `otherwise`; `wrap` says in what calls some of the entries are written (`requirement`).
    """

    target: tuple[str, str]
    kind: str
    file: str
    line: int
    span: Span
    name: str
    holder: Holder
    texts: tuple[str, ...] = ()
    wrap: Wrap | None = None
    affix: Affix = ("", "")
    otherwise: AddPlace | None = None


@dataclass(frozen=True, slots=True)
class Blocked:
    """Why nothing can be added, in words that name the place where a person should look."""

    reason: Reason
    words: str
    file: str
    line: int
