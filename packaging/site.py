"""What the documentation's site has besides docs/: the README as its first page, and files that lie above docs/."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
PAGES = {
    "index.md": "README.md",
    "results.md": "benchmarks/results.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "reporting.md": "SECURITY.md",
}


def on_files(files: Files, config: Any) -> Files:
    """Add the files that lie elsewhere."""
    for page, path in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / path).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links lead to where the files are in the site."""
    for there, path in PAGES.items():
        markdown = markdown.replace(f"](../{path}", f"]({there}").replace(f"]({path}", f"]({there}")
    return re.sub(r"\]\((?:\.\./)?docs/", "](", markdown) if page.file.src_uri in PAGES else markdown
