"""Random valid build files with random layouts, and random changes to them; for tests and benchmarks/fuzz_edits.py."""

from __future__ import annotations

import ast
import random
import re
from collections import Counter

from buildfix import edits
from buildfix.buildfile import BuildFile, BuildFileError, Comment

LABELS = [":a", ":lib", "//x:y", "//x/y:z", "//x/y", "cell//p/q:r", "@pip//numpy", "//caffe2:torch", "//é/ü:ß", ":b.c"]
COMMENTS = ["# keep", "# @manual", '# why, oh "why"', "#", "# ünï [1, 2]", "# 'quoted' # twice", "#:x,"]


class Writer:
    """Writes one random build file. Everything depends on the seed alone."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.newline = self.random.choice(["\n", "\n", "\n", "\r\n", "\r"])
        self.step = self.random.choice(["    ", "    ", "  ", "\t"])
        self.quote = self.random.choice(['"', '"', "'"])
        self.comments = self.random.choice([0.0, 0.1, 0.4])

    def file(self) -> bytes:
        lines = [self.comment("", 0.5)] if self.chance(0.5) else []
        for _ in range(self.random.randint(1, 4)):
            lines.append(self.statement())
            lines.append(self.random.choice(["", self.newline, "# between" + self.newline]))
        text = self.newline.join(lines)
        if self.chance(0.8):
            text += self.newline
        return (b"\xef\xbb\xbf" if self.chance(0.1) else b"") + text.encode()

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def comment(self, before: str = "  ", probability: float | None = None) -> str:
        if not self.chance(self.comments if probability is None else probability):
            return ""
        return before + self.random.choice(COMMENTS)

    def string(self, text: str) -> str:
        quote = self.quote if self.chance(0.9) else self.random.choice(['"', "'", '"""'])
        return f"{quote}{text}{quote}"

    def statement(self) -> str:
        match self.random.randrange(7):
            case 0:
                return f"COMMON = {self.list('')}{self.comment()}"
            case 2:
                return self.newline.join(["COMMON = []", *self.growth("")])
            case 1:
                body = self.newline.join([*self.growth(self.step), self.step + self.call(self.step)])
                return f"def f(deps = {self.flat()}):{self.comment()}{self.newline}{body}"
            case _:
                return self.call("")

    def growth(self, indent: str) -> list[str]:
        """Statements that add something to a list, some under a condition, with comments and blank lines among them."""
        lines = []
        for _ in range(self.random.randrange(4)):
            if self.chance(0.2):
                lines.append("")
            if self.chance(self.comments):
                lines.append(indent + self.comment("", 1.0))
            text = self.string(self.random.choice(LABELS))
            statement = self.random.choice(
                [f"COMMON.append({text})", f"COMMON.insert(0, {text})", "COMMON += {}", "COMMON.extend({})"]
            )
            if self.chance(0.3):
                lines.append(f"{indent}if c:{self.comment()}")
                lines.append(indent + self.step + statement.format(self.list(indent + self.step)) + self.comment())
            else:
                lines.append(indent + statement.format(self.list(indent)) + self.comment())
        return lines

    def call(self, indent: str) -> str:
        inner = indent + self.step
        arguments = [f"name = {self.string('ünit' + str(self.random.randrange(9)))}"]
        for name in self.random.sample(["srcs", "deps", "exported_deps", "labels"], self.random.randint(1, 3)):
            arguments.append(f"{name}{self.random.choice([' = ', ' = ', '='])}{self.value(inner)}")
        if self.chance(0.2):
            arguments.append("**kwargs")
        match self.random.randrange(4):
            case 0:
                return f"rule({', '.join(arguments)}){self.comment()}"
            case 1:
                joined = f",{self.newline}{inner}".join(arguments)
                return f"rule(_kind = x.y,{self.newline}{inner}{joined}{self.end(arguments)}{self.newline}{indent})"
        lines = [f"{indent}rule({self.comment()}".lstrip()]
        for index, argument in enumerate(arguments):
            if self.chance(self.comments):
                lines.append(inner + self.comment("", 1.0))
            comma = "," if index + 1 < len(arguments) else self.end(arguments)
            lines.append(f"{inner}{argument}{comma}{self.comment()}")
        return self.newline.join([*lines, f"{indent})"])

    def end(self, arguments: list[str]) -> str:
        return "," if self.chance(0.7) and not arguments[-1].startswith("**") else ""

    def value(self, indent: str) -> str:
        match self.random.randrange(10):
            case 0:
                return f"{self.list(indent)} + COMMON"
            case 3:
                return f"COMMON + {self.list(indent)} + select({{}})"
            case 4:
                return f'[":" + x for x in {self.list(indent)}] + {self.list(indent)}'
            case 1:
                return f'select({{"//c:d": {self.list(indent)}, "DEFAULT": {self.flat()}}})'
            case 2:
                return f"({self.list(indent)} if c else {self.flat()})"
        return self.list(indent)

    def entry(self) -> str:
        text = self.string(self.random.choice(LABELS))
        match self.random.randrange(14):
            case 0:
                return 'requirement("numpy")'
            case 1:
                return '":%s" % name'
            case 2:
                return f"({text})"
            case 3:
                return f'("linux", [{text}])'
        return text

    def flat(self) -> str:
        return "[" + ", ".join(self.entry() for _ in range(self.random.randrange(4))) + "]"

    def list(self, indent: str) -> str:
        count = self.random.choice([0, 1, 1, 2, 3, 4, 7])
        entries = [self.entry() for _ in range(count)]
        if self.chance(0.3):
            pad = self.random.choice(["", "", " "])
            comma = "," if entries and self.chance(0.2) else ""
            brackets = "()" if count > 1 and self.chance(0.1) else "[]"
            return f"{brackets[0]}{pad}{', '.join(entries)}{comma}{pad}{brackets[1]}"
        inner = indent + self.step if self.chance(0.8) else indent + " " * 9
        text = "[" + (self.comment() + self.newline + inner if self.chance(0.8) or not entries else "")
        for index, entry in enumerate(entries):
            text += entry
            last = index + 1 == count
            if not last or self.chance(0.8):
                text += ("  " if self.chance(0.05) else "") + ","
            if last:
                break
            if self.chance(0.15):
                text += " "
                continue
            text += self.comment() + self.newline
            if self.chance(0.1):
                text += self.newline
            while self.chance(self.comments):
                text += inner + self.comment("", 1.0) + self.newline
            text += inner
        if entries and self.chance(0.2):
            return text + "]"
        text += self.comment() if entries else ""
        while self.chance(self.comments):
            text += self.newline + inner + self.comment("", 1.0)
        return text + self.newline + indent + "]"


