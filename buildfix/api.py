"""What programs may rely on: `check`, `apply`, the values that they return, the errors that they raise."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from buildfix import config, engine, pipeline, since, write
from buildfix.findings import (
    Code,
    Confidence,
    Dependent,
    Evidence,
    FileChange,
    Finding,
    Place,
    Reason,
    Result,
    Summary,
    codes_of,
)
from buildfix.policy import Policy
from buildfix.roots import PathError, WorkspaceError, find_root, relative

__all__ = [
    "Code",
    "Confidence",
    "Dependent",
    "Error",
    "Evidence",
    "FileChange",
    "Finding",
    "IncompleteError",
    "Place",
    "Reason",
    "Result",
    "Summary",
    "UsageError",
    "apply",
    "check",
]


class Error(Exception):
    """Why there is no result. The message is for people: what happened, where, and what to do."""


class UsageError(Error):
    """What was asked for, or the configuration, is wrong (the command line's exit status 2)."""


class IncompleteError(Error):
    """The engine failed, or a file could not be written (exit status 3)."""


def check(
    root: str | os.PathLike[str] | None = None,
    paths: Iterable[str | os.PathLike[str]] = (),
    *,
    unsafe_fixes: bool = False,
    add_only: bool = False,
    only_under: Iterable[str | os.PathLike[str]] = (),
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    since: str = "",
    jobs: int = 0,
    cache: bool = False,
) -> Result:
    """Find what is wrong in the repository at `root`, below `paths`, and how to repair it. Writes no file of it.

    Without a root that of the first path, or of the current folder, is taken. Paths count from the current folder;
    none means everything. The other parameters are the options of the same names: codes are texts such as "BF001" or
    "unused-dep", `since` is a git revision, `jobs` 0 one worker for each core, `cache` whether what was seen of the
    sources is kept for the next run.

    Returns a Result: `findings`, sorted by place, and `changes`, the bytes of each file before and after the repair.
    Raises UsageError and IncompleteError.
    """
    try:
        listed = [Path(path) for path in paths]
        start = (listed[0] if listed else Path.cwd()).absolute()
        base = (Path(root) if root is not None else find_root(start)).resolve()
        policy = Policy(
            unsafe=unsafe_fixes,
            add_only=add_only,
            only_under=tuple(relative(base, Path(path)) for path in only_under),
        )
        options = pipeline.Options(
            jobs=jobs,
            policy=policy,
            since=since,
            select=codes_of(select),
            ignore=codes_of(ignore),
            cache=cache,
        )
        return pipeline.check(base, listed, options)
    except _USAGE as error:
        raise UsageError(str(error)) from error
    except engine.EngineError as error:
        raise IncompleteError(str(error)) from error


def apply(root: str | os.PathLike[str], result: Result) -> Result:
    """Write the changes of a Result to the repository at `root`, all files or none; returns it as applied.

    Raises IncompleteError if a file is no longer what it was when it was checked, or cannot be written; then all are as
    before.
    """
    try:
        write.write_all(Path(root).resolve(), result.changes)
    except write.WriteError as error:
        raise IncompleteError(str(error)) from error
    return replace(result, applied=True)


_USAGE = (config.ConfigError, since.SinceError, engine.RequestError, PathError, WorkspaceError, ValueError)
