"""Recorded calls and their stacks: which calls lead to a target, which targets a place leads to, and what names stood
for in each activation on a stack."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from buildfix.activations import Env, Part
from buildfix.buildfile import BuildFileError
from buildfix.engine import Call, Facts, Frame
from buildfix.literals import Holder
from buildfix.scopes import Scopes


class Stacks:
    """The recorded calls of a run."""

    def __init__(self, facts: Facts, scopes: Scopes) -> None:
        self._calls = {(call.mode, call.package, call.id): call for call in facts.calls}
        self._facts = facts
        self._scopes = scopes
        self._named_iterations: dict[tuple[object, ...], dict[str, dict[str, Part]]] = {}

    def chain(self, leaf: Call) -> tuple[Call, ...]:
        """The recorded calls of a target from the one that people wrote to the rule's own.

        The written one is the outermost of the target's name; where no macro call has that name, the outermost.
        """
        calls = [leaf]
        while calls[-1].parent:
            calls.append(self._calls[(leaf.mode, leaf.package, calls[-1].parent)])
        named = [index for index, call in enumerate(calls) if call.name == leaf.name]
        last = named[-1] or len(calls) - 1
        return tuple(reversed(calls[: last + 1]))

    def outermost(self, leaf: Call) -> Call:
        """The outermost recorded call on the way to a target's own: all that it makes belongs together."""
        while leaf.parent:
            leaf = self._calls[(leaf.mode, leaf.package, leaf.parent)]
        return leaf

    def parts(self, call: Call, attribute: str) -> tuple[list[Part], Env]:
        """What a recorded call passes for an attribute, and the activation in which it is written."""
        env = self.env(call)
        if env is None or env.call is None:
            frame = call.stack[-1] if call.stack else Frame("", 0, 0, "")
            raise BuildFileError(frame.file, frame.line, "no call is written here")
        return self._scopes.argument(env.call, attribute, env, self.callee(call)), env

    def callee(self, call: Call) -> Any:
        """The definition of the function that a call called, if it is one."""
        if call.how != "function" or call.defined is None:
            return None
        try:
            file = self._scopes.file(call.defined[0])
        except BuildFileError:
            return None
        return file.definition_at(call.defined[1])

    # Activations

    def env(self, call: Call) -> Env | None:
        """The activation in which a recorded call was made. Raises BuildFileError if a file cannot be parsed."""
        return self._entered(call, 0, None)

    def _entered(self, call: Call, index: int, caller: tuple[Env, ast.Call] | None) -> Env | None:
        frame = call.stack[index]
        file = self._scopes.file(frame.file)
        offset = file.position(frame.line, frame.col)
        node = file.call_at(frame.line, frame.col)
        if offset is None or node is None:
            return None
        function = file.function_at(offset)
        env = Env(file, function, offset, caller if function is not None else None, node, live=True)
        last = index + 1 == len(call.stack)
        if any(_loops(env)):
            name = self._name_at(call, index)
            if name is not None:
                env = env.looping(self._iteration(call, index, env, node, name))
            elif not last:
                for loops in self._iterations(env):
                    inner = self._entered(call, index + 1, (env.looping(loops), node))
                    if inner is not None and inner.call is not None and call.name in self._names(inner, inner.call):
                        return inner
        return env if last else self._entered(call, index + 1, (env, node))

    def _iteration(self, call: Call, index: int, env: Env, node: ast.Call, name: str) -> dict[str, Part]:
        """What the loop variables stood for when the recorded call at a depth of the stack bound `name`."""
        # Calls with the same stack, made in the same iterations of the loops on it, share the answer.
        around: list[object] = []
        outer = env.caller
        for depth in reversed(range(index)):
            if outer is not None and outer[0].loops:
                around.append(self._name_at(call, depth) or call.id)
            outer = outer[0].caller if outer is not None else None
        key = (call.mode, call.package, call.stack[: index + 1], *around)
        if key not in self._named_iterations:
            table: dict[str, dict[str, Part]] = {}
            for loops in self._iterations(env):
                for one in self._names(env.looping(loops), node):
                    table.setdefault(one, loops)
            self._named_iterations[key] = table
        return self._named_iterations[key].get(name, {})

    def _name_at(self, call: Call, index: int) -> str | None:
        """The name that the recorded call at a depth of the stack bound, if one is recorded there."""
        one: Call | None = call
        while one is not None:
            if len(one.stack) == index + 1:
                return one.name
            one = self._calls.get((call.mode, call.package, one.parent))
        return None

    def _names(self, env: Env, node: ast.Call) -> list[str]:
        """What a call passes as `name`, where that can be told."""
        callee = self._scopes.function(node.func, env)
        function = callee.expr if callee and isinstance(callee.expr, ast.FunctionDef | ast.Lambda) else None
        found = [self._scopes.evaluate(p.expr, p.env) for p in self._scopes.argument(node, "name", env, function)]
        return [name for name in found if isinstance(name, str)]

    def _iterations(self, env: Env) -> Iterator[dict[str, Part]]:
        """What the variables of the loops around an activation's position may stand for, iteration by iteration."""
        return self._iterate(env, list(_loops(env)))

    def _iterate(self, env: Env, loops: list[tuple[ast.expr, ast.expr]]) -> Iterator[dict[str, Part]]:
        target, iterated = loops[0]
        for item in self._scopes.items(iterated, env) or []:
            found = self._scopes.unpack(target, item)
            if len(loops) == 1:
                yield found
            else:
                for inner in self._iterate(env.looping(found), loops[1:]):
                    yield {**found, **inner}

    # From places to targets

    def through(self, holder: Holder) -> list[Call]:
        """The rules' own calls whose stack goes through a holder, or, for a file, whose package loads it."""
        if holder.kind == "call":
            return self._by_position.get((holder.file, holder.line, holder.col), [])
        found: dict[int, Call] = {}
        for (line, _), leaves in self._by_file.get(holder.file, {}).items():
            if holder.kind == "file" or holder.line <= line <= holder.col:
                found |= {id(leaf): leaf for leaf in leaves}
        if holder.kind == "file":
            for package in self._packages_loading(holder.file):
                found |= {id(leaf): leaf for leaf in self._by_package.get(package, ())}
        return list(found.values())

    @cached_property
    def _leaves(self) -> list[Call]:
        return [call for call in self._calls.values() if call.how != "function" and call.name]

    @cached_property
    def _by_position(self) -> dict[tuple[str, int, int], list[Call]]:
        found: dict[tuple[str, int, int], list[Call]] = {}
        for leaf in self._leaves:
            for place in {(frame.file, frame.line, frame.col) for frame in leaf.stack}:
                found.setdefault(place, []).append(leaf)
        return found

    @cached_property
    def _by_file(self) -> dict[str, dict[tuple[int, int], list[Call]]]:
        found: dict[str, dict[tuple[int, int], list[Call]]] = {}
        for (file, line, col), leaves in self._by_position.items():
            found.setdefault(file, {})[(line, col)] = leaves
        return found

    @cached_property
    def _by_package(self) -> dict[str, list[Call]]:
        found: dict[str, list[Call]] = {}
        for leaf in self._leaves:
            found.setdefault(leaf.package, []).append(leaf)
        return found

    @cached_property
    def _loaders(self) -> dict[str, set[str]]:
        """For each file, the files that load it themselves."""
        found: dict[str, set[str]] = {}
        for package in self._facts.packages:
            for load in package.loads:
                found.setdefault(load.path, set()).add(package.file)
        for file in self._facts.files:
            for load in file.loads:
                found.setdefault(load.path, set()).add(file.path)
        return found

    def _packages_loading(self, path: str) -> set[str]:
        """The packages whose build file loads a file, be it through others."""
        files = {path}
        waiting = [path]
        while waiting:
            new = self._loaders.get(waiting.pop(), set()) - files
            files |= new
            waiting += new
        return {package for file in files for package in self._folders.get(file, ())}

    @cached_property
    def _folders(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for package in self._facts.packages:
            found.setdefault(package.file, set()).add(package.path)
        return found


def _loops(env: Env) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The (target, iterable) of the loops of an activation's function around its position, from the outside in."""
    found: list[tuple[ast.expr, ast.expr]] = []
    node: ast.AST = env.call if env.call is not None else env.file.tree
    while node in env.file.parents and node is not env.function:
        parent = env.file.parents[node]
        if isinstance(parent, ast.For) and node in parent.body:
            found.append((parent.target, parent.iter))
        if isinstance(parent, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
            found += [(g.target, g.iter) for g in reversed(parent.generators)]
        node = parent
    return reversed(found)
