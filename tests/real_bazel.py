"""A real Bazel for the tests, as tests/install_debian.py unpacks it: one server, and one workspace that is refilled.

Bazel 4.2.3 without a network: every external repository is either Debian's or a stand-in of ours, and a MODULE.bazel,
which it does not know, is said once more in the words of a WORKSPACE.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(os.environ.get("BUILDFIX_BAZEL") or Path(sys.prefix, "bazel"))
SYSTEM = Path("/")

# Where Debian puts the repositories that Bazel asks for by itself.
DEBIAN = {
    "bazel_skylib": "usr/share/bazel/tools/skylib",
    "platforms": "usr/share/bazel/platforms",
    "rules_java": "usr/share/bazel/rules/java",
    "rules_proto": "usr/share/bazel/rules/proto",
}


def _natives(*rules: str) -> str:
    return "".join(f"{rule} = native.{rule}\n" for rule in rules)


_CC = ("binary", "import", "library", "proto_library", "test", "toolchain", "toolchain_suite")
_PUBLIC = 'visibility = ["//visibility:public"]'

# Debian has no rules_python, and a rules_cc that is too new for its Bazel.
STAND_INS = {
    "remote_coverage_tools/BUILD": "".join(
        f'filegroup(name = "{name}", {_PUBLIC})\n' for name in ("coverage_report_generator", "lcov_merger")
    ),
    "rules_cc/BUILD": "",
    "rules_cc/cc/BUILD": f'toolchain_type(name = "toolchain_type", {_PUBLIC})\n',
    "rules_cc/cc/defs.bzl": _natives(*(f"cc_{name}" for name in _CC)),
    "rules_python/BUILD": "",
    "rules_python/python/BUILD": "",
    "rules_python/python/defs.bzl": _natives("py_binary", "py_library", "py_test"),
}

# The files whose labels say which other repositories there are.
MENTIONING = ("BUILD", "BUILD.bazel", "MODULE.bazel", "buildfix.yaml")

# A hub of Python distributions, as rules_python makes it of a lock file.
_HUB = """\
def requirement(name):
    return "@{hub}//" + name.lower().replace("-", "_")
"""


def find(path: str) -> Path | None:
    """A file of the packages: unpacked, or installed in the system."""
    return next((base / path for base in (FOLDER, SYSTEM) if (base / path).exists()), None)


def java_home() -> Path | None:
    """The JDK that Debian's Bazel is made for. One link of the way to it may be unpacked and the rest installed."""
    name = "default-java"
    for _ in range(3):
        home = find(f"usr/lib/jvm/{name}")
        if home is not None:
            return home
        links = [path for base in (FOLDER, SYSTEM) if (path := base / "usr/lib/jvm" / name).is_symlink()]
        if not links:
            return None
        name = os.readlink(links[0])
    return None


def unavailable() -> str:
    """Why there is no Bazel here; "" if there is."""
    try:
        return f"no Bazel: {(FOLDER / 'unavailable').read_text('utf-8').strip()}"
    except OSError:
        pass
    parts = ("usr/bin/bazel-4", "usr/share/bazel/A-server.jar", *DEBIAN.values())
    if java_home() is None or any(find(part) is None for part in parts):
        return f"Debian's Bazel is not in {FOLDER} (make test puts it there)"
    return ""


@dataclass(frozen=True)
class Said:
    """What a command of Bazel's said, and its exit status."""

    status: int
    out: str
    err: str


class Bazel:
    """A Bazel server of its own, and the workspace that it works on; everything lies below `folder`."""

    def __init__(self, folder: Path, stand_ins: Mapping[str, str] = STAND_INS) -> None:
        self.root = folder / "workspace"
        self._folder = folder
        self.root.mkdir()
        for path, text in stand_ins.items():
            _write(folder / "stand_ins" / path, text)
        made = {path.partition("/")[0] for path in stand_ins}
        self._known = frozenset((*DEBIAN, *made))
        paths = {name: find(DEBIAN[name]) for name in DEBIAN} | {name: folder / "stand_ins" / name for name in made}
        for name in made:
            _write(folder / "stand_ins" / name / "WORKSPACE", "")
        self._repositories = [f"--override_repository={name}={path}" for name, path in sorted(paths.items())]

    def fill(self, source: Path, nested: Mapping[str, str]) -> None:
        """Make the workspace a copy of `source`; `nested` has the folder of each repository that lies in the tree."""
        # The workspace's own folder stays: a server whose folder is gone starts again.
        for path in self.root.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        shutil.copytree(source, self.root, symlinks=True, dirs_exist_ok=True)
        declared = {**nested, **self._hubs({*nested, *self._known})}
        for path in declared.values():
            (self.root / path / "WORKSPACE").touch()
        lines = (f'local_repository(name = "{name}", path = "{path}")\n' for name, path in declared.items())
        _write(self.root / "WORKSPACE", "".join(lines))

    def _hubs(self, known: set[str]) -> dict[str, Path]:
        """Stand-ins for all other repositories that the workspace mentions, with the packages that it mentions."""
        texts = [
            p.read_text("utf-8") for p in sorted(self.root.rglob("*")) if p.name in MENTIONING or p.suffix == ".bzl"
        ]
        packages = {match for text in texts for match in re.findall(r'(?<!@)"@(\w+)(?://(\w*))?[":]', text)}
        called = {name for text in texts for name in re.findall(r'\brequirement\("(\w+)"\)', text)}
        hubs = {}
        for hub in sorted({hub for hub, _ in packages} - known):
            hubs[hub] = folder = self._folder / "hubs" / hub
            _write(folder / "requirements.bzl", _HUB.format(hub=hub))
            for package in sorted({package for one, package in packages if one == hub} | called | {""}):
                _write(folder / package / "BUILD", f'py_library(name = "{package or hub}", {_PUBLIC})\n')
        return hubs

    def run(self, command: str, *args: str) -> Said:
        """Run a command in the workspace."""
        options = [] if command == "shutdown" else self._repositories
        done = subprocess.run(
            [*self._startup(), command, *options, *args],
            cwd=self.root,
            env={**_environment(), "HOME": str(self._folder)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=180,
            check=False,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def _startup(self) -> Iterator[str]:
        yield str(find("usr/bin/bazel-4"))
        yield from ("--nohome_rc", "--nosystem_rc", "--noworkspace_rc")
        # Where a test run is killed, nobody says shutdown.
        yield from ("--max_idle_secs=120", f"--output_user_root={self._folder / 'output'}")
        yield from (f"--install_base={find('usr/share/bazel')}", "--trust_install_base")
        yield f"--server_javabase={java_home()}"


def _environment() -> dict[str, str]:
    libraries = [str(path) for path in sorted((FOLDER / "usr/lib").glob("*-linux-gnu*"))]
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    return {"PATH": path, "LC_ALL": "C.UTF-8", "LD_LIBRARY_PATH": os.pathsep.join(libraries)}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
