"""How labels are spelt."""

from __future__ import annotations

import pytest

from buildfix.labels import Label, Spelling, closest, looks_like_label, sort_key, split


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (":x", Spelling(None, "", "x")),
        ("x", Spelling(None, "", "x", bare=True)),
        ("//a/b:c", Spelling("", "a/b", "c")),
        ("//a/b", Spelling("", "a/b", "b", named=False)),
        ("//:top", Spelling("", "", "top")),
        ("cell//a:b", Spelling("cell", "a", "b")),
        ("@repo//a:b", Spelling("@repo", "a", "b")),
        ("@@canonical//a", Spelling("@@canonical", "a", "a", named=False)),
        ("@//a:b", Spelling("@", "a", "b")),
        ("@solo", Spelling("@solo", "", "solo", named=False)),
        ("//a:b[shared]", Spelling("", "a", "b", sub="[shared]")),
        ("fbsource//third-party/pypi/x:x", Spelling("fbsource", "third-party/pypi/x", "x")),
    ],
)
def test_a_label_is_taken_apart(text: str, expected: Spelling) -> None:
    assert split(text) == expected


@pytest.mark.parametrize("text", ["", ":", "//a:", "//", "a:b", "http://example.org", "//a b\n:c", "//a/*:b"])
def test_what_is_no_label_is_none(text: str) -> None:
    assert split(text) is None


def test_a_source_entry_is_a_label_or_a_path() -> None:
    assert looks_like_label(":gen") and looks_like_label("//a:b") and looks_like_label("cell//a:b")
    assert not looks_like_label("main.py") and not looks_like_label("dir/main.py")


def test_labels_sort_as_buildifier_sorts_them() -> None:
    written = [":a", ":z", "//a:a", "//a:z", "//a/b:a", "//b:a", "@x//a:a", "cell//a:b"]
    assert sorted(written, key=sort_key) == written


def test_the_closest_label_shares_the_longest_leading_path() -> None:
    others = ["//caffe2:torch", "//x/exir:lib", "//x/exir/passes:lib", ":local"]
    assert others[closest("//x/exir/capture:utils", others)].startswith("//x/exir")
    assert closest("@repo//a:b", [":x"]) == -1


def test_a_label_prints_in_its_canonical_form() -> None:
    assert str(Label("", "a/b", "c")) == "//a/b:c"
    assert str(Label("cell", "", "c")) == "cell//:c"
