"""Hubs of Python distributions in Bazel: external repositories whose `requirement("x")` stands for `@hub//x`.

A hub is made by rules_python, out of a lock file, and is not in the tree; what its function does is known all the same.
"""

from __future__ import annotations

import ast
from pathlib import Path

from buildfix.buildfile import BuildFileError, parse_tree
from buildfix.engine import Symbols

_FILES = ("MODULE.bazel", "WORKSPACE.bazel", "WORKSPACE")
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


def symbols(root: Path) -> tuple[Symbols, ...]:
    """The functions of every hub that a repository declares, as texts for the engine."""
    return tuple(
        Symbols(f"<buildfix>/{hub}/requirements.bzl", _TEXT.format(hub=hub), (f"@{hub}//:requirements.bzl",))
        for hub in sorted({hub for name in _FILES for hub in _declared(root / name)})
    )


def _declared(path: Path) -> list[str]:
    """The hubs that a file of the workspace declares."""
    try:
        tree = parse_tree(path.name, path.read_bytes())
    except (OSError, BuildFileError):
        return []
    found = []
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        for keyword in call.keywords:
            match keyword:
                case ast.keyword(arg=str(name), value=ast.Constant(value=str(hub))) if _RULES.get(function) == name:
                    found.append(hub)
    return [hub for hub in found if hub.replace("_", "").replace("-", "").replace(".", "").isalnum()]
