"""What edits do to the bytes of a file, case by case; then random files."""

from __future__ import annotations

import ast

import pytest
import random_build_files
from hypothesis import given, settings
from hypothesis import strategies as st

from buildfix import edits
from buildfix.buildfile import BuildFile
from buildfix.edits import EditError, Extend, ListChange, NewAttribute, Order, WhenEmpty


def change(
    text: str,
    add: tuple[str, ...] = (),
    drop: tuple[str, ...] = (),
    order: Order = Order.NEIGHBOURS,
    when_empty: WhenEmpty = WhenEmpty.BRACKETS,
    wrap: str = "",
) -> str:
    """The text after changing the list that `deps` (or the first list in it, or in the file) is."""
    file = BuildFile.parse("BUCK", text.encode())
    every = (n.value for n in file.nodes if isinstance(n, ast.keyword) and n.arg == "deps")
    value: ast.AST = next(every, file.tree)
    node = next(n for n in ast.walk(value) if isinstance(n, ast.List | ast.Tuple))
    starts = tuple(file.start(e) for e in node.elts if isinstance(e, ast.Constant) and e.value in drop)
    return edits.edit(file, [ListChange(file.start(node), add, starts, order, when_empty, wrap)]).decode()


def new_attribute(text: str, *add: str) -> str:
    """The text after giving the first call `deps = [...]`."""
    file = BuildFile.parse("BUCK", text.encode())
    call = next(n for n in file.nodes if isinstance(n, ast.Call))
    return edits.edit(file, [NewAttribute(file.opening(call), "deps", add)]).decode()


def extend(text: str, *add: str) -> str:
    """The text after adding a list to the value of `deps`."""
    file = BuildFile.parse("BUCK", text.encode())
    value = next(n.value for n in file.nodes if isinstance(n, ast.keyword) and n.arg == "deps")
    return edits.edit(file, [Extend(file.span(value), add)]).decode()


def stacked(*lines: str, close: str = "    ],") -> str:
    """A call whose `deps` has one line per entry."""
    inner = "".join(f"        {line}\n" if line else "\n" for line in lines)
    return f'rule(\n    name = "x",\n    deps = [\n{inner}{close}\n)\n'


