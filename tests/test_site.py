"""The documentation's site: every page is in it, every link leads somewhere, the commands are those there are."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from buildfix.cli import COMMANDS, main

ROOT = Path(__file__).parent.parent


def commands() -> Iterator[str]:
    yield "# Commands\n\n"
    yield "What `--help` says. `buildfix [OPTIONS] [PATHS]` is short for `buildfix check [OPTIONS] [PATHS]`.\n"
    for name in COMMANDS:
        said = CliRunner().invoke(main, [name, "--help"], prog_name="buildfix", terminal_width=100).stdout
        yield f"\n## {name}\n```text\n{said}```\n"


def test_the_page_of_commands_is_what_they_say(request: pytest.FixtureRequest) -> None:
    page = ROOT / "docs/commands.md"
    if request.config.getoption("--update-fixtures"):
        page.write_text("".join(commands()), "utf-8")
    assert page.read_text("utf-8") == "".join(commands())


def test_every_option_is_explained() -> None:
    with main.make_context("buildfix", [], resilient_parsing=True) as context:
        for name in COMMANDS:
            command = main.get_command(context, name)
            assert command is not None and command.help
            for parameter in command.params:
                assert not isinstance(parameter, click.Option) or parameter.help, (name, parameter.name)


def test_the_site_is_built_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first = (tmp_path / "site/index.html").read_text("utf-8")
    assert "proves the" in first
    for page in (ROOT / "docs").glob("*.md"):
        assert (tmp_path / "site" / page.stem / "index.html").exists()
