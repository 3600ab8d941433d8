"""The source scanner against CPython's `ast`, over the standard library and site-packages of the running interpreter.

`Reference` states the facts of docs/protocol.md once more, from the tree that CPython builds. It shares nothing with
the scanner: where the two differ, one of them is wrong.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import sysconfig
import warnings
from collections import Counter
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

import pytest
import random_sources

from buildfix.engine import PROTOCOL_VERSION, engine_path

MARKER_WORDS = ["@manual", "@noautodeps"]
CALLEES = ["__import__", "exec", "find_spec", "import_module", "iter_modules", "load_library", "patch", "walk_packages"]
HOLDERS = ["args", "choices", "packages", "plugins"]
# Before 3.12, `ast` gives what stands inside an f-string no true position.
FSTRING_POSITIONS = sys.version_info >= (3, 12)

NAME = r"[^\W\d]\w*"
DOTTED = re.compile(rf"{NAME}(\.{NAME})+(:{NAME}(\.{NAME})*)?")
DOTTED_PREFIX = re.compile(rf"((?:{NAME}\.)+)(?:{NAME}(?::[\w.]*)?)?")
PATH = re.compile(r"[^ \t\n\r\\\"'<>*?{}:]*\.pyi?")
NAMES = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
ITEM = rf"{NAMES}(?:[ \t]+as[ \t]+[A-Za-z_]\w*)?"
ITEMS = rf"{ITEM}(?:[ \t\n]*,[ \t\n]*{ITEM})*"
CODE = re.compile(
    rf"(?:^|;)[ \t]*(?:from[ \t]+({NAMES})[ \t]+import\b[ \t]*(?:\([ \t\n]*)?(\*|{ITEMS})|import[ \t]+({ITEMS}))",
    re.ASCII | re.MULTILINE,
)
LABEL_START = re.compile(r"@{0,2}[A-Za-z0-9_.+~-]*//")
IN_LABEL = r"[^\x00-\x20\x7f\\\"'<>:]"
LABEL_REST = re.compile(rf"(?!/|\Z){IN_LABEL}*(:{IN_LABEL}+)?")
LABEL_PREFIX_REST = re.compile(rf"(?!/){IN_LABEL}*(:{IN_LABEL}*)?")


def is_module_or_label(text: str) -> bool:
    """Whether a string constant is a dotted name or a label."""
    if start := LABEL_START.match(text):
        return LABEL_REST.fullmatch(text[start.end() :]) is not None
    return is_dotted(text)


def is_dotted(text: str) -> bool:
    return DOTTED.fullmatch(text) is not None and all(map(str.isidentifier, re.split("[.:]", text)))


def entry_point(text: str) -> str:
    """The `module:attribute` of a text that is `name = module:attribute`; empty if it is not."""
    value = text.partition("=")[2].strip(" \t")
    match = re.fullmatch(rf"({NAME})(?::({NAME}).*)?", value, re.DOTALL) if ":" in value else None
    if is_dotted(value) or (match and match[2] and all(map(str.isidentifier, match.groups()))):
        return value
    return ""


def imported_by(text: str) -> Iterator[str]:
    """What import statements in a text import, each at the start of a line or behind a semicolon."""
    for match in CODE.finditer(text):
        module, taken, plain = match.groups()
        rest = text[match.end() :].lstrip(" \t")
        if (rest and rest[0] not in "\n\r;#),\\") or len(module or "") > 200:
            continue
        for item in (taken or plain).split(","):
            name = item.split()[0]
            yield name if module is None else module if name == "*" else f"{module}.{name}"


def whole_names(prefix: str) -> str:
    """The whole names at the beginning of a string of which only `prefix` is known; empty if there are none."""
    if start := LABEL_START.match(prefix):
        if not LABEL_PREFIX_REST.fullmatch(prefix[start.end() :]):
            return ""
        end = max(prefix.rfind("/"), prefix.rfind(":")) + 1
        return prefix[:end] if end > start.end() else ""
    match = DOTTED_PREFIX.fullmatch(prefix)
    return match[1] if match and all(map(str.isidentifier, match[1][:-1].split("."))) else ""


def constant(node: ast.AST) -> str | None:
    """The value of a string constant, or of an f-string without fields."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr) and all(isinstance(part, ast.Constant) for part in node.values):
        return "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
    return None