class TestAdding:
    """Where a new entry goes, and how it looks."""

    def test_among_sorted_neighbours(self) -> None:
        before = stacked('"//a:exir",', '"//a/passes:lib",')
        assert change(before, ("//a/capture:utils",)) == stacked(
            '"//a:exir",', '"//a/capture:utils",', '"//a/passes:lib",'
        )

    def test_cells_stand_where_the_list_has_them(self) -> None:
        before = stacked('":x",', '"//b:b",', '"cell//a:a",')
        assert change(before, ("//a:a",)) == stacked('":x",', '"//a:a",', '"//b:b",', '"cell//a:a",')

    def test_beside_siblings_in_a_list_without_order(self) -> None:
        before = stacked('"//z:z",', '"//a/b:a",', '"//a/b:c",', '"//m:m",', '":q",')
        after = stacked('"//z:z",', '"//a/b:a",', '"//a/b:b",', '"//a/b:c",', '"//m:m",', '":q",')
        assert change(before, ("//a/b:b",)) == after

    def test_the_longest_part_in_order_says_where(self) -> None:
        before = stacked('"//z:z",', '"//a:a",', '"//c:c",', '"//e:e",', '"//b:b",')
        after = stacked('"//z:z",', '"//a:a",', '"//c:c",', '"//d:d",', '"//e:e",', '"//b:b",')
        assert change(before, ("//d:d",)) == after

    def test_runs_of_one_folder_keep_the_order_in_which_they_come(self) -> None:
        before = stacked('"//z:p",', '"//z:r",', '"//a:a",', '"//a:c",', '"//m:a",', '"//m:c",')
        after = stacked('"//z:p",', '"//z:r",', '"//a:a",', '"//a:b",', '"//a:c",', '"//m:a",', '"//m:c",')
        assert change(before, ("//a:b",)) == after

    def test_as_the_other_lists_of_the_file_have_it(self) -> None:
        others = 2 * stacked('"//w:w",', '"//b:b",', '"//q:q",', '"//a:a",')
        short = stacked('"//w:w",', '"//q:q",')
        assert change(short + others, ("//b:b",)) == stacked('"//w:w",', '"//b:b",', '"//q:q",') + others
        in_order = stacked('"//a:a",', '"//k:k",', '"//q:q",', '"//w:w",')
        after = stacked('"//a:a",', '"//b:b",', '"//k:k",', '"//q:q",', '"//w:w",')
        assert change(in_order + others, ("//b:b",)) == after + others

    def test_several_at_once(self) -> None:
        after = stacked('":a",', '":b",', '":c",', '":d",')
        assert change(stacked('":b",'), (":d", ":a", ":c")) == after

    def test_at_the_end_where_told(self) -> None:
        before = stacked('"//z",', '"//a",')
        assert change(before, ("//m",), order=Order.END) == stacked('"//z",', '"//a",', '"//m",')

    def test_sorted_where_told(self) -> None:
        before = stacked('"//z",', '"//a",')
        assert change(before, ("//m",), order=Order.SORTED) == stacked('"//m",', '"//z",', '"//a",')

    def test_comments_above_stay_with_their_element(self) -> None:
        before = stacked("# about b", '"//b",')
        assert change(before, ("//a",)) == stacked('"//a",', "# about b", '"//b",')

    def test_a_comment_before_the_bracket_stays_there(self) -> None:
        before = stacked('"//a",', '# "//off",')
        assert change(before, ("//b",)) == stacked('"//a",', '"//b",', '# "//off",')

    def test_one_line_stays_one_line(self) -> None:
        before = 'python_library(deps = ["//lib:a", "//lib:c"], srcs = ["main.py"], name = "app")\n'
        after = 'python_library(deps = ["//lib:a", "//lib:b", "//lib:c"], srcs = ["main.py"], name = "app")\n'
        assert change(before, ("//lib:b",)) == after

    def test_a_second_entry_gets_lines_of_their_own_where_others_have(self) -> None:
        before = 'python_library(deps = ["//lib:a"], name = "app")\n'
        after = 'python_library(deps = [\n    "//lib:a",\n    "//lib:b",\n], name = "app")\n'
        assert change(before, ("//lib:b",)) == after
        flat = 'other(srcs = ["a.py", "b.py"])\n'
        assert change(before + flat, ("//lib:b",)) == before.replace('a"]', 'a", "//lib:b"]') + flat
        inside = "def f():\n    " + before
        assert change(inside, ("//lib:b",)) == inside.replace('a"]', 'a", "//lib:b"]')

    def test_one_line_with_a_trailing_keep(self) -> None:
        before = 'rule(\n    deps = [":core", ":x"],  # keep\n)\n'
        assert change(before, ("//lib:a",)) == 'rule(\n    deps = [":core", ":x", "//lib:a"],  # keep\n)\n'

    def test_a_line_that_gets_too_long_is_split(self) -> None:
        long = f"//{'long/' * 8}package:name"
        before = f'rule(\n    deps = ["{long}"],\n)\n'
        after = f'rule(\n    deps = [\n        "//a",\n        "//b",\n        "{long}",\n    ],\n)\n'
        assert change(before.replace("deps = [", 'deps = ["//a", '), ("//b:" + "b" * 40,)) == after.replace(
            "//b", "//b:" + "b" * 40
        )

    def test_the_last_entry_without_a_comma(self) -> None:
        before = 'rule(\n  deps = [ "//lib:a",\n           "//lib:b"  # the last, one hopes\n         ]\n)\n'
        after = before.replace('"  # the last, one hopes', '",  # the last, one hopes\n           "//lib:c"')
        assert change(before, ("//lib:c",)) == after

    def test_into_a_hanging_list(self) -> None:
        assert (
            change('r(deps = ["//a",\n          "//c"])', ("//b",))
            == 'r(deps = ["//a",\n          "//b",\n          "//c"])'
        )
        assert (
            change('r(deps = ["//b",\n          "//c"])', ("//a",))
            == 'r(deps = ["//a",\n          "//b",\n          "//c"])'
        )

    def test_several_on_a_line(self) -> None:
        before = stacked('"//a", "//c",', '"//d", "//e",')
        assert change(before, ("//b",)) == stacked('"//a", "//b", "//c",', '"//d", "//e",')

    def test_into_an_empty_list(self) -> None:
        assert change("r(deps = [])", ("//a",)) == 'r(deps = ["//a"])'
        assert change('r(\n    deps = [\n        # "//off",\n    ],\n)', ("//a",)) == (
            'r(\n    deps = [\n        "//a",\n        # "//off",\n    ],\n)'
        )

    def test_quotes_tabs_and_line_ends_of_the_list(self) -> None:
        before = "r(\r\n\tdeps = [\r\n\t\t'//a',\r\n\t],\r\n)\r\n"
        assert change(before, ("//b",)) == "r(\r\n\tdeps = [\r\n\t\t'//a',\r\n\t\t'//b',\r\n\t],\r\n)\r\n"

    def test_a_byte_order_mark_and_other_letters_before_the_list(self) -> None:
        before = '\ufeffr(name = "größe", deps = ["//ä", "//z"])'
        assert change(before, ("//m",)) == '\ufeffr(name = "größe", deps = ["//m", "//ä", "//z"])'

    def test_a_tuple_keeps_its_comma(self) -> None:
        assert change('r(deps = ("//a",))', ("//b",)) == 'r(deps = ("//a", "//b"))'
        assert change('r(deps = ("//a", "//b"))', (), ("//b",)) == 'r(deps = ("//a",))'

    def test_as_a_call_where_the_list_has_calls(self) -> None:
        before = stacked('requirement("attrs"),', 'requirement("rich"),')
        after = stacked('requirement("attrs"),', 'requirement("numpy"),', 'requirement("rich"),')
        assert change(before, ("numpy",), wrap="requirement") == after

    def test_into_the_literal_part_of_a_sum(self) -> None:
        before = stacked('"//a",', close='    ] + ext_deps("vecmath"),')
        assert change(before, ("//b",)) == stacked('"//a",', '"//b",', close='    ] + ext_deps("vecmath"),')


