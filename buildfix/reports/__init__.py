"""The output formats: each a function from a Result to text, all of them listed here.

A new format is a module with a `render` function and a row in `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from buildfix.findings import Result
    from buildfix.reports.view import View

FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "text": "text",
        "json": "json_report",
        "jsonl": "jsonl",
        "diff": "diff",
        "github": "github",
        "gitlab": "gitlab",
        "sarif": "sarif",
        "rdjson": "rdjson",
        "rdjsonl": "rdjsonl",
        "junit": "junit",
        "lintrunner": "lintrunner",
    }
)
"""The formats' modules. `render(result, view)` in each returns the report as bytes; it ends with a newline or is empty.

They are imported when they are needed: the command line only wants the names."""

IN_PARTS = frozenset(("sarif", "rdjson", "rdjsonl", "lintrunner"))
"""The formats that show which change repairs which finding: they need Result.repairs."""

ALWAYS_ZERO = frozenset(("lintrunner",))
"""The formats whose reader takes every exit status but 0 for a failure of the program."""


def render(name: str, result: Result, view: View | None = None) -> bytes:
    """The report in the format `name`, ready to be written."""
    module = import_module(f"buildfix.reports.{FORMATS[name]}")
    report: bytes = module.render(result, view) if view else module.render(result)
    return report
