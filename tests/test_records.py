"""Record files: parts of a tree, stated by several runs, judged as if one had stated them all."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import buildfix_inside, snapshot

FIXTURES = Path(__file__).parent.parent / "fixtures"
# Every third will do: each is another shape of repository, and what is tried is the way there and back.
SOME = sorted(path.parent.name for path in FIXTURES.glob("*/fixture.yaml"))[::3]
ORCHARD = "unused-edge-others-live-on"


def run(root: Path, *words: object, status: int | None = 0) -> str:
    done = buildfix_inside(*map(str, words), cwd=root)
    assert status is None or done.returncode == status, done
    return done.stdout if status in (0, 1, None) else done.stderr


@pytest.fixture
def orchard(tmp_path: Path) -> Path:
    return copy(ORCHARD, tmp_path)


def copy(name: str, to: Path) -> Path:
    shutil.copytree(FIXTURES / name / "before", to / "repository", symlinks=True)
    return to / "repository"


def emitted(root: Path, count: int) -> list[Path]:
    """The record files of all parts, which lie in the tree itself: they are no part of what they are made of."""
    files = [root / f"part{number}of{count}.records" for number in range(1, count + 1)]
    for number, file in enumerate(files, 1):
        run(root, "index", "--root", ".", "--emit", file, "--shard", f"{number}/{count}")
    return files


@pytest.mark.parametrize("name", SOME)
def test_the_parts_together_give_the_findings_of_one_run(name: str, tmp_path: Path) -> None:
    root = copy(name, tmp_path)
    whole = buildfix_inside("--root", ".", "--output-format", "json", cwd=root)
    options = [word for file in emitted(root, 3) for word in ("--records", file)]
    again = buildfix_inside("--root", ".", "--output-format", "json", *options, cwd=root)
    assert (again.returncode, again.stdout) == (whole.returncode, whole.stdout)


def test_joined_files_are_one(orchard: Path) -> None:
    whole = run(orchard, "--output-format", "json", status=1)
    one, two, three = emitted(orchard, 3)
    assert run(orchard, "merge", three, one, "--output", "both.records") == "both.records: 2 of 3 parts\n"
    assert run(orchard, "merge", two, "both.records", "--output", "all.records") == "all.records: 3 of 3 parts\n"
    assert run(orchard, "--output-format", "json", "--records", "all.records", status=1) == whole


def test_another_copy_of_the_tree_is_the_same_tree(orchard: Path, tmp_path: Path) -> None:
    (file,) = emitted(orchard, 1)
    other = copy(ORCHARD, tmp_path / "other")
    words = ("--output-format", "json")
    assert run(other, "--records", file, *words, status=1) == run(orchard, *words, status=1)
    assert "repaired in 3 files" in run(other, "--records", file, "--apply")
    for path, data in snapshot(FIXTURES / ORCHARD / "after").items():
        assert (other / path).read_bytes() == data


def test_records_that_do_not_fit_are_refused(orchard: Path) -> None:
    one, two = emitted(orchard, 2)
    assert "part 2 of 2 is missing" in run(orchard, "--records", one, status=2)
    assert "part 1 is in" in run(orchard, "--records", one, "--records", one, status=2)
    assert "part 1 is in" in run(orchard, "merge", one, one, "--output", "x", status=2)
    both = ("--records", one, "--records", two)
    (orchard / "buildfix.yaml").write_text("ignore: [market]\n")
    assert "another configuration" in run(orchard, *both, status=2)
    (orchard / "buildfix.yaml").unlink()
    (orchard / "cellar/new.py").write_text("")
    assert "another tree" in run(orchard, *both, status=2)
    (orchard / "cellar/new.py").unlink()
    run(orchard, *both, status=1)
    three, _, _ = emitted(orchard, 3)
    assert "not of the same tree, configuration and number of parts" in run(
        orchard, "--records", two, "--records", three, status=2
    )


@pytest.mark.parametrize(
    ("spoilt", "said"),
    [
        (b"", "not a record file"),
        (b"{}\n", "not a record file"),
        (b"\xff\xfe\n", "not a record file"),
        (b"[" * 100_000, "not a record file"),
    ],
)
def test_a_file_that_is_none_is_named(spoilt: bytes, said: str, orchard: Path) -> None:
    (orchard / "x.records").write_bytes(spoilt)
    message = run(orchard, "--records", "x.records", status=2)
    assert message.startswith("buildfix: x.records: ")
    assert said in message


def test_a_torn_file_is_refused(orchard: Path) -> None:
    (file,) = emitted(orchard, 1)
    data = file.read_bytes()
    half, no_end = data[: len(data) // 2], data[: data.rindex(b'{"t":"done"')]
    for cut in (half, no_end, data.replace(b'"t":"call"', b'"t":"cull"')):
        file.write_bytes(cut)
        assert "records" in run(orchard, "--records", file, status=2)
    file.write_bytes(data.replace(b'"version":1', b'"version":99', 1))
    assert "keeps other records" in run(orchard, "--records", file, status=2)
    assert "cannot be read" in run(orchard, "--records", "nowhere", status=2)


@pytest.mark.parametrize("shard", ["0/3", "4/3", "1", "a/b", "1/0", "-1/2"])
def test_a_part_that_there_is_not(shard: str, orchard: Path) -> None:
    assert "is not K/N" in run(orchard, "index", "--emit", "x", "--shard", shard, status=2)


def test_options_that_do_not_go_together(orchard: Path) -> None:
    assert "--shard goes with --emit" in run(orchard, "index", "--shard", "1/2", status=2)
    assert "goes with neither" in run(orchard, "index", "cellar", "--emit", "x", status=2)
