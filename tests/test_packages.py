"""What is released: the same bytes each time, right for its platform, and it runs where it is installed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.xdist_group("packages")


NOT_SOURCES = shutil.ignore_patterns(
    ".git", ".venv*", "_engine", "build", "dist", "__pycache__", ".*_cache", ".hypothesis"
)


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An sdist, and wheels for two platforms."""
    return built(tmp_path_factory.mktemp("first"), "linux/amd64", "windows/amd64")


def built(folder: Path, *platforms: str) -> Path:
    """Built from a copy: other tests run the engine that lies in the tree."""
    shutil.copytree(ROOT, folder / "tree", ignore=NOT_SOURCES, symlinks=True)
    environment = os.environ | {"SOURCE_DATE_EPOCH": "1750000000"}
    command = [sys.executable, str(folder / "tree/packaging/dist.py"), str(folder / "dist"), *platforms]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "dist"


def hashes(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_building_twice_gives_the_same_bytes(dist: Path, tmp_path: Path) -> None:
    assert hashes(built(tmp_path, "linux/amd64", "windows/amd64")) == hashes(dist)


def test_each_wheel_names_its_platform_and_carries_its_engine(dist: Path) -> None:
    engines = {}
    for wheel in dist.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            (engine,) = [name for name in archive.namelist() if name.startswith("buildfix/_engine/")]
            engines[wheel.name.partition("-py3-none-")[2]] = (engine, archive.read(engine)[:2])
            drawn = "buildfix/reports/graphs/vendor/cytoscape.min.js" in archive.namelist()
            assert drawn == (shutil.which("npm") is not None)
    assert engines == {
        "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64.whl": (
            "buildfix/_engine/buildfix-engine",
            b"\x7fE",
        ),
        "win_amd64.whl": ("buildfix/_engine/buildfix-engine.exe", b"MZ"),
    }


def test_the_sdist_has_what_it_takes_to_build_and_test_and_nothing_that_was_built(dist: Path) -> None:
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for wanted in (
        "pyproject.toml",
        "hatch_build.py",
        "engine/main.go",
        "tests/conftest.py",
        "fixtures/demo.py",
        "LICENSE",
    ):
        assert wanted in names
    assert not [name for name in names if "/_engine/" in name or "vendor" in name or name.endswith(".pyc")]


@pytest.mark.skipif(
    sysconfig.get_platform() != "linux-x86_64", reason="the native wheel of this test is that of linux-x86_64"
)
def test_the_native_wheel_runs_in_a_clean_environment(dist: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    (wheel,) = dist.glob("*manylinux*.whl")
    pip = [tmp_path / "venv/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel]
    subprocess.run(pip, check=True)
    root = tmp_path / "orchard"
    shutil.copytree(ROOT / "fixtures/unused-edge-others-live-on/before", root)
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("BUILDFIX", "PYTHON"))}
    done = subprocess.run(
        [tmp_path / "venv/bin/buildfix", "--apply", "cellar"],
        cwd=root,
        env=clean,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "3 repaired in 3 files" in done.stdout


def test_the_sbom_names_what_is_carried(dist: Path) -> None:
    (file,) = dist.glob("*.cdx.json")
    bom = json.loads(file.read_text("utf-8"))
    assert (bom["bomFormat"], bom["metadata"]["component"]["name"]) == ("CycloneDX", "buildfix")
    purls = {one["purl"].partition("@")[0] for one in bom["components"]}
    assert {"pkg:golang/go.starlark.net", "pkg:npm/cytoscape", "pkg:pypi/click"} <= purls


def test_the_version_is_written_in_one_place() -> None:
    text = (ROOT / "buildfix/__init__.py").read_text("utf-8")
    version = text.partition('__version__ = "')[2].partition('"')[0]
    assert f'version = "{version}"' in (ROOT / "MODULE.bazel").read_text("utf-8")  # Bazel evaluates no Python
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text("utf-8")
