"""The values of expressions that are made of constants, through names, parameters and functions.

Nothing is run: what a name stands for is found by scopes.py, which completes `Evaluator`.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from typing import Any

from buildfix.activations import Env, Part
from buildfix.constants import FUNCTIONS, MAX_LENGTH, METHODS, UNKNOWN, compare, operate, too_much

MAX_DEPTH = 60
"""How many steps a name may be away from what it stands for."""

MAX_STEPS = 100_000
"""How many expressions one question may look at. Build files may be hostile."""


class Evaluator(ABC):
    """Evaluates constant expressions, with a bound on how many one question may look at."""

    def __init__(self) -> None:
        self._steps = 0

    @abstractmethod
    def parts(self, expr: ast.expr, env: Env, depth: int = 0) -> list[Part]:
        """The expressions that make up the value of one; what cannot be followed comes back as it is."""

    @abstractmethod
    def entered(self, call: ast.Call, env: Env, depth: int = 0) -> Env | None:
        """The activation of the function that a call calls, as of its end; None if that is not known."""

    @abstractmethod
    def returns(self, env: Env) -> list[Part]:
        """What the function of an activation returns."""

    def restart(self) -> None:
        """Allow a new question its full number of steps."""
        self._steps = 0

    def exhausted(self, depth: int) -> bool:
        """Whether a question has gone too far; counts its steps."""
        self._steps += 1
        return depth > MAX_DEPTH or self._steps > MAX_STEPS

    def evaluate(self, expr: ast.AST, env: Env, depth: int = 0) -> Any:
        """The value of an expression that is made of constants, or UNKNOWN."""
        if self.exhausted(depth):
            return UNKNOWN
        try:
            value = self._evaluate(expr, env, depth + 1)
        except (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError):
            return UNKNOWN
        return UNKNOWN if isinstance(value, str | list | dict | tuple) and len(value) > MAX_LENGTH else value

    def _evaluate(self, expr: ast.AST, env: Env, depth: int) -> Any:
        def value(node: ast.AST) -> Any:
            return self.evaluate(node, env, depth)

        match expr:
            case ast.Constant(value=constant):
                return constant
            case ast.List(elts=elts) | ast.Tuple(elts=elts):
                items = [value(e) for e in elts]
                return UNKNOWN if UNKNOWN in items else items if isinstance(expr, ast.List) else tuple(items)
            case ast.Dict(keys=keys, values=values):
                pairs = [(value(k) if k else UNKNOWN, value(v)) for k, v in zip(keys, values, strict=True)]
                return UNKNOWN if any(UNKNOWN in pair for pair in pairs) else dict(pairs)
            case ast.JoinedStr(values=values):
                texts = [value(v.value) if isinstance(v, ast.FormattedValue) else value(v) for v in values]
                return UNKNOWN if UNKNOWN in texts else "".join(str(t) for t in texts)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                known = value(test)
                return UNKNOWN if known is UNKNOWN else value(body if known else orelse)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                known = value(operand)
                return UNKNOWN if known is UNKNOWN else not known
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -value(operand)
            case ast.BoolOp(op=op, values=values):
                result: Any = UNKNOWN
                for node in values:
                    result = value(node)
                    if result is UNKNOWN or bool(result) is isinstance(op, ast.Or):
                        break
                return result
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return compare(op, value(left), value(right))
            case ast.BinOp(left=left, op=op, right=right):
                return operate(op, value(left), value(right))
            case ast.Call(func=func, args=args, keywords=keywords):
                named = {k.arg or "**": value(k.value) for k in keywords}
                return self._call(expr, func, [value(a) for a in args], named, env, depth)
            case ast.Name() | ast.Subscript() | ast.Attribute():
                parts = self.parts(expr, env, depth)
                if len(parts) == 1 and parts[0].expr is not expr and not parts[0].conditions and not parts[0].item:
                    return self.evaluate(parts[0].expr, parts[0].env, depth)
                if isinstance(expr, ast.Subscript) and all(p.expr is expr for p in parts):
                    index = value(expr.slice)
                    base = value(expr.value)
                    return UNKNOWN if UNKNOWN in (index, base) else base[index]
        return UNKNOWN

    def _call(
        self, expr: ast.Call, func: ast.expr, args: list[Any], keywords: dict[str, Any], env: Env, depth: int
    ) -> Any:
        known = UNKNOWN not in args and UNKNOWN not in keywords.values() and "**" not in keywords
        match func:
            case ast.Attribute(value=base, attr=method) if method in METHODS:
                receiver = self.evaluate(base, env, depth)
                if known and isinstance(receiver, str | dict) and not too_much(receiver, method):
                    result = getattr(receiver, method)(*args, **keywords)
                    return list(result) if method in ("keys", "values", "items", "partition", "rpartition") else result
            case ast.Name(id=name) if name in FUNCTIONS and known:
                return FUNCTIONS[name](*args, **keywords)
        parts = self.parts(expr, env, depth)
        if len(parts) == 1 and parts[0].expr is not expr:
            return self.evaluate(parts[0].expr, parts[0].env, depth)
        inside = self.entered(expr, env, depth)
        returned = self.returns(inside) if inside else []
        if len(returned) == 1 and not returned[0].conditions:
            return self.evaluate(returned[0].expr, returned[0].env, depth)
        return UNKNOWN
