"""Makes the pictures here: `make docs` runs it. A page is photographed in the headless Chromium of the tests."""

from __future__ import annotations

import io
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ORCHARD = ROOT / "fixtures/unused-edge-others-live-on/before"
EACH = ROOT / "fixtures/one-of-each-finding/before"
COLUMNS = 132


def terminal(*words: str) -> str:
    """What a command of buildfix prints to a terminal, colours included."""
    reader, writer = pty.openpty()
    command = [sys.executable, "-m", "buildfix", *words]
    environment = os.environ | {"TERM": "xterm-256color", "PYTHONPATH": str(ROOT), "FORCE_HYPERLINK": "0"}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "orchard")
        shutil.copytree(ORCHARD, copy)
        process = subprocess.Popen(command, cwd=copy, env=environment, stdout=writer, stderr=subprocess.DEVNULL)
        os.close(writer)
        said = b""
        while True:
            try:
                read = os.read(reader, 65536)
            except OSError:  # what Linux says at the end
                break
            if not read:
                break
            said += read
        process.wait()
    os.close(reader)
    return said.decode().replace("\r\n", "\n")


def picture(title: str, text: str) -> str:
    """A terminal as an SVG."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="standard")
    console.print(Text.from_ansi(text))
    drawn = console.export_svg(title=title, unique_id="buildfix", font_aspect_ratio=0.61)
    return re.sub(r"\s*@font-face \{.*?\}", "", drawn, flags=re.DOTALL)  # the reader's own fonts: it fetches nothing


def page(file: Path, *words: str) -> None:
    """A photograph of the page of `buildfix graph`, with one target chosen."""
    sys.path.insert(0, str(ROOT / "tests"))
    from browser import browser

    with tempfile.TemporaryDirectory() as folder:
        html = Path(folder, "graph.html")
        command = [
            sys.executable,
            "-m",
            "buildfix",
            "graph",
            "--root",
            ".",
            *words,
            "--output-format",
            "html",
            "--output",
            str(html),
        ]
        subprocess.run(command, cwd=EACH, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True, capture_output=True)
        with browser(Path(folder)) as opened:
            opened.goto(html.as_uri())
            opened.evaluate("void buildfixGraph.edges('[state = \"transitive-only\"]')[0].emit('tap')")
            opened.wait_for_timeout(300)
            opened.screenshot(path=file)


if __name__ == "__main__":
    (HERE / "terminal.svg").write_text(picture("buildfix cellar/", terminal("cellar/")), "utf-8")
    page(HERE / "graph.png", ".")
