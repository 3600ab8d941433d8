"""The graph for programs, and for the page: nodes by number, edges between numbers."""

from __future__ import annotations

import json
from typing import Any

from buildfix import __version__
from buildfix.graph import Graph
from buildfix.reports.plain import printable

VERSION = 1


def render(graph: Graph) -> str:
    """One JSON object."""
    return json.dumps(plain(graph), indent=2) + "\n"


def plain(graph: Graph) -> dict[str, Any]:
    """The graph as JSON's types. Edges refer to nodes by their place in the list."""
    number = {node.label: i for i, node in enumerate(graph.nodes)}
    return {
        "version": VERSION,
        "tool": {"name": "buildfix", "version": __version__},
        "nodes": [
            {
                "label": printable(str(node.label)),
                "kind": printable(node.kind),
                "place": printable(str(node.place)) if node.place else "",
                "distance": node.distance,
                "hidden_deps": node.hidden,
            }
            for node in graph.nodes
        ],
        "edges": [
            {
                "source": number[arrow.source],
                "dep": number[arrow.dep],
                "state": arrow.state.value,
                "evidence": [f"{printable(str(one.place))}: {printable(one.text)}" for one in arrow.evidence],
                "remark": printable(arrow.remark),
            }
            for arrow in graph.arrows
        ],
        "not_analysed": [printable(package) for package in graph.not_analysed],
    }
