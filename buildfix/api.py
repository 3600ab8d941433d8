"""What programs call: `check` and `apply`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from buildfix import pipeline
from buildfix.errors import UsageError
from buildfix.findings import Result, codes_of
from buildfix.policy import Policy
from buildfix.roots import find_root, relative


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
    listed = [Path(path) for path in paths]
    base = (Path(root) if root is not None else find_root((listed or [Path.cwd()])[0].absolute())).resolve()
    try:
        chosen, ignored = codes_of(select), codes_of(ignore)
    except ValueError as error:
        raise UsageError(str(error)) from error
    policy = Policy(
        unsafe=unsafe_fixes,
        add_only=add_only,
        only_under=tuple(relative(base, Path(path)) for path in only_under),
    )
    options = pipeline.Options(jobs=jobs, policy=policy, since=since, select=chosen, ignore=ignored, cache=cache)
    return pipeline.check(base, listed, options)


def apply(root: str | os.PathLike[str], result: Result) -> Result:
    """Write the changes of a Result to the repository at `root`, all files or none; returns it as applied.

    Raises IncompleteError if a file is no longer what it was when it was checked, or cannot be written; then all are as
    before.
    """
    return pipeline.apply(Path(root).resolve(), result)
