"""Text as people see it: what is invisible, or turns text around, is shown as an escape."""

from __future__ import annotations

import unicodedata

MAX_TICKS = 8
"""The longest run of backticks that is shown as it is: parsers give up on delimiters of more than 80."""

# Letters and symbols by their category that show as nothing.
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_MARKS = frozenset(("Mn", "Me"))


def _shows(character: str) -> bool:
    return character.isprintable() and character not in _BLANK and unicodedata.category(character) not in _MARKS


def plain(text: str) -> bool:
    """Whether a line shows all that is in it, and can stand in a code block; a tab can."""
    return "`" * (MAX_TICKS + 1) not in text and all(one == "\t" or _shows(one) for one in text)


def visible(text: str) -> str:
    """The text in one line, in which every character shows; anything else becomes an escape such as `\\u202e`."""
    shown = "".join(c if _shows(c) else c.encode("unicode_escape").decode() for c in text)
    return shown.replace("`", "\\x60") if "`" * (MAX_TICKS + 1) in shown else shown
