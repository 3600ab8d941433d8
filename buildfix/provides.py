"""Which modules a target provides: by its own sources, by files that other targets make, and by what its rule makes.

A module's name follows from where its file is placed: `base_module`, `imports`, `strip_import_prefix` and the import
roots each give it one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from buildfix import values
from buildfix.config import ImportRoot
from buildfix.labels import Label
from buildfix.rules import Role
from buildfix.targets import Src, Target, TargetGraph

PYTHON = (".py", ".pyi")


class Provision(NamedTuple):
    """Modules that a target provides, all of one file: that at `path`, or one that is made. A `stub` is no code."""

    path: str | None
    modules: tuple[str, ...]
    stub: bool = False


class _File(NamedTuple):
    """A Python file that a target has: where it lies, if it is not made, and where it is placed from the root; `inner`
    is that place relative to the target's base package."""

    path: str | None
    place: str
    inner: str


def provided(target: Target, graph: TargetGraph, roots: tuple[ImportRoot, ...]) -> Iterator[Provision]:
    """What a target provides, file by file."""
    for src in target.srcs:
        for file in _files(src, target, graph):
            names = dict.fromkeys(name for name in _names(target, file, graph, roots) if name)
            yield Provision(file.path, tuple(names), file.inner.endswith(".pyi"))
    for inner in dict.fromkeys(_made(target, graph)):
        file = _File(None, _under(target.folder, inner.removeprefix("/")), inner)
        if inner.startswith("/"):
            file = _File(None, inner[1:], inner[1:])
        names = dict.fromkeys(name for name in _names(target, file, graph, roots) if name)
        yield Provision(None, tuple(names))


def module_of(path: str) -> str:
    """The dotted name of a file's path: `a/b/__init__.py` is `a.b`; "" if it cannot be imported by name."""
    stem = path.rsplit(".", 1)[0]
    if stem.endswith("/__init__") or stem == "__init__":
        stem = stem[: -len("__init__")].rstrip("/")
    return stem.replace("/", ".")


def names_of_path(path: str, roots: tuple[ImportRoot, ...]) -> Iterator[str]:
    """The names that the import roots give to what lies at a path."""
    for root in roots:
        if root.path and not path.startswith(root.path + "/"):
            continue
        inner = module_of(path[len(root.path) :].lstrip("/"))
        name = f"{root.prefix}.{inner}" if root.prefix and inner else root.prefix or inner
        if name:
            yield name


def normal(path: str) -> str:
    """A path without `.`, `..` and doubled slashes."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if parts:
                parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


# --- files -----------------------------------------------------------------------------------------------------------


def _files(src: Src, target: Target, graph: TargetGraph) -> Iterator[_File]:
    """The Python files that one source stands for: itself, the outputs of the rule that it names, a group's files."""
    if src.inner.endswith(PYTHON):
        yield _File(src.path, _under(target.folder, src.inner), src.inner)
        return
    maker = graph.targets.get(src.label) if src.label is not None else None
    if maker is None or maker.rule.python:
        return
    for out in _outputs(maker, src.inner):
        if out.endswith(PYTHON):
            yield _File(None, _under(maker.folder, out), out)
    for path in maker.reads:
        if path.endswith(PYTHON):
            yield _File(path, path, path.removeprefix(f"{maker.folder}/"))


def _outputs(maker: Target, named: str) -> tuple[str, ...]:
    """The outputs of a rule, or those of its `label[output]`."""
    for attribute in ("outs", "out", "outputs"):
        value = maker.argument(attribute)
        if named.endswith("]") and isinstance(value, dict):
            value = value.get(named[:-1].partition("[")[2])
        if texts := values.texts(value):
            return texts
    return ()


def _made(target: Target, graph: TargetGraph) -> Iterator[str]:
    """Where the modules lie that a rule makes, as if they were files: relative to its package, or from the root with a
    leading slash."""
    if target.rule.role is Role.EXTENSION and not target.rule.makes:
        stem = target.argument("module_name") or target.label.name
        if isinstance(stem, str):
            yield stem.removesuffix(".so").replace(".", "/") + ".so"
    for folder, text, owner in _inputs(target, graph):
        path = _under(folder, text)
        for stem in dict.fromkeys(_moved(owner, path)):
            for pattern in target.rule.makes:
                yield "/" + pattern.format(stem.removesuffix(target.rule.made_from).replace("-", "_")) + ".py"


def _inputs(target: Target, graph: TargetGraph) -> Iterator[tuple[str, str, Target]]:
    """(folder, file, who has it) of what a rule makes modules of: its own files, and those of the targets it names."""
    if not target.rule.makes:
        return
    for attribute in ("srcs", "thrift_srcs", "deps", "proto", "protos"):
        value = target.argument(attribute)
        for text in dict.fromkeys((*values.texts(value), *(pair.key for pair in values.pairs(value)))):
            if text.endswith(target.rule.made_from):
                yield target.folder, text.lstrip(":"), target
                continue
            label = graph.workspace.resolve(text, target.folder)
            owner = _behind_alias(label, graph)
            if owner is not None and not owner.rule.python:
                for inner in values.texts(owner.argument("srcs")):
                    if inner.endswith(target.rule.made_from):
                        yield owner.folder, inner.lstrip(":"), owner


def _behind_alias(label: Label | None, graph: TargetGraph) -> Target | None:
    seen = set()
    while label is not None and label not in seen:
        seen.add(label)
        target = graph.targets.get(label)
        if target is None or target.rule.role is not Role.ALIAS or not target.edges:
            return target
        label = target.edges[0].label
    return None


# --- names -----------------------------------------------------------------------------------------------------------


def _names(target: Target, file: _File, graph: TargetGraph, roots: tuple[ImportRoot, ...]) -> Iterator[str]:
    base = target.argument("base_module")
    if isinstance(base, str):
        yield ".".join(part for part in (base, module_of(file.inner)) if part)
        return
    moved = tuple(_moved(target, file.place))
    if moved != (file.place,):
        yield from map(module_of, moved)
        return
    for folder in target.strings("imports"):
        own = normal(f"{target.folder}/{folder}")
        if own == "" or file.place.startswith(own + "/"):
            yield module_of(file.place[len(own) :].lstrip("/"))
    cell = graph.workspace.cell_of(target.folder)
    if cell.path:  # a cell, or a Bazel repository within the tree, is an import root of its own
        yield module_of(file.place[len(cell.path) :].lstrip("/"))
    yield from names_of_path(file.place, roots)


def _moved(owner: Target, path: str) -> Iterator[str]:
    """Where `strip_import_prefix` and `import_prefix` place what lies at a path; the path itself without them."""
    strip, prefix = owner.argument("strip_import_prefix"), owner.argument("import_prefix")
    if isinstance(strip, str):
        folder = normal(strip) if strip.startswith("/") else normal(f"{owner.folder}/{strip}")
        path = path[len(folder) :].lstrip("/") if not folder or path.startswith(f"{folder}/") else path
    elif isinstance(prefix, str) and owner.folder:
        path = path.removeprefix(f"{owner.folder}/")
    yield normal(f"{prefix}/{path}") if isinstance(prefix, str) else path


def _under(folder: str, path: str) -> str:
    return normal(f"{folder}/{path}") if "./" in path or "//" in path else f"{folder}/{path}" if folder else path
