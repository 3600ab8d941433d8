"""One HTML page that holds all it needs: it can be mailed, kept as an artefact of a CI run, and opened from disk.

Strings of the repository reach it as JSON only, and the script writes them as text, never as HTML; the page may load
and send nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources

from buildfix.graph import Graph, State
from buildfix.reports.graphs import MissingLibraryError
from buildfix.reports.graphs.json_graph import plain
from buildfix.reports.graphs.style import LINES

LIBRARIES = ("cytoscape.min.js", "cytoscape-dagre.min.js")
"""The libraries that draw, in the order in which they are loaded; hatch_build.py puts them into `vendor`."""


def render(graph: Graph) -> str:
    """The page. Raises MissingLibraryError."""
    folder = resources.files(__package__)
    try:
        libraries = [folder.joinpath("vendor", name).read_text("utf-8") for name in LIBRARIES]
    except FileNotFoundError as error:
        raise MissingLibraryError(
            "this installation was built without the libraries that draw the page (cytoscape and cytoscape-dagre, "
            "which the build takes from npm); install a wheel, build again with npm on PATH, or use "
            "--output-format dot or mermaid"
        ) from error
    data = plain(graph) | {
        "states": {state: {**LINES[state]._asdict(), "meaning": state.meaning} for state in State},
    }
    scripts = [*libraries, folder.joinpath("page.js").read_text("utf-8")]
    page = folder.joinpath("page.html").read_text("utf-8")
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    for mark, text in (
        ("@HASHES@", hashes),
        ("@STYLE@", folder.joinpath("page.css").read_text("utf-8")),
        ("@SCRIPTS@", "\n".join(f"<script>{script}</script>" for script in scripts)),
        ("@DATA@", _inside_html(json.dumps(data))),
    ):
        page = page.replace(mark, text, 1)
    return page


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _inside_html(text: str) -> str:
    """JSON that holds no character by which HTML could take it for anything else."""
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
