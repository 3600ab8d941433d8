"""A page of a headless Chromium, Debian's, as `make test` unpacks it into .venv/chromium."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TOOLS = Path(os.environ.get("BUILDFIX_TEST_TOOLS", Path(__file__).parent.parent / ".venv"))
CHROMIUM = TOOLS / "chromium"
SHELL = CHROMIUM / "usr/lib/chromium/chromium-headless-shell"
LIBRARIES = [folder for where in CHROMIUM.glob("usr/lib/*-linux-gnu") for folder in (where, where / "pulseaudio")]
FONTS = f"""<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{CHROMIUM}/usr/share/fonts</dir><dir>/usr/share/fonts</dir></fontconfig>"""
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@contextmanager
def browser(folder: Path) -> Iterator[Any]:
    """An empty page of 1280 by 760 pixels; `folder` is for what the browser needs meanwhile."""
    from playwright.sync_api import sync_playwright

    (folder / "fonts.conf").write_text(FONTS, "utf-8")
    environment = os.environ | {
        "LD_LIBRARY_PATH": ":".join(map(str, LIBRARIES)),
        "FONTCONFIG_FILE": str(folder / "fonts.conf"),
    }
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=SHELL, args=FLAGS, env=environment)
        page = started.new_page(viewport={"width": 1280, "height": 760})
        page.set_default_timeout(10_000)
        yield page
        started.close()
