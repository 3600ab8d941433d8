"""What the `# gazelle:` comments of build files say: import roots, providers, what is to be left alone.

They hold for the folder of the build file and for all below it; the nearest one wins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from buildfix.engine import Package
from buildfix.findings import Place

_DIRECTIVE = re.compile(rb"^#[ \t]*gazelle:(\w+)[ \t]*(.*?)[ \t]*\r?$", re.M)
_LANGUAGES = ("py", "python")


@dataclass(frozen=True, slots=True)
class Provided:
    """The label, as written in the package at `folder`, that provides a module, and the directive's place."""

    label: str
    folder: str
    place: Place


@dataclass(frozen=True)
class Directives:
    """`roots` are folders from which modules are imported. `resolved` maps a folder to the modules that its directives
    name; `excluded` are patterns of paths, and `disabled` folders, that are to be left alone; `enabled` the folders
    below these that are not. `siblings` maps a folder to whether its sources find what lies beside them by its name
    alone."""

    roots: tuple[str, ...] = ()
    resolved: Mapping[str, Mapping[str, Provided]] = field(default_factory=dict)
    excluded: Mapping[str, Place] = field(default_factory=dict)
    disabled: Mapping[str, Place] = field(default_factory=dict)
    enabled: frozenset[str] = frozenset()
    siblings: Mapping[str, bool] = field(default_factory=dict)

    def finds_siblings(self, folder: str) -> bool:
        """Whether sources of a folder import what lies beside them as if the folder were on the path."""
        if not self.siblings:
            return False
        return next((self.siblings[above] for above in _upwards(folder) if above in self.siblings), False)

    def provider(self, folder: str, module: str) -> Provided | None:
        """What provides a module for the targets of a package: the longest name first, then the nearest folder."""
        if not self.resolved:
            return None
        folders = _upwards(folder)
        while module:
            for above in folders:
                found = self.resolved.get(above, {}).get(module)
                if found is not None:
                    return found
            module = module.rpartition(".")[0]
        return None

    def left_alone(self, path: str) -> Place | None:
        """The directive by which a file is to be left alone, if there is one."""
        if not self.excluded and not self.disabled:
            return None
        parts = path.split("/")
        for pattern, place in self._patterns:
            if any(pattern.fullmatch("/".join(parts[:end])) for end in range(1, len(parts) + 1)):
                return place
        for folder in _upwards(path.rpartition("/")[0]) if self.disabled else ():
            if folder in self.enabled:
                return None
            if folder in self.disabled:
                return self.disabled[folder]
        return None

    @cached_property
    def _patterns(self) -> tuple[tuple[re.Pattern[str], Place], ...]:
        return tuple((re.compile(_regex(pattern)), place) for pattern, place in self.excluded.items())


NOTHING = Directives()


def read(packages: Iterable[Package], text: Callable[[str], bytes | None]) -> Directives:
    """The directives of all build files; `text` gives a file's bytes."""
    roots: list[str] = []
    resolved: dict[str, dict[str, Provided]] = {}
    excluded: dict[str, Place] = {}
    disabled: dict[str, Place] = {}
    enabled: set[str] = set()
    siblings: dict[str, bool] = {}
    for package in sorted({(package.path, package.file) for package in packages if package.file}):
        folder, file = package
        data = text(file) or b""
        for match in _DIRECTIVE.finditer(data) if b"gazelle:" in data else ():
            place = Place(file, data.count(b"\n", 0, match.start()) + 1)
            value = match.group(2).decode("utf-8", "replace")
            match match.group(1), value.split():
                case b"python_root", _:
                    roots.append(folder)
                case b"resolve", [language, *between, module, label] if language in _LANGUAGES and len(between) < 2:
                    resolved.setdefault(folder, {})[module] = Provided(label, folder, place)
                case b"exclude", [_, *_]:
                    excluded[f"{folder}/{value}".lstrip("/")] = place
                case b"python_resolve_sibling_imports", [("true" | "false") as word]:
                    siblings[folder] = word == "true"
                case b"python_extension", ["disabled"]:
                    disabled[folder] = place
                case b"python_extension", ["enabled"]:
                    enabled.add(folder)
    return Directives(tuple(dict.fromkeys(roots)), resolved, excluded, disabled, frozenset(enabled), siblings)


def _upwards(folder: str) -> list[str]:
    """A folder and all above it, the nearest first, down to the root "" ."""
    found = [folder]
    while folder:
        folder = folder.rpartition("/")[0]
        found.append(folder)
    return found


_WILD = re.compile(r"\*\*/|/\*\*$|\*\*|\*|\?|\[[!^]?[^\]]+\]|\{[^}]*\}")


def _regex(pattern: str) -> str:
    """A pattern in which `**` crosses folders, as a regular expression."""
    found, done = [], 0
    for match in _WILD.finditer(pattern.rstrip("/")):
        found.append(re.escape(pattern[done : match.start()]))
        found.append(_wild(match.group()))
        done = match.end()
    return "".join((*found, re.escape(pattern.rstrip("/")[done:])))


def _wild(text: str) -> str:
    if text.startswith("["):
        negated = text[1:2] in ("!", "^")
        return "[" + "^" * negated + re.escape(text[1 + negated : -1]).replace(r"\-", "-") + "]"
    if text.startswith("{"):
        return "(?:" + "|".join(_regex(choice) for choice in text[1:-1].split(",")) + ")"
    return {"**/": "(?:.*/)?", "/**": "(?:/.*)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}[text]