def known_prefix(node: ast.AST) -> str | None:
    """The beginning of a string that an expression is known to have; None if nothing is known."""
    if (text := constant(node)) is not None:
        return text
    if isinstance(node, ast.JoinedStr):
        first = node.values[0]
        return str(first.value) if isinstance(first, ast.Constant) else ""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        prefix = known_prefix(node.left)
        return prefix.partition("%")[0] if prefix and isinstance(node.op, ast.Mod) else prefix
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        text = constant(node.func.value)
        return None if text is None else text.partition("{")[0]
    return None


class Block:
    """A clause around a statement. `head` holds trees, or a name, in the shape that `comparable` gives to text."""

    def __init__(self, kind: str, head: Any, line: int) -> None:
        self.kind, self.head, self.line = kind, head, line


def dump(node: ast.AST) -> str:
    return ast.dump(node)


def parsed(text: str) -> str:
    return dump(ast.parse(f"({text}\n)", mode="eval").body)


def comparable(kind: str, head: str) -> Any:
    """The head of a block as the scanner gives it, as trees."""
    if kind in ("def", "class"):
        return head
    if kind in ("if", "elif"):
        return parsed(head)
    if kind == "else":
        return [parsed(part) for part in head.split(" || ")]
    if kind == "try":
        return [dump(item) for item in ast.parse(f"({head},)" if head else "()", mode="eval").body.elts]  # type: ignore[attr-defined]
    if kind == "except":
        return parsed(head)
    if kind == "with":
        return [dump(item) for item in ast.parse(f"with {head}: pass").body[0].items]  # type: ignore[attr-defined]
    if kind == "match":
        return dump(ast.parse(f"match {head}:\n case _: pass").body[0].subject)  # type: ignore[attr-defined]
    if kind == "case":
        return dump(ast.parse(f"match x:\n case {head}: pass").body[0].cases[0].pattern)  # type: ignore[attr-defined]
    return head


class Scope:
    """A module, class or function; `declared` are its `global` names."""

    def __init__(self, kind: str) -> None:
        self.kind, self.declared = kind, set[str]()