def lists(file: BuildFile) -> list[ast.List]:
    """The lists of a file that no other list holds, so that changes to several do not meet."""
    found = [n for n in file.nodes if isinstance(n, ast.List)]
    return [n for n in found if not any(n is not o and n in set(ast.walk(o)) for o in found)]


def random_changes(file: BuildFile, chance: random.Random) -> list[edits.Change]:
    """Some changes to some of the lists, calls and other values of a file."""
    changes: list[edits.Change] = []
    for call in (n for n in file.nodes if isinstance(n, ast.Call) and n.keywords and chance.random() < 0.2):
        add = tuple(f"//new/{i}:x" for i in range(chance.randint(1, 5)))
        changes.append(edits.NewAttribute(file.opening(call), "new_deps", add))
        values = [k.value for k in call.keywords if isinstance(k.value, ast.BinOp | ast.IfExp | ast.Call)]
        changes += [edits.Extend(file.span(value), add) for value in values]
    for node in file.nodes:
        if _adds_one(node) and not chance.randrange(2):
            changes.append(edits.DropStatement(file.start(node)))
    gone = {c.at for c in changes if isinstance(c, edits.DropStatement)}
    for node in lists(file):
        if not chance.randrange(2) and file.start(file.statement(node)) not in gone:
            drop = [file.start(e) for e in node.elts if not chance.randrange(3)]
            add = [f"//new/{chance.randrange(5)}:n{i}" for i in range(chance.randrange(3))]
            empty = chance.choice(list(edits.WhenEmpty))
            order = chance.choice(list(edits.Order))
            changes.append(edits.ListChange(file.start(node), tuple(add), tuple(drop), order, empty))
    return changes


