"""Shell completion, as the shells themselves ask for it, and the help texts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import Run

from buildfix.cli import COMMANDS, main

ROOT = Path(__file__).parent.parent


def complete(line: str, cwd: Path) -> list[str]:
    """What bash offers for the last word of a line (which may be empty)."""
    words = line.split(" ")
    environment = os.environ | {
        "_BUILDFIX_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-c", "from buildfix.cli import main; main(prog_name='buildfix')"]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_the_first_word_is_a_command_an_option_or_a_path(tmp_path: Path) -> None:
    offered = complete("buildfix ", tmp_path)
    assert [word.partition(",")[2] for word in offered if word.startswith("plain")][: len(COMMANDS)] == list(COMMANDS)
    assert complete("buildfix wh", tmp_path) == ["plain,why"]
    (tmp_path / "exir").mkdir()
    assert complete("buildfix ex", tmp_path) == ["plain,explain", "plain,exir/"]
    assert complete("buildfix exi", tmp_path) == ["file,exi"]
    assert "plain,--apply" in complete("buildfix --ap", tmp_path)


def test_later_words_are_those_of_the_command(tmp_path: Path) -> None:
    assert complete("buildfix --apply --output-f", tmp_path) == ["plain,--output-format"]
    assert complete("buildfix --output-format sa", tmp_path) == ["plain,sarif"]
    assert complete("buildfix graph --output-format ht", tmp_path) == ["plain,html"]
    assert complete("buildfix --apply ex", tmp_path) == ["file,ex"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_the_shell_accepts(shell: str, buildfix: Run, tmp_path: Path) -> None:
    done = buildfix("completion", shell, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "_BUILDFIX_COMPLETE" in done.stdout
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=done.stdout, text=True, check=True)


def test_bash_completes_after_it_has_read_the_script(buildfix: Run, tmp_path: Path) -> None:
    (tmp_path / "buildfix").write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m buildfix "$@"\n')
    (tmp_path / "buildfix").chmod(0o755)
    asked = 'COMP_WORDS=(buildfix expl); COMP_CWORD=1; _buildfix_completion buildfix; echo "${COMPREPLY[@]}"'
    script = f'eval "$(buildfix completion bash)"; {asked}'
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "explain\n"


def test_an_unknown_shell_is_told_of_those_that_are_known(buildfix: Run, tmp_path: Path) -> None:
    done = buildfix("completion", "tcsh", cwd=tmp_path)
    assert done.returncode == 2
    assert "'bash', 'zsh', 'fish'" in done.stderr


def test_help_lists_every_command_and_shows_examples_that_are_commands(buildfix: Run, tmp_path: Path) -> None:
    said = buildfix("--help", cwd=tmp_path).stdout
    listed = said.partition("Commands:\n")[2].partition("\n\n")[0]
    assert [line.split()[0] for line in listed.splitlines()] == list(COMMANDS)
    assert "..." not in listed
    examples = [line.split() for line in said.partition("Examples:\n")[2].splitlines() if line.startswith("    ")]
    assert len(examples) > 4
    assert all(words[0] == "buildfix" for words in examples)
    for name in COMMANDS:
        done = buildfix(name, "--help", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"Usage: buildfix {name}")


def test_the_help_text_that_is_kept_is_that_of_the_commands(request: pytest.FixtureRequest) -> None:
    written = CliRunner().invoke(main, ["--help"], prog_name="buildfix", terminal_width=80).stdout
    kept = ROOT / "buildfix/cli/help.txt"
    if request.config.getoption("--update-fixtures"):
        kept.write_text(written, "utf-8")
    assert kept.read_text("utf-8") == written


def test_a_narrow_terminal_gets_a_narrow_text(buildfix: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = buildfix("--help", cwd=tmp_path).stdout
    assert wide == (ROOT / "buildfix/cli/help.txt").read_text("utf-8")
    monkeypatch.setenv("COLUMNS", "50")
    narrow = buildfix("--help", cwd=tmp_path).stdout
    assert narrow.split() == wide.split()
    assert narrow != wide
