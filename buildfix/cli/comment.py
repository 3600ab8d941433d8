"""`buildfix comment`: the bot for pull requests."""

from __future__ import annotations

import os
from pathlib import Path

import click

from buildfix.cli.shared import errors, stop


@click.command(short_help="Comment on a pull request.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--pack", is_flag=True, help="Print the artefact for FILE, a JSON report.")
@click.option("--head", required=True, metavar="SHA", help="The pull request's head commit that was checked.")
@click.option("--repo", envvar="GITHUB_REPOSITORY", metavar="OWNER/NAME", help="Default: $GITHUB_REPOSITORY.")
@click.option("--dry-run", is_flag=True, help="Print the requests that would write, one JSON object on a line.")
def comment(file: Path, pack: bool, head: str, repo: str | None, dry_run: bool) -> None:
    """Comment on the pull request whose head is SHA: say what FILE, an artefact, found there.

    The artefact is made by `--pack` from what `buildfix check --output-format json` printed. It may come from a run
    that nobody trusts. The token is $GITHUB_TOKEN; docs/pr-bot.md shows the two workflows.
    """
    with errors():
        from buildfix.github import artefact

        try:
            if pack:
                click.echo(artefact.pack(file.read_bytes(), head, str(file)), nl=False)
                return
            _post(file, head, repo, dry_run)
        except OSError as error:
            stop(f"{file}: cannot be read: {error.strerror}")


def _post(file: Path, head: str, repo: str | None, dry_run: bool) -> None:
    try:
        from buildfix.github import comment as bot
    except ModuleNotFoundError as error:
        if error.name != "httpx":
            raise
        stop("comment needs httpx, which the extra `github` brings: pip install 'buildfix[github]'")
    token = os.environ.get("GITHUB_TOKEN", "")
    if not repo or not token:
        raise click.UsageError("comment needs --repo OWNER/NAME (or $GITHUB_REPOSITORY), and $GITHUB_TOKEN")
    api = os.environ.get("GITHUB_API_URL", "https://api.github.com").rstrip("/")
    bot.post(file, head, repo, token, api, os.environ.get("GITHUB_GRAPHQL_URL", ""), dry_run, click.echo)
