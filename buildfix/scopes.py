"""What a name in a build file stands for, seen from one point of an actual evaluation.

The engine's call stacks say which function runs on behalf of which call. `Env` is one such activation; from it a
parameter leads to the argument of the caller, a variable to its assignments, a loaded symbol to the file that defines
it. Nothing is executed here: `Scopes` finds the expressions that a name stands for, and evaluate.py the values of those
that are constant.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from buildfix.activations import Env, Part
from buildfix.bindings import Binding, bindings_of, default_of, parameters, position_of, statements
from buildfix.buildfile import BuildFile, BuildFileError, Function
from buildfix.evaluate import Evaluator

_RULES = ("@rules_", "@prelude//")
"""Whence rules are loaded whose attributes of labels may all be left out."""


class Scopes(Evaluator):
    """All files of a run, parsed when first asked for."""

    def __init__(self, read: Callable[[str], bytes | None], loads: Mapping[tuple[str, str], str]) -> None:
        """`loads` maps (file, module as written) to the path of the file that the load found."""
        super().__init__()
        self._read = read
        self._loads = loads
        self._asked: set[tuple[ast.Call, str]] = set()
        self._files: dict[str, BuildFile | BuildFileError] = {}
        self._data: dict[str, bytes | None] = {}
        self._bindings: dict[tuple[str, Function | None], dict[str, list[Binding]]] = {}

    def file(self, path: str) -> BuildFile:
        """A parsed file; raises BuildFileError if it cannot be read or parsed."""
        if path not in self._files:
            data = self.data(path)
            try:
                if data is None:
                    raise BuildFileError(path, 0, "cannot be read")
                self._files[path] = BuildFile.parse(path, data)
            except BuildFileError as error:
                self._files[path] = error
        found = self._files[path]
        if isinstance(found, BuildFileError):
            raise found
        return found

    def data(self, path: str) -> bytes | None:
        """A file's bytes; None if it cannot be read."""
        if path not in self._data:
            self._data[path] = self._read(path)
        return self._data[path]

    def restart(self) -> None:
        """Allow a new question its full number of steps."""
        super().restart()
        self._asked.clear()

    def asked(self, name: str) -> frozenset[ast.Call]:
        """The calls of which the last question had to know what they pass for `name`: a new argument would matter."""
        return frozenset(call for call, asked in self._asked if asked == name)

    # Calls and their arguments

    def argument(self, call: ast.Call, name: str, env: Env, function: Function | None = None) -> list[Part]:
        """What a call passes for the parameter or attribute `name`; [] if it passes nothing.

        `function` is the callee, if known; positional arguments need it.
        """
        self._asked.add((call, name))
        for keyword in call.keywords:
            if keyword.arg == name:
                return [Part(keyword.value, env)]
        index = position_of(function, name)
        if index is not None and index < len(call.args) and not any(_starred(a) for a in call.args[: index + 1]):
            return [Part(call.args[index], env)]
        for keyword in reversed(call.keywords):
            if keyword.arg is None:
                found = self.lookup(keyword.value, name, env)
                if found:
                    return found
        return []

    def function(self, expr: ast.expr, env: Env, depth: int = 0) -> Part | None:
        """The function that an expression stands for: a Part whose `expr` is its definition."""
        found = [p for p in self.parts(expr, env, depth + 1) if isinstance(p.expr, ast.FunctionDef | ast.Lambda)]
        return found[0] if len(found) == 1 else None

    def is_native(self, func: ast.expr, env: Env) -> bool:
        """Whether a callee is a rule of the build system, or of one of the well-known sets of rules."""
        while isinstance(func, ast.Attribute):
            func = func.value
        if not isinstance(func, ast.Name):
            return False
        bound = self.bindings(env.file, env.function).get(func.id, []) or self.bindings(env.file, None).get(func.id, [])
        return all(
            isinstance(b.node, ast.Call) and str(getattr(b.node.args[0], "value", "")).startswith(_RULES) for b in bound
        )

    def entered(self, call: ast.Call, env: Env, depth: int = 0) -> Env | None:
        """The activation of the function that a call calls, as of its end; None if that is not known."""
        callee = self.function(call.func, env, depth)
        if callee is None:
            return None
        assert isinstance(callee.expr, ast.FunctionDef | ast.Lambda)
        return Env(callee.env.file, callee.expr, callee.env.file.end(callee.expr), (env, call))

    def returns(self, env: Env) -> list[Part]:
        """What the function of an activation returns."""
        function = env.function
        if isinstance(function, ast.Lambda):
            return [Part(function.body, env)]
        if function is None:
            return []
        found = []
        for guards, statement in statements(function.body, ()):
            if isinstance(statement, ast.Return) and statement.value is not None:
                conditions = tuple(_condition(env.file, guard, taken) for guard, taken in guards)
                found.append(Part(statement.value, env.at(env.file.start(statement)), conditions))
        return found

    # Names

    def parts(self, expr: ast.expr, env: Env, depth: int = 0) -> list[Part]:
        """Follow names, subscripts, fields and `.get` to the expressions that make up a value.

        What cannot be followed comes back as it is.
        """
        if self.exhausted(depth):
            return [Part(expr, env)]
        found: list[Part] = []
        match expr:
            case ast.Name(id=name):
                found = self._name(name, None, env, depth)
            case ast.Subscript(value=value, slice=index) if not isinstance(index, ast.Slice):
                key = self.evaluate(index, env, depth + 1)
                if isinstance(key, str):
                    found = self.lookup(value, key, env, depth + 1)
                elif isinstance(key, int):
                    found = self._indexed(value, key, env, depth + 1)
            case ast.Call(func=ast.Attribute(value=value, attr="get" | "pop" | "setdefault"), args=[first, *rest]):
                key = self.evaluate(first, env, depth + 1)
                if isinstance(key, str):
                    found = self.lookup(value, key, env, depth + 1)
                    if not found or any(p.conditions for p in found):
                        found = found + [Part(r, env, default=True) for r in rest[:1]]
            case ast.Attribute(value=value, attr=name):
                for part in self.parts(value, env, depth + 1):
                    if isinstance(part.expr, ast.Call) and _callee(part.expr) in ("struct", "record"):
                        found += self.argument(part.expr, name, part.env)
        if not found:
            return [Part(expr, env)]
        return [followed for part in found for followed in self._followed(part, depth)]

    def _followed(self, part: Part, depth: int) -> list[Part]:
        if part.item or not isinstance(part.expr, ast.Name | ast.Subscript | ast.Attribute | ast.Call):
            return [part]
        return [
            p._replace(conditions=part.conditions + p.conditions, default=part.default or p.default)
            for p in self.parts(part.expr, part.env, depth + 1)
        ]

    def lookup(self, expr: ast.expr, key: str, env: Env, depth: int = 0) -> list[Part]:
        """What a dict-like expression holds under a key; [] if it holds nothing there, or that is not known."""
        if self.exhausted(depth):
            return []
        match expr:
            case ast.Name(id=name):
                return self._name(name, key, env, depth)
            case ast.Dict(keys=keys, values=items):
                for k, item in reversed(list(zip(keys, items, strict=True))):
                    found = self.lookup(item, key, env, depth + 1) if k is None else []
                    if k is not None and self.evaluate(k, env, depth + 1) == key:
                        found = [Part(item, env)]
                    if found:
                        return found
                return []
            case ast.BinOp(left=left, op=ast.BitOr() | ast.Add(), right=right):
                return self.lookup(right, key, env, depth + 1) or self.lookup(left, key, env, depth + 1)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return [
                    part._replace(conditions=(condition, *part.conditions))
                    for branch, condition in _branches(env.file, test, body, orelse)
                    for part in self.lookup(branch, key, env, depth + 1)
                ]
            case ast.Call(args=args) if _callee(expr) in ("dict", "struct"):
                found = self.argument(expr, key, env)
                return found or (self.lookup(args[0], key, env, depth + 1) if args else [])
            case ast.Call():
                inside = self.entered(expr, env, depth + 1)
                returned = self.returns(inside) if inside else []
                return [
                    found._replace(conditions=part.conditions + found.conditions)
                    for part in returned
                    if isinstance(part.expr, ast.expr)
                    for found in self.lookup(part.expr, key, part.env, depth + 1)
                ]
            case ast.Subscript() | ast.Attribute():
                return [
                    found._replace(conditions=part.conditions + found.conditions)
                    for part in self.parts(expr, env, depth + 1)
                    if isinstance(part.expr, ast.expr) and part.expr is not expr
                    for found in self.lookup(part.expr, key, part.env, depth + 1)
                ]
        return []

    def _indexed(self, expr: ast.expr, index: int, env: Env, depth: int) -> list[Part]:
        found = []
        for part in self.parts(expr, env, depth + 1):
            if isinstance(part.expr, ast.List | ast.Tuple) and -len(part.expr.elts) <= index < len(part.expr.elts):
                found.append(part._replace(expr=part.expr.elts[index]))
        return found

    def _name(self, name: str, key: str | None, env: Env, depth: int) -> list[Part]:
        """The parts of a variable (or of one key of the dict that it holds) as of the env's offset."""
        function = env.function
        while True:
            bindings = self.bindings(env.file, function).get(name, [])
            is_parameter = function is not None and name in parameters(function)
            binds = any(binding.how != "passed" for binding in bindings)
            if name in env.loops or binds or is_parameter or function is None:
                break
            function = _enclosing(env.file, function)
            env = self._outer(env, function)
        parts = self._parameter(name, key, env, depth) if is_parameter else []
        if name in env.loops and not any(b.how == "for" for b in bindings):
            parts = self._keyed(env.loops[name], key, depth)
        for binding in bindings:
            inside = self._guards(binding, env)
            if binding.start >= env.offset or inside is None or binding.key not in (None, key):
                continue
            if binding.how == "passed":
                changed = self._passed(binding, name, key, env.at(binding.start), depth)
                known = {part.expr for part in parts} if inside else set()
                more = [p._replace(conditions=inside + p.conditions) for p in changed if p.expr not in known]
                parts = [*parts, *more] if inside or not changed else changed
                continue
            found = [p._replace(conditions=inside + p.conditions) for p in self._bound(binding, name, key, env, depth)]
            replaces = binding.how not in ("extend", "append", "update") and not inside
            parts = found if replaces else parts + found
        return parts

    def _passed(self, binding: Binding, name: str, key: str | None, env: Env, depth: int) -> list[Part]:
        """What a variable that was passed to a function is afterwards; [] if the function does not change it."""
        call = binding.node
        assert isinstance(call, ast.Call)
        callee = self.function(call.func, env, depth + 1)
        if callee is None or not isinstance(callee.expr, ast.FunctionDef):
            return []
        names = parameters(callee.expr)
        given = dict(zip(names, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg in names}
        for parameter, argument in given.items():
            if parameter is None or not isinstance(argument, ast.Name) or argument.id != name:
                continue
            inner = self.bindings(callee.env.file, callee.expr).get(parameter, [])
            rebound = any(b.how in ("set", "for") and b.key is None for b in inner)
            if not rebound and any(b.key in (None, key) and (key is None or b.key or b.how == "update") for b in inner):
                inside = Env(callee.env.file, callee.expr, callee.env.file.end(callee.expr), (env, call))
                return self._name(parameter, key, inside, depth + 1)
        return []

    def _outer(self, env: Env, function: Function | None) -> Env:
        """The activation around a function: the one on the stack if it is there, else one of unknown arguments."""
        if function is not None:
            active: Env | None = env
            while active is not None:
                if active.function is function:
                    return active
                active = active.caller[0] if active.caller else None
        return Env(env.file, function, len(env.file.data) + 1)

    def _parameter(self, name: str, key: str | None, env: Env, depth: int) -> list[Part]:
        assert env.function is not None
        arguments = env.function.args
        if env.caller is None:
            return []
        caller, call = env.caller
        if arguments.kwarg and arguments.kwarg.arg == name:
            if key is None or key in parameters(env.function):
                return []
            return self.argument(call, key, caller)
        found = self.argument(call, name, caller, env.function)
        if not found:
            default = default_of(env.function, name)
            module = Env(env.file, None, len(env.file.data) + 1)
            found = [Part(default, module, default=True)] if default is not None else []
        return [p for part in found for p in self._keyed(part, key, depth)]

    def _keyed(self, part: Part, key: str | None, depth: int) -> list[Part]:
        if key is None or not isinstance(part.expr, ast.expr):
            return [part]
        return [
            p._replace(conditions=part.conditions + p.conditions)
            for p in self.lookup(part.expr, key, part.env, depth + 1)
        ]

    def _guards(self, binding: Binding, env: Env) -> tuple[str, ...] | None:
        """The conditions that a binding stands under and the env's offset does not; None if the two exclude one
        another."""
        found = []
        for guard, taken in binding.guards:
            if isinstance(guard, ast.For):
                continue
            start, end = env.file.span(guard)
            if not start <= env.offset < end:
                found.append(_condition(env.file, guard, taken))
                continue
            body = guard.body if taken else guard.orelse
            if not env.file.start(body[0]) <= env.offset < env.file.end(body[-1]):
                return None
        return tuple(found)

    def _bound(self, binding: Binding, name: str, key: str | None, env: Env, depth: int) -> list[Part]:
        node, here = binding.node, env.at(binding.start)
        match binding.how:
            case "def":
                return [Part(node, here)]
            case "load":
                return self._loaded(node, name, key, here, depth)
            case "for":
                part = env.loops.get(name)
                return self._keyed(part, key, depth) if part else []
            case "append":
                return [Part(node, here, item=True)] if binding.key == key else []
        assert isinstance(node, ast.expr)
        part = Part(node, here)
        for index in binding.path:
            found = self._indexed(part.expr, index, part.env, depth + 1) if isinstance(part.expr, ast.expr) else []
            if len(found) != 1:
                return []
            part = found[0]
        return [part] if binding.key is not None and binding.key == key else self._keyed(part, key, depth)

    def _loaded(self, node: ast.AST, name: str, key: str | None, env: Env, depth: int) -> list[Part]:
        assert isinstance(node, ast.Call)
        module = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else ""
        path = self._loads.get((env.file.path, str(module)))
        renamed = {k.arg: k.value.value for k in node.keywords if isinstance(k.value, ast.Constant)}
        original = renamed.get(name, name)
        try:
            file = self.file(path) if path else None
        except BuildFileError:
            return []
        return self._name(str(original), key, Env(file, None, len(file.data) + 1), depth + 1) if file else []

    def bindings(self, file: BuildFile, function: Function | None) -> dict[str, list[Binding]]:
        """What the statements of a scope bind, by name, in order."""
        where = (file.path, function)
        if where not in self._bindings:
            found: dict[str, list[Binding]] = {}
            body = file.tree.body if function is None else []
            if isinstance(function, ast.FunctionDef):
                body = function.body
            for guards, statement in statements(body, ()):
                for name, binding in bindings_of(file, statement, guards):
                    found.setdefault(name, []).append(binding)
            self._bindings[where] = found
        return self._bindings[where]

    # Loops

    def items(self, expr: ast.expr, env: Env, depth: int = 0) -> list[Part] | None:
        """The items that a loop over an expression runs through, in order; None if they are not known."""
        if self.exhausted(depth):
            return None
        match expr:
            case ast.List(elts=elts) | ast.Tuple(elts=elts) | ast.Set(elts=elts):
                found = []
                for element in elts:
                    inner = self.items(element.value, env, depth + 1) if isinstance(element, ast.Starred) else None
                    found += [Part(element, env)] if inner is None else inner
                return found
            case ast.Dict(keys=keys):
                return [Part(key, env) for key in keys if key is not None] if None not in keys else None
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                first, second = self.items(left, env, depth + 1), self.items(right, env, depth + 1)
                return None if first is None or second is None else first + second
            case ast.Call(func=ast.Attribute(value=value, attr="items" | "keys" | "values" as which), args=[]):
                return self._dict_items(value, which, env, depth + 1)
            case ast.Call(func=ast.Name(id="sorted" | "list" | "tuple" | "reversed" | "set"), args=[inner_expr]):
                return self.items(inner_expr, env, depth + 1)
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner_expr]):
                inner = self.items(inner_expr, env, depth + 1)
                return None if inner is None else [_pair(ast.Constant(i), p) for i, p in enumerate(inner)]
        parts = self.parts(expr, env, depth + 1)
        if any(part.expr is not expr for part in parts):
            lists = [[p] if p.item else self._part_items(p, depth) for p in parts]
            return None if any(one is None for one in lists) else [item for one in lists if one for item in one]
        value = self.evaluate(expr, env, depth + 1)
        if isinstance(value, list | tuple | dict | range):
            return [Part(_constant(item), env) for item in value]
        return None

    def _part_items(self, part: Part, depth: int) -> list[Part] | None:
        return self.items(part.expr, part.env, depth + 1) if isinstance(part.expr, ast.expr) else None

    def _dict_items(self, expr: ast.expr, which: str, env: Env, depth: int) -> list[Part] | None:
        parts = self.parts(expr, env, depth + 1)
        found = []
        for part in parts:
            if not isinstance(part.expr, ast.Dict) or None in part.expr.keys:
                return None
            for key, value in zip(part.expr.keys, part.expr.values, strict=True):
                assert key is not None
                pair = ast.Tuple([key, value], ast.Load())
                found.append(Part({"items": pair, "keys": key, "values": value}[which], part.env))
        return found

    def unpack(self, target: ast.expr, item: Part) -> dict[str, Part]:
        """What the names of a loop's target stand for in the iteration of an item."""
        if isinstance(target, ast.Name):
            return {target.id: item}
        if isinstance(target, ast.Tuple | ast.List) and isinstance(item.expr, ast.expr):
            parts = self.parts(item.expr, item.env)
            if len(parts) == 1 and isinstance(parts[0].expr, ast.Tuple | ast.List):
                elements = parts[0].expr.elts
                if len(elements) == len(target.elts):
                    found: dict[str, Part] = {}
                    for name, element in zip(target.elts, elements, strict=True):
                        found |= self.unpack(name, parts[0]._replace(expr=element))
                    return found
        return {}


