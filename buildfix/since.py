"""What a change touched: the files that differ from a git revision, and the targets that they are about.

A target is touched if one of its sources changed, or its build file, or anything that its build file loads. So is a
target that merely suffers: one whose import had a direct dep, or was at least reached, before the build files changed,
and now is not.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from buildfix import diagnose
from buildfix.errors import UsageError
from buildfix.knowledge import Knowledge
from buildfix.labels import Label
from buildfix.proof import Rerun
from buildfix.reach import Reach
from buildfix.targets import Target


class SinceError(UsageError):
    """Git cannot say what changed; the message says what to do."""


class Change:
    """The files that differ between the working tree and the merge base of a revision and HEAD."""

    def __init__(self, root: Path, revision: str) -> None:
        """Raises SinceError."""
        self._root = root
        if revision.startswith("-"):
            raise SinceError(f"--since: {revision!r} is no revision")
        self._git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", problem=f"no revision {revision!r}")
        self._base = self._git(
            *("merge-base", revision, "HEAD"),
            problem=f"{revision!r} and HEAD have no commit in common; a shallow clone needs more history",
        ).strip()
        changed = self._git(
            "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--relative", self._base, "--"
        )
        new = self._git("ls-files", "-z", "--others", "--exclude-standard")
        self.files = frozenset(path for path in (*changed.split("\0"), *new.split("\0")) if path)

    def before(self, paths: Iterable[str]) -> Mapping[str, str]:
        """The old texts of some of the files; "" for those that did not exist."""
        return {path: self._text(path) for path in sorted(paths)}

    def _text(self, path: str) -> str:
        done = self._run("cat-file", "blob", f"{self._base}:./{path}")
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""

    def _git(self, *arguments: str, problem: str = "") -> str:
        done = self._run(*arguments)
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip()
            raise SinceError(f"--since: {problem or said or 'git failed'} (git {arguments[0]} in {self._root})")
        return done.stdout.decode("utf-8", "surrogateescape")

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(["git", "-C", str(self._root), *arguments], capture_output=True, check=False)
        except OSError as error:
            raise SinceError(f"--since: git cannot be run: {error.strerror or error}") from error


def narrow(known: Knowledge, change: Change, rerun: Rerun) -> Knowledge:
    """The same knowledge, asked about what a change touched."""
    loads = _loads(known)
    stale = {folder for folder, files in loads.items() if files & change.files}
    touched = {target.label for target in known.graph.targets.values() if _is_touched(target, stale, change.files)}
    build_files = {file for files in loads.values() for file in files} | {
        path for path in change.files if _is_build_file(path, known)
    }
    old = change.before(build_files & change.files)
    if old:
        touched |= set(_suffering(known, rerun.evaluate(old)))
    folders = stale | {known.graph.targets[label].folder for label in touched}
    asked, asked_folder = known.selected, known.selected_folder
    return replace(
        known,
        selected=lambda target: target.label in touched and asked(target),
        selected_folder=lambda folder: folder in folders and asked_folder(folder),
    )


def _is_touched(target: Target, stale: set[str], changed: frozenset[str]) -> bool:
    paths = (*(src.path for src in target.srcs), *target.reads)
    return target.folder in stale or any(path in changed for path in paths if path)


def _is_build_file(path: str, known: Knowledge) -> bool:
    """Whether a file that is no package's any more may have been one's."""
    names = {package.file.rpartition("/")[2] for package in known.graph.packages}
    name = path.rpartition("/")[2]
    return name in names or name.endswith(".bzl")


def _loads(known: Knowledge) -> dict[str, set[str]]:
    """Each package's folder with its build file and all that this loads, directly or not."""
    direct = {file.path: [load.path for load in file.loads if load.path] for file in known.facts.files}
    found: dict[str, set[str]] = {}
    for package in known.graph.packages:
        files = found.setdefault(package.path, set())
        todo = [package.file, *(load.path for load in package.loads if load.path)]
        while todo:
            path = todo.pop()
            if path not in files:
                files.add(path)
                todo.extend(direct.get(path, ()))
    return found


def _suffering(known: Knowledge, before: Knowledge) -> Iterable[Label]:
    """The targets with a missing dep that was declared before, or whose module was reached before and now is not."""
    reach, reached = Reach(known), Reach(before)
    for target in known.graph.python:
        if target.label not in before.uses:
            continue
        missing = diagnose.missing_of(target, known)
        known_before = {one.modules for one in diagnose.missing_of(before.graph.targets[target.label], before)}
        for one in missing:
            providers = [p for module in one.modules for p in known.modules.providers.get(module, ())]
            had = any(reached.reaches(target.label, provider) for provider in providers)
            has = any(reach.reaches(target.label, provider) for provider in providers)
            if one.modules not in known_before or (had and not has):
                yield target.label
                break
