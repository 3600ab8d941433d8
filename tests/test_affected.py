"""Evaluating again only what an edit can change gives what evaluating everything does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from buildfix import affected, engine, pipeline
from buildfix.engine import Facts, Load, LoadedFile, Package

FIXTURES = Path(__file__).parent.parent / "fixtures"
REPAIRED = sorted(path.parent.name for path in FIXTURES.glob("*/after"))


def facts(packages: dict[str, list[str]], files: dict[str, list[str]]) -> Facts:
    def loads(paths: Iterable[str]) -> tuple[Load, ...]:
        return tuple(Load(path, "exact", path) for path in paths)

    return Facts(
        packages=tuple(Package(path.rpartition("/")[0], path, loads=loads(paths)) for path, paths in packages.items()),
        files=tuple(LoadedFile(path, loads=loads(paths)) for path, paths in files.items()),
    )


KIT = facts(
    {"a/BUCK": ["x.bzl"], "b/BUCK": ["y.bzl"], "c/BUCK": []},
    {
        "x.bzl": ["deep.bzl"],
        "y.bzl": ["deep.bzl", "z.bzl"],
        "z.bzl": [],
        "deep.bzl": [],
        "PACKAGE": ["p.bzl"],
        "p.bzl": [],
    },
)


@pytest.mark.parametrize(
    ("paths", "changed"),
    [
        (["a/BUCK"], {"a"}),
        (["x.bzl"], {"a"}),
        (["deep.bzl"], {"a", "b"}),
        (["z.bzl", "c/BUCK"], {"b", "c"}),
        (["PACKAGE"], None),
        (["p.bzl"], None),
        (["new/BUCK"], None),
        ([], set()),
    ],
)
def test_who_is_made_with_a_file(paths: list[str], changed: set[str] | None) -> None:
    assert affected.packages(KIT, paths) == changed


@pytest.mark.parametrize("name", REPAIRED)
def test_a_repair_evaluated_in_part_is_the_repair_evaluated_whole(name: str) -> None:
    root = (FIXTURES / name / "before").resolve()
    known, rerun = pipeline.look(root)
    overlay = {change.path: change.after.decode() for change in pipeline.judge(known, rerun).changes}
    part = rerun.evaluate(overlay)
    everything = engine.run(pipeline.request(rerun.space, rerun.config, rerun.options, overlay))
    whole = pipeline.know(
        replace(everything, sources=known.facts.sources), rerun.space, rerun.config, rerun.options, basis=known
    )
    assert part.facts.packages == whole.facts.packages
    assert part.facts.calls == whole.facts.calls
    same: Callable[[object], tuple[object, ...]] = lambda one: tuple(  # noqa: E731
        getattr(one, field) for field in ("rule", "srcs", "edges", "refs", "unknown", "real", "located", "reads")
    )
    assert {label: same(one) for label, one in part.graph.targets.items()} == {
        label: same(one) for label, one in whole.graph.targets.items()
    }
    assert part.uses == whole.uses
