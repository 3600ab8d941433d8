"""Literal-level edits to a build file: from changes to the file's new bytes.

Every change names a place by a byte of the file as it was parsed. `edit` carries out all changes of one file at once,
then parses the result and demands that the syntax trees differ by exactly what was asked for. What is added stands
among its neighbours (order.py) and looks like them (layout.py).
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from buildfix import trees
from buildfix.buildfile import BuildFile, BuildFileError, Span, parse_tree
from buildfix.changes import (
    Change,
    DropStatement,
    Edit,
    EditError,
    Extend,
    ListChange,
    NewAttribute,
    WhenEmpty,
    adding,
    dropping,
)  # fmt: skip
from buildfix.jobs import CallJob, ExtendJob, Job, ListJob, OperandJob, StatementJob
from buildfix.order import Order

__all__ = [
    "Change", "DropStatement", "Edit", "EditError", "Extend", "ListChange", "NewAttribute", "Order", "WhenEmpty",
    "adding", "apply", "dropping", "edit",
]  # fmt: skip


def apply(data: bytes, edits: Sequence[Edit]) -> bytes:
    """The bytes after all edits, whose positions are those before any of them.

    Raises EditError if two overlap.
    """
    parts, offset = [], 0
    for one in sorted(edits):
        if one.start < offset:
            raise EditError(f"edits overlap at byte {one.start}")
        parts += [data[offset : one.start], one.text]
        offset = one.end
    return b"".join((*parts, data[offset:]))


def edit(file: BuildFile, changes: Sequence[Change]) -> bytes:
    """The file's bytes after all changes. Changes of the same list, or new attributes of the same name, are united.

    Raises EditError if a change names no such place, or if the result is not exactly what was asked for.
    """
    # From the end of the file to its start and from the inside out, so that no change moves or hides the place of
    # one that is still to come.
    jobs = sorted(_jobs(file, changes), key=lambda job: (-file.start(job.node), file.end(job.node)))
    data, done = file.data, list[int]()
    for job in jobs:
        span = file.span(job.node)
        if any(span.start <= start < span.end for start in done):
            now = _parsed(file.path, data)
            one = job.run(now, trees.follow(now.tree, trees.way(file, job.node)))
        else:
            one = job.run(file, job.node)
        data = apply(data, [one])
        done.append(one.start)
    _check(file, data, jobs)
    return data


# From changes to jobs


def _jobs(file: BuildFile, changes: Sequence[Change]) -> list[Job]:
    lists: dict[int, ListJob] = {}
    calls: dict[int, CallJob] = {}
    extends: dict[Span, ExtendJob] = {}
    statements: dict[ast.stmt, StatementJob] = {}
    for change in changes:
        match change:
            case ListChange():
                job = lists.setdefault(change.at, ListJob(_list_at(file, change.at), change.order))
                job.drop |= _indexes(file, job.node, change.drop)
                job.add |= dict.fromkeys(change.add, change.wrap)
                job.order = job.order if change.order is Order.NEIGHBOURS else change.order
            case NewAttribute():
                call = calls.setdefault(change.at, CallJob(_call_at(file, change.at)))
                call.add.setdefault(change.name, {}).update(dict.fromkeys(change.add, change.wrap))
            case Extend():
                extend = extends.setdefault(change.span, ExtendJob(_expression_at(file, change.span)))
                extend.add |= dict.fromkeys(change.add, change.wrap)
            case DropStatement():
                statement = _statement_at(file, change.at)
                statements[statement] = StatementJob(statement)
    sums: dict[ast.BinOp, OperandJob] = {}
    wanted = {c.at: c.when_empty for c in changes if isinstance(c, ListChange)}
    for at in sorted(at for at, job in lists.items() if job.empties and wanted[at] is not WhenEmpty.BRACKETS):
        larger = _goes_with(file, lists[at].node, wanted[at], set(extends))
        match larger:
            case StatementJob() if larger.node not in statements:
                statements[larger.node] = larger
            case OperandJob() if larger.node not in sums and larger.tidy(file):
                sums[larger.node] = larger
            case CallJob():
                calls.setdefault(file.opening(larger.node), CallJob(larger.node)).drop |= larger.drop
            case _:
                continue
        del lists[at]
    for statement, dropped in statements.items():
        among = trees.block(file, statement)
        dropped.alone = among[0] is statement and all(other in statements for other in among)
    return [*lists.values(), *calls.values(), *extends.values(), *sums.values(), *statements.values()]


def _goes_with(file: BuildFile, emptied: ast.expr, when_empty: WhenEmpty, extended: set[Span]) -> Job | None:
    """What is of no use once a list has lost all its entries, and may go with it."""
    node: ast.expr = emptied
    generator = file.parents[node]
    if isinstance(generator, ast.comprehension):
        comprehension = file.parents[generator]
        if not isinstance(comprehension, ast.ListComp) or len(comprehension.generators) > 1:
            return None
        node = comprehension
    if file.span(node) in extended:
        return None
    parent = file.parents[node]
    match parent:
        case ast.AugAssign(target=ast.Name(), op=ast.Add()):
            return _statement(file, parent)
        case ast.Call(func=ast.Attribute(value=ast.Name(), attr="extend"), args=[_], keywords=[]):
            statement = file.parents[parent]
            return _statement(file, statement) if isinstance(statement, ast.Expr) else None
        case ast.BinOp(op=ast.Add()) if file.span(parent) not in extended and _stays_a_list(file, parent, node):
            return OperandJob(parent, left=parent.left is node)
        case ast.keyword(arg=str(name)) if when_empty is WhenEmpty.ATTRIBUTE and node is emptied:
            call = file.parents[parent]
            if isinstance(call, ast.Call) and not file.attribute_comments(call, name):
                return CallJob(call, {name})
    return None


def _statement(file: BuildFile, statement: ast.stmt) -> StatementJob | None:
    """The statement, if its block needs it for nothing."""
    return StatementJob(statement) if len(trees.block(file, statement)) > 1 else None


def _stays_a_list(file: BuildFile, summed: ast.BinOp, operand: ast.expr) -> bool:
    """Whether one side of a sum can stand for the sum: nobody can tell that it is no list of its own."""
    other = summed.right if summed.left is operand else summed.left
    if isinstance(other, ast.BinOp | ast.List | ast.ListComp):
        return True
    top: ast.AST = summed
    while isinstance(file.parents[top], ast.BinOp):
        top = file.parents[top]
    return top is not summed or isinstance(file.parents[top], ast.keyword)


def _list_at(file: BuildFile, at: int) -> ast.List | ast.Tuple:
    for node in file.nodes:
        if isinstance(node, ast.List | ast.Tuple) and file.start(node) == at and file.data[at] in b"[(":
            return node
    raise EditError(f"{file.path}:{file.line(at)}: no list starts here")


def _call_at(file: BuildFile, at: int) -> ast.Call:
    for node in file.nodes:
        if isinstance(node, ast.Call) and file.opening(node) == at:
            return node
    raise EditError(f"{file.path}:{file.line(at)}: no call's arguments start here")


def _expression_at(file: BuildFile, span: Span) -> ast.expr:
    for node in file.nodes:
        if isinstance(node, ast.expr) and file.span(node) == span:
            return node
    raise EditError(f"{file.path}:{file.line(span.start)}: no expression has these bytes")


def _statement_at(file: BuildFile, at: int) -> ast.stmt:
    for node in file.nodes:
        if isinstance(node, ast.stmt) and file.start(node) == at:
            return node
    raise EditError(f"{file.path}:{file.line(at)}: no statement starts here")


def _indexes(file: BuildFile, node: ast.List | ast.Tuple, starts: Sequence[int]) -> set[int]:
    by_start = {file.start(element): index for index, element in enumerate(node.elts)}
    unknown = [start for start in starts if start not in by_start]
    if unknown:
        raise EditError(f"{file.path}:{file.line(unknown[0])}: no element of the list starts here")
    return {by_start[start] for start in starts}


# The check


def _check(file: BuildFile, data: bytes, jobs: Sequence[Job]) -> None:
    """Demand that the new bytes mean the old tree with the changes made in it, and nothing else."""
    found = _parsed(file.path, data).tree
    wanted = parse_tree(file.path, file.data)
    for job in jobs:
        steps = trees.way(file, job.node)
        trees.put(wanted, steps, job.expect(trees.follow(wanted, steps)))
    if ast.dump(wanted) != ast.dump(found):
        raise EditError(f"{file.path}: the edited file would not mean what was asked for")


def _parsed(path: str, data: bytes) -> BuildFile:
    try:
        return BuildFile.parse(path, data)
    except BuildFileError as error:
        raise EditError(f"the edited file would not parse: {error}") from error
