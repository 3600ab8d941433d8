"""Hubs of Python distributions in Bazel: external repositories whose `requirement("x")` stands for `@hub//x`.

A hub is made by rules_python, out of a lock file, and is not in the tree; what its function does is known all the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from buildfix import disk
from buildfix.buildfile import BuildFileError, parse_tree
from buildfix.engine import Symbols

_FILES = ("MODULE.bazel", "WORKSPACE.bazel", "WORKSPACE")
_LOCKS = ("requirements_lock", "requirements", "requirements_by_platform", "requirements_linux", "requirements_darwin")
_RULES = {"parse": "hub_name", "pip_parse": "name", "pip_install": "name", "pip_repository": "name"}

_TEXT = '''"""What rules_python puts into @{hub}//:requirements.bzl."""

def _name(requirement):
    return requirement.partition("[")[0].strip().lower().replace("-", "_").replace(".", "_")

def requirement(name):
    return "@{hub}//" + _name(name)

def whl_requirement(name):
    return "@{hub}//" + _name(name) + ":whl"

def data_requirement(name):
    return "@{hub}//" + _name(name) + ":data"

def dist_info_requirement(name):
    return "@{hub}//" + _name(name) + ":dist_info"

def entry_point(pkg, script = None):
    return "@{hub}//" + _name(pkg) + ":rules_python_wheel_entry_point_" + (script or pkg)
'''


class Hub(NamedTuple):
    """A hub that a repository declares, and the requirement files that it is made of, relative to the root."""

    name: str
    requirements: tuple[str, ...]


def symbols(root: Path) -> tuple[Symbols, ...]:
    """The functions of every hub that a repository declares, as texts for the engine."""
    return tuple(
        Symbols(f"<buildfix>/{hub}/requirements.bzl", _TEXT.format(hub=hub), (f"@{hub}//:requirements.bzl",))
        for hub in sorted({hub.name for hub in declared(root)})
    )


def declared(root: Path) -> tuple[Hub, ...]:
    """The hubs that the files of the workspace declare."""
    return tuple(hub for name in _FILES for hub in _of_file(root, name))


def _of_file(root: Path, name: str) -> Iterator[Hub]:
    try:
        tree = parse_tree(name, disk.read(root, name))
    except (OSError, BuildFileError):
        return
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        match given.get(_RULES.get(function, "")):
            case ast.Constant(value=str(hub)) if hub.replace("_", "").replace("-", "").replace(".", "").isalnum():
                files = dict.fromkeys(file for name in _LOCKS if name in given for file in _paths(given[name]))
                yield Hub(hub, tuple(files))


def _paths(value: ast.expr) -> Iterator[str]:
    """The files of the tree that an argument names by label."""
    for node in ast.walk(value):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(("//", ":", "@//")):
            package, _, name = node.value.lstrip("@").lstrip("/").partition(":")
            yield "/".join(part for part in (package, name) if part)