def _adds_one(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append" | "insert"))):
            return True
    return False


def check(seed: int) -> None:
    """Write the file of a seed, change it, and demand that nothing else changed. Raises AssertionError or EditError."""
    writer = Writer(seed)
    data = writer.file()
    file = BuildFile.parse("BUCK", data)
    changes = random_changes(file, writer.random)
    after = edits.edit(file, changes)  # itself demands that the syntax trees differ as asked for, and no more
    edited = BuildFile.parse("BUCK", after)
    assert _newlines(after) <= (_newlines(data) or {b"\n"})
    in_lists = [c for c in changes if isinstance(c, edits.ListChange)]
    dropped = [e for c in in_lists for e in _list_at(file, c.at).elts if file.start(e) in c.drop]
    gone = Counter(c.text for c in file.comments) - Counter(c.text for c in edited.comments)
    about = {c for e in dropped for c in _about(file, e)}
    about |= {c for n in file.nodes if isinstance(n, ast.stmt) and _may_go(n) for c in file.statement_comments(n)}
    attached = Counter(c.text for c in about)
    assert not gone - attached, f"lost {gone - attached}"
    assert not Counter(c.text for c in edited.comments) - Counter(c.text for c in file.comments), "made a comment"
    rest = iter(_lines(after))
    for line in _lines_outside(file, changes):
        assert any(line == other for other in rest), f"changed {line!r}"
    _stay_with_their_element(file, edited, dropped)


# What texts are cut at in one place and not in another, what is invisible, and what changes how the rest is read.
ODD = [
    "\f", "\v", "\x1c", "\x85", "\u2028", "\ufeff", "\0", "\t", "\r", "\n", "\r\n", "\\\n", ";", "#", "'", '"', '"""',
    "r'''", ")", "(", "[", "]", ",", "+", "if c: ", "lambda x: ", "*", "**", "e\u0301", "\U0001f600", " ", "=", "[[]]",
    "for x in y", 'f"{x}"',
]  # fmt: skip


def torn(seed: int) -> bytes:
    """The file of a seed with something odd put in, or a part left out or said twice, here and there."""
    writer = Writer(seed)
    text, chance = writer.file().decode(), writer.random
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(text) + 1)
        end = min(len(text), at + chance.randrange(12))
        match chance.randrange(4):
            case 0:
                text = text[:at] + text[end:]
            case 1:
                text = text[:end] + text[at:]
            case _:
                text = text[:at] + chance.choice(ODD) + text[at:]
    return text.encode()


def check_torn(seed: int) -> str:
    """Change the torn file of a seed: it is `unreadable`, the change is `refused`, or no other line is changed.
    Raises AssertionError, or what the editor raises besides its own errors."""
    data, chance = torn(seed), random.Random(seed)
    try:
        file = BuildFile.parse("BUCK", data)
    except BuildFileError:
        return "unreadable"
    changes = random_changes(file, chance)
    try:
        after = edits.edit(file, changes)
    except edits.EditError:
        return "refused"
    rest = iter(_lines(after))
    for line in _lines_outside(file, changes):
        assert any(line == other for other in rest), f"changed {line!r}"
    return "edited"


def _may_go(node: ast.stmt) -> bool:
    """Whether a statement only adds something to a list, so that it goes with that."""
    match node:
        case ast.AugAssign() | ast.Expr(value=ast.Call(func=ast.Attribute(attr="append" | "insert" | "extend"))):
            return True
    return False


