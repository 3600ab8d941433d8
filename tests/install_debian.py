"""Puts packages of Debian into a folder, with all that they need: what the tests want to try, as a real Bazel.

    python tests/install_debian.py FOLDER PACKAGE...

The packages are fetched with apt and unpacked, so this needs no root and leaves the system as it is. What the system
has installed already is not fetched; the tests look for a file in the folder first, and then at its place in the
system. FOLDER/installed is made at the end. Where they cannot be had, FOLDER/unavailable says why, and the tests that
need them say so when they are skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

OPTIONS = {
    "APT::Sandbox::User": "root",
    "APT::Update::Error-Mode": "any",
    "Acquire::Retries": "2",
    "Acquire::http::Timeout": "20",
    "Debug::NoLocking": "1",
}


class UnavailableError(Exception):
    """Why the packages cannot be had here."""


def run(command: list[str], cwd: Path) -> str:
    """What a command says; UnavailableError if it fails."""
    environment = os.environ | {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        shown = " ".join(command[:1] + [word for word in command[1:] if word.isalpha()])
        raise UnavailableError(f"`{shown}` failed: {said[-1] if said else f'status {done.returncode}'}")
    return done.stdout


def install(folder: Path, packages: list[str]) -> None:
    """Fetch and unpack what apt would install, with lists and a cache of our own: the system's need root, and
    containers come without them."""
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise UnavailableError(f"it comes from Debian's packages, and there is no {tool} here")
    apt = folder / "apt"
    for part in ("lists/partial", "archives/partial"):
        (apt / part).mkdir(parents=True)
    options = {**OPTIONS, "Dir::State::Lists": apt / "lists", "Dir::Cache": apt}
    get = ["apt-get", "-q", *(f"-o{key}={value}" for key, value in options.items())]
    try:
        run([*get, "update"], apt)
        failed = ""
    except UnavailableError as error:  # one source of several may be broken: what the others have may be enough
        failed = f"; before that, {error}"
    try:
        planned = run([*get, "install", "--simulate", "--no-install-recommends", *packages], apt)
        names = [line.split()[1] for line in planned.splitlines() if line.startswith("Inst ")]
        if names:
            run([*get, "download", *names], apt)
    except UnavailableError as error:
        raise UnavailableError(f"{error}{failed}") from None
    for package in sorted(apt.glob("*.deb")):
        run(["dpkg-deb", "--extract", str(package), str(folder)], apt)
    stay_inside(folder)


def stay_inside(folder: Path) -> None:
    """Symlinks to absolute paths (those of a JDK to its configuration) lead to what was unpacked."""
    for where, folders, files in os.walk(folder):
        for path in (Path(where, name) for name in (*folders, *files)):
            if path.is_symlink() and (target := os.readlink(path)).startswith("/"):
                inside = folder / target.lstrip("/")
                if inside.exists():
                    path.unlink()
                    path.symlink_to(inside)


def main(folder: Path, packages: list[str]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        install(folder, packages)
        (folder / "installed").touch()
    except (UnavailableError, OSError) as error:
        (folder / "unavailable").write_text(f"{error}\n", "utf-8")
        print(f"no {packages[0]} for the tests: {error}", file=sys.stderr)
    shutil.rmtree(folder / "apt", ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), sys.argv[2:])