class TestDropping:
    """What goes with an entry, and what stays."""

    def test_a_line(self) -> None:
        assert change(stacked('":config",', '":utils",'), drop=(":utils",)) == stacked('":config",')

    def test_the_end_of_line_comment_goes_too(self) -> None:
        assert change(stacked('":a",  # for x', '":b",  # keep'), drop=(":a",)) == stacked('":b",  # keep')

    def test_a_comment_above_goes_with_the_only_element_below_it(self) -> None:
        before = stacked('"//a",', "# for b", '"//b",', "# for c", '"//c",')
        assert change(before, drop=("//b",)) == stacked('"//a",', "# for c", '"//c",')
        assert change(before, drop=("//c",)) == stacked('"//a",', "# for b", '"//b",')

    def test_a_comment_that_heads_a_group_stays(self) -> None:
        before = stacked('"//z",', "", "# group", '"//a",', '"//b",', "", '"//c",')
        assert change(before, drop=("//a",)) == stacked('"//z",', "", "# group", '"//b",', "", '"//c",')
        assert change(before, drop=("//a", "//b")) == stacked('"//z",', "", '"//c",')

    def test_no_blank_line_is_left_at_an_end(self) -> None:
        assert change(stacked('"//a",', "", '"//b",'), drop=("//b",)) == stacked('"//a",')
        assert change(stacked('"//a",', "", '"//b",'), drop=("//a",)) == stacked('"//b",')

    def test_a_comment_before_the_bracket_stays(self) -> None:
        before = stacked('"//a",', '"//b",', '# "//off",')
        assert change(before, drop=("//b",)) == stacked('"//a",', '# "//off",')

    def test_duplicates_all_go(self) -> None:
        assert change(stacked('"//a",', '"//o",', '"//b",', '"//o",'), drop=("//o",)) == stacked('"//a",', '"//b",')

    def test_on_one_line(self) -> None:
        assert change('r(deps = ["//a", "//b", "//c"])', drop=("//a",)) == 'r(deps = ["//b", "//c"])'
        assert change('r(deps = ["//a", "//b", "//c"])', drop=("//b",)) == 'r(deps = ["//a", "//c"])'
        assert change('r(deps = ["//a", "//b", "//c"])', drop=("//c",)) == 'r(deps = ["//a", "//b"])'
        assert change('r(deps = ["//a", "//b",])', drop=("//b",)) == 'r(deps = ["//a",])'
        assert change('r(deps = [ "//a", "//b" ])', drop=("//b",)) == 'r(deps = [ "//a" ])'

    def test_a_comment_shared_by_a_line_stays(self) -> None:
        before = stacked('"//a", "//b",  # keep')
        assert change(before, drop=("//b",)) == stacked('"//a",  # keep')
        assert change(before, drop=("//a",)) == stacked('"//b",  # keep')

    def test_from_a_hanging_list(self) -> None:
        before = 'r(deps = ["//a",\n          "//b"])'
        assert change(before, drop=("//a",)) == 'r(deps = ["//b"])'
        assert change(before, drop=("//b",)) == 'r(deps = ["//a"])'
        assert change(before.replace(",\n", ",  # x\n"), drop=("//b",)) == 'r(deps = ["//a",  # x\n          ])'

    def test_the_last_leaves_brackets_or_no_attribute(self) -> None:
        before = (
            'r(\n    name = "x",\n    # what it needs\n    deps = [\n        "//a",  # y\n    ],\n    tags = [],\n)\n'
        )
        assert change(before, drop=("//a",)) == before.replace('[\n        "//a",  # y\n    ]', "[]")
        assert change(before, drop=("//a",), when_empty=WhenEmpty.ATTRIBUTE) == change(before, drop=("//a",))
        before = before.replace("    # what it needs\n", "")
        after = 'r(\n    name = "x",\n    tags = [],\n)\n'
        assert change(before, drop=("//a",), when_empty=WhenEmpty.ATTRIBUTE) == after

    def test_the_attribute_of_a_one_line_call(self) -> None:
        before = 'r(name = "x", deps = ["//a"])'
        assert change(before, drop=("//a",), when_empty=WhenEmpty.ATTRIBUTE) == 'r(name = "x")'

    def test_the_last_of_a_list_that_is_part_of_a_sum(self) -> None:
        def dropped(before: str, when_empty: WhenEmpty = WhenEmpty.TIDY) -> str:
            return change(before, drop=("//a",), when_empty=when_empty)

        assert dropped('r(deps = ["//a"] + B)', WhenEmpty.BRACKETS) == "r(deps = [] + B)"
        assert dropped('r(deps = ["//a"] + B)') == "r(deps = B)"
        assert dropped('r(deps = B + (["//a"]))') == "r(deps = B)"
        assert dropped('r(deps = (B + ["//a"]) + C)') == "r(deps = (B) + C)"
        assert dropped('r(deps = B + [\n    "//a",\n] + select({}))') == "r(deps = B + select({}))"
        assert dropped('r(deps = ["//a"] + [x for x in B])') == "r(deps = [x for x in B])"
        assert dropped('r(deps = B + [":" + x for x in ["//a"]])') == "r(deps = B)"
        # What would be lost, or would look odd, stays.
        assert dropped('r(deps = [\n    # why\n    B[0], "//a"] + B)').count("# why") == 1
        assert dropped('r(deps = ["//a"] +  # why\n    B)') == "r(deps = [] +  # why\n    B)"
        assert dropped('D = ["//a"] + B\n') == "D = [] + B\n"

    def test_the_last_of_a_statement(self) -> None:
        def dropped(before: str) -> str:
            return change(before, drop=("//a",), when_empty=WhenEmpty.TIDY)

        assert dropped('D = B\nD += ["//a"]  # why\nr(D)\n') == "D = B\nr(D)\n"
        assert dropped('D = B\nD.extend(["//a"])') == "D = B\n"
        assert dropped('if x:\n    D += ["//a"]\n') == "if x:\n    D += []\n"
        assert dropped('D = B\n\n# why\nD += ["//a"]\n\nr(D)\n') == "D = B\n\nr(D)\n"
        assert dropped('D = B\n# both\nD += ["//a"]\nD += [":b"]\n') == 'D = B\n# both\nD += [":b"]\n'

    def test_a_statement(self) -> None:
        def dropped(before: str) -> str:
            file = BuildFile.parse("BUCK", before.encode())
            starts = [file.start(n) for n in file.nodes if isinstance(n, ast.Expr) and "append" in ast.unparse(n)]
            return edits.edit(file, [edits.DropStatement(start) for start in starts]).decode()

        assert dropped('D = []\nD.append(":a")\nr(D)\n') == "D = []\nr(D)\n"
        assert dropped('if x:\n    D.append(":a")  # why\n') == "if x:\n    pass  # why\n"
        assert dropped('if x:\n    D.append(":a")\n    D.append(":b")\n') == "if x:\n    pass\n"
        assert dropped('D.append(\n    ":a",\n)\r\nr(D)') == "r(D)"
        with pytest.raises(edits.EditError, match="several statements"):
            dropped('D = []; D.append(":a")')

    def test_a_dropped_and_an_added_one_at_once(self) -> None:
        assert change(stacked('"//lib:old",'), ("//lib:a",), ("//lib:old",)) == stacked('"//lib:a",')


