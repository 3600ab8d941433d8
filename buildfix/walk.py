"""From the expression of an attribute to the literals that feed it.

The walk goes through `+`, conditionals, select branches, comprehensions, helper functions and, with scopes.py, through
names and parameters. It never drops what it cannot follow: that becomes a Gap, with the place.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from buildfix.activations import Env, Part
from buildfix.bindings import default_of, named, parameters
from buildfix.buildfile import Span, is_none
from buildfix.constants import UNKNOWN
from buildfix.literals import Affix, Element, Gap, Holder, Sequence
from buildfix.scopes import Scopes


@dataclass(frozen=True, slots=True)
class _Way:
    """How the walk came to where it is. `text` turns an entry into the label that it stands for; `rewritten` if that
    is not simply the entry, `opaque` if what it is made into is not known; `steps` counts helper functions entered."""

    text: Callable[[Part], object]
    conditions: tuple[str, ...] = ()
    rewritten: bool = False
    opaque: bool = False
    default: bool = False
    steps: int = 0

    def under(self, conditions: tuple[str, ...]) -> _Way:
        return replace(self, conditions=self.conditions + conditions) if conditions else self


@dataclass(slots=True)
class Walk:
    """One walk; what it found is in its lists, in the order of the source. `forms` names what it went through."""

    scopes: Scopes
    target: tuple[str, str]
    attribute: str
    elements: list[Element] = field(default_factory=list)
    sequences: list[Sequence] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    forms: dict[str, None] = field(default_factory=dict)

    def run(self, parts: list[Part]) -> None:
        """Walk the parts of an attribute's value."""
        way = _Way(lambda part: self.scopes.evaluate(part.expr, part.env))
        for part in parts:
            self._part(part, way)

    def _part(self, part: Part, way: _Way) -> None:
        way = way.under(part.conditions)
        if part.default:
            self.forms["default"] = None
            way = replace(way, default=True)
        if part.item:
            self.forms["append"] = None
            looped = _in_loop(part)
            statement = None if looped else part.env.file.start(part.env.file.statement(part.expr))
            self._element(part, None, way, "a statement in a loop adds it" if looped else "", statement)
        elif isinstance(part.expr, ast.expr):
            self._walk(part.expr, part.env, way)
        else:
            self._gap(part.expr, part.env, "a function is no list")

    def _walk(self, expr: ast.expr, env: Env, way: _Way) -> None:
        if way.steps > 20:
            self._gap(expr, env, "it is nested too deeply")
            return
        match expr:
            case ast.List() | ast.Tuple() | ast.Set():
                self._list(expr, env, way)
            case ast.Constant(value=None | ""):
                pass
            case ast.Constant():
                self.forms["literal"] = None
                self._element(Part(expr, env), None, way, "it is no entry of a list")
            case ast.BinOp(left=left, op=ast.Add() | ast.BitOr(), right=right):
                self._walk(left, env, way)
                self._walk(right, env, way)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.forms["conditional"] = None
                condition = env.file.source(test)
                self._walk(body, env, way.under((condition,)))
                self._walk(orelse, env, way.under((f"not ({condition})",)))
            case ast.BoolOp(values=[first, *others]):
                self._walk(first, env, way)
                for other in others:
                    self._walk(other, env, way.under((f"not ({env.file.source(first)})",)))
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
                self._comprehension(expr, env, way)
            case ast.Dict(values=values):
                self.forms["dict"] = None
                for key, value in zip(expr.keys, values, strict=True):
                    self._walk(value, env, way.under((env.file.source(key),) if key else ()))
            case ast.Call():
                self._call(expr, env, way)
            case ast.Subscript(value=value, slice=ast.Slice()):
                self._transformed(value, env, way)
            case ast.Name() | ast.Subscript() | ast.Attribute():
                self._named(expr, env, way)
            case ast.Starred(value=value):
                self._walk(value, env, way)
            case _:
                self._gap(expr, env, "it is computed")

    def _list(self, expr: ast.List | ast.Tuple | ast.Set, env: Env, way: _Way) -> None:
        self.forms["literal"] = None
        if not hasattr(expr, "lineno"):
            return
        before = len(self.elements)
        for element in expr.elts:
            if isinstance(element, ast.Starred):
                self._walk(element.value, env, way)
            elif isinstance(element, ast.Tuple | ast.List):
                condition = element.elts[0] if element.elts else None
                named = isinstance(condition, ast.Constant) and len(element.elts) > 1
                inner = way.under((str(condition.value),) if named and isinstance(condition, ast.Constant) else ())
                for nested in element.elts[1:] if named else element.elts:
                    self._walk(nested, env, inner)
            elif isinstance(element, ast.IfExp):
                self.forms["conditional"] = None
                condition_text = env.file.source(element.test)
                for branch, text in ((element.body, condition_text), (element.orelse, f"not ({condition_text})")):
                    self._element(Part(branch, env), None, way.under((text,)), "it is one side of a conditional entry")
            else:
                self._element(Part(element, env), expr, way, "")
        if isinstance(expr, ast.Set):
            return
        texts = tuple(e.text for e in self.elements[before:] if e.text and e.constant)
        span, file = env.file.span(expr), env.file
        affix = None if way.conditions else self._affix(expr, env, way)
        self.sequences.append(
            Sequence(
                self.attribute,
                file.path,
                expr.lineno,
                span,
                affix,
                way.default,
                self._holder(span, env),
                _depth(env),
                texts,
            )
        )

    def _affix(self, listed: ast.List | ast.Tuple, env: Env, way: _Way) -> Affix | None:
        """What the entries of a list get before and behind them on their way to the attribute."""
        if not way.rewritten:
            return "", ""
        if way.opaque:
            return None
        affix = _around(way.text(Part(ast.Constant(_PROBE), env)))
        for element in listed.elts:
            text, value = self.scopes.evaluate(element, env), way.text(Part(element, env))
            if affix is None or not isinstance(text, str) or value != affix[0] + text + affix[1]:
                return None
        return affix

    def _element(
        self, part: Part, sequence: ast.expr | None, way: _Way, problem: str, statement: int | None = None
    ) -> None:
        expr, env = part.expr, part.env
        if not hasattr(expr, "lineno"):
            self._gap(env.call or env.file.tree, env, "it is computed")
            return
        value = way.text(part)
        if isinstance(value, list | tuple):
            assert isinstance(expr, ast.expr)
            self._walk(expr, env, way)
            return
        file = env.file
        span = file.span(expr)
        line = file.line(span.start)
        assert isinstance(expr, ast.expr)
        self.elements.append(
            Element(
                self.target,
                self.attribute,
                file.path,
                line,
                span,
                value if isinstance(value, str) else None,
                way.conditions,
                file.span(sequence) if sequence is not None else None,
                statement,
                f"{file.path}:{line}: {problem}" if problem else "",
                file.element_comments(expr) if statement is None else file.statement_comments(expr),
                self._holder(span, env),
                _depth(env),
                isinstance(expr, ast.Constant) and not way.rewritten,
                sequence is not None and self._optional(sequence, env),
                _as_call(expr, env),
            )
        )

    def _optional(self, sequence: ast.expr, env: Env) -> bool:
        """Whether a list is an argument that its call can do without, as far as that can be told."""
        keyword = env.file.parents.get(sequence)
        call = env.file.parents.get(keyword) if isinstance(keyword, ast.keyword) else None
        if not isinstance(keyword, ast.keyword) or keyword.arg is None or not isinstance(call, ast.Call):
            return False
        callee = self.scopes.function(call.func, env)
        if callee is None:
            return self.scopes.is_native(call.func, env)
        assert isinstance(callee.expr, ast.FunctionDef | ast.Lambda)
        if not named(callee.expr, keyword.arg):
            return True
        default = default_of(callee.expr, keyword.arg)
        return default is not None and (is_none(default) or not getattr(default, "elts", True))

    def _comprehension(self, expr: ast.ListComp | ast.GeneratorExp | ast.SetComp, env: Env, way: _Way) -> None:
        self.forms["comprehension"] = None
        if len(expr.generators) > 1:
            self._gap(expr, env, "it is a comprehension over several lists")
            return
        generator = expr.generators[0]

        def text(part: Part) -> object:
            loops = self.scopes.unpack(generator.target, part)
            return self.scopes.evaluate(expr.elt, env.looping(loops)) if loops else UNKNOWN

        same = isinstance(generator.target, ast.Name) and ast.dump(expr.elt) == ast.dump(_load(generator.target))
        conditions = way.conditions + tuple(env.file.source(test) for test in generator.ifs)
        inner = replace(way, conditions=conditions, steps=way.steps + 1)
        if not same:
            inner = replace(inner, text=text, rewritten=True)
        if isinstance(generator.target, ast.Tuple):
            self._pairs(generator.iter, env, inner)
        else:
            self._walk(generator.iter, env, inner)

    def _pairs(self, iterated: ast.expr, env: Env, way: _Way) -> None:
        """A loop over (name, value) pairs: the entries are parts of pairs, and not for this attribute alone."""
        items = self.scopes.items(iterated, env)
        if items is None:
            self._gap(iterated, env, "it is computed")
            return
        for item in items:
            place = item if hasattr(item.expr, "lineno") else item._replace(expr=_first(item.expr))
            value = way.text(item)
            fixed = replace(way, text=partial(_always, value), rewritten=True)
            self._element(place, None, fixed, "it is computed from a table's entry")

    def _call(self, call: ast.Call, env: Env, way: _Way) -> None:
        name = env.file.source(call.func)
        if name.split(".")[-1] in ("select", "with_or", "select_with_or") and call.args:
            self.forms["select"] = None
            self._select(call.args[0], env, way)
            return
        if name in ("sorted", "list", "tuple", "set", "reversed", "depset") and call.args:
            self._walk(call.args[0], env, way)
            return
        if isinstance(call.func, ast.Attribute) and call.func.attr == "values" and not call.args:
            for part in self.scopes.parts(call.func.value, env):
                self._part(part, way)
            return
        parts = self.scopes.parts(call, env)
        if not (len(parts) == 1 and parts[0].expr is call):
            self.forms["variable"] = None
            for part in parts:
                self._part(part, way)
            return
        inside = self.scopes.entered(call, env)
        returned = self.scopes.returns(inside) if inside is not None else []
        self.forms["call"] = None
        if returned and inside is not None and inside.function is not None:
            lists = replace(way, steps=way.steps + 1)
            for part in returned:
                self._part(part, lists)
            return
        self._gap(call, env, f"{name}(...) computes it")
        for argument in (*call.args, *(k.value for k in call.keywords)):
            self._transformed(argument, env, way)

    def _select(self, table: ast.expr, env: Env, way: _Way) -> None:
        for part in self.scopes.parts(table, env):
            if not isinstance(part.expr, ast.Dict):
                self._gap(part.expr, part.env, "the table of a select is computed")
                continue
            for key, value in zip(part.expr.keys, part.expr.values, strict=True):
                text = self.scopes.evaluate(key, part.env) if key is not None else UNKNOWN
                condition = str(text) if isinstance(text, str) else part.env.file.source(key or value)
                self._walk(value, part.env, way.under((condition,)))

    def _transformed(self, expr: ast.expr, env: Env, way: _Way) -> None:
        """What goes through something unknown: its literals are named, but they may mean something else there."""
        if isinstance(expr, ast.Constant | ast.Lambda | ast.Dict):
            return
        unknown = replace(way, rewritten=True, opaque=True, steps=way.steps + 1)
        gaps = len(self.gaps)
        self._walk(expr, env, unknown)
        del self.gaps[gaps:]

    def _named(self, expr: ast.expr, env: Env, way: _Way) -> None:
        parts = self.scopes.parts(expr, env)
        if len(parts) == 1 and parts[0].expr is expr:
            if not self._empty(expr, env):
                self._gap(expr, env, f"{env.file.source(expr)} cannot be followed")
            return
        passed = isinstance(expr, ast.Name) and env.function is not None and expr.id in parameters(env.function)
        self.forms["parameter" if passed else "variable"] = None
        for part in parts:
            self._part(part, way)

    def _empty(self, expr: ast.expr, env: Env) -> bool:
        """Whether a name is a loop's variable or the like whose value is known not to be a list."""
        value = self.scopes.evaluate(expr, env)
        return value is None or value == "" or value == []

    def _gap(self, node: ast.AST, env: Env, words: str) -> None:
        line = getattr(node, "lineno", None) or env.file.line(min(env.offset, len(env.file.data)))
        gap = Gap(env.file.path, line, words)
        if gap not in self.gaps:
            self.gaps.append(gap)

    def _holder(self, span: Span, env: Env) -> Holder:
        file = env.file
        if env.live and env.call is not None and file.start(env.call) <= span.start < file.end(env.call):
            line, col = file.engine_position(file.opening(env.call))
            return Holder("call", file.path, line, col)
        if env.live and isinstance(env.function, ast.FunctionDef):
            start, end = file.span(env.function)
            if start <= span.start < end:
                return Holder("function", file.path, file.line(start), file.line(end - 1))
        return Holder("file", file.path)


def _depth(env: Env) -> int:
    depth = 0
    while env.caller is not None:
        env, depth = env.caller[0], depth + 1
    return depth


_PROBE = "\0"


def _around(value: object) -> Affix | None:
    """What stands around the probe in a text that was made from it."""
    if not isinstance(value, str) or value.count(_PROBE) != 1:
        return None
    before, _, behind = value.partition(_PROBE)
    return before, behind


def _as_call(expr: ast.expr, env: Env) -> tuple[str, str] | None:
    match expr:
        case ast.Call(func=func, args=[ast.Constant(value=str(text))], keywords=[]):
            return env.file.source(func), text
    return None


def _in_loop(part: Part) -> bool:
    """Whether a statement runs once for each item of something, within its function."""
    node, file = part.expr, part.env.file
    while node in file.parents and not isinstance(node, ast.FunctionDef):
        node = file.parents[node]
        if isinstance(node, ast.For):
            return True
    return False


def _always(value: object, _: Part) -> object:
    return value


def _load(target: ast.Name) -> ast.Name:
    return ast.Name(target.id, ast.Load())


def _first(expr: ast.AST) -> ast.AST:
    return next((node for node in ast.walk(expr) if hasattr(node, "lineno")), expr)
