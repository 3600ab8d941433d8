"""Write a synthetic repository of any size and shape.

usage: synthetic.py FOLDER [OPTIONS]

Every package has some Python files and one library for them. A file imports modules of packages that are
deeper in the graph, and its lines look like code. The same options and the same seed give
the same bytes.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FANOUT = 16
"""How many folders a folder holds, so that no folder is very long."""


@dataclass(frozen=True)
class Shape:
    """What is to be written; the options below say what each field means."""

    dialect: str
    packages: int
    files: int
    lines: int
    imports: int
    macros: float
    depth: int
    missing: float
    unused: float
    seed: int


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dialect", choices=["buck", "bazel"], default="buck")
    parser.add_argument("--packages", type=int, default=5000, help="packages; default: %(default)s")
    parser.add_argument("--files", type=int, default=25000, help="Python files in all; default: %(default)s")
    parser.add_argument("--lines", type=int, default=218, help="lines of a Python file; default: %(default)s")
    parser.add_argument("--imports", type=int, default=4, help="imports of other packages in a file")
    parser.add_argument("--macros", type=float, default=0.2, help="share of packages whose targets a macro makes")
    parser.add_argument("--depth", type=int, default=40, help="layers of the graph")
    parser.add_argument("--missing", type=float, default=0.002, help="share of deps that are left out")
    parser.add_argument("--unused", type=float, default=0.002, help="share of packages with a dep too many")
    parser.add_argument("--seed", type=int, default=0)
    options = vars(parser.parse_args(arguments))
    folder = options.pop("folder")
    if folder.exists() and any(folder.iterdir()):
        print(f"{folder} is not empty", file=sys.stderr)
        return 2
    counts = write(folder, Shape(**options))
    print(f"{folder}: {counts[0]} packages, {counts[1]} Python files, {counts[2] / 1e6:.1f} MB")
    return 0


def write(root: Path, shape: Shape) -> tuple[int, int, int]:
    """Write the repository; returns how many packages, Python files and bytes it has."""
    chance = random.Random(shape.seed)
    names = [_folder(number) for number in range(shape.packages)]
    files = [shape.files // shape.packages + (i < shape.files % shape.packages) for i in range(shape.packages)]
    total = 0
    root.mkdir(parents=True, exist_ok=True)
    for name, text in _top(shape).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    layer = max(1, shape.packages // shape.depth)
    for number, name in enumerate(names):
        folder = root / name
        folder.mkdir(parents=True)
        deps: dict[int, None] = {}
        for i in range(files[number]):
            chosen = [_deeper(number, layer, shape.packages, chance) for _ in range(shape.imports)]
            used = [one for one in chosen if one is not None]
            deps.update(dict.fromkeys(used))
            imports = [(names[one], chance.randrange(files[one])) for one in used]
            text = "\n".join(_module(number, i, imports, shape.lines))
            (folder / f"mod{i}.py").write_text(text)
            total += len(text)
        wanted = [one for one in deps if chance.random() >= shape.missing]
        if chance.random() < shape.unused and (extra := _deeper(number, layer, shape.packages, chance)) is not None:
            wanted = list(dict.fromkeys((*wanted, extra)))
        macro = chance.random() < shape.macros
        for file, text in _build(shape, folder.name, [names[one] for one in sorted(wanted)], macro).items():
            (folder / file).write_text(text)
    return shape.packages, sum(files), total


def _folder(number: int) -> str:
    parts = []
    rest = number
    while True:
        parts.append(f"p{rest % FANOUT}")
        rest //= FANOUT
        if not rest:
            break
    return "/".join(("lib", *reversed(parts), f"pkg{number}"))


def _deeper(number: int, layer: int, packages: int, chance: random.Random) -> int | None:
    """A package of one of the next layers, more often of a near one and of one that many use."""
    first = (number // layer + 1) * layer
    if first >= packages:
        return None
    span = min(packages - first, layer * 4)
    return first + int(span * chance.random() ** 2)


def _module(package: int, number: int, imports: list[tuple[str, int]], lines: int) -> Iterator[str]:
    yield f'"""Module {number} of package {package}."""'
    yield "from __future__ import annotations"
    yield ""
    yield "import os"
    yield "from typing import Any"
    yield ""
    for folder, other in imports:
        yield f"from {folder.replace('/', '.')}.mod{other} import Thing{other}"
    written = 6 + len(imports)
    block = 0
    while written < lines:
        other = imports[block % len(imports)][1] if imports else number
        yield ""
        yield ""
        yield f"class Thing{number if block == 0 else f'{number}_{block}'}:"
        yield f'    """What block {block} does, in words that nobody reads."""'
        yield ""
        yield "    def __init__(self, name: str, *, size: int = 0) -> None:"
        yield "        self.name = name"
        yield "        self.size = size"
        yield ""
        yield "    def run(self, values: list[Any]) -> dict[str, Any]:"
        yield '        found = {"name": self.name, "path": os.path.join("a", "b")}'
        yield f"        for index, value in enumerate(values):  # {block}"
        yield f"            if value is not None and index % {block + 2} == 0:"
        yield f'                found[f"{{self.name}}-{{index}}"] = (value, {f"Thing{other}" if imports else "index"})'
        yield "            elif isinstance(value, str):"
        yield "                found[value.strip().lower()] = [part for part in value.split(',') if part]"
        yield "        return found"
        written += 17
        block += 1
    yield ""


def _top(shape: Shape) -> dict[str, str]:
    if shape.dialect == "bazel":
        rule = 'load("@rules_python//python:defs.bzl", "py_library")\n\n'
        macro = rule + "def library(name, deps = [], **kwargs):\n    py_library(name = name, deps = deps, **kwargs)\n"
        module = 'module(name = "synthetic")\nbazel_dep(name = "rules_python", version = "1.0.0")\n'
        return {"MODULE.bazel": module, "build/BUILD.bazel": "", "build/defs.bzl": macro}
    macro = "def library(name, deps = [], **kwargs):\n    native.python_library(name = name, deps = deps, **kwargs)\n"
    return {".buckconfig": "[cells]\n  root = .\n", "build/BUCK": "", "build/defs.bzl": macro}


def _build(shape: Shape, name: str, deps: list[str], macro: bool) -> dict[str, str]:
    """The build files of a package by name. What a macro makes, Buck's packages make in a targets.bzl."""
    bazel = shape.dialect == "bazel"
    rule = "library" if macro else "py_library" if bazel else "python_library"
    glob = "native.glob" if macro and not bazel else "glob"
    call = [
        f"{rule}(",
        f'    name = "{name}",',
        f'    srcs = {glob}(["*.py"]),',
        f'    visibility = ["{"//visibility:public" if bazel else "PUBLIC"}"],',
        "    deps = [",
        *(f'        "//{dep}:{dep.rpartition("/")[2]}",' for dep in deps),
        "    ],",
        ")",
    ]
    load = 'load("//build:defs.bzl", "library")'
    if bazel:
        head = load if macro else 'load("@rules_python//python:defs.bzl", "py_library")'
        return {"BUILD.bazel": _lines(head, "", *call)}
    if not macro:
        return {"BUCK": _lines(*call)}
    body = ("def define_common_targets():", *(f"    {line}" for line in call))
    return {
        "BUCK": _lines('load(":targets.bzl", "define_common_targets")', "", "define_common_targets()"),
        "targets.bzl": _lines(load, "", *body),
    }


def _lines(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
