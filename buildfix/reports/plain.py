"""Strings from a repository, made fit to be shown: they cannot steer a terminal, a log or a reader's eyes."""

from __future__ import annotations

import re
import unicodedata

# Control characters, what turns or hides text, what is no character, lone surrogates, line and paragraph separators.
_HIDDEN = frozenset(("Cc", "Cf", "Cn", "Cs", "Zl", "Zp"))
# At the start of a line GitHub takes `::` for a command, and anywhere `##[`, as others do `##vso[` and `##teamcity[`.
_COMMAND = re.compile(r"^\s*::|##(?=\w*\[)")
_NO_BYTE = re.compile("[\ud800-\udc7f\udd00-\udfff]")
_NAMES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: str) -> str:
    """The text with all that cannot be seen escaped as Python does, and nothing that a log takes for a command."""
    if not text.isprintable():
        text = "".join(_escaped(c) if unicodedata.category(c) in _HIDDEN else c for c in text)
    return _COMMAND.sub(lambda match: match[0][:-1] + f"\\x{ord(match[0][-1]):02x}", text)


def unicode_only(text: str) -> str:
    """The text with lone surrogates escaped, since no encoding carries them; a byte that is not UTF-8 is `\\xNN`."""
    return text if text.isascii() else "".join(_escaped(c) if "\ud800" <= c <= "\udfff" else c for c in text)


def path_bytes(path: str) -> bytes:
    """A path as the system has it; what no path can hold is escaped."""
    return _NO_BYTE.sub(lambda match: _escaped(match[0]), path).encode("utf-8", "surrogateescape")


def _escaped(c: str) -> str:
    code = ord(c)
    if c in _NAMES:
        return _NAMES[c]
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"  # a byte of a path that is not UTF-8
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
