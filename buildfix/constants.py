"""Operations on constants, as Starlark defines them, with a bound on what a hostile build file can make of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

MAX_LENGTH = 10_000
"""How long a value may be that is evaluated here, in characters or items."""


class _Unknown:
    """What cannot be told without running the code."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()

METHODS = frozenset(
    ("endswith", "format", "get", "items", "join", "keys", "lower", "lstrip", "partition", "removeprefix", "values")
) | frozenset(
    ("removesuffix", "replace", "rpartition", "rsplit", "rstrip", "split", "startswith", "strip", "title", "upper")
)
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "len": len, "str": str, "list": list, "tuple": tuple, "sorted": sorted, "range": lambda *a: list(range(*a)[:10000]),
    "bool": bool, "int": int, "min": min, "max": max, "reversed": lambda x: list(reversed(x)), "dict": dict,
    "zip": lambda *a: list(zip(*a, strict=False)), "enumerate": lambda *a: list(enumerate(*a)),
}  # fmt: skip


def too_much(receiver: str | dict[Any, Any], method: str) -> bool:
    """Whether a `format` does more than to put in a value: it could make a huge string out of a small one."""
    return method == "format" and isinstance(receiver, str) and re.search(r"\{[^{}]*[:!.\[]", receiver) is not None


def compare(op: ast.cmpop, left: Any, right: Any) -> Any:
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    match op:
        case ast.Eq():
            return left == right
        case ast.NotEq():
            return left != right
        case ast.In():
            return left in right
        case ast.NotIn():
            return left not in right
        case ast.Lt():
            return left < right
        case ast.Gt():
            return left > right
    return UNKNOWN


def operate(op: ast.operator, left: Any, right: Any) -> Any:
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    match op:
        case ast.Add():
            return left + right
        case ast.Mod() if not isinstance(left, str) or not re.search(r"%[^%sdr]", left):
            return left % right
        case ast.BitOr() if isinstance(left, dict):
            return left | right
        case ast.Sub():
            return left - right
    return UNKNOWN
