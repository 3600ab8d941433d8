"""Literal-level edits to a build file: from changes to the file's new bytes.

Every change names a place by a byte of the file as it was parsed. `edit` carries out all changes of one file at once,
then parses the result and demands that the syntax trees differ by exactly what was asked for. What is added stands
among its neighbours (order.py) and looks like them (layout.py).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from buildfix import labels, layout
from buildfix.buildfile import BuildFile, BuildFileError, Span, parse_tree
from buildfix.order import Order, place
from buildfix.sites import AddPlace, Element


class EditError(Exception):
    """A change that cannot be made, or whose result would not be what was asked for. Nothing was changed."""


class WhenEmpty(StrEnum):
    """What becomes of a list that lost its last entry: `[]`, or no attribute, where the list is all of it."""

    BRACKETS = "brackets"
    ATTRIBUTE = "attribute"


@dataclass(frozen=True, slots=True)
class ListChange:
    """Change a list (or tuple) that starts at byte `at`.

    `add` are label texts without quotes; with `wrap`, each is written as a call: `requirement("x")`. `drop` are the
    bytes at which the elements to drop start.
    """

    at: int
    add: tuple[str, ...] = ()
    drop: tuple[int, ...] = ()
    order: Order = Order.NEIGHBOURS
    when_empty: WhenEmpty = WhenEmpty.BRACKETS
    wrap: str = ""


@dataclass(frozen=True, slots=True)
class NewAttribute:
    """Give the call whose opening parenthesis is at byte `at` a new attribute `name = [...]`."""

    at: int
    name: str
    add: tuple[str, ...]
    wrap: str = ""


@dataclass(frozen=True, slots=True)
class Extend:
    """Add a list to the expression with these bytes: `COMMON` to `COMMON + ["//x"]`; before a select, in front of it.

    A literal `None` is replaced by the list.
    """

    span: Span
    add: tuple[str, ...]
    wrap: str = ""


Change = ListChange | NewAttribute | Extend


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace the bytes [start, end) of a file by `text`."""

    start: int
    end: int
    text: bytes


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
            one = job.run(now, _follow(now.tree, _path(file, job.node)))
        else:
            one = job.run(file, job.node)
        data = apply(data, [one])
        done.append(one.start)
    _check(file, data, jobs)
    return data


def adding(
    where: AddPlace, add: Sequence[str], order: Order = Order.NEIGHBOURS, wrap: str = ""
) -> ListChange | NewAttribute | Extend:
    """The change that adds labels at a place that sites.py found; it is for `where.file`."""
    match where.kind:
        case "list":
            return ListChange(where.span.start, tuple(add), order=order, wrap=wrap)
        case "attribute":
            return NewAttribute(where.span.start, where.name, tuple(add), wrap)
    return Extend(where.span, tuple(add), wrap)


def dropping(element: Element, when_empty: WhenEmpty = WhenEmpty.BRACKETS) -> ListChange:
    """The change that drops an element that sites.py found; it is for `element.file`.

    Raises EditError, with the element's own words, if it cannot be dropped.
    """
    if element.problem or element.sequence is None:
        raise EditError(f"{element.file}:{element.line}: {element.problem or 'it is no entry of a list'}")
    return ListChange(element.sequence.start, drop=(element.span.start,), when_empty=when_empty)


# Carrying out


