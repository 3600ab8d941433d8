"""One function's activation in an actual evaluation, and expressions as they are seen from one."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from buildfix.buildfile import BuildFile, Function


@dataclass(frozen=True, eq=False, slots=True)
class Env:
    """A function's activation, or the module level of a file (`function` is None), as of byte `offset`.

    `caller` is the activation that called it and the call; `call` the call in progress at `offset`, if there is one.
    `loops` holds what loop and comprehension variables stand for right now. `live`: taken from an actual stack.
    """

    file: BuildFile
    function: Function | None
    offset: int
    caller: tuple[Env, ast.Call] | None = None
    call: ast.Call | None = None
    loops: Mapping[str, Part] = field(default_factory=dict)
    live: bool = False

    def at(self, offset: int) -> Env:
        """The same activation, earlier."""
        return replace(self, offset=offset, call=None)

    def looping(self, loops: Mapping[str, Part]) -> Env:
        """The same activation with these loop variables."""
        return replace(self, loops={**self.loops, **loops})


class Part(NamedTuple):
    """An expression that makes up (a part of) a value, where it is evaluated, and under which conditions.

    `item`: the expression is one element that is added to a list, not a list. `default`: it is a parameter's default
    value. `defined`: the statement that binds it, for what is bound by other means than an argument.
    """

    expr: ast.AST
    env: Env
    conditions: tuple[str, ...] = ()
    item: bool = False
    default: bool = False
