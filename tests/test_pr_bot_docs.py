"""docs/pr-bot.md: its comments are what the bot writes, its workflows do what it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from fake_github import REPO, FakeGitHub

from buildfix import pipeline
from buildfix.github import artefact, diffs, fixes, render
from buildfix.reports import json_report

PROJECT = Path(__file__).parent.parent
PAGE = PROJECT / "docs/pr-bot.md"
BEFORE = PROJECT / "fixtures/unused-edge-others-live-on/before"
SCHEMA = PROJECT / "buildfix/github/artefact.schema.json"
_COMMENTS = re.compile(r"<!-- comment: (\w+) (\S+)( suggestion)? -->\n(.*?)<!-- end -->", re.DOTALL)


def quoted(code: str, target: str, suggestion: bool) -> str:
    """The comment for a finding as a quotation; the pull request shows the whole file if it is to suggest."""
    report = msgspec.json.encode(json_report.report(pipeline.check(BEFORE)))
    known = artefact.decode(artefact.pack(report, "a" * 40))
    (finding,) = [one for one in known.findings if (one.code, one.target) == (code, target)]
    lines = (BEFORE / finding.place.file).read_text("utf-8").splitlines()
    patch = "\n".join([f"@@ -0,0 +1,{len(lines)} @@", *(f"+{line}" for line in lines)])
    fix = fixes.find(known, {finding.place.file: diffs.shown(patch)} if suggestion else {}).of[finding.fingerprint]
    assert bool(fix.suggestion) == suggestion
    _, _, text = render.comment(finding, fix, suggestion).partition("\n")
    return "".join(f"> {line}\n" if line else ">\n" for line in text.splitlines())


def test_the_page_shows_what_the_bot_writes(request: pytest.FixtureRequest) -> None:
    page = PAGE.read_text("utf-8")

    def current(found: re.Match[str]) -> str:
        text = quoted(found[1], found[2], bool(found[3]))
        return f"<!-- comment: {found[1]} {found[2]}{found[3] or ''} -->\n{text}<!-- end -->"

    assert len(_COMMENTS.findall(page)) == 2
    updated = _COMMENTS.sub(current, page)
    if request.config.getoption("--update-fixtures"):
        PAGE.write_text(updated, "utf-8")
        return
    assert page == updated


def test_the_published_schema_is_the_one_that_is_used(request: pytest.FixtureRequest) -> None:
    current = msgspec.json.format(msgspec.json.encode(artefact.schema()), indent=2) + b"\n"
    if request.config.getoption("--update-fixtures"):
        SCHEMA.write_bytes(current)
        return
    assert SCHEMA.read_bytes() == current


def workflow(name: str) -> dict[Any, Any]:
    found = re.search(rf"<!-- workflow: {name} -->\n```yaml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    made: dict[Any, Any] = yaml.safe_load(found[1])
    return made


def steps(name: str) -> list[dict[str, Any]]:
    (job,) = workflow(name)["jobs"].values()
    listed: list[dict[str, Any]] = job["steps"]
    return listed


def test_the_run_that_strangers_start_has_no_rights() -> None:
    first = workflow("check")
    assert first[True] == "pull_request"  # `on` is a boolean in YAML
    assert first["permissions"] == {"contents": "read"}
    assert "permissions" not in first["jobs"]["check"]
    assert "secrets" not in str(first) and "github.token" not in str(first)
    assert steps("check")[0]["with"]["persist-credentials"] is False


def test_the_run_with_rights_sees_no_files_of_strangers() -> None:
    second = workflow("comment")
    assert second[True] == {"workflow_run": {"workflows": [workflow("check")["name"]], "types": ["completed"]}}
    assert second["permissions"] == {}
    assert second["jobs"]["comment"]["permissions"] == {
        "actions": "read",
        "contents": "read",
        "pull-requests": "write",
    }
    assert not [one for one in steps("comment") if "checkout" in one.get("uses", "")]


@pytest.mark.parametrize("name", ["check", "comment"])
def test_no_expression_stands_in_a_script(name: str) -> None:
    assert not [one for one in steps(name) if "${{" in one.get("run", "")]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a runner, with buildfix on PATH."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "buildfix").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m buildfix "$@"\n')
    (tools / "buildfix").chmod(0o755)
    git = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    names = {f"GIT_{who}_{what}": f"x@{who}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    yield {**os.environ, **git, **names, "PATH": path, "PYTHONPATH": str(PROJECT), "RUNNER_TEMP": str(tmp_path)}


def script(name: str, step: str, cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    (one,) = [one for one in steps(name) if one.get("name") == step]
    assert set(one["env"]) <= set(env)
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", one["run"]],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_workflows_work(tmp_path: Path, machine: dict[str, str]) -> None:
    """From a pull request in a real git repository to its comments, by the scripts of the page."""
    root = Path(shutil.copytree(BEFORE, tmp_path / "clone"))

    def git(*args: str) -> str:
        return subprocess.run(
            ["git", *args], cwd=root, env=machine, check=True, capture_output=True, text=True
        ).stdout.strip()

    def files() -> dict[str, str]:
        listed = [path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts]
        return {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in listed}

    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-qm", "base")
    base, old = git("rev-parse", "HEAD"), files()
    build_file = root / "cellar/press/BUCK"
    build_file.write_text(build_file.read_text("utf-8").replace('":gauge",', '":gauge",  # needed?'), "utf-8")
    git("commit", "-qam", "head")

    with FakeGitHub(old, files()) as fake:
        env = {**machine, "BASE": base, "HEAD": fake.sha, "GITHUB_TOKEN": "bot-token", "GITHUB_REPOSITORY": REPO}
        checked = script("check", "Check", root, env)
        assert checked.returncode == 1, checked
        (tmp_path / "buildfix").mkdir()
        shutil.move(tmp_path / "artefact.json", tmp_path / "buildfix")
        posted = script("comment", "Comment", tmp_path, {**env, "GITHUB_API_URL": fake.url, "GITHUB_GRAPHQL_URL": ""})
        assert posted.returncode == 0, posted
        (thread,) = fake.threads
        assert thread.path == "cellar/press/BUCK" and "//market/stall:recipe" in thread.comments[0].body