@dataclass(slots=True)
class _ListJob:
    """All that happens to one list: the elements to drop by index, the texts to add, each with its wrapper.

    `result` is the list afterwards: indexes of old elements and texts of new ones.
    """

    node: ast.List | ast.Tuple
    order: Order
    drop: set[int] = field(default_factory=set)
    add: dict[str, str] = field(default_factory=dict)
    result: list[int | str] = field(default_factory=list)

    def run(self, file: BuildFile, node: ast.AST) -> Edit:
        assert isinstance(node, ast.List | ast.Tuple)
        span = file.span(node)
        sequence = layout.read(file, span, [file.span(e) for e in node.elts], isinstance(node, ast.Tuple))
        quote = _quote(file, node.elts)
        texts = [None if i in self.drop else _text(element) for i, element in enumerate(node.elts)]
        # Where nothing of the list stays, what comes looks like what goes, and is sorted.
        anew = len(self.drop) == len(node.elts)
        if not anew:
            self._drop(sequence, texts)
        for text in sorted(self.add, key=labels.sort_key) if anew else self.add:
            position = len(texts) if anew else place(texts, text, self.order)
            sequence.insert(position, _written(text, self.add[text], quote))
            texts.insert(position, text)
        if anew:
            self._drop(sequence, texts)
        both = zip(sequence.items, texts, strict=True)
        self.result = [item.index if item.index >= 0 else text or "" for item, text in both]
        return Edit(span.start + 1, span.end - 1, sequence.render())

    def _drop(self, sequence: layout.Layout, texts: list[str | None]) -> None:
        for index in sorted(self.drop):
            position = next(i for i, item in enumerate(sequence.items) if item.index == index)
            sequence.drop(position)
            del texts[position]

    def expect(self, node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.List | ast.Tuple)
        node.elts = [_entry(e, self.add[e]) if isinstance(e, str) else node.elts[e] for e in self.result]
        return node


@dataclass(slots=True)
class _CallJob:
    """All that happens to the arguments of one call: attributes to drop and to add, by name."""

    node: ast.Call
    drop: set[str] = field(default_factory=set)
    add: dict[str, dict[str, str]] = field(default_factory=dict)
    result: list[int | str] = field(default_factory=list)

    def run(self, file: BuildFile, node: ast.AST) -> Edit:
        assert isinstance(node, ast.Call)
        arguments = _arguments(node)
        brackets = Span(file.opening(node), file.end(node))
        sequence = layout.read(file, brackets, [file.span(a) for a in arguments])
        names = [(a.arg or "**") if isinstance(a, ast.keyword) else "" for a in arguments]
        for name in sorted(self.drop):
            position = names.index(name)
            sequence.drop(position, alone=True)
            del names[position]
        self.result = [item.index for item in sequence.items]
        for name, entries in self.add.items():
            if name in names:
                raise EditError(f"{file.path}:{node.lineno}: the call has the attribute {name} already")
            position = _attribute_place(names)
            sequence.insert(position, _attribute(file, node, sequence, position, name, entries))
            names.insert(position, name)
            self.result.insert(position, name)
        return Edit(brackets.start + 1, brackets.end - 1, sequence.render())

    def expect(self, node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.Call)
        arguments = _arguments(node)
        new = [
            ast.keyword(entry, _list(self.add[entry])) if isinstance(entry, str) else arguments[entry]
            for entry in self.result
        ]
        node.args = [a for a in new if not isinstance(a, ast.keyword)]
        node.keywords = [a for a in new if isinstance(a, ast.keyword)]
        return node


@dataclass(slots=True)
class _ExtendJob:
    """A list is added to an expression."""

    node: ast.expr
    add: dict[str, str] = field(default_factory=dict)

    def run(self, file: BuildFile, node: ast.AST) -> Edit:
        assert isinstance(node, ast.expr)
        span = file.span(node)
        quote = _quote(file, [n for n in ast.walk(file.statement(node)) if isinstance(n, ast.expr)])
        written = [_written(text, self.add[text], quote) for text in sorted(self.add, key=labels.sort_key)]
        added = b"[" + b", ".join(written) + b"]"
        line = file.line_span(file.line(span.end - 1))
        if len(written) > 1 and line.end - line.start + len(added) > layout.MAX_COLUMNS:
            first = file.line_span(file.line(span.start))
            added = layout.stacked(written, layout.indent_of(file.data[first.start : first.end]), file.data)
        text = file.data[span.start : span.end]
        if _is_none(node):
            return Edit(span.start, span.end, added)
        if isinstance(node, _LOOSER):
            closing = _parenthesised(file, span)
            if closing is not None:
                return Edit(closing, closing, b" + " + added)
            text = b"(" + text + b")"
        both = added + b" + " + text if _is_select(node) else text + b" + " + added
        return Edit(span.start, span.end, both)

    def expect(self, node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.expr)
        added = _list(self.add)
        if _is_none(node):
            return added
        return ast.BinOp(added, ast.Add(), node) if _is_select(node) else ast.BinOp(node, ast.Add(), added)


