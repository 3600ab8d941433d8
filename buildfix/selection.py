"""What the paths of a run ask about: which targets, files and packages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from buildfix.policy import below
from buildfix.targets import Target


def targets(paths: Sequence[str]) -> Callable[[Target], bool]:
    """Whether a target is asked about: its package, or a file with a call that makes it, lies below a path, or it has a
    source there."""
    if not paths or "" in paths:
        return lambda _: True

    def chosen(target: Target) -> bool:
        own = (target.folder, *(frame.file for frame in target.leaf.stack))
        if any(below(where, path) for path in paths for where in own):
            return True
        return any(src.path is not None and below(src.path, path) for src in target.srcs for path in paths)

    return chosen


def files(paths: Sequence[str]) -> Callable[[str], bool]:
    """Whether a file lies below the paths that were asked for."""
    if not paths or "" in paths:
        return lambda _: True
    return lambda file: any(below(file, path) for path in paths)


def folders(paths: Sequence[str]) -> Callable[[str], bool]:
    """Whether a package is asked about: its folder or one of its files is, or a folder above it."""
    if not paths or "" in paths:
        return lambda _: True
    return lambda folder: any(below(folder, path) or path.rpartition("/")[0] == folder for path in paths)
