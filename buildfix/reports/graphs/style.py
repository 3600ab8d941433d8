"""How each state of an edge is drawn: a colour of its own, and a line of its own for those who see no colours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from buildfix.graph import State


class Line(NamedTuple):
    """The colour as `#rrggbb`, the line's pattern (`solid`, `dashed`, `dotted`) and width in pixels."""

    color: str
    pattern: str
    width: int


LINES: Mapping[State, Line] = {
    State.USED: Line("#57606a", "solid", 1),
    State.DECLARED: Line("#afb8c1", "solid", 1),
    State.UNUSED: Line("#d4a72c", "dotted", 2),
    State.TRANSITIVE: Line("#0969da", "dashed", 2),
    State.MISSING: Line("#cf222e", "dashed", 3),
}

QUIET = frozenset((State.USED, State.DECLARED))
"""States that need no word at the edge."""