# What binds less tightly than `+`.
_LOOSER = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.Compare)
_Job = _ListJob | _CallJob | _ExtendJob


def _jobs(file: BuildFile, changes: Sequence[Change]) -> list[_Job]:
    lists: dict[int, _ListJob] = {}
    calls: dict[int, _CallJob] = {}
    extends: dict[Span, _ExtendJob] = {}
    for change in changes:
        match change:
            case ListChange():
                job = lists.setdefault(change.at, _ListJob(_list_at(file, change.at), change.order))
                job.drop |= _indexes(file, job.node, change.drop)
                job.add |= dict.fromkeys(change.add, change.wrap)
                job.order = job.order if change.order is Order.NEIGHBOURS else change.order
            case NewAttribute():
                call = calls.setdefault(change.at, _CallJob(_call_at(file, change.at)))
                call.add.setdefault(change.name, {}).update(dict.fromkeys(change.add, change.wrap))
            case Extend():
                extend = extends.setdefault(change.span, _ExtendJob(_expression_at(file, change.span)))
                extend.add |= dict.fromkeys(change.add, change.wrap)
    for at in {c.at for c in changes if isinstance(c, ListChange) and c.when_empty is WhenEmpty.ATTRIBUTE}:
        job = lists[at]
        keyword = file.parents[job.node]
        if job.node.elts and len(job.drop) == len(job.node.elts) and not job.add and isinstance(keyword, ast.keyword):
            owner = file.parents[keyword]
            if isinstance(owner, ast.Call) and keyword.arg:
                del lists[at]
                calls.setdefault(file.opening(owner), _CallJob(owner)).drop.add(keyword.arg)
    return [*lists.values(), *calls.values(), *extends.values()]


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


def _indexes(file: BuildFile, node: ast.List | ast.Tuple, starts: Sequence[int]) -> set[int]:
    by_start = {file.start(element): index for index, element in enumerate(node.elts)}
    unknown = [start for start in starts if start not in by_start]
    if unknown:
        raise EditError(f"{file.path}:{file.line(unknown[0])}: no element of the list starts here")
    return {by_start[start] for start in starts}


# Bytes


def _written(text: str, wrap: str, quote: str) -> bytes:
    escaped = text.replace("\\", "\\\\").replace(quote, "\\" + quote)
    literal = f"{quote}{escaped}{quote}"
    return (f"{wrap}({literal})" if wrap else literal).encode()


def _quote(file: BuildFile, nodes: Sequence[ast.AST]) -> str:
    """The quote that most of the plain strings among some nodes use."""
    used = [file.data[file.start(n) : file.start(n) + 1] for n in nodes if _text(n) is not None]
    return "'" if used.count(b"'") > used.count(b'"') else '"'


def _text(node: ast.AST) -> str | None:
    """The string of a plain string, or of a call with one such argument: `requirement("x")`."""
    match node:
        case ast.Constant(value=str(text)) | ast.Call(args=[ast.Constant(value=str(text))], keywords=[]):
            return text
    return None


def _attribute(
    file: BuildFile, node: ast.Call, sequence: layout.Layout, position: int, name: str, entries: dict[str, str]
) -> bytes:
    """`name = [...]`, on one line or one entry per line, as the call's other lists are."""
    values = [keyword.value for keyword in node.keywords]
    quote = _quote(file, [n for value in values for n in ast.walk(value)])
    written = [_written(text, entries[text], quote) for text in sorted(entries, key=labels.sort_key)]
    head = name.encode() + _equals(file, node)
    flat = head + b"[" + b", ".join(written) + b"]"
    if sequence.one_line and sequence.fits(len(flat) + 2):
        return flat
    indent = sequence.deeper if sequence.one_line else sequence.item_indent(position)
    stacks = any(v.lineno != v.end_lineno for v in values if isinstance(v, ast.List) and v.elts)
    if len(written) == 1 and not stacks and len(indent + flat) < layout.MAX_COLUMNS:
        return flat
    return head + layout.stacked(written, indent, file.data)


