"""What a repository may throw at buildfix: a clear message, the right exit status, nothing written on its account.

Exit status: 0 clean or all repaired, 1 findings remain, 2 usage or configuration, 3 something was not analysed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Run, snapshot

Make = Callable[[dict[str, str | bytes]], Path]

# A repository with one repair to make (//yard:work lacks //kit:saw), one unused edge whose target is the hostile
# package, and room for that package.
GOOD: dict[str, str | bytes] = {
    ".buckconfig": "[cells]\n  root = .\n",
    "kit/BUCK": 'python_library(name = "saw", srcs = ["saw.py"])\n',
    "kit/saw.py": "S = 1\n",
    "yard/BUCK": 'python_library(name = "work", srcs = ["work.py"], deps = [])\n',
    "yard/work.py": "import kit.saw\n",
}
REPAIRED = b'python_library(name = "work", srcs = ["work.py"], deps = ["//kit:saw"])\n'

HOSTILE_BUILD_FILES = {
    "syntax error": ('python_library(name = "x",\n  srcs = [)\n', "bad/BUCK:2"),
    "infinite loop": ("for i in range(1 << 60):\n    pass\n", "bad/BUCK"),
    "endless while": ("def f():\n    while True:\n        pass\nf()\n", "bad/BUCK"),
    "recursion": ("def f(n):\n    return f(n + 1)\nf(0)\n", "bad/BUCK"),
    "huge list": ("x = [0] * (1 << 40)\n", "bad/BUCK"),
    "growing list": ("x = [0]\nfor i in range(60):\n    x = x + x\n", "bad/BUCK"),
    "huge string": ('x = "a" * (1 << 40)\n', "bad/BUCK"),
    "deep nesting": ("x = " + "[" * 20_000 + "]" * 20_000 + "\n", "bad/BUCK"),
    "many operators": ("x = " + "1 + " * 50_000 + "1\n", "bad/BUCK"),
    "not UTF-8": (b'python_library(name = "caf\xe9")\n', "bad/BUCK"),
    "nothing but zeros": (b"\0" * 64, "bad/BUCK"),
    "load cycle": ('load("//bad:a.bzl", "a")\n', "bad/"),
    "fails at once": ('fail("on purpose")\n', "on purpose"),
}


@pytest.mark.parametrize("name", HOSTILE_BUILD_FILES)
def test_a_hostile_build_file_costs_its_package_and_no_other(name: str, workspace: Make, buildfix: Run) -> None:
    content, said = HOSTILE_BUILD_FILES[name]
    more: dict[str, str | bytes] = {
        "bad/BUCK": content,
        "bad/a.bzl": 'load("//bad:b.bzl", "b")\na = 1\n',
        "bad/b.bzl": 'load("//bad:a.bzl", "a")\nb = 1\n',
        "bad/module.py": "import kit.saw\n",
    }
    root = workspace(GOOD | more)
    before = snapshot(root)
    start = time.monotonic()
    done = buildfix("--root", root, "--check")
    assert time.monotonic() - start < 60
    assert done.returncode == 3, done
    assert "Traceback" not in done.stderr
    assert said in done.stdout, done.stdout
    assert "BF011" in done.stdout
    assert snapshot(root) == before
    applied = buildfix("--root", root, "--apply")
    assert applied.returncode == 3, applied
    assert snapshot(root) == before | {"yard/BUCK": REPAIRED}


@pytest.mark.parametrize("name", HOSTILE_BUILD_FILES)
def test_nothing_is_dropped_on_account_of_a_package_that_was_not_seen(
    name: str, workspace: Make, buildfix: Run
) -> None:
    """The hostile package may hold targets that live on mid's unused edge."""
    content, _ = HOSTILE_BUILD_FILES[name]
    root = workspace(
        GOOD
        | {
            "mid/BUCK": 'python_library(name = "mid", srcs = ["mid.py"], deps = ["//kit:saw"])\n',
            "mid/mid.py": "M = 1\n",
            "bad/BUCK": content,
            "bad/a.bzl": 'load("//bad:b.bzl", "b")\na = 1\n',
            "bad/b.bzl": 'load("//bad:a.bzl", "a")\nb = 1\n',
            "bad/module.py": "import mid.mid\nimport kit.saw\n",
        }
    )
    before = snapshot(root)
    applied = buildfix("--root", root, "--apply")
    assert applied.returncode == 3, applied
    assert snapshot(root)["mid/BUCK"] == before["mid/BUCK"], applied.stdout


