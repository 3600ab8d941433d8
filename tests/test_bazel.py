"""What a real Bazel says: that it sees the edges that buildfix sees, and that its tests pass after a repair."""

from __future__ import annotations

import json
import re
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import real_bazel
from conftest import buildfix, snapshot
from real_bazel import Bazel
from test_fixtures import read as fixture

from buildfix import config, pipeline, workspace
from buildfix.labels import Label
from buildfix.targets import TargetGraph

FIXTURES = Path(__file__).parent.parent / "fixtures"
NAMES = sorted(
    path.parent.name
    for path in FIXTURES.glob("*/fixture.yaml")
    if workspace.read(path.parent / "before", config.load(path.parent / "before")).dialect == "bazel"
)

# The packages of fixtures that Bazel 4.2.3 cannot load, and what it says of them: some are newer than it, some are
# broken on purpose. No Bazel takes a label that stands twice in a list.
UNLOADABLE = {
    "dep-that-stands-twice-bazel": {"yard": "is duplicated in the 'deps' attribute of rule"},
    "generated-proto-module": {"wind": "name 'py_proto_library' is not defined"},
    "import-that-may-come-from-elsewhere": {"kit/sign": "cannot load '@elsewhere//:defs.bzl'"},
    "label-and-source-that-do-not-exist": {
        "odd": "cannot load '@elsewhere//:defs.bzl'",
        "torn": "torn/BUILD.bazel:2:1: syntax error",
    },
    "label-and-source-that-may-exist-bazel": {"kit": "cannot load '@elsewhere//:defs.bzl'"},
    "labels-of-other-repositories": {"yard": "'@@rules_python"},
    "symbolic-macro-inherits": {"yard": "name 'macro' is not defined"},
}

# Where markers ask for silence about what is missing.
MARKED = ("gazelle-directives", "markers-in-sources-bazel")

# The repositories that lie in the tree of another. Where no MODULE.bazel declares one, Bazel would read its labels as
# those of the repository around it, and be right as well; here it is to read them as buildfix does.
NESTED = {
    "import-root-of-a-local-repository": {"press": "press"},
    "nested-repository": {"examples": "examples"},
}

pytestmark = [
    pytest.mark.xdist_group("bazel"),
    pytest.mark.skipif(bool(real_bazel.unavailable()), reason=real_bazel.unavailable() or "-"),
]


@pytest.fixture(scope="module")
def bazel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bazel]:
    made = Bazel(tmp_path_factory.mktemp("bazel"))
    try:
        yield made
    finally:
        made.run("shutdown")


# The attributes whose labels are edges to buildfix.
EDGES = ("actual", "data", "deps")
PROPERTIES = ("compatible_with", "restricted_to", "target_compatible_with")

# A target, or a file: the folder of its package in the tree (for what lies elsewhere, its repository), and its name.
Key = tuple[str, str]


@dataclass
class Rule:
    """A rule's class, the labels in its attributes, and all labels that it depends on."""

    kind: str
    attributes: dict[str, set[Key]] = field(default_factory=dict)
    inputs: set[Key] = field(default_factory=set)

    def labels(self, attributes: Iterable[str]) -> set[Key]:
        return set().union(*(self.attributes.get(attribute, ()) for attribute in attributes))


def seen_by_bazel(bazel: Bazel, local: Mapping[str, str]) -> tuple[dict[Key, Rule], dict[str, str]]:
    """The rules of the workspace; the packages that cannot be loaded, with what Bazel says of them."""
    everything = " + ".join(["//...", *(f"@{name}//..." for name in local)])
    said = bazel.run("query", "--noimplicit_deps", "--keep_going", "--output=xml", everything)
    errors = {}
    for package in re.findall(r"(?:error loading package '|package contains errors: )([\w/@]*)", said.err):
        errors[package] = said.err
    if not said.out:
        return {}, errors

    def key(label: str) -> Key:
        repo, package, name = re.fullmatch(r"(?:@([^/]*))?//([^:]*):(.*)", label).groups()  # type: ignore[union-attr]
        folder = local.get(repo or "", "" if repo is None else f"@{repo}//")
        return f"{folder}/{package}".strip("/") if not folder.startswith("@") else folder + package, name

    rules = {}
    # Bazel writes XML 1.1, which Python's parser does not know.
    for node in ElementTree.fromstring(said.out.replace('version="1.1"', 'version="1.0"', 1)).iter("rule"):
        rule = rules[key(node.attrib["name"])] = Rule(node.attrib["class"])
        rule.inputs = {key(one.attrib["name"]) for one in node.iter("rule-input")}
        for attribute in node:
            if "name" in attribute.attrib and attribute.tag in ("list", "label"):
                labels = {key(one.attrib["value"]) for one in attribute.iter("label")}
                rule.attributes[attribute.attrib["name"]] = labels
    return rules, errors