def _enclosing(file: BuildFile, node: ast.AST) -> Function | None:
    while node in file.parents:
        node = file.parents[node]
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            return node
    return None


def _callee(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _starred(node: ast.expr) -> bool:
    return isinstance(node, ast.Starred)


def _condition(file: BuildFile, guard: ast.If | ast.For, taken: bool) -> str:
    if isinstance(guard, ast.For):
        return f"for {file.source(guard.target)} in {file.source(guard.iter)}"
    return file.source(guard.test) if taken else f"not ({file.source(guard.test)})"


def _branches(
    file: BuildFile, test: ast.expr, body: ast.expr, orelse: ast.expr
) -> tuple[tuple[ast.expr, str], tuple[ast.expr, str]]:
    text = file.source(test)
    return (body, text), (orelse, f"not ({text})")


def _pair(first: ast.expr, second: Part) -> Part:
    assert isinstance(second.expr, ast.expr)
    return second._replace(expr=ast.Tuple([first, second.expr], ast.Load()))


def _constant(value: Any) -> ast.expr:
    if isinstance(value, list | tuple):
        return ast.Tuple([_constant(item) for item in value], ast.Load())
    if isinstance(value, dict):
        return ast.Dict([_constant(k) for k in value], [_constant(v) for v in value.values()])
    return ast.Constant(value)
