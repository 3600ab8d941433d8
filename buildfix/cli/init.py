"""`buildfix init`: a first configuration."""

from __future__ import annotations

from pathlib import Path

import click

from buildfix import roots
from buildfix.cli.shared import base_of, emit, errors, progress_bar, root_option, stop


@click.command(short_help="Write a first configuration.")
@root_option
@click.option("--force", is_flag=True, help="Replace the file if there is one.")
@click.option("--print", "only_print", is_flag=True, help="Print the file; write nothing.")
def init(root: Path | None, force: bool, only_print: bool) -> None:
    """Write a first buildfix.yaml: what was found of the repository, for you to review.

    It holds the import roots, the label prefixes, and a map of third-party modules that was learnt from the repository
    itself, with what each entry rests on.
    """
    with errors():
        from buildfix import config, pipeline, starter, workspace, write

        base = base_of(root, ())
        settings = config.Config() if force else config.load(base)
        file = base / roots.CONFIG_FILES[0]
        space = workspace.read(base, settings)
        old = next((base / name for name in roots.CONFIG_FILES if (base / name).exists()), None)
        if old is not None and not (force or only_print):
            stop(f"{old}: is there already; --force replaces it, --print only prints")
        with progress_bar() as progress:
            text = starter.text(pipeline.load(space, settings, pipeline.Options(), progress))
        if only_print:
            emit(text.encode())
            return
        write.write_file(old or file, text.encode())
        click.echo(f"{old or file}: written; review it, then run buildfix again")
