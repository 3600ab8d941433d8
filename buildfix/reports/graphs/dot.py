"""Graphviz: https://graphviz.org/doc/info/lang.html."""

from __future__ import annotations

from collections.abc import Iterator

from buildfix.graph import Arrow, Graph, Node
from buildfix.reports.graphs.style import LINES, QUIET
from buildfix.reports.plain import printable


def render(graph: Graph) -> str:
    """A directed graph whose nodes are named n0, n1 and so on: labels stand in attributes only, where they are
    quoted."""
    return "".join(f"{line}\n" for line in _lines(graph))


def _lines(graph: Graph) -> Iterator[str]:
    names = {node.label: f"n{i}" for i, node in enumerate(graph.nodes)}
    yield "digraph buildfix {"
    yield '  rankdir="LR";'
    yield '  node [shape="box", style="rounded", fontname="Helvetica", fontsize="10"];'
    yield '  edge [fontname="Helvetica", fontsize="9"];'
    for node in graph.nodes:
        yield f"  {names[node.label]} [{_attributes(_node(node))}];"
    for arrow in graph.arrows:
        yield f"  {names[arrow.source]} -> {names[arrow.dep]} [{_attributes(_arrow(arrow))}];"
    yield "}"


def _node(node: Node) -> dict[str, str]:
    about = f"{node.kind}, {node.place}" if node.place else "not in the repository"
    found = {"label": str(node.label), "tooltip": about}
    if node.distance == 0:
        found["style"] = "rounded,bold"
    elif node.place is None:
        found["style"] = "rounded,dashed"
    return found


def _arrow(arrow: Arrow) -> dict[str, str]:
    line = LINES[arrow.state]
    why = "; ".join(f"{one.place}: {one.text}" for one in arrow.evidence[:1])
    found = {"color": line.color, "style": line.pattern, "penwidth": str(line.width), "edgetooltip": why}
    if arrow.state not in QUIET:
        found |= {"label": arrow.state.value, "fontcolor": line.color}
    return {key: value for key, value in found.items() if value}


def _attributes(values: dict[str, str]) -> str:
    return ", ".join(f"{key}={_quoted(value)}" for key, value in values.items())


def _quoted(text: str) -> str:
    r"""A string in which nothing is special: a backslash would start an escape such as `\N`, and Graphviz reads HTML
    entities (`&amp;`) in labels."""
    text = printable(text).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
    return f'"{text}"'
