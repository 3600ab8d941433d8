"""The mutation benchmark on small repositories, through the real engine; and that its audit sees what it should."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from conftest import snapshot

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
import mutation

FIXTURES = Path(__file__).parent.parent / "fixtures"

FILES = {
    ".buckconfig": "",
    "kit/BUCK": "".join(
        f'python_library(name = "{name}", srcs = ["{name}.py"], visibility = ["PUBLIC"])\n'
        for name in ("adze", "axe", "plane", "saw")
    ),
    "kit/adze.py": "",
    "kit/axe.py": "",
    "kit/plane.py": "",
    "kit/saw.py": "",
    "bench/BUCK": """\
python_library(
    name = "chair",
    srcs = ["chair.py"],
    deps = [
        "//kit:adze",  # for the seat
        "//kit:saw",
    ],
)

FAST = True

python_library(
    name = "table",
    srcs = ["table.py"],
    deps = [
        "//kit:axe" if FAST else "//kit:adze",
        "//kit:plane",
    ],
)

# @noautodeps
python_library(name = "stool", srcs = ["stool.py"], deps = ["//kit:saw"])
""",
    "bench/chair.py": "import kit.adze\nimport kit.saw\n",
    "bench/table.py": "import kit.axe\nimport kit.plane\n",
    "bench/stool.py": "import kit.saw\n",
}


@pytest.fixture(name="root")
def repository(tmp_path: Path) -> Path:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, "utf-8")
    return tmp_path


def test_what_was_deleted_comes_back_and_what_was_injected_goes(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = snapshot(root)
    assert mutation.main([str(root), "--json", str(root / "outcomes.json")]) == 0
    said = json.loads((root / "outcomes.json").read_text("utf-8"))
    (root / "outcomes.json").unlink()
    assert snapshot(root) == before, "the repository was written to"
    told = {(one["kind"], one["target"], one["dep"]): one for one in said["outcomes"]}
    assert said["violations"] == []
    for target, dep in (("chair", "adze"), ("chair", "saw"), ("table", "plane"), ("table", "axe")):
        assert told.pop(("deletion", f"//bench:{target}", f"//kit:{dep}"))["position"]
    stool = told.pop(("deletion", "//bench:stool", "//kit:saw"))
    assert not stool["undone"]
    assert stool["reason"] == "the target is below a marker that turns automatic changes off"
    assert {kind for kind, _, _ in told} == {"injection"}
    assert {target for (_, target, _), one in told.items() if not one["identical"]} == {"//bench:stool"}
    assert "| all without a doubt | 4 | 4 (100.0 %)" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["unused-edge-others-live-on", "forms-of-variables-bazel"])
def test_the_findings_of_the_repository_itself_are_left_alone(name: str, tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / name / "before", tmp_path / "root")
    base = mutation.Base(tmp_path / "root")
    assert base.unused or base.missing
    for made, _ in (mutation.deletions(base), mutation.injections(base, 0)):
        assert made
        ran = mutation.measure(base, made, 1, lambda text: None)
        assert ran.violations == []
        assert [outcome for outcome in ran.outcomes if not outcome.undone and not outcome.mutation.doubt] == []


def test_the_audit_sees_what_should_not_have_been_done(root: Path) -> None:
    base = mutation.Base(root)
    text = (root / "bench/BUCK").read_text("utf-8")
    wrong = text.replace('        "//kit:saw",\n', "").replace('"//kit:plane"', '"//kit:plane", "//kit:saw", ":table2"')
    wrong += 'python_library(name = "table2", deps = [":table"])\n'
    found = list(mutation.audit(base, base.known, base.rerun.evaluate({"bench/BUCK": wrong}), (), ()))
    assert found == [
        "//bench:table2 is new",
        "//bench:chair lost //kit:saw, which was not injected",
        "//bench:table gained //bench:table2, which it does not import",
        "//bench:table gained //kit:saw, which it does not import",
        "//bench:table gained //bench:table2, which reaches it",
        "//bench:chair no longer reaches kit.saw",
    ]


def test_mutations_that_could_influence_one_another_are_not_in_one_run(root: Path) -> None:
    base = mutation.Base(root)
    made, _ = mutation.deletions(base)
    for together in (mutation.batches(base, made), mutation.strangers(base, made)):
        assert sorted(map(str, (m for batch in together for m in batch))) == sorted(map(str, made))
        for batch in together:
            owners = [label for one in batch for label in one.owners]
            assert len(owners) == len(set(owners))