def _about(file: BuildFile, element: ast.expr) -> list[Comment]:
    """The comments that may go with an element; for an attribute that goes with it, those of the attribute too."""
    found = list(file.element_comments(element))
    node = file.parents[element]
    keyword = file.parents[node]
    if isinstance(keyword, ast.keyword):
        call = file.parents[keyword]
        assert isinstance(call, ast.Call) and keyword.arg
        found += file.attribute_comments(call, keyword.arg)
        found += file.comments_between(file.start(node), file.end(node))
    return found


def _stay_with_their_element(before: BuildFile, after: BuildFile, dropped: list[ast.expr]) -> None:
    """A comment at the end of the line of an element that is alone there still is."""

    def pairs(file: BuildFile, without: list[ast.expr]) -> Counter[tuple[str, str]]:
        found: Counter[tuple[str, str]] = Counter()
        for node in lists(file):
            for element in node.elts:
                line = file.line(file.end(element))
                ends = [e for e in node.elts if file.line(file.end(e)) == line]
                after_it = file.comments_between(file.end(element), file.line_span(line).end)
                if element not in without and ends[-1] is element and after_it and after_it[0].end <= file.end(node):
                    found[(file.source(element), after_it[0].text)] += 1
        return found

    kept, now = pairs(before, dropped), pairs(after, [])
    # An element that was dropped from the end of a line leaves the line's comment to the element before it.
    assert (kept - now).total() <= len(dropped), f"moved {kept - now}"


def _list_at(file: BuildFile, at: int) -> ast.List:
    return next(n for n in lists(file) if file.start(n) == at)


def _sum(file: BuildFile, node: ast.AST) -> ast.AST:
    """The whole of a sum that a list is in."""
    while isinstance(file.parents[node], ast.BinOp | ast.comprehension | ast.ListComp):
        node = file.parents[node]
    return node


def _blanks_and_comments_above(file: BuildFile, node: ast.AST) -> set[int]:
    found = set[int]()
    line = file.line(file.start(node)) - 1
    while line and (not (text := file.data[slice(*file.line_span(line))].strip()) or text.startswith(b"#")):
        found.add(line)
        line -= 1
    return found


def _newlines(data: bytes) -> set[bytes]:
    return set(re.findall(rb"\r\n|\r|\n", data))


def _lines(data: bytes) -> list[bytes]:
    return re.split(rb"\r\n|\r|\n", data)


def _lines_outside(file: BuildFile, changes: list[edits.Change]) -> list[bytes]:
    """The lines of the file that no changed list, value or call has a part of."""
    touched: set[int] = set()
    for change in changes:
        match change:
            case edits.NewAttribute(at=at):
                node: ast.AST = next(n for n in file.nodes if isinstance(n, ast.Call) and file.opening(n) == at)
            case edits.DropStatement(at=at):
                node = next(n for n in file.nodes if isinstance(n, ast.stmt) and file.start(n) == at)
                touched |= _blanks_and_comments_above(file, node)
            case edits.Extend(span=span):
                node = next(n for n in file.nodes if isinstance(n, ast.expr) and file.span(n) == span)
            case edits.ListChange(at=at):
                node = _list_at(file, at)
                if change.when_empty is edits.WhenEmpty.ATTRIBUTE and isinstance(file.parents[node], ast.keyword):
                    node = file.parents[file.parents[node]]
                elif change.when_empty is not edits.WhenEmpty.BRACKETS:
                    node = _sum(file, node)
                    statement = file.statement(node)
                    if isinstance(statement, ast.stmt) and _may_go(statement):
                        node = statement
                        touched |= _blanks_and_comments_above(file, node)
        touched.update(range(file.line(file.start(node)), file.line(file.end(node)) + 1))
    return [line for number, line in enumerate(_lines(file.data), 1) if number not in touched]
