"""What may depend on what: visibility in all its spellings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from buildfix.assemble import build
from buildfix.config import Config
from buildfix.engine import Call, Facts, Frame, Package
from buildfix.labels import Label
from buildfix.targets import TargetGraph
from buildfix.workspace import read


def graph_of(tmp_path: Path, packages: dict[str, list[tuple[str, str, dict[str, Any]]]]) -> TargetGraph:
    (tmp_path / "MODULE.bazel").write_text("")
    calls, found = [], []
    for folder, targets in packages.items():
        found.append(Package(path=folder, file=f"{folder}/BUILD.bazel"))
        for number, (kind, name, args) in enumerate(targets, 1):
            stack = (Frame(f"{folder}/BUILD.bazel", number, 1, "<toplevel>"),)
            calls.append(Call(folder, number, kind, kind, "native", name, {"name": name, **args}, stack))
    space = read(tmp_path, Config()).with_packages(packages)
    return build(Facts(tuple(found), tuple(calls)), space, Config())


@pytest.mark.parametrize(
    ("visibility", "admitted"),
    [
        (["//visibility:public"], {"a", "a/b", "c", "lib"}),
        (["//visibility:private"], {"lib"}),
        ([], {"lib"}),
        (["//a:__pkg__"], {"a", "lib"}),
        (["//a:__subpackages__"], {"a", "a/b", "lib"}),
        (["//a/..."], {"a", "a/b", "lib"}),
        (["//..."], {"a", "a/b", "c", "lib"}),
        (["//c:x"], {"c", "lib"}),
        ([":group"], {"a", "c", "lib"}),
        ([":wide"], {"a", "a/b", "c", "lib"}),
        ([":all_but_a"], {"a/b", "c", "lib"}),
        (["@elsewhere//x:group"], {"a", "a/b", "c", "lib"}),
        (None, {"lib"}),
    ],
)
def test_visibility(tmp_path: Path, visibility: list[str] | None, admitted: set[str]) -> None:
    args = {} if visibility is None else {"visibility": visibility}
    users = {folder: [("py_library", "x", {})] for folder in ("a", "a/b", "c")}
    groups = [
        ("package_group", "group", {"packages": ["//a", "//c"]}),
        ("package_group", "wide", {"packages": ["//a/..."], "includes": [":group", ":wide"]}),
        ("package_group", "all_but_a", {"packages": ["//...", "-//a"]}),
    ]
    graph = graph_of(tmp_path, {**users, "lib": [("py_library", "y", args), ("py_library", "x", {}), *groups]})
    provider = graph.targets[Label("", "lib", "y")]
    seen = {f for f in ("a", "a/b", "c", "lib") if graph.visible(provider, graph.targets[Label("", f, "x")])}
    assert seen == admitted


def test_in_bazel_a_target_without_visibility_that_others_use_is_visible(tmp_path: Path) -> None:
    users = {folder: [("py_library", "x", {"deps": ["//lib:y"]})] for folder in ("a",)}
    graph = graph_of(tmp_path, {**users, "lib": [("py_library", "y", {})], "c": [("py_library", "x", {})]})
    assert graph.visible(graph.targets[Label("", "lib", "y")], graph.targets[Label("", "c", "x")])


def test_a_package_states_the_default(tmp_path: Path) -> None:
    package = ("package", "", {"default_visibility": ["//visibility:private"], "default_testonly": True})
    graph = graph_of(tmp_path, {"lib": [package, ("py_library", "y", {})], "a": [("py_library", "x", {})]})
    provider, user = graph.targets[Label("", "lib", "y")], graph.targets[Label("", "a", "x")]
    assert not graph.visible(provider, user)
    assert graph.testonly(provider) and not graph.testonly(user)
