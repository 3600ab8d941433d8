"""Attribute values of every form come apart into strings and the conditions that they stand under."""

from __future__ import annotations

from typing import Any

import pytest

from buildfix.values import Entry, entries, macro_labels, pairs, walk_strings


@pytest.mark.parametrize(
    ("value", "expected", "unknown"),
    [
        (None, [], False),
        (["a", "b"], [("a", ""), ("b", "")], False),
        ({"$tuple": ["a"]}, [("a", "")], False),
        ({"$concat": [["a"], {"$unknown": "COMMON"}]}, [("a", "")], True),
        (["a", {"$unknown": "x()"}], [("a", "")], True),
        ({"$select": [["//c:x", ["a"]], ["DEFAULT", []]]}, [("a", "//c:x")], False),
        ({"$select": [["//c:x", ["a", "b"]], ["DEFAULT", ["a"]]]}, [("a", ""), ("b", "//c:x")], False),
        (
            {"$concat": [["p"], {"$select": [["x", {"$select": [["y", ["q"]], ["z", []]]}], ["DEFAULT", []]]}]},
            [("p", ""), ("q", "x and y")],
            False,
        ),
        ({"one": "a", "two": ["b"]}, [("a", ""), ("b", "")], False),
        ({"$dict": [[{"$tuple": []}, "a"]]}, [("a", "")], False),
        (True, [], False),
    ],
)
def test_entries(value: Any, expected: list[tuple[str, str]], unknown: bool) -> None:
    found = entries(value)
    assert list(found.items) == [Entry(*item) for item in expected]
    assert found.unknown is unknown


def test_what_stands_in_every_branch_of_a_select_always_applies() -> None:
    value = {"$select": [["x", ["a"]], ["DEFAULT", ["a"]]]}
    assert entries(value).items == (Entry("a", ""),)


def test_pairs_of_a_dict_and_of_the_dicts_in_a_select() -> None:
    value = {"$concat": [{"a.py": "b.py"}, {"$select": [["x", {"c.py": ":gen"}], ["DEFAULT", {}]]}]}
    assert [(p.key, p.value, p.condition) for p in pairs(value)] == [("a.py", "b.py", ""), ("c.py", ":gen", "x")]


def test_every_string_is_walked_but_the_conditions() -> None:
    value = {"$select": [["//cond:x", {"k": ["v"]}], ["DEFAULT", {"$tuple": ["t", 3]}]]}
    assert sorted(walk_strings(value)) == ["k", "t", "v"]


def test_labels_in_command_macros() -> None:
    assert macro_labels("$(exe :tool) --in $(location //a/b:c) > $OUT") == [":tool", "//a/b:c"]
    assert macro_labels("echo plain") == []
