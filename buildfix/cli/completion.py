"""`buildfix completion`: what a shell needs to complete commands, options and paths."""

from __future__ import annotations

import click

_SETUP = {
    "bash": 'eval "$(buildfix completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(buildfix completion zsh)"   # in ~/.zshrc, after compinit',
    "fish": "buildfix completion fish > ~/.config/fish/completions/buildfix.fish",
}


@click.command(short_help="Completion for a shell.", epilog="\b\n" + "\n".join(_SETUP.values()))
@click.argument("shell", type=click.Choice(list(_SETUP)))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script for SHELL."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, "click knows the shells of the choice"
    click.echo(kind(ctx.find_root().command, {}, "buildfix", "_BUILDFIX_COMPLETE").source())
