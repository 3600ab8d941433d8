"""Made-up repositories of any size, with something of everything that a repair has to weigh.

Modules that several targets provide, imports in circles, edges that are missing, unused, lived on or kept by a marker,
macros that make several targets, conditions, sources that cannot be read.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass
class Library:
    """A target to be: its modules by file name, and what it imports and declares."""

    package: str
    name: str
    files: list[str]
    imports: list[str] = field(default_factory=list)
    deps: list[str] = field(default_factory=list)

    @property
    def label(self) -> str:
        return f"//{self.package}:{self.name}"

    def modules(self) -> list[str]:
        return [f"{self.package}/{file.removesuffix('.py')}".replace("/", ".") for file in self.files]


class Writer:
    """A repository of `size` packages, the same for the same seed. `dialect` is "buck" or "bazel"."""

    def __init__(self, seed: int, size: int, dialect: str) -> None:
        self._chance = random.Random(seed)
        self._bazel = dialect == "bazel"
        self._libraries = [one for number in range(size) for one in self._package(number)]
        self._by_package: dict[str, list[Library]] = {}
        for at, one in enumerate(self._libraries):
            self._by_package.setdefault(one.package, []).append(one)
            # Now and then somebody depends on what came later, and circles are closed.
            self._relate(one, self._libraries[: at or None] if self._sometimes(0.97) else self._libraries)

    def files(self) -> dict[str, str]:
        """{path: text}."""
        found = {"MODULE.bazel" if self._bazel else ".buckconfig": ""}
        found["buildfix.yaml"] = 'third_party: {yaml: "//third-party:yaml", numpy: "//third-party:numpy"}\n'
        found["defs/BUILD.bazel" if self._bazel else "defs/BUCK"] = ""
        found["defs/defs.bzl"] = self._macros()
        for package, libraries in self._by_package.items():
            found[f"{package}/{'BUILD.bazel' if self._bazel else 'BUCK'}"] = self._build_file(libraries)
            for one in libraries:
                for file in one.files:
                    found.setdefault(f"{package}/{file}", self._source(one))
        return found

    def _sometimes(self, share: float) -> bool:
        return self._chance.random() < share

    def _package(self, number: int) -> list[Library]:
        folder = f"{self._chance.choice(('yard', 'barn', 'mill'))}/p{number}"
        made = []
        for at in range(self._chance.randint(1, 5)):
            files = [f"m{at}.py", *([f"n{at}.py"] if self._sometimes(0.3) else [])]
            made.append(Library(folder, f"t{at}", files))
            if self._sometimes(0.1):  # a second provider
                made.append(Library(folder, f"also{at}", files[:1]))
        if self._sometimes(0.3):
            made.append(Library(folder, "init", ["__init__.py"]))
        return made

    def _relate(self, one: Library, others: list[Library]) -> None:
        for other in self._chance.sample(others, min(len(others), self._chance.randint(0, 6))):
            if other is one:
                continue
            if used := self._sometimes(0.7):
                one.imports.append(self._statement(other))
            if self._sometimes(0.7 if used else 0.8):
                one.deps.append(other.label)
        known = {other.label: other for other in others}
        for label in [label for dep in one.deps for label in known[dep].deps]:  # lives on an edge of another
            if self._sometimes(0.3) and label in known and label not in one.deps:
                one.imports.append(self._statement(known[label]))
        if self._sometimes(0.2):
            one.imports.append(f"import {self._chance.choice(('yaml', 'numpy', 'json'))}")

    def _statement(self, other: Library) -> str:
        module = self._chance.choice(other.modules())
        parent, _, name = module.rpartition(".")
        forms = (f"import {module}", f"from {module} import thing", f"from {parent} import {name}")
        both = (f"import {' , '.join(other.modules())}".replace(" ,", ","),)
        guarded = (f"try:\n    import {module}\nexcept ImportError:\n    pass", f"def later():\n    import {module}")
        text = (f"from {module} import *", f'PATH = "{module}"', f"import {module}  # @manual")
        return self._chance.choice((*forms * 4, *both * 2, *guarded, *text))

    def _source(self, one: Library) -> str:
        if self._sometimes(0.02):
            return "def torn(:\n"
        lines = list(one.imports)
        if self._sometimes(0.05):
            lines.append("import importlib\n\nimportlib.import_module(open('names').read())")
        return "\n".join((*lines, "thing = 1", ""))

    def _build_file(self, libraries: list[Library]) -> str:
        lines = ['load("//defs:defs.bzl", "twins", "common")', ""]
        if self._sometimes(0.5):
            lines.append('package(default_visibility = ["//visibility:public"])\n' if self._bazel else "")
        return "\n".join((*lines, *(self._call(one) for one in libraries)))

    def _call(self, one: Library) -> str:
        python = "py" if self._bazel else "python"
        kind = self._chance.choice(("library",) * 8 + ("test", "binary"))
        srcs = ", ".join(f'"{file}"' for file in one.files)
        if self._sometimes(0.04):
            return f'twins(name = "{one.name}", srcs = [{srcs}], deps = [{", ".join(map(repr, one.deps))}])\n'
        rows = [f'    name = "{one.name}",', f"    srcs = [{srcs}],"]
        if self._sometimes(0.7):
            rows.append('    visibility = ["//visibility:public"],' if self._bazel else '    visibility = ["PUBLIC"],')
        marks = ("",) * 8 + ("  # keep", "  # @manual")
        shown = [f'        "{label}",{self._chance.choice(marks)}' for label in one.deps]
        rows.append("\n".join(("    deps = [", *shown, self._tail(one))))
        return "\n".join((f"{python}_{kind}(", *rows, ")", ""))

    def _tail(self, one: Library) -> str:
        if self._sometimes(0.04):
            return "    ] + common(),"
        if one.deps and self._sometimes(0.1):
            other = self._libraries[2].label
            default = "//conditions:default" if self._bazel else "DEFAULT"
            return f'    ] + select({{"//defs:wet": ["{other}"], "{default}": []}}),'
        return "    ],"

    def _macros(self) -> str:
        rule = "native.py_library" if self._bazel else "native.python_library"
        first, second = (one.label for one in self._libraries[:2])
        return f'''\
def common():
    return ["{first}"]

def twins(name, srcs, deps):
    for suffix in ["", "_copy"]:
        {rule}(name = name + suffix, srcs = srcs, deps = deps + ["{second}"])
'''
