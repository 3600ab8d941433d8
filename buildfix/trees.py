"""Ways through a syntax tree: from its root to a node, and the same way in a tree of like shape."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from buildfix.buildfile import BuildFile

Way = tuple[tuple[str, int], ...]


def way(file: BuildFile, node: ast.AST) -> Way:
    """The way from the root of a file's tree to a node: field names, with an index, or -1 where there is none."""
    steps: list[tuple[str, int]] = []
    while node is not file.tree:
        parent = file.parents[node]
        steps.append(next(step for step, child in _children(parent) if child is node))
        node = parent
    return tuple(reversed(steps))


def follow(tree: ast.AST, steps: Way) -> ast.AST:
    """The node at the end of a way."""
    for name, index in steps:
        value = getattr(tree, name)
        tree = value if index < 0 else value[index]
    return tree


def put(tree: ast.AST, steps: Way, node: ast.AST | None) -> None:
    """Put another node at the end of a way; None takes away what stands there in a list."""
    name, index = steps[-1]
    parent = follow(tree, steps[:-1])
    if index < 0:
        setattr(parent, name, node)
    elif node is None:
        del getattr(parent, name)[index]
    else:
        getattr(parent, name)[index] = node


def block(file: BuildFile, statement: ast.AST) -> list[ast.stmt]:
    """The statements that one stands among, itself included."""
    name, index = way(file, statement)[-1]
    found: list[ast.stmt] = getattr(file.parents[statement], name)
    assert index >= 0
    return found


def _children(node: ast.AST) -> Iterator[tuple[tuple[str, int], object]]:
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            yield from (((name, index), item) for index, item in enumerate(value))
        else:
            yield (name, -1), value
