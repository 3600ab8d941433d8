"""Mermaid, which GitHub and GitLab draw in Markdown: https://mermaid.js.org/syntax/flowchart.html."""

from __future__ import annotations

import re
from collections.abc import Iterator

from buildfix.graph import Graph, Node, State
from buildfix.reports.graphs.style import LINES, QUIET
from buildfix.reports.plain import printable

_ARROWS = {"solid": "-->", "dotted": "-.->", "dashed": "-.->"}
# All that has a meaning inside of Mermaid's quotes, in its Markdown or in HTML, and what could end them.
_SPECIAL = re.compile(r"[^A-Za-z0-9_./:+@, =-]")


def render(graph: Graph) -> str:
    """A flowchart whose nodes are named n0, n1 and so on; labels stand in quotes, what is special in them as a code."""
    return "".join(f"{line}\n" for line in _lines(graph))


def _lines(graph: Graph) -> Iterator[str]:
    names = {node.label: f"n{i}" for i, node in enumerate(graph.nodes)}
    yield "flowchart LR"
    for node in graph.nodes:
        yield f'  {names[node.label]}["{_text(str(node.label))}"]{_class(node)}'
    for arrow in graph.arrows:
        word = "" if arrow.state in QUIET else f'|"{arrow.state.value}"|'
        yield f"  {names[arrow.source]} {_ARROWS[LINES[arrow.state].pattern]}{word} {names[arrow.dep]}"
    yield "  classDef asked stroke-width:3px"
    yield "  classDef outside stroke-dasharray:4"
    for state in State:
        places = [str(i) for i, arrow in enumerate(graph.arrows) if arrow.state is state]
        if places:
            line = LINES[state]
            yield f"  linkStyle {','.join(places)} stroke:{line.color},stroke-width:{line.width}px"


def _class(node: Node) -> str:
    return ":::asked" if node.distance == 0 else ":::outside" if node.place is None else ""


def _text(text: str) -> str:
    return _SPECIAL.sub(lambda match: f"#{ord(match[0])};", printable(text))