HOSTILE_SOURCES = {
    "syntax error": b"import kit.saw\ndef f(\n    pass\n",
    "not UTF-8": b'N = "\xe9"\nimport kit.saw\n',
    "unknown encoding": b"# -*- coding: no-such-code -*-\nimport kit.saw\n",
    "zeros": b"import kit.saw\n\0\0\0",
    "deep nesting": b"x = " + b"(" * 50_000 + b")" * 50_000 + b"\nimport kit.saw\n",
    "bad indentation": b"if x:\nimport kit.saw\n",
}


@pytest.mark.parametrize("name", HOSTILE_SOURCES)
def test_a_hostile_source_keeps_the_deps_of_its_target(name: str, workspace: Make, buildfix: Run) -> None:
    root = workspace(
        GOOD
        | {
            "odd/BUCK": 'python_library(name = "odd", srcs = ["odd.py"], deps = ["//kit:saw", "//kit:axe"])\n',
            "odd/odd.py": HOSTILE_SOURCES[name],
            "kit/BUCK": GOOD["kit/BUCK"] + 'python_library(name = "axe", srcs = ["axe.py"])\n',  # type: ignore[operator]
            "kit/axe.py": "A = 1\n",
        }
    )
    before = snapshot(root)
    done = buildfix("--root", root, "--apply")
    assert done.returncode == 3, done
    assert "odd/odd.py" in done.stdout
    assert "Traceback" not in done.stderr
    assert snapshot(root) == before | {"yard/BUCK": REPAIRED}


def test_a_folder_that_is_no_repository(tmp_path: Path, buildfix: Run) -> None:
    (tmp_path / "notes.txt").write_text("nothing to build here\n")
    for args in ((), ("--apply",), ("--root", tmp_path), ("--root", tmp_path, "--apply")):
        done = buildfix(*args, cwd=tmp_path)
        assert done.returncode == 2, done
        assert "repository" in done.stderr
        assert str(tmp_path) in done.stderr
        assert done.stdout == ""
        assert "Traceback" not in done.stderr
    assert snapshot(tmp_path) == {"notes.txt": b"nothing to build here\n"}


def test_a_path_that_does_not_exist(workspace: Make, buildfix: Run) -> None:
    root = workspace(GOOD)
    for args in (("nowhere",), ("--root", root, root / "nowhere"), ("--root", root / "nowhere")):
        done = buildfix(*args, cwd=root)
        assert done.returncode == 2, done
        assert "nowhere" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_path_outside_the_repository(workspace: Make, tmp_path: Path, buildfix: Run) -> None:
    done = buildfix("--root", workspace(GOOD), tmp_path)
    assert done.returncode == 2, done
    assert "not in the repository" in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("third_party: [", "buildfix.yaml:1"),
        ("ignore: [a]\ncolour: red\n", "buildfix.yaml:2"),
        ("ignore: 3\n", "buildfix.yaml:1"),
    ],
)
def test_a_wrong_configuration_names_its_line(text: str, said: str, workspace: Make, buildfix: Run) -> None:
    done = buildfix("--root", workspace(GOOD | {"buildfix.yaml": text}), "--apply")
    assert done.returncode == 2, done
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_an_option_that_does_not_exist(buildfix: Run) -> None:
    assert buildfix("--fix-it").returncode == 2


def test_a_read_only_build_file(workspace: Make, buildfix: Run) -> None:
    root = workspace(GOOD)
    os.chmod(root / "yard/BUCK", 0o444)
    before = snapshot(root)
    done = buildfix("--root", root, "--apply")
    assert done.returncode == 3, done
    assert "yard/BUCK: is read-only; nothing was written" in done.stderr
    assert snapshot(root) == before