def _equals(file: BuildFile, node: ast.Call) -> bytes:
    """What stands between a keyword and its value in this call: ` = ` unless its keywords say otherwise."""
    for keyword in node.keywords:
        if keyword.arg:
            between = file.data[file.start(keyword) + len(keyword.arg.encode()) : file.start(keyword.value)]
            if not between.strip(b" \t="):
                return between
    return b" = "


# Attributes that people write behind `deps`; buildifier puts these there too.
_LATE = ("implementation", "implements", "alwayslink", "external_deps", "exported_external_deps")


def _attribute_place(names: Sequence[str]) -> int:
    """Late, but before `**kwargs` and what goes behind deps. `names` are the arguments', "" if positional, "**"."""
    end = len(names)
    while end > 1 and names[end - 1] in ("**", *_LATE):
        end -= 1
    return end


def _parenthesised(file: BuildFile, span: Span) -> int | None:
    """The byte behind the parenthesis that closes around nothing but an expression, if there is one."""
    before = file.data[: span.start].rstrip(b" \t\r\n\f")
    following = file.skip_blanks(span.end)
    if not before.endswith(b"(") or file.data[following : following + 1] != b")":
        return None
    is_call = any(isinstance(n, ast.Call) and file.opening(n) == len(before) - 1 for n in file.nodes)
    return None if is_call else following + 1


# The check


def _check(file: BuildFile, data: bytes, jobs: Sequence[_Job]) -> None:
    """Demand that the new bytes mean the old tree with the changes made in it, and nothing else."""
    try:
        found = parse_tree(file.path, data)
    except BuildFileError as error:
        raise EditError(f"the edited file would not parse: {error}") from error
    wanted = parse_tree(file.path, file.data)
    for job in jobs:
        path = _path(file, job.node)
        node = _follow(wanted, path)
        _put(wanted, path, job.expect(node))
    if ast.dump(wanted) != ast.dump(found):
        raise EditError(f"{file.path}: the edited file would not mean what was asked for")


_Path = tuple[tuple[str, int], ...]


def _path(file: BuildFile, node: ast.AST) -> _Path:
    """The way from the root of the tree to a node: field names, with an index, or -1 where there is none."""
    steps: list[tuple[str, int]] = []
    while node is not file.tree:
        parent = file.parents[node]
        steps.append(next(step for step, child in _children(parent) if child is node))
        node = parent
    return tuple(reversed(steps))


def _children(node: ast.AST) -> Iterator[tuple[tuple[str, int], object]]:
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            yield from (((name, index), item) for index, item in enumerate(value))
        else:
            yield (name, -1), value


def _follow(tree: ast.AST, path: _Path) -> ast.AST:
    for name, index in path:
        value = getattr(tree, name)
        tree = value if index < 0 else value[index]
    return tree


def _put(tree: ast.AST, path: _Path, node: ast.AST) -> None:
    name, index = path[-1]
    parent = _follow(tree, path[:-1])
    if index < 0:
        setattr(parent, name, node)
    else:
        getattr(parent, name)[index] = node


def _list(entries: dict[str, str]) -> ast.List:
    return ast.List([_entry(text, entries[text]) for text in sorted(entries, key=labels.sort_key)], ast.Load())


def _entry(text: str, wrap: str) -> ast.expr:
    return ast.parse(_written(text, wrap, '"').decode(), mode="eval").body


def _parsed(path: str, data: bytes) -> BuildFile:
    try:
        return BuildFile.parse(path, data)
    except BuildFileError as error:
        raise EditError(f"the edited file would not parse: {error}") from error


def _arguments(node: ast.Call) -> list[ast.expr | ast.keyword]:
    return sorted((*node.args, *node.keywords), key=lambda a: (a.lineno, a.col_offset))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_select(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and "select" in ast.unparse(node.func)
