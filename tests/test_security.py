"""docs/security.md: what it says is shown by a test is, as far as that there is such a test."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/security.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`((?:tests|engine)/[\w/.]+(?:::\w+)?)`", PAGE)))


def names_in(path: Path) -> set[str]:
    text = path.read_text("utf-8")
    if path.suffix == ".go":
        return set(re.findall(r"^func (Test\w+)\(", text, re.MULTILINE))
    return {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("named", NAMED)
def test_there_is_such_a_test(named: str) -> None:
    path, _, name = named.partition("::")
    assert (ROOT / path).is_file()
    assert not name or name in names_in(ROOT / path)


def test_every_attack_has_one() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and line.count(" | ") == 2]
    attacks = [row for row in rows if not row.startswith(("| attack |", "| what |"))]
    assert len(attacks) > 20
    assert [row for row in attacks if not re.search(r"`(tests|engine)/", row.rsplit(" | ", 1)[1])] == []
