"""`.buckconfig`, with the files that lie beside it and those that they include."""

from __future__ import annotations

import configparser
import os
import re
from pathlib import Path

from buildfix import disk
from buildfix.roots import WorkspaceError

Sections = dict[str, dict[str, str]]

_INCLUDE = re.compile(r"^\s*<(\?)?file:(.+)>\s*$")
_MAX_FILES = 200


def read(root: Path, folder: Path) -> Sections:
    """The sections of a cell's `.buckconfig`, later files over earlier ones. Raises WorkspaceError.

    A file outside the root counts for as little as what else a machine has of its own.
    """
    parts = [path for path in disk.entries(folder / ".buckconfig.d") if not path.name.startswith(".")]
    sections: Sections = {}
    known: dict[str, Sections] = {}
    for path in (*parts, folder / ".buckconfig", folder / ".buckconfig.local"):
        _update(sections, _file(root, path, known))
    return sections


def _file(root: Path, path: Path, known: dict[str, Sections]) -> Sections:
    """The sections of a file and of what it includes. `known` holds the files that were read, or are being read: each
    is read once, however often and in whatever circle they name one another."""
    name = os.path.normpath(path)
    if name in known:
        return known[name]
    if len(known) > _MAX_FILES:
        raise WorkspaceError(f"{path}: is one of more than {_MAX_FILES} files that .buckconfig includes")
    sections = known[name] = {}
    try:
        text = disk.text(root, path)
    except OSError as error:
        raise WorkspaceError(f"{path}: cannot be read: {error.strerror}") from error
    if text is None:
        return sections
    kept: list[str] = []
    for line in re.sub(r"\\\r?\n\s*", " ", text).splitlines():
        include = _INCLUDE.match(line)
        if include is None:
            kept.append(line)
        else:
            _update(sections, _file(root, path.parent / include.group(2), known))
    _update(sections, _parsed(path, kept))
    return sections


def _parsed(path: Path, lines: list[str]) -> Sections:
    parser = configparser.RawConfigParser(
        strict=False, delimiters=("=",), comment_prefixes=("#",), allow_no_value=True, default_section="\0"
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # keys are case-sensitive in Buck
    try:
        parser.read_string("\n".join(lines), source=str(path))
    except configparser.Error as error:
        raise WorkspaceError(f"{path}: not a valid .buckconfig: {error}") from error
    return {section: {key: value or "" for key, value in parser.items(section)} for section in parser.sections()}


def _update(sections: Sections, more: Sections) -> None:
    for section, keys in more.items():
        sections.setdefault(section, {}).update(keys)
