"""Modules that are named in strings: which calls import what they are given, and which names hold modules.

The engine takes these calls and names down (docs/protocol.md, `callee_words`, `holder_words`); what follows from one is
said here. A module that is only named is evidence: it keeps a dep and never asks for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

from buildfix import values
from buildfix.engine import DynamicCall, Source
from buildfix.modules import absolute


class Effect(Enum):
    """What a call does with the module that its first argument names."""

    IMPORTS = "imports it; if the argument is not known, it could be any"
    RUNS = "runs the code, or the file, that it is given; if that is not known, it could import any"
    ASKS = "looks for it, patches it, extends it; it is imported elsewhere, if at all"


CALLEES: Mapping[str, Effect] = {
    "__import__": Effect.IMPORTS,
    "import_module": Effect.IMPORTS,
    "importorskip": Effect.IMPORTS,
    "import_string": Effect.IMPORTS,
    "import_from_string": Effect.IMPORTS,
    "iter_modules": Effect.IMPORTS,
    "resolve_name": Effect.IMPORTS,
    "run_module": Effect.IMPORTS,
    "walk_packages": Effect.IMPORTS,
    "exec": Effect.RUNS,
    "run_path": Effect.RUNS,
    "module_from_spec": Effect.RUNS,
    "autodiscover_modules": Effect.ASKS,
    "extend_path": Effect.ASKS,
    "find_module": Effect.ASKS,
    "find_spec": Effect.ASKS,
    "load_library": Effect.ASKS,
    "patch": Effect.ASKS,
    "files": Effect.ASKS,
    "get_data": Effect.ASKS,
    "open_binary": Effect.ASKS,
    "open_text": Effect.ASKS,
    "read_binary": Effect.ASKS,
    "read_text": Effect.ASKS,
    "resource_filename": Effect.ASKS,
    "resource_stream": Effect.ASKS,
    "resource_string": Effect.ASKS,
    "spec_from_file_location": Effect.ASKS,
    "spec_from_loader": Effect.ASKS,
}

# Names that are assigned, added to, or given as an argument, whose strings are modules even without a dot.
HOLDERS = (
    "INSTALLED_APPS",
    "MIDDLEWARE",
    "ROOT_URLCONF",
    "entry_points",
    "hiddenimports",
    "hidden_imports",
    "lazy_imports",
    "load_plugins",
    "plugin_modules",
    "plugins",
    "py_modules",
    "pytest_plugins",
)


class Kind(Enum):
    """What a Mention names: a module of the repository; one that Python looks for wherever it looks; the path of a
    file; a label."""

    MODULE = 1
    IMPORT = 2
    PATH = 3
    LABEL = 4


class Mention(NamedTuple):
    """Something that a source names by a string; `what` says how."""

    kind: Kind
    text: str
    line: int
    what: str


_FLAGS = {"w": Kind.IMPORT, "c": Kind.IMPORT, "p": Kind.PATH}


def mentions(source: Source, packages: tuple[str, ...]) -> Iterator[Mention]:
    """What a source names by strings; a relative name counts from `packages`."""
    for text, line, _, flag in source.strings:
        what = f"code in a string imports {text}" if flag == "c" else f"string {text!r}"
        if "//" in text:
            yield Mention(Kind.LABEL, text, line, what)
            continue
        yield Mention(_FLAGS.get(flag, Kind.MODULE), text if flag == "p" else _module(text), line, what)
        if text.endswith((".py", ".pyi")) and flag == "":
            yield Mention(Kind.PATH, text, line, what)
    names = _renamed(source)
    for call in source.dynamic:
        if call.form in ("const", "prefix") and _effect(call, names) is not Effect.RUNS:
            for name in _named(call.argument, call.form, packages):
                yield Mention(Kind.IMPORT, name, call.line, f"call of {call.callee}")


def open_calls(source: Source) -> Iterator[DynamicCall]:
    """The places where a source imports, by a name that is not known, what could be anything."""
    names = _renamed(source)
    for call in source.dynamic:
        effect = _effect(call, names)
        if effect is Effect.ASKS:
            continue
        match call.form:
            case "unknown":
                yield call
            case "value" if effect is Effect.IMPORTS:  # `exec` is too good a name for variables
                yield call
            case "prefix" if effect is Effect.RUNS or "." not in call.argument:
                yield call


def in_attribute(value: Any) -> Iterator[str]:
    """The dotted names that an attribute's strings name, and what follows a `-m`."""
    last = ""
    for text in values.walk_strings(value):
        yield from (_module(match.group()) for match in _DOTTED.finditer(text))
        yield from (match.group(1) for match in _SWITCH.finditer(f"-m {text}" if last == "-m" else text))
        last = text


_DOTTED = re.compile(r"(?<![\w./:-])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?::\w+)?(?![\w./-])")
_SWITCH = re.compile(r"(?:^|\s)-m\s+([A-Za-z_]\w*)(?=\s|$)")


def _module(text: str) -> str:
    """The dotted part of `module:attribute`, and of a beginning that ends in a dot."""
    return text.partition(":")[0].rstrip(".")


def _effect(call: DynamicCall, names: Mapping[str, str]) -> Effect:
    last = call.callee.rpartition(".")[2].strip(" \t()")
    last = names.get(last, last)
    if last == "exec" and "." in call.callee and "builtins" not in call.callee:
        return Effect.ASKS  # of a database, a container, a dialog
    return CALLEES.get(last, Effect.ASKS)


def _renamed(source: Source) -> Mapping[str, str]:
    """What a source's imports call the functions of the table, to their own names."""
    return {one.asname: one.name for one in source.imports if one.asname and one.name in CALLEES}


def _named(argument: str, form: str, packages: tuple[str, ...]) -> Iterator[str]:
    """The dotted names that the argument of an import by value is, or begins with."""
    if form == "prefix":
        argument = argument[: argument.rfind(".") + 1]
    argument = argument.partition(":")[0]
    rest = argument.lstrip(".")
    for package in packages:
        name = absolute(rest.rstrip("."), len(argument) - len(rest), package)
        if name:
            yield name
