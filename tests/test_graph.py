"""`buildfix graph`: what it draws, for every name, in each format; the page as a browser shows it."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from browser import SHELL, TOOLS, browser
from conftest import Run, buildfix_inside, snapshot

from buildfix.findings import Evidence, Place
from buildfix.graph import Arrow, Graph, Node, State
from buildfix.labels import Label
from buildfix.reports import graphs
from buildfix.reports.plain import printable

ROOT = Path(__file__).parent.parent
ORCHARD = ROOT / "fixtures/unused-edge-others-live-on/before"
EACH = ROOT / "fixtures/one-of-each-finding/before"
Make = Callable[[dict[str, str]], Path]


def draw(root: Path, *words: str, status: int = 0) -> dict[str, Any]:
    before = snapshot(root)
    done = buildfix_inside("graph", "--root", root, "--output-format", "json", *words, cwd=root)
    assert (done.returncode, done.stderr) == (status, "")
    assert snapshot(root) == before
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def edges(drawn: dict[str, Any]) -> dict[tuple[str, str], str]:
    labels = [node["label"] for node in drawn["nodes"]]
    return {(labels[edge["source"]], labels[edge["dep"]]): edge["state"] for edge in drawn["edges"]}


# --- what is drawn ---------------------------------------------------------------------------------------------------


def test_edges_are_marked_as_a_check_judges_them() -> None:
    drawn = draw(ORCHARD, "//cellar/press:lib")
    assert edges(drawn) == {
        ("//cellar:lib", "//cellar/press:lib"): "used",
        ("//cellar/press:lib", "//cellar/press:gauge"): "unused",
        ("//cellar/press:lib", "//cellar/press:settings"): "used",
    }
    unused = next(edge for edge in drawn["edges"] if edge["state"] == "unused")
    assert unused["remark"] == "--apply repairs it"
    assert [node["distance"] for node in drawn["nodes"]] == [0, 1, 1, 1]


def test_an_import_without_a_dep_is_an_edge_that_leads_to_its_provider() -> None:
    drawn = draw(ORCHARD, "market/stall/recipe.py", "--deps")
    assert edges(drawn)["//market/stall:recipe", "//cellar/press:gauge"] == "transitive-only"
    edge = next(edge for edge in drawn["edges"] if edge["state"] == "transitive-only")
    assert edge["evidence"] == ["market/stall/recipe.py:2: import of orchard.cellar.press._gauge.mean_pressure"]
    way = "//market/stall:recipe -> //cellar:lib -> //cellar/press:lib -> //cellar/press:gauge"
    assert edge["remark"].startswith(f"received so far through {way}; ")
    missing = edges(draw(EACH, "//post:post", status=0))
    assert missing["//post:post", "//loft:letters"] == "missing"


def test_depth_and_directions() -> None:
    def labels(*words: str) -> set[str]:
        return {node["label"] for node in draw(ORCHARD, "//cellar:lib", *words)["nodes"]}

    assert labels("--depth", "0") == {"//cellar:lib"}
    assert labels("--deps") == {"//cellar:lib", "//cellar/press:lib"}
    assert labels("--dependents") == {"//cellar:lib", "//cellar/tests:test_pressing", "//market/stall:recipe"}
    assert "//third-party/pypi:numpy" in labels("--deps", "--depth", "3")


def test_a_folder_stands_for_all_targets_below_it_and_what_it_hides_is_counted() -> None:
    drawn = draw(ORCHARD, "cellar/press", "--depth", "0")
    assert [node["label"] for node in drawn["nodes"]] == [
        "//cellar/press:gauge",
        "//cellar/press:lib",
        "//cellar/press:settings",
    ]
    assert [node["hidden_deps"] for node in drawn["nodes"]] == [1, 0, 0]


def test_an_edge_that_may_be_there_for_more_than_imports_is_only_declared(workspace: Make) -> None:
    root = workspace(
        {
            ".buckconfig": "",
            "kit/BUCK": """\
