"""Reports that are kept: never another one than a run without them would print, whatever happens in between."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import Run, buildfix_inside, snapshot

from buildfix import kept

Make = Callable[[dict[str, str]], Path]
SETTLED = 0.06
"""Seconds after which a change is old enough for a report to be kept."""

YARD = {
    ".buckconfig": "[cells]\n  root = .\n",
    "buildfix.yaml": "ignore: [attic]\n",
    "defs.bzl": "def lib(name, **kwargs):\n    native.python_library(name = name, **kwargs)\n",
    "kit/BUCK": 'load("//:defs.bzl", "lib")\nlib(name = "saw", srcs = glob(["*.py"]), visibility = ["PUBLIC"])\n',
    "kit/saw.py": "",
    "yard/BUCK": 'python_library(name = "hut", srcs = ["hut.py"], deps = ["//kit:saw"])\n',
    "yard/hut.py": "import kit.saw\n",
    "attic/BUCK": "not Starlark at all (\n",
}


@pytest.fixture
def shelves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for what is kept."""
    folder = tmp_path / "kept"
    monkeypatch.setenv("BUILDFIX_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many runs have looked at the repository itself so far."""
    from buildfix import pipeline

    looks: list[None] = []
    look = pipeline.look

    def counted(*args: object, **kwargs: object) -> object:
        looks.append(None)
        return look(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(pipeline, "look", counted)
    return lambda: len(looks)


def settle() -> None:
    time.sleep(SETTLED)


def report(root: Path, *words: str) -> tuple[int, str, str]:
    done = buildfix_inside("--root", root, *words, cwd=root)
    return done.returncode, done.stdout, done.stderr


def test_nothing_is_looked_at_twice(workspace: Make, shelves: Path, count: Callable[[], int]) -> None:
    root = workspace(YARD)
    settle()
    first = report(root)
    assert count() == 1
    assert report(root) == first
    assert count() == 1
    assert report(root, "--output-format", "json") != first
    assert count() == 2
    assert report(root, "--no-cache") == first
    assert count() == 3


EDITS: list[Callable[[Path, random.Random], None]] = [
    lambda root, _: (root / "yard/hut.py").write_text("import kit.axe\n"),
    lambda root, _: (root / "yard/hut.py").write_text("import kit.saw\n"),
    lambda root, _: (root / "yard/hut.py").write_text("import os\n"),
    lambda root, _: (root / "kit/axe.py").write_text("import os\n"),
    lambda root, _: (root / "kit/axe.py").unlink(missing_ok=True),
    lambda root, _: os.utime(root / "yard/hut.py"),
    lambda root, _: in_place(root / "yard/hut.py", b"import kit.bit\n"),
    lambda root, _: in_place(root / "yard/hut.py", b"import kit.saw\n"),
    lambda root, _: replaced(root / "yard/hut.py", b"import kit.old\n"),
    lambda root, _: (root / "defs.bzl").write_text(YARD["defs.bzl"] + "\n# changed\n"),
    lambda root, _: (root / "defs.bzl").write_text("def lib(name, **kwargs):\n    pass\n"),
    lambda root, _: (root / "defs.bzl").write_text(YARD["defs.bzl"]),
    lambda root, _: (root / "buildfix.yaml").write_text("ignore: []\n"),
    lambda root, _: (root / "buildfix.yaml").write_text("ignore: [attic]\nfindings: {BF002: false}\n"),
    lambda root, _: (root / "buildfix.yaml").unlink(missing_ok=True),
    lambda root, _: (root / ".buckconfig").write_text("[cells]\n  root = .\n[buildfile]\n  name = TARGETS\n"),
    lambda root, _: (root / ".buckconfig").write_text(YARD[".buckconfig"]),
    lambda root, _: (root / ".buckconfig.local").write_text("[project]\n  ignore = yard\n"),
    lambda root, _: (root / ".buckconfig.local").unlink(missing_ok=True),
    lambda root, _: (root / "requirements.txt").write_text("plough\n"),
    lambda root, chance: (root / f"kit/new{chance.randrange(3)}.py").write_text("import kit.saw\n"),
    lambda root, _: (root / "yard/BUCK").write_text(YARD["yard/BUCK"].replace("//kit:saw", "")),
    lambda root, _: (root / "yard/BUCK").write_text(YARD["yard/BUCK"]),
    lambda root, _: None,
]


def in_place(path: Path, text: bytes) -> None:
    """Other bytes of the same number in the same file, with its old time of change."""
    before = path.stat()
    with path.open("r+b") as file:
        file.write(text.ljust(before.st_size)[: max(before.st_size, len(text))])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replaced(path: Path, text: bytes) -> None:
    """Another file in its place, with the old time of change."""
    before = path.stat()
    other = path.with_suffix(".new")
    other.write_bytes(text)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(other, path)


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_edited_the_report_is_that_of_a_run_without(
    seed: int, workspace: Make, shelves: Path, count: Callable[[], int]
) -> None:
    root = workspace(YARD)
    chance = random.Random(seed)
    hits = 0
    for _ in range(25):
        chance.choice(EDITS)(root, chance)
        if chance.random() < 0.7:
            settle()
        words = chance.choice([(), ("yard",), ("--output-format", "json"), ("--diff",)])
        cached = report(root, *words)
        before = count()
        assert report(root, *words) == cached
        hits += count() == before
        assert report(root, "--no-cache", *words) == cached
    assert hits > 0


def test_a_change_that_is_too_young_to_be_told_from_the_next_is_not_relied_on(workspace: Make, shelves: Path) -> None:
    root = workspace(YARD)
    report(root)
    assert not list(shelves.rglob("*.report"))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[:-5],
        lambda data: data.replace(b"hut", b"HUT"),
        lambda data: b"[]\n" + data.partition(b"\n")[2],
        lambda data: b"\xff\xfe" + data,
        lambda data: b"{}\n",
        lambda data: json.dumps({**json.loads(data.partition(b"\n")[0]), "request": 7}).encode() + b"\n",
        lambda data: json.dumps({**json.loads(data.partition(b"\n")[0]), "read": {"x": 1}}).encode() + b"\n",
        lambda data: (
            json.dumps({**json.loads(data.partition(b"\n")[0]), "status": "x"}).encode()
            + b"\n"
            + data.partition(b"\n")[2]
        ),
    ],
)
def test_a_spoilt_entry_is_silently_made_anew(
    spoil: Callable[[bytes], bytes], workspace: Make, shelves: Path, count: Callable[[], int]
) -> None:
    root = workspace(YARD | {"yard/BUCK": YARD["yard/BUCK"].replace("//kit:saw", "")})
    settle()
    first = report(root)
    assert "hut" in first[1]
    (entry,) = shelves.rglob("*.report")
    entry.write_bytes(spoil(entry.read_bytes()))
    assert report(root) == first
    assert count() == 2
    assert report(root) == first
    assert count() == 2


