"""`--since`: what a change touched, and who suffers from it."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Run

from buildfix import pipeline, since
from buildfix.findings import Code, Result
from buildfix.pipeline import Options, Rerun

Make = Callable[[dict[str, str]], Path]

# `top` lives on the edge of `mid`; `odd` has a finding that no change below has to do with.
REPOSITORY = {
    "kit/BUCK": 'python_library(name = "saw", srcs = ["saw.py"])\npython_library(name = "axe", srcs = ["axe.py"])\n',
    "kit/saw.py": "",
    "kit/axe.py": "",
    "mid/BUCK": 'python_library(name = "mid", srcs = ["mid.py"], deps = ["//kit:saw", "//kit:axe"])\n',
    "mid/mid.py": "import kit.axe\nimport kit.saw\n",
    "top/BUCK": 'python_library(name = "top", srcs = ["top.py"], deps = ["//mid:mid"])\n',
    "top/top.py": "import kit.saw\nimport mid.mid\n",
    "odd/BUCK": 'load("//defs:deps.bzl", "DEPS")\npython_library(name = "odd", srcs = ["odd.py"], deps = DEPS)\n',
    "odd/odd.py": "import kit.saw\n",
    "defs/deps.bzl": "DEPS = []\n",
    "defs/BUCK": "",
}


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", root, *identity, *arguments], check=True, capture_output=True)


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "x")


@pytest.fixture
def repository(workspace: Make) -> Path:
    root = workspace(REPOSITORY)
    git(root, "init", "--quiet")
    commit(root)
    return root


def found(root: Path, *, revision: str = "HEAD") -> list[str]:
    """The findings of a check since a revision: code, target and dep of each."""
    result = pipeline.check(root, options=Options(since=revision))
    return [f"{f.code} {f.target} {f.dep_label}" for f in result.findings]


def test_nothing_changed(repository: Path) -> None:
    assert found(repository) == []


def test_a_changed_source(repository: Path) -> None:
    (repository / "mid/mid.py").write_text("import kit.axe\n")
    assert found(repository) == ["BF002 //mid:mid //kit:saw", "BF001 //top:top //kit:saw"]


def test_a_new_file_that_git_does_not_know(repository: Path) -> None:
    (repository / "new").mkdir()
    (repository / "new/BUCK").write_text('python_library(name = "new", srcs = ["new.py"])\n')
    (repository / "new/new.py").write_text("import kit.axe\n")
    assert found(repository) == ["BF001 //new:new //kit:axe"]


def test_whoever_lived_on_an_edge_that_went(repository: Path) -> None:
    (repository / "mid/BUCK").write_text('python_library(name = "mid", srcs = ["mid.py"], deps = ["//kit:axe"])\n')
    (repository / "mid/mid.py").write_text("import kit.axe\n")
    assert found(repository) == ["BF001 //top:top //kit:saw"]


def test_whoever_had_the_dep_of_a_module_that_moved(repository: Path) -> None:
    lib = 'python_library(name = "{}", srcs = ["{}.py"])\n'
    both = 'python_library(name = "blade", srcs = ["axe.py"])\n'
    (repository / "kit/BUCK").write_text(lib.format("saw", "saw") + both)
    assert "BF001 //mid:mid //kit:blade" in found(repository)


def test_a_file_that_the_build_file_loads(repository: Path) -> None:
    (repository / "defs/deps.bzl").write_text('DEPS = ["//kit:axe"]\n')
    assert "BF001 //odd:odd //kit:saw" in found(repository)


def test_a_target_that_went(repository: Path) -> None:
    (repository / "mid/BUCK").unlink()
    assert "BF001 //top:top //kit:saw" in found(repository)


def test_commits_since_a_branch_left_another(repository: Path) -> None:
    git(repository, "branch", "base")
    git(repository, "checkout", "--quiet", "-b", "work")
    (repository / "top/top.py").write_text("import kit.axe\nimport mid.mid\n")
    commit(repository)
    git(repository, "checkout", "--quiet", "base")
    (repository / "odd/odd.py").write_text("import kit.axe\n")
    commit(repository)
    git(repository, "checkout", "--quiet", "work")
    assert found(repository, revision="base") == ["BF001 //top:top //kit:axe"]


def test_a_root_below_that_of_git(workspace: Make) -> None:
    root = workspace({f"inner/{path}": text for path, text in REPOSITORY.items()} | {"inner/.buckconfig": ""})
    git(root, "init", "--quiet")
    commit(root)
    (root / "inner/mid/mid.py").write_text("import kit.axe\n")
    assert "BF002 //mid:mid //kit:saw" in found(root / "inner")


@pytest.mark.parametrize("revision", ["nowhere", "--all"])
def test_what_is_no_revision(revision: str, repository: Path, buildfix: Run) -> None:
    done = buildfix("--root", repository, "--since", revision)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"no revision {revision!r}" in done.stderr or f"{revision!r} is no revision" in done.stderr


def test_no_git_repository(workspace: Make, buildfix: Run) -> None:
    done = buildfix("--root", workspace(REPOSITORY), "--since", "HEAD")
    assert done.returncode == 2
    assert "--since" in done.stderr


@pytest.mark.parametrize("seed", range(12))
def test_the_same_as_a_whole_run_restricted_to_what_was_touched(seed: int, workspace: Make) -> None:
    dice = random.Random(seed)
    names = [f"m{number}" for number in range(9)]
    root = workspace({path: text for name in names for path, text in random_package(dice, names, name).items()})
    git(root, "init", "--quiet")
    commit(root)
    for name in dice.sample(names, 2):
        for path, text in random_package(dice, names, name).items():
            if dice.random() < 0.6:
                (root / path).write_text(text)

    config = pipeline.configuration.load(root)
    space = pipeline.workspace.read(root, config)
    options = Options(since="HEAD")
    known = pipeline.load(space, config, options)
    rerun = Rerun(space, config, options, known)
    narrowed = since.narrow(known, since.Change(root, "HEAD"), rerun)
    touched = {str(target.label) for target in known.graph.python if narrowed.selected(target)}
    part, whole = pipeline.judge(narrowed, rerun), pipeline.judge(known, rerun)
    assert keys(part, touched) == keys(whole, touched)
    assert {f.target for f in part.findings if not f.outside} <= touched


def keys(result: Result, targets: set[str]) -> set[tuple[str, str, str]]:
    told = (Code.MISSING_DEP, Code.WOULD_CYCLE, Code.UNUSED_DEP)
    return {(f.code.slug, f.target, f.dep_label) for f in result.findings if f.target in targets and f.code in told}


def random_package(dice: random.Random, names: list[str], name: str) -> dict[str, str]:
    """A library that imports some later ones and depends on some later ones."""
    later = names[names.index(name) + 1 :]
    imports = dice.sample(later, min(2, len(later)))
    deps = {*dice.sample(later, min(2, len(later))), *(one for one in imports if dice.random() < 0.5)}
    labels = sorted(f"//{dep}:{dep}" for dep in deps)
    return {
        f"{name}/BUCK": f'python_library(name = "{name}", srcs = ["{name}.py"], deps = {labels})\n',
        f"{name}/{name}.py": "".join(f"import {one}.{one}\n" for one in imports),
    }
