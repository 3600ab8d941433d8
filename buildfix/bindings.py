"""What the statements of a scope bind, and under which conditions they run: syntax alone, nothing is followed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from buildfix.buildfile import BuildFile, Function

Guards = tuple[tuple[ast.If | ast.For, bool], ...]


class Binding(NamedTuple):
    """A statement that binds or changes a name. `key` is set where it changes one key of the dict of that name.

    `how`: set, extend, append, for, unpack, def, load, update; passed: to a function that may change it.
    """

    how: str
    start: int
    guards: Guards
    node: ast.AST
    key: str | None = None
    path: tuple[int, ...] = ()


def parameters(function: Function) -> tuple[str, ...]:
    """The names of a function's parameters; `*args` and `**kwargs` come last."""
    arguments = function.args
    extra = [extra.arg for extra in (arguments.vararg, arguments.kwarg) if extra]
    return (*(a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)), *extra)


def accepts(function: Function, name: str) -> bool:
    """Whether a function can be called with `name = ...`."""
    arguments = function.args
    named = (*arguments.args, *arguments.kwonlyargs)
    return arguments.kwarg is not None or any(argument.arg == name for argument in named)


def named(function: Function, name: str) -> bool:
    """Whether a function has a parameter of that name."""
    arguments = function.args
    return any(a.arg == name for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))


def position_of(function: Function | None, name: str) -> int | None:
    if function is None:
        return None
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    return names.index(name) if name in names else None


def default_of(function: Function, name: str) -> ast.expr | None:
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    with_default = positional[len(positional) - len(arguments.defaults) :]
    pairs: list[tuple[ast.arg, ast.expr | None]] = [
        *zip(with_default, arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    return next((default for argument, default in pairs if argument.arg == name), None)


def statements(body: Sequence[ast.stmt], guards: Guards) -> Iterator[tuple[Guards, ast.stmt]]:
    """The statements of a scope with what they stand under; nested functions are not entered."""
    for statement in body:
        yield guards, statement
        if isinstance(statement, ast.If | ast.For):
            yield from statements(statement.body, (*guards, (statement, True)))
            yield from statements(statement.orelse, (*guards, (statement, False)))


def bindings_of(file: BuildFile, statement: ast.stmt, guards: Guards) -> Iterator[tuple[str, Binding]]:
    start = file.start(statement)
    match statement:
        case ast.FunctionDef(name=name):
            yield name, Binding("def", start, guards, statement)
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _targets(target, value, start, guards)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield from _targets(target, value, start, guards)
        case ast.AugAssign(target=ast.Name(id=name), value=value):
            yield name, Binding("extend" if isinstance(statement.op, ast.Add) else "update", start, guards, value)
        case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key)))):
            yield name, Binding("extend", start, guards, statement.value, key)
        case ast.For(target=target, iter=iterated):
            for name in (n.id for n in ast.walk(target) if isinstance(n, ast.Name)):
                yield name, Binding("for", start, guards, iterated)
        case ast.Expr(value=ast.Call(func=ast.Name(id="load")) as call):
            for argument in call.args[1:]:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.value, Binding("load", start, guards, call)
            for keyword in call.keywords:
                if keyword.arg:
                    yield keyword.arg, Binding("load", start, guards, call)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=method), args=args, keywords=keywords)):
            yield from _mutation(owner, method, args, keywords, start, guards)
        case ast.Expr(value=ast.Call() as call):
            # The function may change what is passed to it. That shows once the statement is over.
            for argument in (*call.args, *(k.value for k in call.keywords if k.arg)):
                if isinstance(argument, ast.Name):
                    yield argument.id, Binding("passed", file.end(statement), guards, call)


def _targets(target: ast.expr, value: ast.expr, start: int, guards: Guards) -> Iterator[tuple[str, Binding]]:
    match target:
        case ast.Name(id=name):
            yield name, Binding("set", start, guards, value)
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))):
            yield name, Binding("set", start, guards, value, key)
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            for index, element in enumerate(elts):
                for name, binding in _targets(element, value, start, guards):
                    if binding.key is None:
                        yield name, binding._replace(path=(index, *binding.path))


def _mutation(
    owner: ast.expr, method: str, args: list[ast.expr], keywords: list[ast.keyword], start: int, guards: Guards
) -> Iterator[tuple[str, Binding]]:
    """`x.append(e)`, `x["k"].extend(l)`, `x.update(k = v)`, `x.setdefault("k", v)`."""
    key: str | None = None
    match owner:
        case ast.Name(id=name):
            pass
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))):
            pass
        case _:
            return
    match method, args:
        case "append", [element]:
            yield name, Binding("append", start, guards, element, key)
        case "insert", [_, element]:
            yield name, Binding("append", start, guards, element, key)
        case "extend", [more]:
            yield name, Binding("extend", start, guards, more, key)
        case "setdefault", [ast.Constant(value=str(inner)), default] if key is None:
            yield name, Binding("update", start, guards, default, inner)
        case "update", _ if key is None:
            for argument in args:
                if isinstance(argument, ast.Dict):
                    for k, v in zip(argument.keys, argument.values, strict=True):
                        if isinstance(k, ast.Constant) and isinstance(k.value, str):
                            yield name, Binding("set", start, guards, v, k.value)
                else:
                    yield name, Binding("update", start, guards, argument)
            for keyword in keywords:
                if keyword.arg:
                    yield name, Binding("set", start, guards, keyword.value, keyword.arg)
