"""Positions and comments of build files."""

from __future__ import annotations

import ast

import pytest

from buildfix.buildfile import BuildFile, BuildFileError


def parse(text: str | bytes) -> BuildFile:
    return BuildFile.parse("BUCK", text.encode() if isinstance(text, str) else text)


def only(file: BuildFile, text: str) -> ast.expr:
    """The expression with this source."""
    return next(n for n in file.nodes if isinstance(n, ast.expr) and file.source(n) == text)


def texts(comments: tuple[object, ...]) -> list[str]:
    return [getattr(comment, "text", None) or comment.comment.text for comment in comments]  # type: ignore[attr-defined]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_positions_are_bytes(newline: str, mark: str) -> None:
    file = parse(f'{mark}# größe{newline}x = ("ä", f(1)){newline}\tf("é")  # {newline}'.replace("\t", ""))
    line, column = 2, 1 + len('x = ("ä", f')
    call = file.call_at(line, column)
    assert call is not None and file.source(call) == "f(1)"
    assert file.engine_position(file.opening(call)) == (line, column)
    assert file.data[file.opening(call) :].startswith(b"(1)")


def test_a_mark_does_not_move_the_first_line() -> None:
    call = parse("\ufefff(1)").call_at(1, 2)
    assert call is not None and call.lineno == 1


def test_positions_that_are_not_there() -> None:
    file = parse("f(1)\n")
    assert [file.call_at(*p) for p in ((1, 1), (1, 3), (1, 99), (9, 1), (0, 0), (1, 0))] == [None] * 6


def test_the_parenthesis_of_a_call_may_be_anywhere() -> None:
    file = parse("(f  # (\n)(\n1)\nx = (a.b \\\n  (2))\n")
    assert {file.source(n): file.data[file.opening(n)] for n in file.nodes if isinstance(n, ast.Call)} == {
        "(f  # (\n)(\n1)": ord("("),
        "a.b \\\n  (2)": ord("("),
    }


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"x = 1\ny = (\n", 2, "never closed"),
        (b"x = 1\n\xff\n", 2, "not UTF-8"),
        (b"x = 1\0", 0, "null bytes"),
        (b"(" * 300 + b")" * 300, 1, "parenthes"),
    ],
)
def test_what_cannot_be_parsed(data: bytes, line: int, message: str) -> None:
    with pytest.raises(BuildFileError, match=message) as error:
        parse(data)
    assert error.value.path == "BUCK"
    assert error.value.line in (line, 0)


def test_a_coding_line_means_nothing() -> None:
    assert parse("# -*- coding: latin-1 -*-\nx = 'ä'\n").tree.body


def test_a_hash_in_a_string_is_no_comment() -> None:
    file = parse("x = ['#a', \"#b\", '''\n# c\n''', r'\\'# d', '\\'# e'] # yes\n")
    assert texts(file.comments) == ["# yes"]


LIST = """\
rule(
    # above deps
    deps = [  # behind the bracket
        # above a
        # more above a
        "a",  # behind a

        # above b
        "b", "c",  # behind both
        # before the bracket
    ],  # behind deps
)  # behind the call
"""


def test_comments_of_elements() -> None:
    file = parse(LIST)
    assert texts(file.element_comments(only(file, '"a"'))) == ["# above a", "# more above a", "# behind a"]
    assert texts(file.element_comments(only(file, '"b"'))) == ["# above b", "# behind both"]
    assert texts(file.element_comments(only(file, '"c"'))) == ["# behind both", "# before the bracket"]


def test_elements_of_a_one_line_list_share_what_is_behind_it() -> None:
    file = parse('rule(\n    deps = ["a", ("b")],  # keep\n)\n')
    assert texts(file.element_comments(only(file, '"a"'))) == ["# keep"]
    assert texts(file.element_comments(only(file, '"b"'))) == ["# keep"]


def test_comments_of_attributes_and_calls() -> None:
    file = parse("# far\n\n# above\n# the call\n" + LIST.replace("rule(\n", "rule(  # behind\n", 1))
    call = next(n for n in file.nodes if isinstance(n, ast.Call))
    assert texts(file.attribute_comments(call, "deps")) == ["# above deps", "# behind the bracket", "# behind deps"]
    assert texts(file.attribute_comments(call, "srcs")) == []
    assert texts(file.call_comments(call)) == ["# above", "# the call", "# behind", "# above deps", "# behind the call"]


SCOPES = """\
# top
load("x", "y")
def f():
    # in f
    if c:
        # deeper
        rule(
            # in the call
            name = "x",
        )
    # later in f
    def g():
        # in g
        rule(name = "y")

# between
def h():  # not alone
    # in h
    rule(name = "z")
"""


def test_scope_comments_end_with_their_scope() -> None:
    file = parse(SCOPES)
    calls = {file.source(n.keywords[0].value): n for n in file.nodes if isinstance(n, ast.Call) and n.keywords}
    found = {name: file.scope_comments(file.start(call)) for name, call in calls.items()}
    assert texts(found['"x"']) == ["# top", "# in f", "# deeper"]
    assert texts(found['"y"']) == ["# top", "# in f", "# deeper", "# later in f", "# in g"]
    assert texts(found['"z"']) == ["# top", "# between", "# in h"]
    assert [(c.function, c.indent) for c in found['"x"']] == [("", 0), ("f", 4), ("f", 8)]


def test_a_comment_at_column_0_in_a_function_belongs_to_the_file() -> None:
    file = parse("def f():\n    x()\n# @noautodeps\n    rule()\n")
    assert [(c.comment.text, c.function) for c in file.scope_comments(len(file.data) - 3)] == [("# @noautodeps", "")]
