"""The replay of people's edits, on a repository with a history that is made here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
import replay

COLUMNS = ("n", "hash", "parent", "mode", "build_file", "target", "op", "dep", "commit_derivable")
BUILD = """\
python_library(name = "oven", srcs = ["oven.py"])
python_library(name = "dough", srcs = ["dough.py"])
python_library(
    name = "bread",
    srcs = ["bread.py"],
    deps = [
        ":dough",
    ],
)
python_library(name = "tray", srcs = ["tray.py"], deps = [])
"""
BEFORE = {
    ".buckconfig": "",
    "mill/BUCK": BUILD,
    "mill/TARGETS": 'fail("the twin of a file that was edited")\n',
    "mill/notes.txt": "not for a check\n",
    "mill/oven.py": "",
    "mill/dough.py": "",
    "mill/bread.py": "from mill import oven\n",
    "mill/tray.py": "",
}
AFTER = {"mill/tray.py": "import mill.oven\n", "mill/rack.py": "", "mill/BUCK": BUILD.replace(":dough", ":oven")}


class History:
    """A repository of two commits."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.git("init", "-q")
        self.git("config", "user.name", "Test")
        self.git("config", "user.email", "test@example.com")
        self.parent = self.commit(BEFORE)
        self.commit_hash = self.commit(AFTER)

    def git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.path), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, files: dict[str, str]) -> str:
        for path, text in files.items():
            file = self.path / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "work")
        return self.git("rev-parse", "HEAD")

    def table(self, *rows: tuple[str, str, str, str, str]) -> Path:
        """An EDITS file; a row is mode, target, op, dep, commit_derivable."""
        lines = ["\t".join((*COLUMNS, "note"))]
        for number, (mode, target, op, dep, derivable) in enumerate(rows):
            edit = (str(number), self.commit_hash, self.parent, mode, "mill/BUCK", target, op, dep, derivable)
            lines.append("\t".join((*edit, 'an odd " note')))
        file = self.path.parent / "edits.tsv"
        file.write_text("\n".join(lines) + "\n", "utf-8")
        return file


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    return History(tmp_path_factory.mktemp("replay") / "bakery")


ADD = ("P", "//bakery/mill:bread", "add", "//bakery/mill:oven", "Y")
DROP = ("P", "//mill:bread", "remove", "//mill:dough", "Y")
WITH_SOURCES = ("S", "//mill:<any>", "add", "cell//bakery/mill:oven", "Y-if-evaluated")
NOT_YET = ("P", "//mill:tray", "add", "//mill:oven", "Y")
TRAP = ("P", "//mill:bread", "add", "//mill:tray", "N")
WRONGLY_A_TRAP = ("P", "//mill:bread", "add", "//mill:oven", "N")


def test_edits_that_are_proposed(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [str(history.path / ".git"), str(history.table(ADD, DROP, WITH_SOURCES, TRAP)), "--alias", "bakery"]
    assert replay.main(arguments) == 0
    output = capsys.readouterr().out
    assert "- derivable: 3 of 3 proposed (100.0%)" in output
    assert "- negative: 0 of 1 proposed as safe" in output
    assert output.count("| hit | safe | yes |") == 3


@pytest.mark.parametrize(
    ("row", "judged"), [(NOT_YET, "| miss |"), (WRONGLY_A_TRAP, "| wrong | safe |")], ids=["miss", "wrong"]
)
def test_an_edit_that_spoils_the_verdict(
    row: tuple[str, str, str, str, str], judged: str, history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay.main([str(history.path), str(history.table(row))]) == 1
    assert judged in capsys.readouterr().out


def test_a_state_is_written_without_what_a_check_does_not_read(history: History, tmp_path: Path) -> None:
    edits = replay.read(history.table(WITH_SOURCES), set())
    replay.replay(history.path, edits, tmp_path, "")
    (root,) = tmp_path.iterdir()
    names = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    assert names == {name for name in (*BEFORE, *AFTER) if name not in ("mill/TARGETS", "mill/notes.txt")}
    assert (root / "mill/BUCK").read_text() == BUILD
    assert (root / "mill/tray.py").read_text() == AFTER["mill/tray.py"]


def test_a_commit_or_content_that_is_not_there(
    history: History, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    partial = tmp_path / "partial"
    subprocess.run(["git", "clone", "-q", "--bare", str(history.path), str(partial)], check=True)
    blob = history.git("rev-parse", f"{history.parent}:mill/bread.py")
    loose = partial / "objects" / blob[:2] / blob[2:]
    loose.chmod(0o600)
    loose.unlink()
    assert replay.main([str(partial), str(history.table(ADD))]) == 2
    assert "content missing: mill/bread.py" in capsys.readouterr().out
    table = history.table(ADD)
    table.write_text(table.read_text().replace(history.parent, "0" * 40))
    assert replay.main([str(history.path), str(table)]) == 2
    assert "git: fatal: not a tree object" in capsys.readouterr().out


def test_a_table_that_lacks_a_column(history: History, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "edits.tsv"
    table.write_text("n\thash\n1\tabc\n")
    assert replay.main([str(history.path), str(table)]) == 2
    assert "'parent'" in capsys.readouterr().err