def test_links_out_of_the_repository_are_neither_read_nor_written(
    workspace: Make, tmp_path: Path, buildfix: Run
) -> None:
    root = workspace(GOOD)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "BUCK").write_text('python_library(name = "saw", srcs = ["saw.py"])\n')
    (outside / "saw.py").write_text("S = 2\n")
    (root / "linked").symlink_to(outside)
    (root / "file").mkdir()
    (root / "file/BUCK").symlink_to(outside / "BUCK")
    done = buildfix("--root", root, "--check", "--output-format", "json")
    assert "Traceback" not in done.stderr
    assert not any(finding["target"].startswith("//linked") for finding in json.loads(done.stdout)["findings"])
    buildfix("--root", root, "--apply")
    assert snapshot(outside) == {"BUCK": b'python_library(name = "saw", srcs = ["saw.py"])\n', "saw.py": b"S = 2\n"}


def test_an_engine_that_is_missing_or_broken(workspace: Make, tmp_path: Path) -> None:
    root = workspace(GOOD)
    broken = tmp_path / "engine"
    broken.write_text('#!/bin/sh\necho \'{"t": "stat"\'\n')
    broken.chmod(0o755)
    for engine in (tmp_path / "no-such-engine", broken):
        done = subprocess.run(
            [sys.executable, "-m", "buildfix", "--root", root],
            env=os.environ | {"BUILDFIX_ENGINE": str(engine)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode not in (0, 1), done
        assert "engine" in done.stderr
        assert "Traceback" not in done.stderr


# --- killed in the middle

MANY = 40


def many() -> dict[str, str | bytes]:
    """A repository in which --apply has many files to write."""
    files: dict[str, str | bytes] = dict(GOOD)
    for i in range(MANY):
        files[f"user{i}/BUCK"] = 'python_library(name = "user", srcs = ["user.py"], deps = [])\n'
        files[f"user{i}/user.py"] = "import kit.saw\n"
    return files


# The command itself, with SIGKILL in place of one of its renames.
KILLED = """
import os, signal, sys
real, count = os.replace, iter(range(10**6))
def replace(*args):
    if next(count) == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    real(*args)
os.replace = replace
from buildfix.cli import main
main(sys.argv[2:])
"""


@pytest.mark.parametrize("at", [0, 1, MANY // 2, MANY])
def test_kill_in_the_middle_of_apply(at: int, workspace: Make, tmp_path: Path, buildfix: Run) -> None:
    root = workspace(many())
    before = snapshot(root)
    finished = tmp_path / "finished"
    shutil.copytree(root, finished)
    assert buildfix("--root", finished, "--apply").returncode == 0
    after = snapshot(finished)

    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(at), "--root", str(root), "--apply"], check=False, capture_output=True
    )
    assert killed.returncode == -signal.SIGKILL
    now = {name: text for name, text in snapshot(root).items() if "/.buildfix-" not in name}
    assert now.keys() == before.keys()
    assert sum(now[name] != before[name] for name in now) == at
    assert all(now[name] in (before[name], after[name]) for name in now)

    assert buildfix("--root", root, "--apply").returncode == 0
    left = {name for name in snapshot(root) if "/.buildfix-" in name}
    assert {name: text for name, text in snapshot(root).items() if name not in left} == after
    # Where the second run had nothing to write it did not look; what is left there is harmless and of no build file.
    assert all(not name.endswith(("BUCK", ".py")) for name in left)


def test_kill_at_any_moment(workspace: Make, tmp_path: Path, buildfix: Run) -> None:
    """The same by the clock: whenever the signal comes, every file is as before or as after."""
    source = workspace(many())
    before = snapshot(source)
    finished = tmp_path / "finished"
    shutil.copytree(source, finished)
    start = time.monotonic()
    assert buildfix("--root", finished, "--apply").returncode == 0
    whole = time.monotonic() - start
    after = snapshot(finished)
    for step in range(6):
        root = tmp_path / f"killed{step}"
        shutil.copytree(source, root)
        process = subprocess.Popen(
            [sys.executable, "-m", "buildfix", "--root", root, "--apply"], stdout=subprocess.PIPE
        )
        time.sleep(whole * (0.5 + 0.1 * step))
        process.kill()
        process.communicate()
        now = {name: text for name, text in snapshot(root).items() if "/.buildfix-" not in name}
        assert all(now[name] in (before[name], after[name]) for name in before)
        assert now.keys() == before.keys()
        assert buildfix("--root", root, "--apply").returncode == 0
        assert snapshot(root).items() >= after.items()
