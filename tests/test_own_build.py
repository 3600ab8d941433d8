"""buildfix's own Bazel build: right by its own word, well formatted, and built and run by a real Bazel as far as one
without a network can: rules and packages from elsewhere are stand-ins."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import real_bazel
from conftest import Run, buildfix_inside
from real_bazel import Bazel

from buildfix.roots import engine_path

ROOT = Path(__file__).parent.parent
SOURCES = ("bazel", "buildfix", "engine", "BUILD.bazel", "MODULE.bazel", "buildfix.yaml", "LICENSE", "pyproject.toml")
BUILD_FILES = sorted(
    path
    for top in SOURCES
    for path in ((ROOT / top).rglob("*") if (ROOT / top).is_dir() else [ROOT / top])
    if path.name in ("BUILD.bazel", "MODULE.bazel") or (path.suffix == ".bzl" and path.parent.name != "symbols")
)

GO = """\
def go_library(name, srcs, visibility = None, **kwargs):
    native.filegroup(name = name, srcs = srcs, visibility = visibility)

def go_test(name, srcs, **kwargs):
    native.filegroup(name = name, srcs = srcs, testonly = True)

def go_binary(name, visibility = None, **kwargs):
    native.genrule(name = name, outs = [name + "_"], cmd = "cp ENGINE $@", executable = True, visibility = visibility)
"""

MODULE = {
    "BUILD.bazel": """\
load("@buildfix//bazel:defs.bzl", "buildfix_test")
load("@rules_python//python:defs.bzl", "py_library")

py_library(name = "saw", srcs = ["saw.py"])
py_library(name = "hut", srcs = ["hut.py"], deps = DEPS)
buildfix_test(name = "build_files", root = "//:MODULE.bazel")
""",
    "MODULE.bazel": 'module(name = "user")\nbazel_dep(name = "buildfix", version = "0.1.0")\n',
    "buildfix.yaml": "ignore: [own]\n",
    "saw.py": "",
    "hut.py": "import saw\n",
}


def test_buildfix_finds_nothing_to_repair_in_itself() -> None:
    done = buildfix_inside("--root", ROOT, "--no-cache", "--output-format", "json", cwd=ROOT)
    said = json.loads(done.stdout)
    assert [one for one in said["findings"] if one["fails"]] == []
    assert done.returncode == 0


def test_every_source_belongs_to_a_target() -> None:
    done = buildfix_inside("index", "--root", ROOT, cwd=ROOT)
    owned = {line.partition("\t")[0] for line in done.stdout.splitlines()}
    for source in (ROOT / "buildfix").rglob("*.py"):
        module = ".".join(source.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        assert module in owned


@pytest.mark.skipif(shutil.which("buildifier") is None, reason="buildifier is not on PATH (make test installs it)")
def test_the_build_files_are_as_buildifier_writes_them() -> None:
    done = subprocess.run(
        ["buildifier", "-mode=check", "-lint=warn", "-warnings=-module-docstring", *map(str, BUILD_FILES)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_the_module_names_is_there() -> None:
    """No Bazel of these tests reads MODULE.bazel: a file or distribution that is missing would not be noticed."""
    module = (ROOT / "MODULE.bazel").read_text("utf-8")
    for package, name in re.findall(r'"//([\w/]*):([\w.]+)"', module):
        assert (ROOT / package / name).is_file()
    lock = (ROOT / "bazel/requirements.txt").read_text("utf-8")
    locked = {name.lower().replace("-", "_") for name in re.findall(r"(?m)^([\w.-]+)==", lock)}
    wanted = {name for path in BUILD_FILES for name in re.findall(r'"@buildfix_pip//(\w+)"', path.read_text("utf-8"))}
    assert wanted
    assert wanted <= locked
    assert "http://" not in lock and "https://" not in lock
    declared = set(re.findall(r"use_repo\(go_deps, (.*)\)", module)[0].replace('"', "").split(", "))
    assert declared == {
        name for path in BUILD_FILES for name in re.findall(r'"@(\w+)//', path.read_text("utf-8")) if name in declared
    }


@pytest.fixture(scope="module")
def bazel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bazel]:
    folder = tmp_path_factory.mktemp("own")
    stand_ins = real_bazel.STAND_INS | {
        "rules_go/BUILD": "",
        "rules_go/go/BUILD": "",
        "rules_go/go/def.bzl": GO.replace("ENGINE", str(engine_path())),
    }
    server = Bazel(folder, stand_ins)
    yield server
    server.run("shutdown")


def copied(to: Path) -> Path:
    ignored = shutil.ignore_patterns("_engine", "vendor", "__pycache__")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, to / name, ignore=ignored)
        else:
            to.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to)
    return to


needs_bazel = pytest.mark.skipif(bool(real_bazel.unavailable()), reason=real_bazel.unavailable() or "there is one")


@needs_bazel
@pytest.mark.xdist_group("bazel")
def test_a_real_bazel_builds_and_runs_it(bazel: Bazel, tmp_path: Path, buildfix: Run) -> None:
    bazel.fill(copied(tmp_path / "own"), {})
    built = bazel.run("build", "//...")
    assert built.status == 0, built.err
    orchard = tmp_path / "orchard"
    shutil.copytree(ROOT / "fixtures/unused-edge-others-live-on/before", orchard)
    said = bazel.run("run", "//:buildfix", "--", "--root", str(orchard), "--apply", str(orchard / "cellar"))
    assert said.status == 0, said.err
    assert "3 repaired in 3 files" in said.out


@needs_bazel
@pytest.mark.xdist_group("bazel")
def test_another_module_tests_its_build_files_with_it(bazel: Bazel, tmp_path: Path) -> None:
    for deps, passes in (('[":saw"]', True), ("[]", False)):
        root = tmp_path / f"user{passes}"
        for path, text in MODULE.items():
            root.mkdir(exist_ok=True)
            (root / path).write_text(text.replace("DEPS", deps))
        copied(root / "own")
        bazel.fill(root, {"buildfix": "own"})
        said = bazel.run("test", "//:build_files", "--test_output=all")
        assert (said.status == 0) == passes, said.err + said.out
        assert passes or "//:hut" in said.out + said.err