@pytest.mark.parametrize("cut", [0, 1, 40, -1, -40])
def test_what_was_kept_of_the_sources_may_be_spoilt(cut: int, workspace: Make, shelves: Path) -> None:
    root = workspace(YARD)
    settle()
    first = report(root)
    (sources,) = shelves.rglob("sources")
    data = sources.read_bytes()
    assert b"kit.saw" in data
    sources.write_bytes(data[:cut])
    assert report(root, "--no-cache") == first
    sources.write_bytes(data[:cut] + b"\0" * 50)
    (root / "kit/new.py").touch()
    assert report(root) == report(root, "--no-cache")


def test_without_a_cache_nothing_is_written(workspace: Make, shelves: Path) -> None:
    root = workspace(YARD)
    settle()
    report(root, "--no-cache")
    assert not shelves.exists()


def test_where_nothing_can_be_kept_nothing_is_said_of_it(workspace: Make, shelves: Path) -> None:
    root = workspace(YARD)
    settle()
    shelves.write_text("a file, where a folder is wanted")
    first = report(root)
    assert first == report(root) == report(root, "--no-cache")
    assert first[2] == ""


def test_a_full_disk_costs_the_report_and_nothing_else(workspace: Make, shelves: Path) -> None:
    root = workspace(YARD)
    settle()
    limited = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    limited += "resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)); "
    limited += "from buildfix.cli import main; main(['--root', '.'], prog_name='buildfix')"
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", limited], cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == report(root, "--no-cache")
    assert [path for path in shelves.rglob("*") if path.is_file()] == []


def test_runs_at_the_same_time_do_not_disturb_each_other(workspace: Make, shelves: Path, buildfix: Run) -> None:
    root = workspace(YARD)
    settle()
    with ThreadPoolExecutor(6) as pool:
        runs = list(pool.map(lambda _: buildfix("--root", root, cwd=root).stdout, range(12)))
    assert set(runs) == {report(root, "--no-cache")[1]}
    names = sorted(path.name.rpartition(".")[2] for path in shelves.rglob("*") if path.is_file())
    assert names == ["report", "sources"]


def test_no_more_is_kept_than_a_number_of_reports(
    workspace: Make, shelves: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "MAX_ENTRIES", 3)
    root = workspace(YARD)
    settle()
    for name in ("text", "json", "jsonl", "github", "sarif"):
        report(root, "--output-format", name)
    assert len(list(shelves.rglob("*.report"))) == 3


def test_a_repair_is_never_a_kept_one(workspace: Make, shelves: Path) -> None:
    root = workspace(YARD | {"yard/BUCK": YARD["yard/BUCK"].replace('"//kit:saw"', "")})
    settle()
    before = snapshot(root)
    assert report(root, "--apply")[0] == 0
    assert snapshot(root) != before
    assert not list(shelves.rglob("*.report"))


def test_what_a_limit_of_time_cut_short_is_not_kept(workspace: Make, shelves: Path) -> None:
    root = workspace(YARD | {"slow/BUCK": "x = [0] * 1000000000\n"})
    settle()
    assert report(root)[0] == 3
    assert not list(shelves.rglob("*.report"))
