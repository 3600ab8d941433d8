"""Which packages a change of files makes anew, and the facts of a repository with those of these packages replaced."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from buildfix.engine import Facts


def packages(facts: Facts, paths: Collection[str]) -> frozenset[str] | None:
    """The folders of the packages that are made with any of the files: their build file, or one that it loads, be it
    through others. None is all that there may be: a file that nothing is known to be made with may be loaded without
    being named (a PACKAGE file, a prelude), or make a package that was not there."""
    users: dict[str, set[str]] = {}
    for file in facts.files:
        for load in file.loads:
            users.setdefault(load.path, set()).add(file.path)
    made: dict[str, set[str]] = {}
    for package in facts.packages:
        made.setdefault(package.file, set()).add(package.path)
        for load in package.loads:
            made.setdefault(load.path, set()).add(package.path)
    found: set[str] = set()
    for path in paths:
        above = _above(path, users)
        if any(file not in made and file not in users for file in above):
            return None
        found.update(folder for file in above for folder in made.get(file, ()))
    return frozenset(found)


def _above(path: str, users: dict[str, set[str]]) -> set[str]:
    """A file, and all files that load it, be it through others."""
    found, queue = {path}, [path]
    while queue:
        new = users.get(queue.pop(), set()) - found
        found |= new
        queue += new
    return found


def merge(before: Facts, after: Facts, changed: Collection[str]) -> Facts:
    """The facts of `before`, with what `after` says of the packages that were evaluated again."""
    packages = [package for package in before.packages if package.path not in changed]
    calls = [call for call in before.calls if call.package not in changed]
    return replace(
        before,
        packages=tuple(sorted((*packages, *after.packages), key=lambda one: (one.mode, one.path))),
        calls=tuple(sorted((*calls, *after.calls), key=lambda one: (one.mode, one.package))),
        walk=after.walk,
    )
