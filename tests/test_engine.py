"""What docs/protocol.md promises, asked of the real engine through buildfix.engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from buildfix import engine
from buildfix.engine import Call, Cell, Facts, Limits, Mode, Request, Symbols

Run = Callable[..., Facts]

BUCK = (Cell("root", "", ("BUCK",)),)
BAZEL = (Cell("", "", ("BUILD.bazel", "BUILD")),)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Write files and evaluate them; keywords are fields of the request."""

    def run(files: Mapping[str, str | bytes], **fields: Any) -> Facts:
        for path, text in files.items():
            file = tmp_path / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text if isinstance(text, bytes) else text.encode())
        fields = {"dialect": "buck", "cells": BUCK, "do": ("evaluate",), **fields}
        return engine.run(Request(root=str(tmp_path), **fields))

    return run


def named(facts: Facts, name: str, how: str | None = None) -> Call:
    """The one call that binds a name, or of those the one of a kind."""
    (found,) = (call for call in facts.calls if call.name == name and how in (None, call.how))
    return found


def test_both_views_with_the_whole_stack(run: Run) -> None:
    macro = 'def wrapped(name, deps):\n    native.lib(name = name, deps = [d for d in deps if d != "//gone"])\n'
    facts = run({"BUCK": 'load(":m.bzl", "wrapped")\nwrapped(name = "a", deps = ["//gone", ":b"])\n', "m.bzl": macro})
    written, evaluated = named(facts, "a", "function"), named(facts, "a", "native")
    assert written.args["deps"] == ["//gone", ":b"]
    assert evaluated.args["deps"] == [":b"]
    assert evaluated.parent == written.id
    places = [(frame.file, frame.line, frame.function) for frame in evaluated.stack]
    assert places == [("BUCK", 2, "<toplevel>"), ("m.bzl", 2, "wrapped")]
    assert written.defined == ("m.bzl", 1)


def test_arguments_are_those_before_the_call(run: Run) -> None:
    macro = 'def m(name, deps):\n    deps.append(":late")\n    native.lib(name = name, deps = deps)\n'
    facts = run({"BUCK": 'load(":m.bzl", "m")\nm(name = "a", deps = [":b"])\n', "m.bzl": macro})
    assert named(facts, "a", "function").args["deps"] == [":b"]
    assert named(facts, "a", "native").args["deps"] == [":b", ":late"]


def test_one_bad_call_costs_that_call(run: Run) -> None:
    build = 'lib(name = "a")\nfailing(1)\nlib(name = "b", deps = [int("x")] + {}["k"])\nlib(name = "c")\n'
    facts = run({"BUCK": 'load(":m.bzl", "failing")\n' + build, "m.bzl": "def failing(x):\n    fail(x)\n"})
    (package,) = facts.packages
    assert package.complete
    assert [(e.kind, e.line) for e in package.errors] == [("call", 2), ("call", 4), ("call", 4)]
    assert [call.name for call in facts.calls] == ["a", "b", "c"]
    assert named(facts, "b").args["deps"] == {"$concat": [[{"$unknown": "int()"}], {"$unknown": "[]"}]}


def test_a_condition_that_fails_leaves_the_package_incomplete(run: Run) -> None:
    (package,) = run({"BUCK": 'lib(name = "a")\nif int("x"):\n    lib(name = "b")\n'}).packages
    assert not package.complete
    assert [e.kind for e in package.errors] == ["eval"]


def test_modes_differ_in_config_and_symbols(run: Run) -> None:
    build = 'load("@x//:y.bzl", "is_oss")\nlib(name = read_config("a", "b", "none"), oss = is_oss())\n'
    modes = (Mode("one", {"a.b": "set"}, {"is_oss": "lambda: True"}), Mode("two", {}, {"is_oss": "lambda: False"}))
    facts = run({"BUCK": build}, modes=modes)
    assert [(c.mode, c.name, c.args["oss"]) for c in facts.calls] == [("one", "set", True), ("two", "none", False)]


def test_symbols_stand_in_for_what_cannot_be_loaded(run: Run) -> None:
    text = Symbols("<text>", "def known(_kind, **kwargs): return _kind(**kwargs)\n", ("@gone//*",))
    build = 'load("@gone//:a.bzl", "known", "other")\nknown(_kind = other, name = "a")\n'
    facts = run({"BUCK": build}, symbols=(text,))
    assert [(c.how, c.kind, c.name) for c in facts.calls] == [("function", "known", "a"), ("stub", "other", "a")]
    assert facts.packages[0].loads[0].how == "stub"


def test_selects_and_unknowns_are_kept(run: Run) -> None:
    build = (
        'load("@pip//:requirements.bzl", "requirement")\n'
        'py_library(name = "a", deps = [":b", requirement("numpy")]'
        ' + select({"//c:d": [":e"], "//conditions:default": []}))\n'
    )
    facts = run({"BUILD.bazel": build}, dialect="bazel", cells=BAZEL)
    assert named(facts, "a").args["deps"] == {
        "$concat": [
            [":b", {"$unknown": 'requirement("numpy")'}],
            {"$select": [["//c:d", [":e"]], ["//conditions:default", []]]},
        ]
    }


def test_build_bazel_goes_before_build(run: Run) -> None:
    facts = run({"a/BUILD": "broken(", "a/BUILD.bazel": 'x(name = "a")\n', "b/BUILD": ""}, dialect="bazel", cells=BAZEL)
    assert [p.file for p in facts.packages] == ["a/BUILD.bazel", "b/BUILD"]


