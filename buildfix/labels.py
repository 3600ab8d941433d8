"""Labels: parse, normalise, compare, print.

A label names a target: `[[@]cell]//package:name`, `:name`, and in Bazel also `//a/b` for `//a/b:b`, `@repo` for
`@repo//:repo`, and a bare `name`. This module knows how labels are spelt; which cell or folder a spelling stands
for is the workspace's knowledge (workspace.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Label(NamedTuple):
    """A target's identity. `repo` is "" for the repository itself, else the cell's or external repository's name."""

    repo: str
    package: str
    name: str

    def __str__(self) -> str:
        prefix = f"{self.repo}//" if self.repo else "//"
        return f"{prefix}{self.package}:{self.name}"


class Spelling(NamedTuple):
    """A label as somebody wrote it, taken apart.

    `prefix` is what stands before `//` ("", "@", "@@", "cell", "@repo", ...) or None for a label relative to its
    package; `named` is false where the name was left to the package's last folder; `bare` where even the colon was
    left out; `sub` is Buck's `[subtarget]`, brackets included.
    """

    prefix: str | None
    package: str
    name: str
    named: bool = True
    bare: bool = False
    sub: str = ""

    @property
    def repo(self) -> str | None:
        """The cell or repository name without its `@` signs; None where the label does not name one."""
        return None if self.prefix is None or self.prefix == "" else self.prefix.lstrip("@")


def split(text: str) -> Spelling | None:
    """Take a label apart; None if the text is not a label."""
    if not text or any(c in text for c in "\n\t\"'*"):
        return None
    body, sub = text, ""
    if body.endswith("]") and "[" in body:
        cut = body.index("[")
        body, sub = body[:cut], body[cut:]
    if "//" in body:
        prefix, _, rest = body.partition("//")
        if ":" in prefix or "/" in prefix:
            return None
        package, colon, name = rest.partition(":")
        if colon:
            return Spelling(prefix, package, name, sub=sub) if name else None
        implied = package.rsplit("/", 1)[-1]
        return Spelling(prefix, package, implied, named=False, sub=sub) if implied else None
    if body.startswith(":"):
        return Spelling(None, "", body[1:], sub=sub) if len(body) > 1 else None
    if body.startswith("@"):
        repo = body.lstrip("@")
        return Spelling(body, "", repo, named=False, sub=sub) if repo and ":" not in repo else None
    if ":" in body:
        return None
    return Spelling(None, "", body, bare=True, sub=sub)


def canonical(text: str) -> Label:
    """The label that `str` made this text of."""
    repo, _, rest = text.partition("//")
    package, _, name = rest.partition(":")
    return Label(repo, package, name)


def looks_like_label(text: str) -> bool:
    """Whether a `srcs` entry is a label rather than the path of a file."""
    return text.startswith((":", "//", "@")) or "//" in text


def sort_key(text: str) -> tuple[int, list[str], str]:
    """buildifier's order: files, then `:x`, then `//x`, then what names a repository or cell; within each, part by
    part, where `:` and `.` part."""
    group = 1 if text.startswith(":") else 2 if text.startswith("//") else 3 if "//" in text or text[:1] == "@" else 0
    return group, text.replace(":", ".").split("."), text


def shared(text: str, other: str) -> int:
    """How many leading parts two labels share; parts are what `/` and `:` part, and the `:` itself."""
    count = 0
    for mine, theirs in zip(_parts(text), _parts(other), strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def closest(text: str, others: Sequence[str]) -> int:
    """The index of the label in `others` that shares the most leading parts with `text`, the last of several; or -1
    if none shares any."""
    counts = [shared(text, other) for other in others]
    best = max(counts, default=0)
    return len(counts) - 1 - counts[::-1].index(best) if best else -1


def _parts(text: str) -> list[str]:
    return text.replace(":", "/:/").split("/")
