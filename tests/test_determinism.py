"""Same input, same bytes out: whatever the hash seed, the number of workers, and the order of a folder's entries."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import snapshot
from random_repositories import Writer
from test_fixtures import FIXTURES, NAMES

REPORT = Path(__file__).with_name("report_all.py")
# A check of a part rescues what lies outside it.
FORMS = (("--output-format", "json"), (), ("--diff",), ("--output-format", "json", "yard"))


class Variant(NamedTuple):
    """What must not matter: the hash seed, the number of workers, and in which order the files came into being."""

    seed: str
    jobs: str
    order: int


VARIANTS = (Variant("0", "1", 0), Variant("1", "2", 1), Variant("20", "8", 2), Variant("random", "0", 3))


# What a tmpfs lists first came last; other file systems go by the names alone.
ELSEWHERE = Path("/dev/shm")


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[list[Path]]:
    """One for each variant."""
    lists = os.access(ELSEWHERE, os.W_OK)
    with tempfile.TemporaryDirectory(dir=ELSEWHERE if lists else tmp_path) as folder:
        yield [Path(folder, str(number)) for number, _ in enumerate(VARIANTS)]


def copy(root: Path, to: Path, order: int) -> Path:
    """The repository with its files made in another order."""
    paths = sorted(path for path in root.rglob("*") if path.is_symlink() or not path.is_dir())
    random.Random(order).shuffle(paths)
    for path in paths:
        made = to / path.relative_to(root)
        made.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, made, follow_symlinks=False)
    return to


def listed(root: Path) -> list[list[str]]:
    """The entries of each folder, as the file system lists them."""
    return [os.listdir(path) for path in sorted((root, *root.rglob("*"))) if path.is_dir()]


def run(variant: Variant, arguments: Sequence[str], cwd: Path) -> tuple[int, bytes, bytes]:
    """Exit status, stdout and stderr of a Python program."""
    environment = {**os.environ, "PYTHONHASHSEED": variant.seed, "LC_ALL": "C.UTF-8"}
    environment["PYTHONPATH"] = str(FIXTURES.parent)
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, check=False, timeout=240
    )
    return done.returncode, done.stdout, done.stderr


def test_fixtures(folders: list[Path]) -> None:
    """The reports of every fixture."""
    first: dict[str, bytes] = {}
    for folder, variant in zip(folders, VARIANTS, strict=True):
        # The name of the root is the same in each: people may write it in labels.
        roots = [copy(FIXTURES / name / "before", folder / name / "repository", variant.order) for name in NAMES]
        status, out, err = run(variant, [str(REPORT), variant.jobs, *map(str, roots)], folder)
        assert (status, err) == (0, b"")
        found = apart(out)
        assert len(found) == len(NAMES)
        first = first or found
        assert [name for name in first if found[name] != first[name]] == []


def apart(out: bytes) -> dict[str, bytes]:
    """The reports by the name of the fixture."""
    found, lines = {}, out.split(b"\n")
    while len(lines) > 1:
        count, name = lines.pop(0).split()
        found[name.decode()], lines = b"\n".join(lines[: int(count)]), lines[int(count) :]
    return found


@pytest.mark.parametrize("dialect", ["buck", "bazel"])
def test_a_large_repository(dialect: str, tmp_path: Path, folders: list[Path]) -> None:
    """The command itself, with everything that it writes."""
    first: list[tuple[int, bytes, bytes]] = []
    repaired: dict[str, bytes] = {}
    orders: list[list[list[str]]] = []
    made = tmp_path / "made"
    for path, text in Writer(1, 60, dialect).files().items():
        (made / path).parent.mkdir(parents=True, exist_ok=True)
        (made / path).write_text(text)
    for folder, variant in zip(folders, VARIANTS, strict=True):
        root = copy(made, folder / "repository", variant.order)
        orders.append(listed(root))
        found = [run(variant, ["-m", "buildfix", "check", "--jobs", variant.jobs, *form], root) for form in FORMS]
        run(variant, ["-m", "buildfix", "check", "--jobs", variant.jobs, "--apply"], root)
        first, repaired = first or found, repaired or snapshot(root)
        assert found == first
        assert snapshot(root) == repaired
    assert orders[0] not in orders[1:] or not os.access(ELSEWHERE, os.W_OK)
    assert any(finding["rescue"] for finding in json.loads(first[-1][1])["findings"])
    codes = Counter(finding["code"] for finding in json.loads(first[0][1])["findings"])
    assert len(first[0][1]) > 100_000
    assert {"BF001", "BF002", "BF005", "BF006", "BF011"} <= codes.keys(), codes
