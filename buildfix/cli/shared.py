"""What the commands share: options, the root, foreseen errors, writing to stdout, and the exit statuses."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from buildfix.errors import Error, IncompleteError, UsageError
from buildfix.roots import PathError, find_root, relative

if TYPE_CHECKING:
    from collections.abc import Iterator

    from buildfix.engine import Progress

CLEAN, FINDINGS, USAGE, INCOMPLETE = 0, 1, UsageError.exit_status, IncompleteError.exit_status

root_option = click.option(
    "--root", type=click.Path(path_type=Path), help="The repository's root; else found from the first path."
)
jobs_option = click.option(
    "--jobs", type=click.IntRange(min=0), default=0, metavar="N", help="Workers; 0 is one for each core."
)


def base_of(root: Path | None, paths: tuple[Path, ...]) -> Path:
    """The root that was named, or that of the first path or of the current folder."""
    start = paths[0] if paths else Path.cwd()
    if root is None and not start.exists():
        raise PathError(f"{start}: no such file or folder")
    return (root if root is not None else find_root(start.absolute())).resolve()


@contextmanager
def errors() -> Iterator[None]:
    """Every error that can be foreseen ends with one line for people and a status of its own; the rest is a fault."""
    import gc

    gc.disable()  # one run builds a few large values that all live to its end; collecting them only costs time
    try:
        yield
    except click.UsageError:
        raise
    except Error as error:
        stop(str(error), error.exit_status)
    except KeyboardInterrupt:
        stop("interrupted; nothing was written", 130)
    except Exception as error:
        if os.environ.get("BUILDFIX_DEBUG"):
            raise
        where = "set BUILDFIX_DEBUG=1 to see where, and please report it"
        stop(f"this is a fault of buildfix: {type(error).__name__}: {error}; {where}; nothing was written", INCOMPLETE)


def here_of(base: Path) -> str:
    """The current folder, relative to the root; the root itself if it lies elsewhere."""
    here = Path(os.path.realpath(Path.cwd()))
    return here.relative_to(base).as_posix().removeprefix(".") if here.is_relative_to(base) else ""


def file_of(base: Path, text: str) -> str | None:
    """The file that a word names, relative to the root; None if it names none."""
    return relative(base, Path(text)) if os.path.isfile(text) else None


def folder_of(base: Path, text: str) -> str | None:
    """The folder that a word names, relative to the root; None if it names none."""
    return relative(base, Path(text)) if os.path.isdir(text) else None


def emit(content: bytes) -> None:
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stderr.close()  # the reader has seen enough; python would complain at exit


@contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """A bar on stderr, if that is a terminal, for what takes longer than half a second."""
    if not sys.stderr.isatty():
        yield None
        return
    from buildfix.progress import bar

    with bar() as update:
        yield update


def stop(message: str, code: int = USAGE) -> NoReturn:
    click.echo(f"buildfix: {message}", err=True)
    sys.exit(code)
