"""For whom a report is made: colours and links only where a terminal shows them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any


@dataclass(frozen=True, slots=True)
class View:
    """`root` is the repository; `command` the options and paths of a run that would carry on, None if there is none."""

    root: Path = Path()
    color: bool = False
    links: bool = False
    command: tuple[str, ...] | None = None


PLAIN = View()

# What a terminal that knows OSC 8 says of itself. One that does not say so, as within tmux or screen, gets no links.
_PROGRAMS = frozenset(("ghostty", "iTerm.app", "Hyper", "rio", "Tabby", "vscode", "WarpTerminal", "WezTerm", "zed"))
_TERMS = frozenset(("alacritty", "contour", "foot", "foot-extra", "xterm-ghostty", "xterm-kitty"))
_SIGNS = ("DOMTERM", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "WT_SESSION")
_FIRST_VTE = 5000
_MULTIPLEXERS = ("screen", "tmux")


def wants_color(stream: IO[Any], env: Mapping[str, str] = os.environ) -> bool:
    """Whether to colour what goes to `stream`: only a terminal that can, and not against NO_COLOR."""
    return stream.isatty() and not env.get("NO_COLOR") and env.get("TERM") != "dumb"


def wants_links(stream: IO[Any], env: Mapping[str, str] = os.environ) -> bool:
    """Whether to make links in what goes to `stream`: where colours are wanted and the terminal is known to show them.

    FORCE_HYPERLINK, where it is set, decides instead of the list of terminals.
    """
    if not wants_color(stream, env):
        return False
    if forced := env.get("FORCE_HYPERLINK"):
        return forced != "0"
    term, vte = env.get("TERM", ""), env.get("VTE_VERSION", "")
    if term.startswith(_MULTIPLEXERS) or env.get("CI"):
        return False
    known = term in _TERMS or env.get("TERM_PROGRAM") in _PROGRAMS or any(env.get(sign) for sign in _SIGNS)
    return known or (vte.isdecimal() and int(vte) >= _FIRST_VTE)