@pytest.mark.parametrize("name", NAMES)
def test_bazel_sees_the_same_edges(name: str, bazel: Bazel) -> None:
    """Before the repair and after it."""
    fill(bazel, name)
    agree(bazel, name)
    if (FIXTURES / name / "after").is_dir():
        repair(name, bazel.root)
        agree(bazel, name)


def fill(bazel: Bazel, name: str) -> None:
    bazel.fill(FIXTURES / name / "before", NESTED.get(name, {}))


def repair(name: str, root: Path) -> None:
    given = fixture(name)
    buildfix("--root", root, "--apply", *given.options, *(root / path for path in given.args))
    changed = FIXTURES / name / "after"
    assert {path: root.joinpath(path).read_bytes() for path in snapshot(changed)} == snapshot(changed)


def agree(bazel: Bazel, name: str) -> None:
    rules, errors = seen_by_bazel(bazel, NESTED.get(name, {}))
    unloadable = UNLOADABLE.get(name, {})
    assert errors.keys() == unloadable.keys(), errors
    assert [package for package, why in unloadable.items() if why not in errors[package]] == [], errors
    graph = seen_by_buildfix(bazel.root)

    def key(label: Label) -> Key:
        folder = graph.workspace.folder(label)
        return f"@{label.repo}//{label.package}" if folder is None else folder, label.name

    rules = {one: rule for one, rule in rules.items() if one[0] not in unloadable}
    targets = {key(label): target for label, target in graph.targets.items() if target.folder not in unloadable}
    assert {one: target.leaf.kind for one, target in targets.items()} == {one: rule.kind for one, rule in rules.items()}
    for one, target in targets.items():
        rule = rules[one]
        # A file is not an edge, and neither is a property of the platform.
        inputs = {dep for dep in rule.inputs if not bazel.root.joinpath(*dep).is_file()}
        inputs -= rule.labels(PROPERTIES)
        real = {key(dep) for _, dep, _ in target.real}
        real = {dep for dep in real if not bazel.root.joinpath(*dep).is_file()}
        assert rule.labels(EDGES) & inputs == real, one
        resolved = (graph.workspace.resolve(text, target.folder) for text in conditions(target.leaf.args))
        known = {key(label) for label in (*graph.deps(target.label), *target.refs, *resolved) if label is not None}
        known |= {key(src.label) for src in target.srcs if src.label is not None}
        sources = {(target.folder, src.inner) for src in target.srcs if src.label is None}
        assert inputs <= known | sources, one  # a source may be another rule's output
        if target.rule.python:
            assert rule.labels(target.rule.srcs) <= known | sources, one


def conditions(value: Any) -> Iterator[str]:
    """The conditions of all selects in a value."""
    if isinstance(value, list):
        for item in value:
            yield from conditions(item)
    elif isinstance(value, dict):
        yield from (condition for condition, _ in value.get("$select", ()))
        for item in value.values():
            yield from conditions(item)


def seen_by_buildfix(root: Path) -> TargetGraph:
    settings = config.load(root)
    return pipeline.load(workspace.read(root, settings), settings, pipeline.Options()).graph


@pytest.mark.parametrize("name", [name for name in NAMES if (FIXTURES / name / "after").is_dir()])
def test_a_repair_breaks_nothing(name: str, bazel: Bazel) -> None:
    """For each target a test that imports all its modules, in Bazel's sandbox: what passed before the repair passes
    after it. Where a module of the repository is out of reach after it, buildfix says so."""
    fill(bazel, name)
    probes = probe(name, bazel.root)
    before = run_tests(bazel)
    assert {one for one, label in probes.items() if label.package not in UNLOADABLE.get(name, {})} <= before.keys()
    shutil.rmtree(bazel.root / PROBES)
    repair(name, bazel.root)
    assert probe(name, bazel.root) == probes
    after = run_tests(bazel)
    assert passed(after) or not passed(before)
    assert passed(before) <= passed(after), {one: (status, after.get(one)) for one, status in before.items()}

    graph = seen_by_buildfix(bazel.root)
    shutil.rmtree(bazel.root / PROBES)
    left = json.loads(buildfix("--root", bazel.root, "--output-format", "json").stdout)["findings"]
    named = {finding["target"] for finding in left}
    lacking = {one for one, status in after.items() if is_here(bazel.root, status.module) and one in probes}
    if name in MARKED:
        return
    unsaid = {one for one in lacking if not named & {str(dep) for dep in closure(graph, probes[one])}}
    assert unsaid == set(), {one: after[one] for one in unsaid}


