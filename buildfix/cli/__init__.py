"""The commands, and nothing else: options in, a Result to a report, an exit status out."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

import click
from click.shell_completion import CompletionItem

from buildfix import __version__

COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "check": "check",
        "why": "questions",
        "graph": "questions",
        "index": "questions",
        "explain": "questions",
        "merge": "questions",
        "doctor": "questions",
        "init": "init",
        "comment": "comment",
        "completion": "completion",
    }
)
"""The commands in the order of the help text, and their modules, which are imported when they are needed."""


class _Commands(click.Group):
    """A group in which whatever names no command is a check: `buildfix exir/` is `buildfix check exir/`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = getattr(import_module(f"buildfix.cli.{COMMANDS[cmd_name]}"), cmd_name)
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        completing = ctx.resilient_parsing
        if (not args and not completing) or (args and args[0] not in COMMANDS and args[0] not in own):
            args = ["check", *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Where no command has been typed yet: the commands, and what `check` takes.

        A shell that is told to complete paths by itself forgets all words that it was offered, so that it is told so
        only where no command fits; else the paths are words, too.
        """
        check = self.get_command(ctx, "check")
        assert check is not None
        with check.make_context("check", [], parent=ctx, resilient_parsing=True) as context:
            options = check.shell_complete(context, incomplete)
            paths = check.params[0].shell_complete(context, incomplete)
        words = [*super().shell_complete(ctx, incomplete), *options]
        if words and not incomplete.startswith("-"):
            found = sorted(glob.glob(f"{glob.escape(incomplete)}*"))
            paths = [CompletionItem(f"{path}/" if os.path.isdir(path) else path) for path in found]
        return words if incomplete.startswith("-") else [*words, *paths]


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\
\b
Examples:
  buildfix                      what is wrong in this repository, and why
  buildfix --diff exir/         the repair of what lies below exir/, as a patch
  buildfix --apply exir/        write it
  buildfix --since origin/main  only what a branch is responsible for
  buildfix why //kit:saw numpy  why a target has a dep, or would need one
  buildfix explain BF002        what a finding means, and how to silence it

`buildfix check --help` lists all options of a check and the exit statuses.
""",
)
@click.version_option(__version__, prog_name="buildfix")
def main() -> None:
    """Repair the dependency edges of Buck and Bazel targets.

    `buildfix [OPTIONS] [PATHS]` is short for `buildfix check [OPTIONS] [PATHS]`. A path that is spelt like a command is
    written `./why`.
    """