class TestNewAttribute:
    """A call gets `deps`."""

    def test_behind_the_others(self) -> None:
        before = 'rule(\n    name = "x",\n    srcs = [\n        "x.py",\n    ],\n)\n'
        after = (
            'rule(\n    name = "x",\n    srcs = [\n        "x.py",\n    ],\n    deps = [\n        "//a",\n    ],\n)\n'
        )
        assert new_attribute(before, "//a") == after

    def test_flat_where_the_call_has_flat_lists(self) -> None:
        before = 'rule(\n    name = "x",\n    srcs = ["x.py"],\n)\n'
        assert new_attribute(before, "//a") == 'rule(\n    name = "x",\n    srcs = ["x.py"],\n    deps = ["//a"],\n)\n'

    def test_no_trailing_comma_where_there_was_none(self) -> None:
        assert (
            new_attribute('rule(\n    name = "x"  # n\n)\n', "//a")
            == 'rule(\n    name = "x",  # n\n    deps = ["//a"]\n)\n'
        )

    def test_a_hanging_first_line(self) -> None:
        before = 'fbcode_target(_kind = r.lib,\n    name = "x",\n)\n'
        assert new_attribute(before, "//a") == 'fbcode_target(_kind = r.lib,\n    name = "x",\n    deps = ["//a"],\n)\n'

    def test_on_one_line(self) -> None:
        assert new_attribute("rule(name='x', srcs=['a'])", "//a") == "rule(name='x', srcs=['a'], deps=['//a'])"

    def test_before_kwargs_and_external_deps(self) -> None:
        assert new_attribute("rule(name = 'x', **kwargs)", "//a") == "rule(name = 'x', deps = ['//a'], **kwargs)"
        before = 'rule(\n    name = "x",\n    external_deps = ["y"],\n)\n'
        after = 'rule(\n    name = "x",\n    deps = ["//a"],\n    external_deps = ["y"],\n)\n'
        assert new_attribute(before, "//a") == after

    def test_never_twice(self) -> None:
        with pytest.raises(EditError, match="deps already"):
            new_attribute("rule(name = 'x', deps = [])", "//a")


