"""The layout of a bracketed sequence (a list, a tuple, a call's arguments) as bytes, and what adding or dropping an
item does to it.

A sequence is taken apart into its items and the white space and comments between them; every byte belongs to exactly
one part, so what no operation touches is put together again as it was. Parts are described in `Item`; comments stay
with the item that they are about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from buildfix.buildfile import BuildFile, Span

MAX_COLUMNS = 100
"""A one-line sequence stays on one line while that line has at most this many columns, or had more before."""

_BREAK = re.compile(rb"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Item:
    """One item.

    `before` is what stands between the previous item's part and `text`; `gap` what stands before the comma, if there
    is one; `after` the rest of the line behind it (blanks and a comment, not the line break), empty where something
    else follows on that line. `index` is the item's place before any change, below 0 for a new one.
    """

    before: bytes
    text: bytes
    gap: bytes
    comma: bool
    after: bytes
    index: int = -1

    def renumbered(self, index: int) -> Item:
        """The same item with another index."""
        return replace(self, index=index)

    @property
    def bytes(self) -> bytes:
        """All of it."""
        return self.before + self.text + self.gap + (b"," if self.comma else b"") + self.after


@dataclass(slots=True)
class Layout:
    """The inside of a pair of brackets. `head` is the rest of the opening bracket's line if nothing but a comment is
    on it; `tail` is what stands between the last item's part and the closing bracket.

    `line` is what stands before the opening bracket on its line, `rest` what follows the closing one. `stacks`: several
    items never share a line.
    """

    head: bytes
    items: list[Item]
    tail: bytes
    line: bytes
    rest: bytes
    newline: bytes
    is_tuple: bool = False
    stacks: bool = False

    def render(self) -> bytes:
        """The bytes between the brackets."""
        return self.head + b"".join(item.bytes for item in self.items) + self.tail

    # Dropping

    def drop(self, position: int, alone: bool = False) -> None:
        """Take an item out, with the comment at the end of its line if it has that line to itself, and with the
        comment lines directly above it unless they head a group (or `alone` says that they do not)."""
        starts_line = _breaks(self.items[position].before)
        ends_line = _starts_line(self._before(position + 1))
        if starts_line and ends_line:
            self._drop_lines(position, alone)
        elif position + 1 < len(self.items) and (not ends_line or position == 0):
            # What follows takes its place, unless comments above that would have to move.
            if b"#" not in self._before(position + 1):
                self._set_before(position + 1, self.items[position].before)
            del self.items[position]
        elif position and not starts_line:
            self._drop_end_of_line(position)
        else:
            self._drop_before_bracket(position)
        if self.is_tuple and len(self.items) == 1:
            self.items[0] = replace(self.items[0], comma=True)
        if not self.items and b"#" not in self.head + self.tail:
            self.head = self.tail = b""

    def _drop_lines(self, position: int, alone: bool) -> None:
        kept, follows = _lines(self.items[position].before)[:-1], _lines(self._before(position + 1))
        if alone or not self._heads_group(position):
            while kept and b"#" in kept[-1]:
                kept.pop()
        is_last = position + 1 == len(self.items)
        if is_last or _is_blank(follows[1:-1]):
            while len(kept) > 1 and _is_blank(kept[-1:]):
                kept.pop()
        if position == 0 and b"#" not in self.head and b"#" not in b"".join(kept):
            kept = kept[:1]
            while not is_last and _is_blank(follows[1:-1]):
                del follows[1]
        del self.items[position]
        self._set_before(position, b"".join(kept + follows))

    def _drop_end_of_line(self, position: int) -> None:
        """The item stands behind others, at the end of a line: a comment there may be about them, and stays."""
        item, previous = self.items[position], self.items[position - 1]
        comma = previous.comma and (item.comma or position + 1 < len(self.items))
        gap = previous.gap if comma else b""
        self.items[position - 1] = replace(previous, comma=comma, gap=gap, after=item.after)
        del self.items[position]

    def _drop_before_bracket(self, position: int) -> None:
        """The item is the last one, first on its line or alone in the brackets, with the closing bracket behind it."""
        item = self.items.pop(position)
        previous = self.items[-1] if self.items else None
        if b"#" in item.before or b"#" in (previous.after if previous else self.head):
            self.tail = item.before + self.tail.lstrip(b" \t")
        elif previous is not None:
            self.items[-1] = replace(previous, comma=item.comma, gap=previous.gap if item.comma else b"", after=b"")
        else:
            self.tail = b""

    def _heads_group(self, position: int) -> bool:
        """Whether the comment lines above an item may also be about the next one: neither a comment nor a blank line
        parts the two."""
        if position + 1 == len(self.items) or self.items[position + 1].index < 0:
            return False
        follows = self._before(position + 1)
        return b"#" not in follows and not _is_blank(_lines(follows)[1:-1])

    # Adding

    def insert(self, position: int, text: bytes) -> None:
        """Put a new item before the one at `position`, laid out like its neighbours. Comments stay where they are:
        with the items that they stood at."""
        if not self.items:
            self._insert_only(text)
        elif self.compact and not self.stacks and self.fits(len(_lines(text)[0]) + 2):
            self._insert_inline(position, text)
        else:
            if self.one_line:
                self._split()
            self._insert_line(position, text)

    @property
    def one_line(self) -> bool:
        """Whether the brackets and all between them are on one line."""
        return not _breaks(self.render())

    @property
    def compact(self) -> bool:
        """Whether there is no line break between the brackets but inside of items."""
        return not _breaks(self.head + self.tail) and not any(_breaks(item.before + item.gap) for item in self.items)

    def fits(self, more: int) -> bool:
        """Whether the last line of a compact sequence may get `more` bytes longer."""
        last = _lines(self.line + b"[" + self.render() + b"]" + self.rest)[-1]
        length = len(last.decode(errors="replace").strip("\r\n"))
        return length + more <= MAX_COLUMNS or length > MAX_COLUMNS

    def _insert_only(self, text: bytes) -> None:
        if self.one_line and not _breaks(text) and self.fits(len(text)):
            self.items.append(Item(self.head + self.tail, text, b"", self.is_tuple, b""))
            self.head = self.tail = b""
            return
        if self.one_line:
            self.head, self.tail = b"", self.newline + indent_of(self.line)
        commented = [line for line in _lines(self.tail) if b"#" in line]
        indent = indent_of(commented[0]) if commented else self.deeper
        self.items.append(Item(self.newline + indent, text, b"", True, b""))

    def _insert_inline(self, position: int, text: bytes) -> None:
        if position == len(self.items):
            last = self.items[-1]
            comma = last.comma and not (self.is_tuple and position == 1)
            self.items[-1] = replace(last, comma=True)
            self.items.append(Item(b" ", text, b"", comma, b""))
        else:
            following = self.items[position]
            self.items[position] = replace(following, before=b" ")
            self.items.insert(position, Item(following.before, text, b"", True, b""))

    def _insert_line(self, position: int, text: bytes) -> None:
        before = self.newline + self.item_indent(position)
        if position == len(self.items):
            last = self.items[-1]
            self.items[-1] = replace(last, comma=True)
            self.items.append(Item(before, text, b"", last.comma, b""))
            return
        following = self.items[position]
        if _breaks(following.before):
            self.items.insert(position, Item(before, text, b"", True, b""))
            return
        # The place is in the middle of a line, or right behind the bracket.
        crowded = position > 0 or (len(self.items) > 1 and not _breaks(self.items[1].before))
        self.items[position] = replace(following, before=b" " if crowded else before)
        self.items.insert(position, Item(following.before, text, b"", True, b""))

    def _split(self) -> None:
        """One item per line, one step deeper than the line of the opening bracket."""
        before = self.newline + self.deeper
        self.items = [replace(item, before=before, gap=b"", comma=True, after=b"") for item in self.items]
        self.head, self.tail = b"", self.newline + indent_of(self.line)

    @property
    def deeper(self) -> bytes:
        """The indentation one step deeper than the line of the opening bracket."""
        indent = indent_of(self.line)
        return indent + (b"\t" if indent.startswith(b"\t") else b"    ")

    def item_indent(self, position: int) -> bytes:
        """The indentation that an item at `position` has on a line of its own."""
        near = (position - 1, position, *range(len(self.items)))
        for item in (self.items[i] for i in near if 0 <= i < len(self.items)):
            if _breaks(item.before):
                return indent_of(_lines(item.before)[-1])
        return re.sub(rb"[^\t]", b" ", self.line + b"[" + self.items[0].before) if self.items else self.deeper

    # The parts between items

    def _before(self, position: int) -> bytes:
        return self.items[position].before if position < len(self.items) else self.tail

    def _set_before(self, position: int, before: bytes) -> None:
        if position < len(self.items):
            self.items[position] = replace(self.items[position], before=before)
        else:
            self.tail = before


def read(file: BuildFile, brackets: Span, items: Sequence[Span], is_tuple: bool = False) -> Layout:
    """Take apart what stands in `brackets` (both included); `items` are the spans of its items, in order."""
    data, newline = file.data, _newline(file.data, brackets.start)
    offset, close = brackets.start + 1, brackets.end - 1
    head_end = _end_of_line(file, offset, close)
    layout = Layout(data[offset:head_end], [], b"", _line_before(file, brackets.start), b"", newline, is_tuple)
    layout.rest = data[brackets.end : _next_break(file, brackets.end)]
    offset = head_end
    for index, span in enumerate(items):
        start = file.skip_blanks(offset)
        comma = file.comma_after(span.end)
        if comma is not None and comma >= close:
            comma = None
        end = _closed(file, span.end, close if comma is None else comma)
        done = end if comma is None else comma + 1
        rest = _end_of_line(file, done, close)
        gap = b"" if comma is None else data[end:comma]
        layout.items.append(Item(data[offset:start], data[start:end], gap, comma is not None, data[done:rest], index))
        offset = rest
    layout.tail = data[offset:close]
    return layout


def stacked(written: Sequence[bytes], indent: bytes, data: bytes) -> bytes:
    """A list with one entry per line, for a line that is indented by `indent`, in a file with these bytes."""
    newline = _newline(data)
    step = indent + (b"\t" if indent.startswith(b"\t") else b"    ")
    return b"[" + newline + b"".join(step + text + b"," + newline for text in written) + indent + b"]"


def _closed(file: BuildFile, end: int, limit: int) -> int:
    """Where an item ends that ends at `end`, parentheses around it included."""
    while True:
        following = file.skip_blanks(end)
        if following >= limit or file.data[following : following + 1] != b")":
            return end
        end = following + 1


def _end_of_line(file: BuildFile, offset: int, close: int) -> int:
    """The end of the line at `offset` if only blanks and a comment stand there, else `offset`."""
    end = _next_break(file, offset)
    if end >= close:
        return offset
    following = offset
    while following < end and file.data[following] in b" \t\f":
        following += 1
    return end if following == end or file.data[following] == 0x23 else offset


def _next_break(file: BuildFile, offset: int) -> int:
    end = file.line_span(file.line(offset)).end
    while end > offset and file.data[end - 1] in b"\r\n":
        end -= 1
    return end


def _line_before(file: BuildFile, offset: int) -> bytes:
    return file.data[file.line_span(file.line(offset)).start : offset].removeprefix(b"\xef\xbb\xbf")


def _newline(data: bytes, offset: int = 0) -> bytes:
    """The line break behind a byte, for files may mix them; else the first one; else the usual one."""
    match = _BREAK.search(data, offset) or _BREAK.search(data)
    return match.group() if match else b"\n"


def _breaks(text: bytes) -> bool:
    return b"\n" in text or b"\r" in text


def _starts_line(text: bytes) -> bool:
    return text.startswith((b"\n", b"\r"))


def _lines(text: bytes) -> list[bytes]:
    """Split before each line break: every line but the first starts with its line break."""
    cuts = [match.start() for match in _BREAK.finditer(text)]
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def _is_blank(lines: list[bytes]) -> bool:
    """Whether there are such lines, and the first one is blank."""
    return bool(lines) and not lines[0].strip()


def indent_of(line: bytes) -> bytes:
    """The blanks that a line starts with, after a line break if it has one."""
    text = line.lstrip(b"\r\n")
    return text[: len(text) - len(text.lstrip(b" \t"))]