class Reference(ast.NodeVisitor):
    """The facts of one source, from its tree."""

    def __init__(self, source: bytes) -> None:
        tree = ast.parse(source)
        self.lines = re.split(rb"\r\n|\r|\n", source)
        self.imports: list[tuple[Any, ...]] = []
        self.bound: list[tuple[int, int, str]] = []
        self.all: list[str] = []
        self.has_all = self.all_dynamic = self.stars = self.main = False
        self.strings: list[tuple[str, str, tuple[int, int] | None]] = []
        self.dynamic: list[tuple[str, str, str, int | None]] = []
        self.chains: dict[str, int | None] = {}
        self.blocks: list[Block] = []
        self.scopes = [Scope("module")]
        self.in_fstring = self.holding = 0
        self.callees = set(CALLEES)
        self.body(tree.body, docstring=True)
        imported = {
            (asname or name) if name else (asname or module.partition(".")[0])
            for module, _, name, asname, *_ in self.imports
        }
        self.chains = {text: line for text, line in self.chains.items() if text.partition(".")[0] in imported}

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(name for _, _, name in sorted(self.bound)))

    # Blocks

    def body(self, statements: list[ast.stmt], block: Block | None = None, *, docstring: bool = False) -> None:
        if block:
            self.blocks.append(block)
        if docstring and isinstance(statements[:1] and statements[0], ast.Expr):
            first = statements[0].value  # type: ignore[attr-defined]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                statements = statements[1:]
        for statement in statements:
            self.visit(statement)
        if block:
            self.blocks.pop()

    def keyword_line(self, keyword: bytes, before: list[Any], after: list[ast.stmt]) -> int:
        """The line of an `else` or `finally`, of which the tree knows nothing."""
        for number in range(before[-1].end_lineno + 1, after[0].lineno + 1):
            if self.lines[number - 1].lstrip(b" \t\f").startswith(keyword):
                return number
        return -1

    def visit_If(self, node: ast.If) -> None:
        kind, conditions = "if", []
        while True:
            if len(self.scopes) == 1:
                self.main = self.main or any(map(asks_for_main, ast.walk(node.test)))
            self.visit(node.test)
            conditions.append(dump(node.test))
            self.body(node.body, Block(kind, conditions[-1], node.lineno))
            orelse = node.orelse
            if not orelse:
                return
            first = orelse[0]
            text = self.lines[first.lineno - 1]
            if not (isinstance(first, ast.If) and text[:].lstrip(b" \t\f").startswith(b"elif") and len(orelse) == 1):
                break
            node, kind = first, "elif"
        self.body(orelse, Block("else", conditions, self.keyword_line(b"else", node.body, orelse)))

    def loop(self, node: Any, kind: str) -> None:
        self.body(node.body, Block(kind, "", node.lineno))
        if node.orelse:
            self.body(node.orelse, Block(f"{kind}-else", "", self.keyword_line(b"else", node.body, node.orelse)))

    def visit_For(self, node: Any) -> None:
        self.visit(node.target)
        self.visit(node.iter)
        self.loop(node, "for")

    visit_AsyncFor = visit_For

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        self.loop(node, "while")

    def visit_With(self, node: Any) -> None:
        for item in node.items:
            self.visit(item)
        self.body(node.body, Block("with", [dump(item) for item in node.items], node.lineno))

    visit_AsyncWith = visit_With

    def visit_Try(self, node: Any) -> None:
        base = parsed("BaseException")
        heads = [dump(handler.type) if handler.type else base for handler in node.handlers]
        self.body(node.body, Block("try", heads, node.lineno))
        for handler, head in zip(node.handlers, heads, strict=True):
            if handler.type:
                self.visit(handler.type)
            if handler.name:
                self.bind(handler.name, handler.type.end_lineno, handler.type.end_col_offset)
            self.body(handler.body, Block("except", head, handler.lineno))
        last: list[Any] = node.handlers or node.body
        if node.orelse:
            self.body(node.orelse, Block("try-else", "", self.keyword_line(b"else", last, node.orelse)))
        if node.finalbody:
            line = self.keyword_line(b"finally", node.orelse or last, node.finalbody)
            self.body(node.finalbody, Block("finally", "", line))

    visit_TryStar = visit_Try

    def visit_Match(self, node: Any) -> None:
        self.visit(node.subject)
        self.blocks.append(Block("match", dump(node.subject), node.lineno))
        for case in node.cases:
            self.visit(case.pattern)
            if case.guard:
                self.visit(case.guard)
            # The line of `case` is that of its pattern, but for brackets that the tree does not know.
            line = case.pattern.lineno
            while not self.lines[line - 1].lstrip(b" \t\f").startswith(b"case"):
                line -= 1
            self.body(case.body, Block("case", dump(case.pattern), line))
        self.blocks.pop()

    def visit_MatchAs(self, node: Any) -> None:
        self.generic_visit(node)
        if node.name:
            self.bind(node.name, node.end_lineno, node.end_col_offset - len(node.name.encode()))

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node: Any) -> None:
        self.generic_visit(node)
        if node.rest:
            self.bind(node.rest, node.end_lineno, node.end_col_offset)

    # Scopes

    def visit_FunctionDef(self, node: Any) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
        self.bind(node.name, node.lineno, node.col_offset)
        for parameter in getattr(node, "type_params", []):
            self.visit(parameter)
        self.visit(node.args)
        if node.returns:
            self.visit(node.returns)
        self.scopes.append(Scope("def"))
        self.body(node.body, Block("def", node.name, node.lineno), docstring=True)
        self.scopes.pop()

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: Any) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
        self.bind(node.name, node.lineno, node.col_offset)
        for part in [*getattr(node, "type_params", []), *node.bases, *node.keywords]:
            self.visit(part)
        self.scopes.append(Scope("class"))
        self.body(node.body, Block("class", node.name, node.lineno), docstring=True)
        self.scopes.pop()

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.args)
        self.scopes.append(Scope("def"))
        self.visit(node.body)
        self.scopes.pop()

    def visit_Global(self, node: ast.Global) -> None:
        self.scopes[-1].declared.update(node.names)

    # Bindings

    def bind(self, name: str, line: int, col: int, *, plain: bool = False) -> None:
        scope = self.scopes[-1]
        if scope.kind == "module" or name in scope.declared:
            self.bound.append((line, col, name))
            if name == "__all__" and not plain:
                self.all_dynamic = True

    def visit_Name(self, node: ast.Name) -> None:
        self.value(node)
        if isinstance(node.ctx, ast.Store):
            self.bind(node.id, node.lineno, node.col_offset)
        elif isinstance(node.ctx, ast.Del) and node.id == "__all__" and self.scopes[-1].kind == "module":
            self.all_dynamic = True

    def comprehension(self, node: Any) -> None:
        # Its targets are its own; what a walrus in it binds is not.
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.comprehension):
                self.within_target(child.target)
                self.visit(child.iter)
                for condition in child.ifs:
                    self.visit(condition)
            else:
                self.visit(child)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comprehension

    def within_target(self, target: ast.expr) -> None:
        self.scopes.append(Scope("comprehension"))
        self.visit(target)
        self.scopes.pop()

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.target)
        self.visit(node.value)

    def visit_TypeAlias(self, node: Any) -> None:
        self.visit(node.name)
        for parameter in node.type_params:
            self.visit(parameter)
        self.visit(node.value)

    def is_all(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == "__all__" and self.scopes[-1].kind == "module"

    def assigned(self, targets: list[Any], value: ast.expr) -> None:
        for target in targets:
            if self.is_all(target):
                self.bind("__all__", target.lineno, target.col_offset, plain=True)
            else:
                self.visit(target)
                if isinstance(target, ast.Subscript) and self.is_all(target.value):
                    self.all_dynamic = True
        if any(map(self.is_all, targets)):
            self.extend_all(literal(value))
        self.held(any(map(held_by, targets)), value)

    def extend_all(self, names: list[str] | None) -> None:
        self.has_all = True
        if names is None:
            self.all_dynamic = True
        else:
            self.all += names

    def visit_Assign(self, node: ast.Assign) -> None:
        self.assigned(node.targets, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.annotation)
        if node.value:
            self.assigned([node.target], node.value)
        elif isinstance(node.target, ast.Name):
            self.value(node.target)  # nothing is bound
        else:
            self.visit(node.target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if self.is_all(node.target) and not isinstance(node.op, ast.Add):
            self.all_dynamic = True
        self.assigned([node.target], node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and self.is_all(call.func.value):
            names = None
            if len(call.args) == 1 and not call.keywords:
                if call.func.attr == "extend":
                    names = literal(call.args[0])
                elif call.func.attr == "append":
                    names = literal(ast.List([call.args[0]], ast.Load()))
            if names is not None:
                self.extend_all(names)
                self.generic_visit(call)
                return
        self.generic_visit(node)

    # Imports

    def imported(self, node: Any, module: str | None, level: int) -> None:
        for alias in node.names:
            path, name = (alias.name, "") if module is None else (module, alias.name)
            blocks = tuple((block.kind, block.head, block.line) for block in self.blocks)
            self.imports.append(
                (path, level, name, alias.asname or "", *begin(node), *begin(alias), node.end_lineno, blocks)
            )
            if name in CALLEES and alias.asname:
                self.callees.add(alias.asname)
            if (alias.asname or name) == "__all__":
                self.all_dynamic = True
            self.stars = self.stars or name == "*"

    def visit_Import(self, node: ast.Import) -> None:
        self.imported(node, None, 0)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.imported(node, node.module or "", node.level)

    # Strings, calls, chains

    def place(self, node: Any) -> tuple[int, int] | None:
        return begin(node) if FSTRING_POSITIONS or not self.in_fstring else None

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.text(node, node.value)

    def text(self, node: ast.AST, text: str) -> None:
        if is_module_or_label(text):
            self.strings.append((text, "", self.place(node)))
        elif PATH.fullmatch(text):
            self.strings.append((text, "p", self.place(node)))
        elif self.holding and text.isidentifier():
            self.strings.append((text, "w", self.place(node)))
        elif self.holding and entry_point(text):
            self.strings.append((entry_point(text), "", self.place(node)))
        else:
            self.code(node, text)

    def code(self, node: ast.AST, text: str) -> None:
        for name in imported_by(text):
            self.strings.append((name, "c", self.place(node)))

    def held(self, holds: bool, *nodes: ast.AST) -> None:
        """Visit what stands where single names of modules may."""
        self.holding += holds
        for node in nodes:
            self.visit(node)
        self.holding -= holds

    def prefix(self, node: ast.AST, prefix: str) -> None:
        if whole := whole_names(prefix):
            self.strings.append((whole, "f", self.place(node)))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        text = constant(node)
        if text is not None:
            self.text(node, text)
            return
        self.prefix(node, known_prefix(node) or "")
        self.code(node, known_prefix(node) or "")
        self.fields(node)

    def fields(self, node: ast.JoinedStr) -> None:
        self.in_fstring += 1
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.visit(part.value)
                if isinstance(part.format_spec, ast.JoinedStr):
                    self.fields(part.format_spec)
        self.in_fstring -= 1

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, (ast.Add, ast.Mod)) and constant(node.left) is not None:
            self.prefix(node.left, known_prefix(node) or "")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        if isinstance(function, ast.Attribute):
            if function.attr == "format" and constant(function.value) is not None:
                self.prefix(function.value, known_prefix(node) or "")
            owner = function.value
            mutators = ("append", "extend", "insert", "remove", "pop", "clear")
            if isinstance(owner, ast.Name) and owner.id == "__all__" and function.attr in mutators:
                self.all_dynamic = True
        last = getattr(function, "attr", getattr(function, "id", ""))
        if last in self.callees:
            arguments = sorted([*node.args, *node.keywords], key=begin)
            text, how = "", "none"
            if arguments:
                first: Any = arguments[0]
                first = first.value if isinstance(first, ast.keyword) and first.arg else first
                prefix = known_prefix(first)
                text, how = prefix or "", "unknown"
                if constant(first) is not None:
                    how = "const"
                elif prefix:
                    how = "prefix"
            place = self.place(node)
            self.dynamic.append((dump(function), text, how, place and place[0]))
        if isinstance(function, ast.Attribute):
            self.chain(function)
        elif not isinstance(function, ast.Name):
            self.visit(function)
        owner = getattr(function, "value", None)
        self.held(last in self.callees or held_by(owner), *node.args, *node.keywords)

    def visit_keyword(self, node: ast.keyword) -> None:
        self.held(node.arg in HOLDERS, node.value)

    def value(self, node: ast.Name | ast.Attribute) -> None:
        """A word for calls that is not called here."""
        if getattr(node, "attr", getattr(node, "id", "")) in self.callees:
            place = self.place(node)
            self.dynamic.append((parsed(ast.unparse(node)), "", "value", place and place[0]))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.value(node)
        self.chain(node)

    def chain(self, node: ast.Attribute) -> None:
        names, inner = [node.attr], node.value
        while isinstance(inner, ast.Attribute):
            names.append(inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name):
            self.visit(inner)
            return
        text = ".".join([inner.id, *reversed(names)])
        place = self.place(node)
        line = place and place[0]
        known = self.chains.get(text, line)
        self.chains[text] = min(line, known) if line and known else None


def begin(node: Any) -> tuple[int, int]:
    """Where a node begins: line from 1, column from 0 in UTF-8 bytes."""
    return node.lineno, node.col_offset


def held_by(node: ast.AST | None) -> bool:
    """Whether a name, or an attribute, is one of those that hold single names of modules."""
    return getattr(node, "attr", getattr(node, "id", "")) in HOLDERS and isinstance(node, ast.Name | ast.Attribute)


def literal(node: ast.AST) -> list[str] | None:
    """The strings of a list or tuple of string constants; None if it is anything else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = literal(node.left), literal(node.right)
        return None if left is None or right is None else left + right
    if not isinstance(node, (ast.List, ast.Tuple)):
        return None
    values = [item.value for item in node.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    return values if len(values) == len(node.elts) else None


def asks_for_main(node: ast.AST) -> bool:
    if not isinstance(node, ast.Compare):
        return False
    pairs = zip([node.left, *node.comparators], node.comparators, strict=False)
    return any(
        isinstance(op, ast.Eq) and isinstance(name, ast.Name) and name.id == "__name__" and constant(text) == "__main__"
        for op, sides in zip(node.ops, pairs, strict=True)
        for name, text in (sides, sides[::-1])
    )


def differences(source: bytes, record: dict[str, Any], tree: Container[str] | None = None) -> Iterator[str]:
    """What the scanner and CPython say differently about a source; `tree` holds the names of folders and sources."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = Reference(source)
    except (SyntaxError, ValueError) as error:
        if "error" not in record:
            yield f"no error, but CPython says: {error}"
        return
    if "error" in record:
        yield f"error {record['error']}, but CPython compiles it"
        return

    def path(block: int) -> tuple[Any, ...]:
        blocks: list[Any] = []
        while block >= 0:
            kind, head, block, line = record["blocks"][block]
            blocks.insert(0, (kind, comparable(kind, head), line))
        return tuple(blocks)

    got_imports = [(*entry[:9], path(entry[9])) for entry in record.get("imports", [])]
    yield from differ("import", expected.imports, got_imports)
    yield from differ("name", expected.names, record.get("names", []))
    if expected.names != record.get("names", []) and sorted(expected.names) == sorted(record.get("names", [])):
        yield f"order of names: {expected.names} {record.get('names')}"
    expected_all = expected.all if expected.has_all and not expected.all_dynamic else None
    if record.get("all") != expected_all or record.get("all_dynamic", False) != expected.all_dynamic:
        yield f"__all__: {record.get('all')}, {record.get('all_dynamic')} for {expected_all}, {expected.all_dynamic}"
    for flag in "stars", "main":
        if record.get(flag, False) != getattr(expected, flag):
            yield f"{flag}: {record.get(flag)}"
    got_strings = [(text, flag, (line, col)) for text, line, col, flag in record.get("strings", [])]
    yield from differ("string", expected.strings, got_strings)
    got_dynamic = [(parsed(callee), text, how, line) for callee, line, text, how in record.get("dynamic", [])]
    yield from differ("dynamic", expected.dynamic, got_dynamic)
    chains = [entry for entry in expected.chains.items() if tree is None or entry[0].split(".")[1] in tree]
    yield from differ("chain", chains, [tuple(chain) for chain in record.get("chains", [])])


def differ(what: str, expected: list[Any], got: list[Any]) -> Iterator[str]:
    """Compare without regard to order. A place that CPython does not know is None, as the last part of an entry."""
    unplaced = {entry[:-1] for entry in expected if isinstance(entry, tuple) and entry[-1] is None}
    if unplaced:
        expected = [(*e[:-1], None) if e[:-1] in unplaced else e for e in expected]
        got = [(*e[:-1], None) if e[:-1] in unplaced else e for e in got]
    want, have = Counter(map(repr, expected)), Counter(map(repr, got))
    for entry in sorted((want - have).elements()):
        yield f"missed {what} {entry}"
    for entry in sorted((have - want).elements()):
        yield f"invented {what} {entry}"


def scan(root: Path) -> Iterator[dict[str, Any]]:
    """The `source` records of a tree, from the real engine."""
    request = {
        "version": PROTOCOL_VERSION,
        "root": str(root),
        "dialect": "bazel",
        "cells": [{"name": "", "path": "", "build_files": ["BUILD.bazel"], "ignore": []}],
        "do": ["scan"],
        "marker_words": MARKER_WORDS,
        "callee_words": CALLEES,
        "holder_words": HOLDERS,
    }
    run = subprocess.run([engine_path()], input=json.dumps(request).encode(), capture_output=True, check=True)
    for line in run.stdout.splitlines():
        record = json.loads(line)
        if record["t"] == "source":
            yield record


def names_in(root: Path) -> set[str]:
    """The names of the folders and Python files below a folder."""
    names: set[str] = set()
    for _, folders, files in os.walk(root):
        names.update(folders)
        names.update(file.rpartition(".")[0] for file in files if file.endswith((".py", ".pyi")))
    return names


@pytest.fixture
def deep_recursion() -> Iterator[None]:
    """The trees of generated sources are deep."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(limit)


def installed() -> list[Path]:
    """The folders of the standard library and of site-packages, without those that lie in another of them."""
    roots = {Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib")}
    return sorted(root for root in roots if not any(root != other and root.is_relative_to(other) for other in roots))


SHARDS = 4  # so that pytest-xdist has something to share out


@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.usefixtures("deep_recursion")
def test_standard_library_and_site_packages(shard: int) -> None:
    found: list[str] = []
    count = 0
    for root in installed():
        tree = names_in(root)
        records = [record for record in scan(root) if record["path"].endswith(".py")]
        for record in records[shard::SHARDS]:
            count += 1
            source = (root / record["path"]).read_bytes()
            found += [f"{root / record['path']}: {text}" for text in differences(source, record, tree)]
    assert count > 0
    assert not found, f"{len(found)} differences in {count} sources:\n" + "\n".join(found[:20])


def compare(seeds: range, folder: Path) -> tuple[int, list[str]]:
    """How many random sources the interpreter can parse, and where the scanner sees something else in one."""
    sources = dict(random_sources.valid(seeds))
    for seed, data in sources.items():
        (folder / f"{seed}.py").write_bytes(data)
    for name in ("b", "d", "j", "k", "u", "path", "open"):  # chains of other names are left out
        (folder / name).mkdir()
    tree, found = names_in(folder), list[str]()
    for record in scan(folder):
        seed = int(record["path"].removesuffix(".py"))
        found += [f"{seed}: {text}" for text in differences(sources[seed], record, tree)]
    return len(sources), found


def test_random_sources(tmp_path: Path) -> None:
    count, found = compare(range(1500), tmp_path)
    assert count > 300
    assert not found, "\n".join(found[:20])