def test_package_says_what_holds_for_all(run: Run) -> None:
    build = 'package(default_visibility = ["//a:__pkg__"], default_testonly = True)\nexports_files(["x"])\n'
    facts = run({"BUILD": build}, dialect="bazel", cells=BAZEL)
    assert [(c.kind, c.args) for c in facts.calls] == [
        ("package", {"default_visibility": ["//a:__pkg__"], "default_testonly": True}),
        ("exports_files", {"0": ["x"]}),
    ]


def test_package_files_govern_what_lies_below(run: Run) -> None:
    facts = run(
        {
            "PACKAGE": 'package(visibility = ["PUBLIC"])\n',
            "a/PACKAGE": 'package(inherit = True, visibility = ["//b/..."])\n',
            "a/deep/BUCK": 'lib(name = "x")\n',
            "b/BUCK": "",
        }
    )
    said = [(c.package, c.kind, c.args.get("visibility"), c.stack[-1].file) for c in facts.calls if not c.name]
    assert said == [
        ("a/deep", "package", ["PUBLIC"], "PACKAGE"),
        ("a/deep", "package", ["//b/..."], "a/PACKAGE"),
        ("b", "package", ["PUBLIC"], "PACKAGE"),
    ]


def test_a_prelude_in_the_tree_defines_the_rules(run: Run) -> None:
    cells = (*BUCK, Cell("prelude", "third-party/prelude", ("BUCK",)))
    facts = run(
        {
            "third-party/prelude/prelude.bzl": 'load(":native.bzl", _native = "native")\nnative = _native\n',
            "third-party/prelude/native.bzl": (
                "made = rule(impl = None, attrs = {})\n"
                'def _made_macro(name, deps = []):\n    made(name = name, deps = deps + ["//added"])\n'
                "native = struct(made = _made_macro)\n"
            ),
            "BUCK": 'made(name = "a", deps = [":b"])\nother(name = "c")\n',
        },
        cells=cells,
    )
    assert named(facts, "a", "function").args["deps"] == [":b"]
    assert named(facts, "a", "rule").args["deps"] == [":b", "//added"]
    assert named(facts, "c").how == "native"


@pytest.mark.parametrize(
    ("build", "kind"),
    [
        ("def f(x): return f(x)\nf(1)\n", "depth"),
        ("def f():\n    for i in range(1 << 40): pass\nf()\n", "steps"),
        ("x = [0] * (1 << 40)\n", "memory"),
        ("x = []\nfor i in range(1 << 30): x.append([0] * 100000)\n", "memory"),
        ("lib(\n", "syntax"),
        (b"# \xff\n", "encoding"),
    ],
)
def test_what_a_package_may_cost(run: Run, build: str | bytes, kind: str) -> None:
    files = {"bad/BUCK": build, "good/BUCK": 'lib(name = "a")\n'}
    facts = run(files, limits=Limits(steps=3_000_000, memory_mb=100))
    bad, good = facts.packages
    assert [e.kind for e in bad.errors] == [kind]
    assert not bad.complete
    assert good.complete
    assert named(facts, "a")
    assert facts.peak_mb < 400


def test_load_cycles_cost_their_loads(run: Run) -> None:
    files = {"BUCK": 'load(":a.bzl", "a")\nlib(name = "x")\n', "a.bzl": 'load(":b.bzl", "b")\na = 1\n'}
    facts = run({**files, "b.bzl": 'load(":a.bzl", "a")\nb = 1\n'})
    assert "load-cycle" in {e.kind for e in facts.packages[0].errors}
    assert named(facts, "x")


def test_nothing_outside_the_root_is_read(run: Run, tmp_path: Path) -> None:
    outside = tmp_path.parent / "outside.bzl"
    outside.write_text("secret = 1\n")
    (tmp_path / "link.bzl").symlink_to(outside)
    loads = 'load(":link.bzl", "secret")\nload("../outside.bzl", up = "secret")\n'
    facts = run({"BUCK": loads + 'lib(name = "x", s = [secret, up])\n'})
    assert named(facts, "x").args["s"] == [{"$unknown": "secret"}, {"$unknown": "secret"}]


def test_the_order_does_not_depend_on_the_workers(run: Run) -> None:
    files = {f"p{n}/BUCK": f'load("//:m.bzl", "m")\nm(name = "t{n}")\n' for n in range(20)}
    files["m.bzl"] = "def m(name):\n    native.lib(name = name)\n"
    one, many = run(files, jobs=1), run(files, jobs=8)
    assert (one.packages, one.calls) == (many.packages, many.calls)
    assert [p.path for p in one.packages] == sorted(p.path for p in one.packages)


def test_each_file_lists_its_own_loads(run: Run) -> None:
    files = {"BUCK": 'load(":a.bzl", "a")\n', "a.bzl": 'load("//d:b.bzl", "b")\na = b\n', "d/b.bzl": "b = 1\n"}
    facts = run(files)
    assert [(load.module, load.path, load.how) for load in facts.packages[0].loads] == [(":a.bzl", "a.bzl", "exact")]
    said = [(file.path, [(load.module, load.path) for load in file.loads]) for file in facts.files]
    assert said == [("a.bzl", [("//d:b.bzl", "d/b.bzl")]), ("d/b.bzl", [])]


def test_what_may_make_unseen_targets_is_named(run: Run) -> None:
    build = 'load("@gone//:x.bzl", "C", "m")\nm(["a"])\nlib(name = C)\nfor x in C:\n    lib(name = x)\nm(name = "a")\n'
    (package,) = run({"BUCK": build}).packages
    assert [(o.callee, o.module, o.line) for o in package.opaque] == [
        ("m", "@gone//:x.bzl", 2),
        ("lib", "", 3),
        ("for C", "@gone//:x.bzl", 4),
    ]