class TestExtend:
    """A list is added to what is no list literal."""

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("COMMON", 'COMMON + ["//a"]'),
            ("f(x)", 'f(x) + ["//a"]'),
            ("A + B", 'A + B + ["//a"]'),
            ("None", '["//a"]'),
            ("A if c else B", '(A if c else B) + ["//a"]'),
            ("(A if c else B)", '(A if c else B) + ["//a"]'),
            ("A or []", '(A or []) + ["//a"]'),
            ("[x for x in A]", '[x for x in A] + ["//a"]'),
            ('select({"DEFAULT": []})', '["//a"] + select({"DEFAULT": []})'),
        ],
    )
    def test_expressions(self, before: str, after: str) -> None:
        assert extend(f"r(deps = {before}, n = 1)", "//a") == f"r(deps = {after}, n = 1)"

    def test_a_list_inside_is_changed_at_the_same_time(self) -> None:
        text = 'r(deps = ["//a"] + B)'
        file = BuildFile.parse("defs.bzl", text.encode())
        changes = [Extend(edits.Span(9, 20), ("//c",)), ListChange(9, ("//b",))]
        assert edits.edit(file, changes) == b'r(deps = ["//a", "//b"] + B + ["//c"])'


def test_what_is_not_there_is_an_error() -> None:
    file = BuildFile.parse("BUCK", b'r(deps = ["//a"])')
    for one in (ListChange(8), ListChange(9, drop=(9,)), NewAttribute(0, "x", ()), Extend(edits.Span(0, 2), ())):
        with pytest.raises(EditError, match="BUCK:1"):
            edits.edit(file, [one])


def test_overlapping_edits_are_an_error() -> None:
    with pytest.raises(EditError, match="overlap"):
        edits.apply(b"abc", [edits.Edit(0, 2, b""), edits.Edit(1, 3, b"")])


@settings(deadline=None)
@given(st.integers(0, 1 << 40))
def test_only_what_was_asked_for_changes(seed: int) -> None:
    random_build_files.check(seed)


@settings(deadline=None)
@given(st.integers(0, 1 << 40))
def test_a_torn_file_is_refused_or_edited_like_others(seed: int) -> None:
    random_build_files.check_torn(seed)


@settings(deadline=None)
@given(st.integers(0, 1 << 40))
def test_dropping_what_was_added_restores_a_list_with_trailing_commas(seed: int) -> None:
    data = random_build_files.Writer(seed).file()
    file = BuildFile.parse("BUCK", data)
    for node in random_build_files.lists(file):
        closed = (node.elts and file.comma_after(file.end(node.elts[-1]))) or 0
        if node.lineno == node.end_lineno or not file.end(node.elts[-1] if node.elts else node) <= closed < file.end(
            node
        ):
            continue
        added = BuildFile.parse("BUCK", edits.edit(file, [ListChange(file.start(node), ("//new:x",))]))
        new = next(n for n in added.nodes if isinstance(n, ast.Constant) and n.value == "//new:x")
        parent = added.parents[new]
        assert edits.edit(added, [ListChange(added.start(parent), drop=(added.start(new),))]) == data
