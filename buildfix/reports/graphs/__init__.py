"""A graph as something to look at, each format a function from a Graph to text. A new one is a module and a row."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from buildfix.errors import UsageError

if TYPE_CHECKING:
    from buildfix.graph import Graph

FORMATS: Mapping[str, str] = MappingProxyType(
    {"dot": "dot", "mermaid": "mermaid", "html": "page", "json": "json_graph"},
)
"""The formats' modules; `render(graph)` in each returns text that ends with a newline."""


def render(name: str, graph: Graph) -> str:
    """The graph in the format `name`. Raises MissingLibraryError if the format needs what this installation lacks."""
    text: str = import_module(f"buildfix.reports.graphs.{FORMATS[name]}").render(graph)
    return text


class MissingLibraryError(UsageError):
    """The installation was made without the libraries that a format needs; the message says what to do."""