def closure(graph: TargetGraph, start: Label) -> set[Label]:
    found: set[Label] = set()
    queue = [start]
    while queue:
        if (label := queue.pop()) not in found:
            found.add(label)
            queue += graph.deps(label)
    return found


def is_here(root: Path, module: str) -> bool:
    """Whether a module, or what it lies in, is the repository's."""
    path = root / module.replace(".", "/")
    return bool(module) and (path.is_dir() or path.with_suffix(".py").is_file())


PROBES = "probes"


def probe(name: str, root: Path) -> dict[str, Label]:
    """Write a test for each target that has modules. Returns the target of each."""
    made, calls = {}, []
    for target in seen_by_buildfix(root).python:
        label = target.label
        files = [src.path for src in target.srcs if src.path is not None and src.path.endswith(".py")]
        if not files:
            continue
        own = re.sub(r"\W", "_", str(label)).strip("_")
        path = root / PROBES / f"{own}.py"
        path.parent.mkdir(exist_ok=True)
        imports = (f"import {file.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}\n" for file in files)
        path.write_text("".join(imports))
        dep = f"@{label}" if label.repo in NESTED.get(name, ()) else f"//{target.folder}:{label.name}"
        calls.append(f'py_test(name = "{own}", srcs = ["{own}.py"], deps = ["{dep}"])\n')
        made[f"//{PROBES}:{own}"] = label
    (root / PROBES / "BUILD").write_text("".join(calls))
    return made


class Status(NamedTuple):
    """What became of a test, and the module that it could not find."""

    word: str
    module: str = ""


def run_tests(bazel: Bazel) -> dict[str, Status]:
    """All tests of the workspace."""
    # The sandbox that needs no privileges; what is not declared is not in it.
    options = ("--spawn_strategy=processwrapper-sandbox", "--keep_going", "--nocheck_visibility")
    said = bazel.run("test", *options, "//...")
    print(said.out, said.err)
    status = re.compile(r"^//(\S*):(\S+) +(?:\(cached\) )?(PASSED|FAILED TO BUILD|FAILED|NO STATUS)", re.MULTILINE)
    found = {}
    for package, name, word in status.findall(said.out):
        log = bazel.root / "bazel-testlogs" / package / name / "test.log"
        text = log.read_text("utf-8", "replace") if word == "FAILED" else ""
        modules = re.findall(r"^ModuleNotFoundError: No module named '([\w.]+)'", text, re.MULTILINE)
        found[f"//{package}:{name}"] = Status(word, *modules[:1])
    return found


def passed(statuses: Mapping[str, Status]) -> set[str]:
    return {one for one, status in statuses.items() if status.word == "PASSED"}


def test_a_test_that_lacks_a_dep_passes_once_it_is_repaired(bazel: Bazel) -> None:
    fill(bazel, "missing-dep-of-a-test")
    assert run_tests(bazel) == {"//mill:wheel_test": Status("FAILED", "water")}
    repair("missing-dep-of-a-test", bazel.root)
    assert run_tests(bazel) == {"//mill:wheel_test": Status("PASSED")}


def test_a_test_that_lived_on_an_edge_passes_without_it(bazel: Bazel) -> None:
    """It is given the dep itself: with the drop alone, it fails."""
    fill(bazel, "rescue-in-bazel")
    assert run_tests(bazel) == {"//top:test_top": Status("PASSED")}
    own = bazel.root / "top/BUILD.bazel"
    unrescued = own.read_bytes()
    repair("rescue-in-bazel", bazel.root)
    assert b"keel" not in (bazel.root / "mid/BUILD.bazel").read_bytes()
    assert run_tests(bazel) == {"//top:test_top": Status("PASSED")}
    own.write_bytes(unrescued)
    assert run_tests(bazel) == {"//top:test_top": Status("FAILED", "base.keel")}
