"""Where a repository begins, what paths in it look like, and where the engine is: all that is needed before anything
is read. It is imported at every start, and imports little."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal

from buildfix.errors import UsageError

Dialect = Literal["buck", "bazel"]

CONFIG_FILES = ("buildfix.yaml", "buildfix.yml", ".buildfix.yaml")
BUCK_MARKS = (".buckroot", ".buckconfig")
BAZEL_MARKS = ("MODULE.bazel", "REPO.bazel", "WORKSPACE.bazel", "WORKSPACE")
BUCK_BUILD_FILES = ("BUCK.v2", "BUCK", "TARGETS.v2", "TARGETS")
BAZEL_BUILD_FILES = ("BUILD.bazel", "BUILD")


class WorkspaceError(UsageError):
    """There is no repository here, or what describes it cannot be read."""


class PathError(UsageError):
    """A path that was asked for does not exist, or lies outside the repository."""


def find_root(start: Path) -> Path:
    """The root of the repository that holds `start`. Raises WorkspaceError if none of its parents is one."""
    start = start if start.is_dir() else start.parent
    inside_git = None
    found_buck = None
    for folder in (start, *start.parents):
        if any((folder / name).is_file() for name in CONFIG_FILES):
            return folder
        if (folder / ".buckroot").is_file():
            return folder
        if (folder / ".buckconfig").is_file():
            found_buck = folder  # a cell inside a larger repository has one of its own: the outermost is the root
        elif found_buck is None and any((folder / name).is_file() for name in BAZEL_MARKS):
            return folder
        if inside_git is None and (folder / ".git").exists():
            inside_git = folder
            break
    if found_buck is not None:
        return found_buck
    if inside_git is not None and guess_dialect(inside_git) is not None:
        return inside_git
    raise WorkspaceError(
        f"{start} is not in a Buck or Bazel repository: no .buckconfig, .buckroot, MODULE.bazel, WORKSPACE or "
        "buildfix.yaml here or above; name the root with --root"
    )


def guess_dialect(root: Path) -> Dialect | None:
    """The dialect of the first build file that is found below a folder; None if there is none."""
    for _, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        names = set(files)
        if names & set(BUCK_BUILD_FILES):
            return "buck"
        if names & set(BAZEL_BUILD_FILES):
            return "bazel"
    return None


def relative(root: Path, path: Path) -> str:
    """A path as given, relative to the root. Raises PathError if it does not exist or lies elsewhere."""
    if not os.path.lexists(path):
        raise PathError(f"{path}: no such file or folder")
    real = Path(os.path.realpath(path))
    try:
        return clean_path(str(real.relative_to(root)))
    except ValueError:
        raise PathError(f"{path}: not in the repository at {root}") from None


def clean_path(text: str) -> str:
    """A path relative to the root in the form that is used everywhere: `/` between parts, "" for the root."""
    parts = [part for part in text.replace("\\", "/").split("/") if part not in ("", ".")]
    return "/".join(parts)


def engine_path() -> Path:
    """Where the engine's binary is: `$BUILDFIX_ENGINE`, else beside this package, where the build puts it."""
    named = os.environ.get("BUILDFIX_ENGINE")
    if named:
        return Path(named)
    suffix = ".exe" if sys.platform == "win32" else ""
    return Path(__file__).parent / "_engine" / f"buildfix-engine{suffix}"
