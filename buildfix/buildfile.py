"""A Starlark file's syntax and comments, with every position in bytes.

Starlark is all but a subset of Python's syntax, so CPython's `ast` reads it. Three kinds of positions meet here and
nowhere else: the engine's frames (line from 1, column from 1 in code points), `ast` (line from 1, column from 0 in
UTF-8 bytes) and byte offsets into the file, which is what all other modules use. Comments are only found and
attributed here; what they mean is markers.py's knowledge.
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

BOM = b"\xef\xbb\xbf"

# Strings first, so that a `#` inside one is no comment. A raw string's backslash also keeps its quote from ending it.
_TOKENS = re.compile(
    rb'"""(?:\\.|[^\\])*?"""'
    rb"|'''(?:\\.|[^\\])*?'''"
    rb'|"(?:\\.|[^"\\\r\n])*"'
    rb"|'(?:\\.|[^'\\\r\n])*'"
    rb"|(?P<comment>\#[^\r\n]*)",
    re.DOTALL,
)
_LINE_BREAK = re.compile(rb"\r\n|\r|\n")
_BLANKS = b" \t\f"

Function = ast.FunctionDef | ast.Lambda


class BuildFileError(Exception):
    """A file that cannot be read as Starlark. `line` counts from 1; 0 is the file as a whole."""

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}" if line else f"{path}: {message}")
        self.path = path
        self.line = line
        self.message = message


class Span(NamedTuple):
    """Bytes [start, end) of a file."""

    start: int
    end: int


class Comment(NamedTuple):
    """A comment, from its `#` to the end of the line. `own_line`: nothing but blanks stands before it."""

    start: int
    end: int
    line: int
    text: str
    own_line: bool


class ScopeComment(NamedTuple):
    """An own-line comment among the statements of a function (its name) or of the file (""), `indent` bytes deep."""

    comment: Comment
    function: str
    indent: int


@dataclass(frozen=True, eq=False)
class BuildFile:
    """A parsed build file, `.bzl` file or the like. `path` is relative to the root."""

    path: str
    data: bytes
    tree: ast.Module
    _lines: tuple[int, ...]

    @classmethod
    def parse(cls, path: str, data: bytes) -> BuildFile:
        """Parse a file's bytes.

        Raises BuildFileError, with the line, if they are not UTF-8 or not Starlark.
        """
        return cls(path, data, parse_tree(path, data), _line_starts(data))

    # Positions

    def start(self, node: ast.AST) -> int:
        """The byte at which an expression, statement, keyword or alias starts (parentheses around it excluded)."""
        return self._offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        """The byte after the last one of a node."""
        return self._offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def span(self, node: ast.AST) -> Span:
        """The bytes of a node."""
        return Span(self.start(node), self.end(node))

    def source(self, node: ast.AST) -> str:
        """A node's text as written."""
        return self.data[self.start(node) : self.end(node)].decode()

    def line(self, offset: int) -> int:
        """The line (from 1) of a byte."""
        return bisect_right(self._lines, offset)

    def line_span(self, line: int) -> Span:
        """The bytes of a line, its line break included."""
        return Span(self._lines[line - 1], self._lines[line] if line < len(self._lines) else len(self.data))

    def position(self, line: int, col: int) -> int | None:
        """The byte at an engine position, or None if the file has no such line or column."""
        if not 1 <= line <= len(self._lines) or col < 1:
            return None
        start, end = self.line_span(line)
        start += self._bom(line)
        text = self.data[start:end]
        if not text.isascii():
            before = text.decode()[: col - 1]
            return start + len(before.encode()) if len(before) == col - 1 else None
        return start + col - 1 if col - 1 <= len(text) else None

    def engine_position(self, offset: int) -> tuple[int, int]:
        """The engine's (line, column) of a byte."""
        line = self.line(offset)
        start = self._lines[line - 1] + self._bom(line)
        return line, len(self.data[start:offset].decode()) + 1

    def call_at(self, line: int, col: int) -> ast.Call | None:
        """The call whose opening parenthesis stands at an engine frame's position."""
        offset = self.position(line, col)
        return None if offset is None else self._calls.get(offset)

    def opening(self, call: ast.Call) -> int:
        """The byte of a call's opening parenthesis."""
        return self._code(self.end(call.func), b"(")

    def definition_at(self, line: int) -> Function | None:
        """The function whose definition starts on a line (the first of several)."""
        return next((f for _, f in self._functions if f.lineno == line), None)

    def function_at(self, offset: int) -> Function | None:
        """The innermost function whose body (or default values, for a lambda) holds a byte."""
        found: Function | None = None
        for span, function in self._functions:
            if span.start > offset:
                break
            if offset < span.end:
                found = function
        return found

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree, in no promised order."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node that each node stands in."""
        return {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}

    @cached_property
    def label_lists(self) -> dict[ast.List, tuple[str, ...]]:
        """The lists of several labels, each with its plain strings."""
        lists = [node for node in self.nodes if isinstance(node, ast.List)]
        found = {node: tuple(text for e in node.elts if isinstance(text := _value(e), str)) for node in lists}
        return {node: texts for node, texts in found.items() if len(texts) > 1 and any(":" in text for text in texts)}

    @cached_property
    def seems_formatted(self) -> bool:
        """Whether there is no sign that buildifier has not formatted this build file: a list of several entries on one
        line in an outermost statement, a keyword without ` = `, single quotes."""
        return not any(map(self._is_odd, self.nodes))

    def is_outermost(self, node: ast.AST) -> bool:
        """Whether a node's statement stands in the file itself, under nothing."""
        return isinstance(self.parents[self.statement(node)], ast.Module)

    def _is_odd(self, node: ast.AST) -> bool:
        match node:
            case ast.List(elts=[_, _, *_]):
                return node.lineno == node.end_lineno and self.is_outermost(node)
            case ast.keyword(arg=str(name)):
                end = self.start(node) + len(name.encode())
                return self.data[end : end + 3] != b" = "
            case ast.Constant(value=str(text)):
                return self.data[self.start(node)] == 0x27 and '"' not in text
        return False

    # Comments

    @cached_property
    def comments(self) -> tuple[Comment, ...]:
        """All comments, in order."""
        found = []
        for match in _TOKENS.finditer(self.data):
            if match["comment"] is None:
                continue
            line = self.line(match.start())
            begin = self._lines[line - 1] + self._bom(line)
            own = not self.data[begin : match.start()].strip(_BLANKS)
            found.append(Comment(match.start(), match.end(), line, match["comment"].decode(), own))
        return tuple(found)

    def comments_between(self, start: int, end: int) -> tuple[Comment, ...]:
        """The comments that start in a range of bytes."""
        return self.comments[bisect_left(self._comment_starts, start) : bisect_left(self._comment_starts, end)]

    def element_comments(self, element: ast.expr) -> tuple[Comment, ...]:
        """The comments of one element of a list or tuple.

        These are: the lines directly above it, what follows it on its last line (which all elements that end on that
        line share), what stands inside it, and for the last element what stands before the closing bracket. The
        elements of a list that is all on one line also share the comment after it.
        """
        start, end = self.span(element)
        found = [*self._above(self.line(start), start), *self.comments_between(start, end), *self._after(end)]
        parent = self.parents.get(element)
        if isinstance(parent, ast.List | ast.Tuple | ast.Set):
            if parent.elts[-1] is element:
                found += self.comments_between(end, self.end(parent))
            if parent.lineno == parent.end_lineno:
                found += self._after(self.end(parent))
        return _in_order(found)

    def statement_comments(self, node: ast.AST) -> tuple[Comment, ...]:
        """The comments of the statement that a node stands in: above it, inside it, and behind it."""
        start, end = self.span(self.statement(node))
        return _in_order([*self._above(self.line(start), start), *self.comments_between(start, end), *self._after(end)])

    def attribute_comments(self, call: ast.Call, name: str) -> tuple[Comment, ...]:
        """The comments of a call's keyword argument: above it, after its opening bracket, after its last line."""
        keyword = next((k for k in call.keywords if k.arg == name), None)
        if keyword is None:
            return ()
        start, end = self.span(keyword)
        found = [*self._above(self.line(start), start), *self._after(end)]
        first = next((n for n in _inner(keyword.value)), None)
        if first is not None:
            found += [c for c in self.comments_between(start, self.start(first)) if not c.own_line]
        elif keyword.lineno != keyword.end_lineno:
            found += self.comments_between(start, end)
        return _in_order(found)

    def call_comments(self, call: ast.Call) -> tuple[Comment, ...]:
        """The comments of a call as a whole: lines directly above its statement, all that stands before its first
        argument, and what follows its closing parenthesis."""
        start = self.start(self.statement(call))
        opening = self.opening(call)
        arguments = [self.start(node) for node in (*call.args, *call.keywords)]
        inside = self.comments_between(opening, min(arguments, default=self.end(call)))
        # A line right above the first argument may be about that argument; markers.py sees it in both places.
        return _in_order([*self._above(self.line(start), start), *inside, *self._after(self.end(call))])

    def scope_comments(self, offset: int) -> tuple[ScopeComment, ...]:
        """The own-line comments before a byte that stand among the statements of a scope which holds it.

        The file's come first, then those of each enclosing function from the outside in. Comments inside a statement
        (a call's arguments, a list) are not among them.
        """
        around = [f for span, f in self._functions if span.start <= offset < span.end]
        functions = [f for f in around if isinstance(f, ast.FunctionDef)]
        scopes: dict[ast.FunctionDef | None, list[ScopeComment]] = {None: [], **{f: [] for f in functions}}
        for comment in self.comments_between(0, offset):
            if not comment.own_line or self._inside_statement(comment.start):
                continue
            indent = comment.start - self._lines[comment.line - 1] - self._bom(comment.line)
            scope = self._scope_of(comment, indent)
            if scope in scopes:
                scopes[scope].append(ScopeComment(comment, scope.name if scope else "", indent))
        return tuple(found for group in scopes.values() for found in group)

    def statement(self, node: ast.AST) -> ast.AST:
        """The statement that an expression stands in."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    # Lexical details

    def skip_blanks(self, offset: int) -> int:
        """The next byte from `offset` on that is code: no blank, line break, backslash join or comment."""
        data = self.data
        while offset < len(data):
            if data[offset] in b" \t\f\r\n\\":
                offset += 1
            elif data[offset] == 0x23:
                offset = self.comments_between(offset, offset + 1)[0].end
            else:
                break
        return offset

    def comma_after(self, offset: int) -> int | None:
        """The byte of the comma that follows an element that ends at `offset`, or None if none does. Parentheses
        around the element are skipped."""
        while True:
            offset = self.skip_blanks(offset)
            if self.data[offset : offset + 1] == b",":
                return offset
            if self.data[offset : offset + 1] != b")":
                return None
            offset += 1

    def _code(self, offset: int, wanted: bytes) -> int:
        while self.data[offset : offset + 1] != wanted:
            offset = self.skip_blanks(offset + (self.data[offset] == 0x29))
        return offset

    def _offset(self, line: int, col: int) -> int:
        return self._lines[line - 1] + col + self._bom(line)

    def _bom(self, line: int) -> int:
        return 3 if line == 1 and self.data.startswith(BOM) else 0

    @cached_property
    def _calls(self) -> dict[int, ast.Call]:
        return {self.opening(node): node for node in self.nodes if isinstance(node, ast.Call)}

    @cached_property
    def _functions(self) -> tuple[tuple[Span, Function], ...]:
        functions = [node for node in self.nodes if isinstance(node, ast.FunctionDef | ast.Lambda)]
        return tuple(sorted(((self._body(f), f) for f in functions), key=lambda pair: (pair[0].start, -pair[0].end)))

    def _body(self, function: Function) -> Span:
        if isinstance(function, ast.Lambda):
            return self.span(function)
        # From the first line below the head, so that comments above the first statement belong to the function, to
        # the start of what follows, so that comments below the last one do.
        head = [*function.args.defaults, *(d for d in function.args.kw_defaults if d), *_arguments(function.args)]
        last = max((self.end(node) for node in (*head, *([function.returns] if function.returns else []))), default=0)
        first = self.start(function.body[0])
        return Span(min(first, max(last, self.line_span(function.lineno).end)), self.end(function))

    @cached_property
    def _comment_starts(self) -> list[int]:
        return [comment.start for comment in self.comments]

    @cached_property
    def _simple(self) -> list[Span]:
        compound = (ast.FunctionDef, ast.If, ast.For)
        return sorted(self.span(n) for n in self.nodes if isinstance(n, ast.stmt) and not isinstance(n, compound))

    def _inside_statement(self, offset: int) -> bool:
        index = bisect_right(self._simple, Span(offset, len(self.data))) - 1
        return index >= 0 and self._simple[index].end > offset

    def _scope_of(self, comment: Comment, indent: int) -> ast.FunctionDef | None:
        scope = None
        for span, function in self._functions:
            inside = span.start <= comment.start < span.end and indent > function.col_offset
            if inside and isinstance(function, ast.FunctionDef):
                scope = function
        return scope

    def _above(self, line: int, start: int) -> Iterator[Comment]:
        """The own-line comments directly above a line, if what starts at `start` is the first thing on it."""
        begin = self._lines[line - 1] + self._bom(line)
        if self.data[begin:start].strip(_BLANKS + b"("):
            return
        while line > 1:
            line -= 1
            found = [c for c in self.comments_between(*self.line_span(line)) if c.own_line]
            if not found:
                return
            yield found[0]

    def _after(self, offset: int) -> tuple[Comment, ...]:
        """The comment at the end of the line of a byte, if it follows that byte."""
        return self.comments_between(offset, self.line_span(self.line(offset)).end)


def parse_tree(path: str, data: bytes) -> ast.Module:
    """The syntax tree of a file's bytes; raises BuildFileError."""
    body = data.removeprefix(BOM)
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        line = len(_LINE_BREAK.findall(body[: error.start])) + 1
        raise BuildFileError(path, line, "is not UTF-8") from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text.replace("\r\n", "\n").replace("\r", "\n"))
    except SyntaxError as error:
        raise BuildFileError(path, error.lineno or 0, error.msg) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise BuildFileError(path, 0, f"cannot be parsed: {error or 'nested too deeply'}") from error


def _line_starts(data: bytes) -> tuple[int, ...]:
    return (0, *(match.end() for match in _LINE_BREAK.finditer(data)))


def is_none(node: ast.AST) -> bool:
    """Whether an expression is a literal `None`."""
    return isinstance(node, ast.Constant) and node.value is None


def _value(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def _inner(value: ast.expr) -> Iterator[ast.AST]:
    """The first thing inside a bracketed value."""
    match value:
        case ast.List(elts=elts) | ast.Tuple(elts=elts) | ast.Set(elts=elts):
            yield from elts
        case ast.Dict(keys=keys, values=values):
            yield from (key or item for key, item in zip(keys, values, strict=True))
        case ast.Call(args=args, keywords=keywords):
            yield from (*args, *keywords)
        case ast.BinOp(left=left):
            yield from _inner(left)


def _arguments(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from (extra for extra in (arguments.vararg, arguments.kwarg) if extra)


def _in_order(comments: list[Comment]) -> tuple[Comment, ...]:
    return tuple(sorted(set(comments)))