cxx_library(name = "engine")
python_library(name = "all", deps = [":engine", "//pip:plough"])
""",
        }
    )
    drawn = draw(root, "//kit:all")
    assert set(edges(drawn).values()) == {"declared"}
    assert [(node["label"], node["kind"]) for node in drawn["nodes"]] == [
        ("//kit:all", "python_library"),
        ("//kit:engine", "cxx_library"),
        ("//pip:plough", ""),
    ]


def test_a_package_that_was_not_wholly_analysed_is_named_and_tells(workspace: Make) -> None:
    root = workspace({".buckconfig": "", "kit/BUCK": 'python_library(name = "saw")\nfail("no")\n'})
    assert draw(root, "//kit:saw", status=3)["not_analysed"] == ["//kit"]


def test_what_cannot_be_drawn(buildfix: Run, tmp_path: Path) -> None:
    done = buildfix("graph", "--root", ORCHARD, "//cellar:lob", cwd=ORCHARD)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "buildfix: no target //cellar:lob; did you mean //cellar:lib?\n"
    empty = tmp_path / "empty"
    empty.mkdir()
    (tmp_path / ".buckconfig").touch()
    done = buildfix("graph", "empty", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "buildfix: there is no target below empty\n")


def test_a_file_is_written_whole_and_says_what_it_has(buildfix: Run, tmp_path: Path) -> None:
    file = tmp_path / "g.dot"
    done = buildfix("graph", "--root", ".", "//cellar:lib", "--output", file, cwd=ORCHARD)
    assert (done.returncode, done.stdout) == (0, f"{file}: 4 targets, 3 edges\n")
    assert file.read_text("utf-8") == buildfix("graph", "--root", ".", "//cellar:lib", cwd=ORCHARD).stdout
    done = buildfix("graph", "--root", ".", "//cellar:lib", "--output", tmp_path / "no/g.dot", cwd=ORCHARD)
    assert done.returncode == 3
    assert "cannot be written" in done.stderr


# --- formats, with names of every kind -------------------------------------------------------------------------------

HOSTILE = [
    "plain",
    'a"b',
    "a\\b",
    'a\\"b',
    "a\\nb\\N\\G",
    "<script>alert(1)</script>",
    "</script><script>alert(1)//",
    "<img src=x onerror=alert(1)>",
    "&amp; &lt; &#34;",
    "#quot; #35;",
    "`code` *bold* _it_ [x](javascript:alert(1))",
    "end",
    "%%{init: {}}%%",
    "a;b|c]d)e}f",
    "}; n0 -> n1 [label=x]",
    "new\nline\ttab\rreturn",
    "\u202ereversed\u2028",
    "\x1b[31mred\x07",
    "snow\u2603 \U0001f600 \u00e4\u4e2d",
    "@DATA@ @SCRIPTS@",
    "--> x",
    "$\\alpha$",
    "\udc80byte",
    "click n0 href 'javascript:alert(1)'",
]


def hostile() -> Graph:
    labels = [Label("", "p", name) for name in HOSTILE]
    nodes = tuple(Node(label, label.name, Place(label.name, 1), i % 3) for i, label in enumerate(labels))
    states = list(State)
    arrows = tuple(
        Arrow(a, b, states[i % len(states)], (Evidence(Place(a.name, 1), b.name),), a.name)
        for i, (a, b) in enumerate(itertools.pairwise(labels))
    )
    return Graph(nodes, arrows, tuple(HOSTILE))


def shown() -> list[str]:
    return [printable(f"//p:{name}") for name in HOSTILE]


@pytest.mark.parametrize("name", graphs.FORMATS)
def test_every_format_is_one_text_that_can_be_encoded(name: str) -> None:
    if name == "html" and not (ROOT / "buildfix/reports/graphs/vendor/cytoscape.min.js").exists():
        pytest.skip("buildfix was built without npm")
    text = graphs.render(name, hostile())
    assert text.endswith("\n")
    assert text.encode("utf-8").decode("utf-8") == text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e\u2028]", text.split("<script>")[0])


def graphviz(text: str) -> ElementTree.Element:
    script = (
        f"import {{ Graphviz }} from {json.dumps((TOOLS / 'drawers/graphviz.mjs').as_uri())};"
        "import { readFileSync } from 'node:fs'; const g = await Graphviz.load();"
        "process.stdout.write(g.layout(readFileSync(0, 'utf8'), 'svg', 'dot'));"
    )
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script], input=text, capture_output=True, encoding="utf-8", check=True
    )
    return ElementTree.fromstring(done.stdout)


SVG = "{http://www.w3.org/2000/svg}"
needs_drawers = pytest.mark.skipif(
    shutil.which("npm") is None or not (TOOLS / "drawers/graphviz.mjs").exists(),
    reason="Graphviz and Mermaid come from npm (make test fetches them)",
)


@needs_drawers
def test_graphviz_reads_every_name_as_it_is() -> None:
    drawing = graphviz(graphs.render("dot", hostile()))
    nodes, edges = (drawing.iterfind(f".//{SVG}g[@class='{kind}']") for kind in ("node", "edge"))
    written = {
        node.findtext(f"{SVG}title"): "".join(one.text or "" for one in node.iter(f"{SVG}text")) for node in nodes
    }
    assert [written[f"n{i}"].replace("\u00a0", " ") for i in range(len(HOSTILE))] == shown()
    assert len(list(edges)) == len(HOSTILE) - 1


# --- in a browser ----------------------------------------------------------------------------------------------------

needs_browser = pytest.mark.skipif(
    not SHELL.exists(), reason="a headless Chromium comes from Debian (make test has it)"
)


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Any]:
    """An empty page of a browser, in which no error may come up and nothing may be asked of a network."""
    complaints: list[str] = []
    with browser(tmp_path) as opened:
        opened.on("console", lambda message: complaints.append(message.text))
        opened.on("pageerror", lambda error: complaints.append(str(error)))
        opened.on("dialog", lambda dialog: complaints.append(dialog.message))
        opened.on("request", lambda one: None if one.url.startswith("file:") else complaints.append(one.url))
        yield opened
    assert complaints == []


def opened(page: Any, graph: Graph | Path, folder: Path) -> None:
    file = graph if isinstance(graph, Path) else folder / "page.html"
    if isinstance(graph, Graph):
        file.write_text(graphs.render("html", graph), "utf-8")
    page.goto(file.as_uri())


@needs_drawers
@needs_browser
def test_mermaid_draws_every_name_as_it_is(page: Any, tmp_path: Path) -> None:
    (tmp_path / "mermaid.html").write_text("<!DOCTYPE html><meta charset=utf-8><body></body>", "utf-8")
    page.goto((tmp_path / "mermaid.html").as_uri())
    page.add_script_tag(path=TOOLS / "drawers/mermaid.min.js")
    written = page.evaluate(
        """async (text) => {
          mermaid.initialize({ startOnLoad: false, securityLevel: "strict" });
          document.body.innerHTML = (await mermaid.render("drawn", text)).svg;
          const texts = [...document.querySelectorAll(".node .nodeLabel")].map((node) => node.textContent);
          return [texts, document.querySelectorAll("a, img, .node script").length,
                  document.querySelectorAll(".edgePaths path").length];
        }""",
        graphs.render("mermaid", hostile()),
    )
    assert written == [shown(), 0, len(HOSTILE) - 1]


@needs_browser
def test_the_page_shows_every_name_as_it_is_and_runs_nothing_of_it(page: Any, tmp_path: Path) -> None:
    opened(page, hostile(), tmp_path)
    assert page.evaluate("buildfixGraph.nodes().map((node) => node.data('label'))") == shown()
    for i, name in enumerate(shown()):
        page.evaluate("(i) => void buildfixGraph.getElementById(`n${i}`).emit('tap')", i)
        assert page.locator("#about h1").text_content() == name
        assert page.locator("#about script, #about img, #about a").count() == 0
    page.evaluate("void buildfixGraph.getElementById('e5').emit('tap')")
    assert page.locator("#about code").all_text_contents() == [
        f"{printable(f'{HOSTILE[5]}:1')}: {printable(HOSTILE[6])}"
    ]


@needs_browser
def test_the_page_can_be_searched_clicked_and_filtered(page: Any, tmp_path: Path, buildfix: Run) -> None:
    file = tmp_path / "g.html"
    done = buildfix("graph", "--root", ".", "cellar", "--output-format", "html", "--output", file, cwd=ORCHARD)
    assert done.returncode == 0, done
    opened(page, file, tmp_path)
    assert "8 targets, 9 edges" in page.locator("#about").text_content()
    page.fill("#search", "press BUCK:16")
    assert page.locator("#found button").all_text_contents() == ["//cellar/press:lib"]
    page.locator("#found button").click()
    assert page.locator("#about h1").text_content() == "//cellar/press:lib"
    assert page.locator("#about").text_content().count("unused") == 1
    page.locator("#about button", has_text="unused").click()
    assert page.locator("#about h1").text_content() == "unused"
    assert "declared, and nothing uses it" in page.locator("#about").text_content()
    page.locator("#legend label", has_text=re.compile("^used")).click()
    hidden = (
        "buildfixGraph.edges().filter((edge) => edge.style('display') === 'none').map((edge) => edge.data('state'))"
    )
    assert page.evaluate(hidden) == ["used"] * 5
    page.evaluate("void buildfixGraph.emit('tap')")
    assert "8 targets" in page.locator("#about").text_content()
    box = page.evaluate("buildfixGraph.getElementById('n0').renderedBoundingBox()")
    page.mouse.click((box["x1"] + box["x2"]) / 2, (box["y1"] + box["y2"]) / 2)
    assert page.locator("#about h1").text_content() == "//cellar:lib"
    page.reload()
    assert page.locator("#about h1").text_content() == "//cellar:lib"
    (tmp_path / "shot.png").write_bytes(page.screenshot())


def test_without_the_libraries_the_page_says_what_is_missing(tmp_path: Path, buildfix: Run) -> None:
    copy = tmp_path / "installed"
    shutil.copytree(ROOT / "buildfix", copy / "buildfix", ignore=shutil.ignore_patterns("vendor", "__pycache__"))
    command = [sys.executable, "-m", "buildfix", "graph", "--root", ".", "//cellar:lib", "--output-format", "html"]
    environment = os.environ | {"PYTHONPATH": str(copy)}
    done = subprocess.run(command, cwd=ORCHARD, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "built without the libraries that draw the page" in done.stderr
