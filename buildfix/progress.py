"""A progress bar on a terminal, shown only once half a second has passed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from buildfix import engine

PATIENCE = 0.5
"""Seconds that pass before anything is shown."""


@contextmanager
def bar() -> Iterator[engine.Progress]:
    """A function that updates the bar; the bar disappears at the end."""
    shown = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    started = time.monotonic()
    tasks: dict[str, TaskID] = {}
    live = False

    def update(what: str, done: int, total: int) -> None:
        nonlocal live
        if not live and time.monotonic() - started > PATIENCE:
            shown.start()
            live = True
        if what not in tasks:
            tasks[what] = shown.add_task(what, total=total)
        shown.update(tasks[what], completed=done, total=total)

    try:
        yield update
    finally:
        if live:
            shown.stop()
