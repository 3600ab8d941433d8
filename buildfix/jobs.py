"""Carrying out changes: each job rewrites one place of a file, as bytes, and says what its syntax must be then."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from buildfix import layout, trees
from buildfix.buildfile import BuildFile, Span, is_none
from buildfix.changes import Edit, EditError
from buildfix.order import Order, is_sorted, place, sort_key


@dataclass(slots=True)
class ListJob:
    """All that happens to one list: the elements to drop by index, the texts to add, each with its wrapper.

    `result` is the list afterwards: indexes of old elements and texts of new ones.
    """

    node: ast.List | ast.Tuple
    order: Order
    drop: set[int] = field(default_factory=set)
    add: dict[str, str] = field(default_factory=dict)
    result: list[int | str] = field(default_factory=list)

    @property
    def empties(self) -> bool:
        """Whether nothing is left of what was something."""
        return bool(self.node.elts) and len(self.drop) == len(self.node.elts) and not self.add

    def run(self, file: BuildFile, node: ast.AST) -> Edit:
        assert isinstance(node, ast.List | ast.Tuple)
        span = file.span(node)
        sequence = layout.read(file, span, [file.span(e) for e in node.elts], isinstance(node, ast.Tuple))
        # A comment behind a list on one line is about its entries: it would be about the list if that had more lines.
        several = len(node.elts) - len(self.drop) + len(self.add) > 1 and b"#" not in sequence.rest
        sequence.stacks = several and isinstance(node, ast.List) and _stacks(file, node)
        quote = _quote(file, node.elts)
        known = {index: (_text(e), isinstance(e, ast.Call)) for index, e in enumerate(node.elts)}
        # On one line, what goes makes room for what comes. Else what comes looks like what goes, and where nothing
        # of the list stays, it is sorted.
        anew = len(self.drop) == len(node.elts)
        first = sequence.one_line and not anew
        others = self._others(file, node) if self.add else []
        if first:
            self._drop(sequence)
        for text in sorted(self.add, key=sort_key) if anew else self.add:
            position, number = self._position(sequence, known, text, others), -1 - len(known)
            sequence.insert(position, _written(text, self.add[text], quote))
            sequence.items[position] = sequence.items[position].renumbered(number)
            known[number] = (text, bool(self.add[text]))
        if not first:
            self._drop(sequence)
        self.result = [item.index if item.index >= 0 else known[item.index][0] or "" for item in sequence.items]
        return Edit(span.start + 1, span.end - 1, sequence.render())

    def _others(self, file: BuildFile, node: ast.List | ast.Tuple) -> list[tuple[str, ...]]:
        """The file's other lists, which show where people put a label; in a build file, a list that is in buildifier's
        order has to stay so."""
        plain = [element for element in node.elts if isinstance(element, ast.Constant)]
        texts = [text for element in plain if (text := _text(element)) is not None]
        if not file.path.endswith(".bzl") and is_sorted(texts):
            return []
        return [labels for one, labels in file.label_lists.items() if one is not node]

    def _position(
        self,
        sequence: layout.Layout,
        known: dict[int, tuple[str | None, bool]],
        text: str,
        others: Sequence[Sequence[str]],
    ) -> int:
        """Where a new item goes among its like, plain strings or calls: behind the one before it of those that stay.

        `known` are the items' texts, and whether each is the argument of a call, by index.
        """
        staying = [i for i, item in enumerate(sequence.items) if item.index not in self.drop]
        heads = {index for index, i in enumerate(staying) if b"#" in sequence.items[i].before}
        items = (known[sequence.items[i].index] for i in staying)
        same = [one if is_call == bool(self.add[text]) else None for one, is_call in items]
        position = place(same, text, self.order, heads, others)
        if position == len(staying):
            return len(sequence.items)
        return staying[position - 1] + 1 if position else 0

    def _drop(self, sequence: layout.Layout) -> None:
        for index in sorted(self.drop):
            sequence.drop(next(i for i, item in enumerate(sequence.items) if item.index == index))

    def expect(self, node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.List | ast.Tuple)
        node.elts = [_entry(e, self.add[e]) if isinstance(e, str) else node.elts[e] for e in self.result]
        return node


@dataclass(slots=True)
class CallJob:
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
class ExtendJob:
    """A list is added to an expression."""

    node: ast.expr
    add: dict[str, str] = field(default_factory=dict)

    def run(self, file: BuildFile, node: ast.AST) -> Edit:
        assert isinstance(node, ast.expr)
        span = file.span(node)
        quote = _quote(file, [n for n in ast.walk(file.statement(node)) if isinstance(n, ast.expr)])
        written = [_written(text, self.add[text], quote) for text in sorted(self.add, key=sort_key)]
        added = b"[" + b", ".join(written) + b"]"
        line = file.line_span(file.line(span.end - 1))
        if len(written) > 1 and (_stacks(file, node) or line.end - line.start + len(added) > layout.MAX_COLUMNS):
            first = file.line_span(file.line(span.start))
            added = layout.stacked(written, layout.indent_of(file.data[first.start : first.end]), file.data)
        text = file.data[span.start : span.end]
        if is_none(node):
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
        if is_none(node):
            return added
        return ast.BinOp(added, ast.Add(), node) if _is_select(node) else ast.BinOp(node, ast.Add(), added)


@dataclass(slots=True)
class OperandJob:
    """One side of a sum goes; the other one takes the place of both."""

    node: ast.BinOp
    left: bool

    def run(self, file: BuildFile, node: ast.AST) -> Edit:
        assert isinstance(node, ast.BinOp)
        sides = self.sides(file, node)
        return Edit(*file.span(node), file.data[slice(*sides[self.left])])

    def sides(self, file: BuildFile, node: ast.BinOp) -> tuple[Span, Span]:
        """The bytes of both sides of a sum, parentheses around them included."""
        span = file.span(node)
        end = following = file.end(node.left)
        while file.data[following : following + 1] != b"+":
            following = file.skip_blanks(end)
            if file.data[following : following + 1] == b")":
                end = following = following + 1
        return Span(span.start, end), Span(file.skip_blanks(following + 1), span.end)

    def tidy(self, file: BuildFile) -> bool:
        """Whether nothing but the side itself is lost, and what stays looks as it did."""
        kept, span = self.sides(file, self.node)[self.left], file.span(self.node)
        breaks = b"\n" in file.data[slice(*kept)] or b"\r" in file.data[slice(*kept)]
        gap = file.data[file.end(self.node.left) : file.start(self.node.right)]
        others = (*file.comments_between(span.start, kept.start), *file.comments_between(kept.end, span.end))
        return not others and not (self.left and breaks and (b"\n" in gap or b"\r" in gap))

    def expect(self, node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.BinOp)
        return node.right if self.left else node.left


@dataclass(slots=True)
class StatementJob:
    """A statement goes, with its line and the comments that are about it alone; `alone`: it leaves `pass`."""

    node: ast.stmt
    alone: bool = False

    def run(self, file: BuildFile, node: ast.AST) -> Edit:
        start, end = file.span(node)
        if self.alone:
            return Edit(start, end, b"pass")
        first, last = file.line(start), file.line(end)
        line = file.line_span(last)
        before, behind = file.data[file.line_span(first).start : start], file.data[end : line.end].strip()
        if before.strip(b" \t") or (behind and not behind.startswith(b"#")):
            raise EditError(f"{file.path}:{first}: several statements are on this line")
        begin = first
        while begin > 1 and self._line(file, begin - 1).startswith(b"#"):
            begin -= 1
        following = self._line(file, last + 1)
        if following and not following.startswith(b"#") and self._goes_on(file, node):
            begin = first  # the comments may be about what follows, too
        while begin > 2 and not following and not self._line(file, begin - 1):
            begin -= 1
        return Edit(file.line_span(begin).start, line.end, b"")

    @staticmethod
    def _goes_on(file: BuildFile, node: ast.AST) -> bool:
        """Whether the next statement does something to the same variable."""
        among = trees.block(file, node)
        following = among[among.index(node) + 1 :] if isinstance(node, ast.stmt) else []
        return bool(following) and _changed(node) == _changed(following[0])

    @staticmethod
    def _line(file: BuildFile, line: int) -> bytes:
        """A line without the blanks around it; empty behind the end of the file, too."""
        return file.data[slice(*file.line_span(line))].strip() if line <= file.line(len(file.data)) else b""

    def expect(self, node: ast.AST) -> ast.AST | None:
        return ast.Pass() if self.alone else None


Job = ListJob | CallJob | ExtendJob | OperandJob | StatementJob

# What binds less tightly than `+`.
_LOOSER = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.Compare)


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
    written = [_written(text, entries[text], quote) for text in sorted(entries, key=sort_key)]
    head = name.encode() + _equals(file, node)
    flat = head + b"[" + b", ".join(written) + b"]"
    stacked = len(written) > 1 and _stacks(file, node)
    if sequence.compact and not stacked and sequence.fits(len(flat) + 2):
        return flat
    if sequence.compact and sequence.fits(len(head) + 2):
        return head + layout.stacked(written, layout.indent_of(sequence.line), file.data)
    indent = sequence.deeper if sequence.one_line else sequence.item_indent(position)
    stacks = any(v.lineno != v.end_lineno for v in values if isinstance(v, ast.List) and v.elts)
    if len(written) == 1 and not stacks and len(indent + flat) < layout.MAX_COLUMNS:
        return flat
    return head + layout.stacked(written, indent, file.data)


def _stacks(file: BuildFile, node: ast.AST) -> bool:
    """Whether a list of several entries has each on a line of its own, here: so it is in build files, unless this one
    has a list of another look."""
    return not file.path.endswith(".bzl") and file.is_outermost(node) and file.seems_formatted


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


def _changed(statement: ast.AST) -> str | None:
    """The variable that a statement adds something to."""
    match statement:
        case ast.AugAssign(target=ast.Name(id=name)):
            return name
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            return name
    return None


def _list(entries: dict[str, str]) -> ast.List:
    return ast.List([_entry(text, entries[text]) for text in sorted(entries, key=sort_key)], ast.Load())


def _entry(text: str, wrap: str) -> ast.expr:
    return ast.parse(_written(text, wrap, '"').decode(), mode="eval").body


def _arguments(node: ast.Call) -> list[ast.expr | ast.keyword]:
    return sorted((*node.args, *node.keywords), key=lambda a: (a.lineno, a.col_offset))


def _is_select(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and "select" in ast.unparse(node.func)
