"""What a walk from an attribute finds: the literals that feed it, and what could not be followed."""

from __future__ import annotations

from dataclasses import dataclass

from buildfix.buildfile import Comment, Span


@dataclass(frozen=True, slots=True)
class Holder:
    """What a literal stands in, which decides whom it can feed.

    `kind` "call": the arguments of the call in progress at (line, col), an engine position; "function": the body of
    the function whose lines are line to col; "file": anything else in the file.
    """

    kind: str
    file: str
    line: int = 0
    col: int = 0


Affix = tuple[str, str]
"""What a label has before and behind the text that stands for it."""


@dataclass(frozen=True, slots=True)
class Wrap:
    """A function whose calls with one string stand for labels: `requirement("x")` for `@pip//x`."""

    function: str
    affix: Affix


@dataclass(frozen=True, slots=True)
class Element:
    """A literal that feeds `attribute` of `target` (package, name): one entry of a list, in `file` at bytes `span`.

    `text` is the label that it evaluates to, None if that is not known. `conditions` are the select keys and `if`
    tests it stands under. `sequence` is the span of the list that it is an entry of, `statement` the first byte of the
    statement that adds it alone (`x.append(":a")`); None if there is no such. `problem` says why it cannot be dropped
    where it stands, with the place; "" if it can. `depth` counts the activations between it and the build file (0: it
    stands in the build file's own statements). `constant`: it means the same label for everyone. `optional`: its list
    is the whole of an attribute that the call may as well not have. `call`: the function and the argument, where it is
    written as a call with one string.
    """

    target: tuple[str, str]
    attribute: str
    file: str
    line: int
    span: Span
    text: str | None
    conditions: tuple[str, ...]
    sequence: Span | None
    statement: int | None
    problem: str
    comments: tuple[Comment, ...]
    holder: Holder
    depth: int
    constant: bool
    optional: bool = False
    call: tuple[str, str] | None = None

    @property
    def key(self) -> tuple[str, Span]:
        """Which literal it is."""
        return self.file, self.span


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list literal that feeds an attribute; a new entry could go there.

    `affix`: an entry `x` of it is the label `affix[0] + x + affix[1]` of the attribute, under no condition; None if it
    is something else. `default`: it is used for want of an argument. `texts` are the constant labels that it holds;
    `wrap` says in what calls some of them are written (`requirement`).
    """

    attribute: str
    file: str
    line: int
    span: Span
    affix: Affix | None
    default: bool
    holder: Holder
    depth: int
    texts: tuple[str, ...]
    wrap: Wrap | None = None

    @property
    def key(self) -> tuple[str, Span]:
        """Which literal it is."""
        return self.file, self.span


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that feeds an attribute and could not be followed."""

    file: str
    line: int
    words: str
