"""The output formats: each a function from a Result to text, all of them listed here.

A new format is a module with a `render` function and a row in `FORMATS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import IO, Any

from buildfix.findings import Result
from buildfix.reports import json_report, text

Format = Callable[[Result, bool], str]
"""Called with (the result, whether to colour); returns the whole report, which ends with a newline or is empty."""

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "text": text.render,
        "json": json_report.render,
    }
)


def render(name: str, result: Result, color: bool = False) -> bytes:
    """The report in the format `name`, ready to be written; bytes of paths that are not UTF-8 come out as they are."""
    return FORMATS[name](result, color).encode("utf-8", "surrogateescape")


def wants_color(stream: IO[Any]) -> bool:
    """Whether to colour what goes to `stream`: only a terminal, and not against NO_COLOR."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
