"""From an edge of a target to the literal that a person wrote, through the real engine, form by form."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from buildfix import edits, engine
from buildfix.findings import Reason
from buildfix.sites import AddPlace, AttributeSite, Blocked, Sites

Make = Callable[[dict[str, str | bytes]], Path]


class Repo:
    """Some build files, evaluated."""

    def __init__(self, root: Path, modes: tuple[engine.Mode, ...] = (engine.Mode(),)) -> None:
        self.root = root
        request = engine.Request(
            str(root), "buck", (engine.Cell("root", "", ("BUCK",)),), do=("evaluate",), modes=modes
        )
        self.facts = engine.run(request)
        self.sites = Sites(self.facts, self.read)

    def read(self, path: str) -> bytes | None:
        file = self.root / path
        return file.read_bytes() if file.is_file() else None

    def site(self, name: str, attribute: str = "deps", package: str = "app") -> AttributeSite:
        leaf = next(c for c in self.facts.calls if c.how != "function" and (c.package, c.name) == (package, name))
        return self.sites.locate(leaf, attribute)

    def owners(self, name: str, text: str) -> set[str]:
        (element,) = self.site(name).find(text)
        return {owner.name for owner in self.sites.owners(element)}

    def add(self, name: str, text: str = "//new") -> tuple[str, str]:
        """(file, its text with the entry added), or (reason, words)."""
        place = self.sites.adds(self.site(name))
        if isinstance(place, Blocked):
            return place.reason.name, place.words
        after = edits.edit(self.sites.file(place.file), [edits.adding(place, (text,))])
        return place.file, _flat(after.decode())

    def drop(self, name: str, text: str) -> str:
        """The file with the entry dropped."""
        (element,) = self.site(name).find(text)
        return edits.edit(self.sites.file(element.file), [edits.dropping(element)]).decode()


def _flat(text: str) -> str:
    """The text with each list on one line."""
    return re.sub(r"\[\n\s+([^\[\]]*),\n\s*\]", lambda m: "[" + re.sub(r",\n\s+", ", ", m[1]) + "]", text)


@pytest.fixture
def repo(workspace: Make) -> Callable[..., Repo]:
    def make(build: str, others: Mapping[str, str] | None = None) -> Repo:
        return Repo(workspace({"app/BUCK": build, **(others or {})}))

    return make


# One build file for each way to write `deps` of the target `t`: its form, the labels in the order of the source, and
# the same file after `//new` was added to `t`.
FORMS = {
    "a literal list": (
        'lib(name = "t", deps = [":a", ":b"])\n',
        "literal", [":a", ":b"],
        'lib(name = "t", deps = [":a", ":b", "//new"])\n',
    ),
    "no attribute": ('lib(name = "t")\n', "absent", [], 'lib(name = "t", deps = ["//new"])\n'),
    "None": ('lib(name = "t", deps = None)\n', "other", [], 'lib(name = "t", deps = ["//new"])\n'),
    "a sum with a constant": (
        'C = [":c"]\nlib(name = "t", deps = [":a"] + C)\nlib(name = "u", deps = C)\n',
        "literal+variable", [":a", ":c"],
        'C = [":c"]\nlib(name = "t", deps = [":a", "//new"] + C)\nlib(name = "u", deps = C)\n',
    ),
    "a shared constant": (
        'C = [":c"]\nlib(name = "t", deps = C)\nlib(name = "u", deps = C)\n',
        "literal+variable", [":c"],
        'C = [":c"]\nlib(name = "t", deps = C + ["//new"])\nlib(name = "u", deps = C)\n',
    ),
    "a constant of its own": (
        'C = [":c"]\nlib(name = "t", deps = C)\n',
        "literal+variable", [":c"],
        'C = [":c", "//new"]\nlib(name = "t", deps = C)\n',
    ),
    "+=": (
        'D = [":a"]\nD += [":b"]\nlib(name = "t", deps = D)\n',
        "literal+variable", [":a", ":b"],
        'D = [":a", "//new"]\nD += [":b"]\nlib(name = "t", deps = D)\n',
    ),
    "a name bound twice": (
        'D = [":old"]\nlib(name = "o", deps = D)\nD = [":a"]\nlib(name = "t", deps = D)\n',
        "literal+variable", [":a"],
        'D = [":old"]\nlib(name = "o", deps = D)\nD = [":a", "//new"]\nlib(name = "t", deps = D)\n',
    ),
    "select beside a list": (
        'lib(name = "t", deps = [":a"] + select({"c": [":b"], "DEFAULT": []}))\n',
        "literal+select", [":a", ":b"],
        'lib(name = "t", deps = [":a", "//new"] + select({"c": [":b"], "DEFAULT": []}))\n',
    ),
    "select alone": (
        'lib(name = "t", deps = select({"c": [":b"], "DEFAULT": []}))\n',
        "literal+select", [":b"],
        'lib(name = "t", deps = ["//new"] + select({"c": [":b"], "DEFAULT": []}))\n',
    ),
    "conditional entry": (
        'X = True\nlib(name = "t", deps = [":a" if X else ":b", ":c"])\n',
        "literal+conditional", [":a", ":b", ":c"],
        'X = True\nlib(name = "t", deps = [":a" if X else ":b", ":c", "//new"])\n',
    ),
    "conditional list": (
        'X = True\nlib(name = "t", deps = [":a"] if X else [":b"])\n',
        "literal+conditional", [":a", ":b"],
        'X = True\nlib(name = "t", deps = ([":a"] if X else [":b"]) + ["//new"])\n',
    ),
    "a comprehension": (
        'lib(name = "t", deps = [":" + x for x in ["a", "b"]])\n',
        "literal+comprehension", [":a", ":b"],
        'lib(name = "t", deps = [":" + x for x in ["a", "b"]] + ["//new"])\n',
    ),
    "string expressions": (
        'S = "x"\nlib(name = "t", deps = [":a" + S, ":%s" % S, "//{}:y".format(S), ":" + S.upper()])\n',
        "literal", [":ax", ":x", "//x:y", ":X"],
        'S = "x"\nlib(name = "t", deps = [":a" + S, ":%s" % S, "//{}:y".format(S), ":" + S.upper(), "//new"])\n',
    ),
    "kwargs from dict()": (
        'K = dict(deps = [":a"])\nlib(name = "t", **K)\n',
        "kwargs+literal", [":a"],
        'K = dict(deps = [":a", "//new"])\nlib(name = "t", **K)\n',
    ),
    "kwargs from a dict literal": (
        'lib(name = "t", **{"deps": [":a"]})\n',
        "kwargs+literal", [":a"],
        'lib(name = "t", **{"deps": [":a", "//new"]})\n',
    ),
    "an item of a dict": (
        'D = {"t": [":a"], "u": [":b"]}\nlib(name = "t", deps = D["t"])\nlib(name = "u", deps = D.get("u", []))\n',
        "literal+variable", [":a"],
        'D = {"t": [":a", "//new"], "u": [":b"]}\n'
        'lib(name = "t", deps = D["t"])\nlib(name = "u", deps = D.get("u", []))\n',
    ),
    "a loop over a table": (
        '[lib(name = n, deps = d) for n, d in [("t", [":a"]), ("u", [":b"])]]\n',
        "literal+variable", [":a"],
        '[lib(name = n, deps = d) for n, d in [("t", [":a", "//new"]), ("u", [":b"])]]\n',
    ),
    "a loop over a dict": (
        'T = {"u": {"deps": [":b"]}, "t": {"deps": [":a"]}}\n'
        'def f():\n    for n, k in T.items():\n        lib(name = n, **k)\nf()\n',
        "kwargs+literal", [":a"],
        'T = {"u": {"deps": [":b"]}, "t": {"deps": [":a", "//new"]}}\n'
        'def f():\n    for n, k in T.items():\n        lib(name = n, **k)\nf()\n',
    ),
    "append and extend": (
        'def f():\n    d = [":a"]\n    d.append(":b")\n    d.extend([":c"])\n    lib(name = "t", deps = d)\nf()\n',
        "literal+variable+append", [":a", ":b", ":c"],
        'def f():\n    d = [":a", "//new"]\n    d.append(":b")\n    d.extend([":c"])\n'
        '    lib(name = "t", deps = d)\nf()\n',
    ),
    "a helper function": (
        'def more(x):\n    return [":" + x, ":z"]\nlib(name = "t", deps = [":a"] + more("y"))\n',
        "literal+call", [":a", ":y", ":z"],
        'def more(x):\n    return [":" + x, ":z"]\nlib(name = "t", deps = [":a", "//new"] + more("y"))\n',
    ),
    "a macro that forwards kwargs": (
        'def m(**kwargs):\n    lib(**kwargs)\nm(name = "t", deps = [":a"])\n',
        "literal", [":a"],
        'def m(**kwargs):\n    lib(**kwargs)\nm(name = "t", deps = [":a", "//new"])\n',
    ),
    "a rule handed to a wrapper": (
        'def gated(_kind, **kwargs):\n    _kind(**kwargs)\n'
        'gated(_kind = lib,\n    name = "t",\n    deps = [":a"],\n)\n',
        "literal", [":a"],
        'def gated(_kind, **kwargs):\n    _kind(**kwargs)\n'
        'gated(_kind = lib,\n    name = "t",\n    deps = [":a", "//new"],\n)\n',
    ),
    "a positional argument": (
        'def m(name, deps):\n    lib(name = name, deps = deps)\nm("t", [":a"])\n',
        "kwargs+literal", [":a"],
        'def m(name, deps):\n    lib(name = name, deps = deps)\nm("t", [":a", "//new"])\n',
    ),
    "a parameter of another name": (
        'def m(name, more = []):\n    lib(name = name, deps = [":own"] + more)\n'
        'm(name = "t", more = [":a"])\nm(name = "u")\n',
        "absent", [":own", ":a"],
        'def m(name, more = []):\n    lib(name = name, deps = [":own"] + more)\n'
        'm(name = "t", more = [":a", "//new"])\nm(name = "u")\n',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_forms(repo: Callable[..., Repo], name: str) -> None:
    build, form, texts, after = FORMS[name]
    one = repo(build)
    site = one.site("t")
    assert (site.form, [e.text for e in site.elements]) == (form, texts)
    assert not site.missing
    assert one.add("t") == ("app/BUCK", after)


def test_an_element_names_its_place_and_conditions(repo: Callable[..., Repo]) -> None:
    site = repo('lib(\n    name = "t",\n    deps = [\n        ":a",  # keep\n    ] + select({"x": [":b"]}),\n)\n').site(
        "t"
    )
    a, b = site.elements
    assert (a.file, a.line, a.conditions, [c.text for c in a.comments]) == ("app/BUCK", 4, (), ["# keep"])
    assert (b.line, b.conditions) == (5, ("x",))
    assert (site.file, site.line) == ("app/BUCK", 3)


def test_twins_of_one_call_share_its_literals(repo: Callable[..., Repo]) -> None:
    macro = (
        'def twins(name, deps):\n    for s in ["", "_static"]:\n        lib(name = name + s, deps = [":own"] + deps)\n'
    )
    one = repo(f'{macro}twins(name = "t", deps = [":a"])\nlib(name = "u", deps = [":a"])\n')
    assert one.owners("t", ":a") == {"t", "t_static"}
    assert one.owners("t", ":own") == {"t", "t_static"}
    assert one.owners("u", ":a") == {"u"}
    assert one.add("t_static")[1].startswith(macro + 'twins(name = "t", deps = [":a", "//new"])')


def test_a_target_that_the_macro_makes_beside_it_is_no_owner(repo: Callable[..., Repo]) -> None:
    macro = 'def m(name, deps):\n    lib(name = name, deps = deps)\n    gen(name = name + "_gen", out = "x")\n'
    assert repo(f'{macro}m(name = "t", deps = [":a"])\n').owners("t", ":a") == {"t"}


def test_a_new_attribute_reaches_what_the_macro_hands_it_to(repo: Callable[..., Repo]) -> None:
    macro = (
        "def m(name, **kwargs):\n"
        '    gen(name = name + "_gen", out = "x")\n'
        '    lib(name = name + "_lib", deps = [":own"], visibility = kwargs.get("visibility"))\n'
        "    lib(name = name, **kwargs)\n"
        '    lib(name = name + "_too", **dict(kwargs, srcs = []))\n'
    )
    one = repo(f'{macro}m(name = "t")\nm(name = "u")\n')
    place = one.sites.adds(one.site("t"))
    assert isinstance(place, AddPlace) and place.kind == "attribute" and place.line == 6
    assert {owner.name for owner in one.sites.owners(place)} == {"t", "t_too"}


def test_a_macro_that_hands_its_parameter_to_another_target(repo: Callable[..., Repo]) -> None:
    macro = (
        'def m(name, deps = []):\n    lib(name = "_" + name, deps = deps)\n    lib(name = name, deps = [":_" + name])\n'
    )
    one = repo(f'{macro}m(name = "t")\n')
    assert one.add("t")[1].startswith(macro.replace('":_" + name]', '":_" + name, "//new"]'))
    assert one.add("_t")[1].endswith('m(name = "t", deps = ["//new"])\n')


def test_what_a_macro_adds_belongs_to_all_its_targets(repo: Callable[..., Repo]) -> None:
    files = {
        "defs.bzl": 'def m(name, deps = []):\n    lib(name = name, deps = [":own"] + deps)\n',
        "b/BUCK": 'load("//:defs.bzl", "m")\nm(name = "v")\n',
    }
    one = repo('load("//:defs.bzl", "m")\nm(name = "t", deps = [":a"])\nm(name = "u")\n', files)
    assert one.owners("t", ":own") == {"t", "u", "v"}
    assert one.owners("t", ":a") == {"t"}
    (own,) = one.site("t").find(":own")
    assert (own.file, own.line) == ("defs.bzl", 2)
    assert one.add("u")[1].endswith('m(name = "u", deps = ["//new"])\n')


def test_a_constant_of_another_file_belongs_to_all_who_use_it(repo: Callable[..., Repo]) -> None:
    files = {
        "defs.bzl": 'C = [":c"]\n',
        "again.bzl": 'load("//:defs.bzl", "C")\nD = C\n',
        "b/BUCK": 'load("//:again.bzl", E = "D")\nlib(name = "v", deps = [":w"] + E)\nlib(name = "w", deps = [":c"])\n',
    }
    one = repo('load("//:defs.bzl", "C")\nlib(name = "t", deps = C)\n', files)
    (element,) = one.site("t").elements
    assert (element.file, element.line) == ("defs.bzl", 1)
    assert one.owners("t", ":c") == {"t", "v"}


def test_a_macro_that_rewrites_labels(repo: Callable[..., Repo]) -> None:
    macro = (
        "def m(name, deps):\n"
        '    deps = [d.replace("//root/", "//") for d in deps if not d.startswith("//gone")]\n'
        "    lib(name = name, deps = deps)\n"
    )
    one = repo(f'{macro}m(name = "t", deps = ["//root/x:y", "//gone:z"])\n')
    site = one.site("t")
    assert [e.text for e in site.elements] == ["//root/x:y", "//gone:z"]
    assert [e.text for e in site.find("//x:y")] == ["//root/x:y"]
    assert not site.missing


def test_a_macro_that_changes_its_kwargs(repo: Callable[..., Repo]) -> None:
    macro = (
        "def m(**kwargs):\n"
        '    kwargs["deps"] = kwargs.get("deps", []) + [":own"]\n'
        '    kwargs["deps"].append(":late")\n'
        "    lib(**kwargs)\n"
    )
    one = repo(f'{macro}m(name = "t", deps = [":a"])\nm(name = "u")\n')
    assert [e.text for e in one.site("t").elements] == [":a", ":own", ":late"]
    assert [e.text for e in one.site("u").elements] == [":own", ":late"]
    assert one.owners("t", ":own") == {"t", "u"}


def test_what_is_computed_is_named(repo: Callable[..., Repo]) -> None:
    site = repo('lib(name = "t", deps = [":a"] + unknown(x = "y") + [":b-c"[0:2]])\n').site("t")
    assert site.find(":a") and site.gaps[0].line == 1
    assert "unknown" in site.gaps[0].words


def test_a_wrapper_that_is_not_known_takes_its_labels_from_the_evaluation(repo: Callable[..., Repo]) -> None:
    build = 'def requirement(n):\n    return "@pip//" + "_".join([p for p in n.split("-")])\n'
    one = repo(build + 'lib(name = "t", deps = [":a", requirement("x-y"), ":b"])\n')
    assert [e.text for e in one.site("t").elements] == [":a", "@pip//x_y", ":b"]
    assert one.drop("t", "@pip//x_y") == build + 'lib(name = "t", deps = [":a", ":b"])\n'


def test_a_table_of_platforms(repo: Callable[..., Repo]) -> None:
    site = repo('lib(name = "t", platform_deps = [("linux", [":a"])])\n').site("t", "platform_deps")
    assert [(e.text, e.conditions) for e in site.elements] == [(":a", ("linux",))]


def test_drops(repo: Callable[..., Repo]) -> None:
    one = repo('D = [":a"]\nD += [":b"]\nlib(name = "t", deps = D + select({"x": [":c"]}))\n')
    assert one.drop("t", ":a").startswith('D = []\nD += [":b"]\n')
    assert one.drop("t", ":b").startswith('D = [":a"]\nlib(')
    assert one.drop("t", ":c").endswith('select({"x": []}))\n')


def test_one_side_of_a_conditional_is_not_dropped(repo: Callable[..., Repo]) -> None:
    one = repo('X = True\nlib(name = "t", deps = [":a" if X else ":b"])\n')
    with pytest.raises(edits.EditError, match="app/BUCK:2: it is one side of a conditional entry"):
        one.drop("t", ":a")


def test_a_macro_without_the_parameter_is_not_given_it(repo: Callable[..., Repo]) -> None:
    one = repo('def m(name):\n    lib(name = name, deps = [":own"])\nm(name = "t")\nm(name = "u")\n')
    reason, words = one.add("t")
    assert reason == Reason.SHARED.name and "app:u" in words
    one = repo('def m(name):\n    lib(name = name)\nm(name = "t")\n')
    assert one.add("t") == ("app/BUCK", 'def m(name):\n    lib(name = name, deps = ["//new"])\nm(name = "t")\n')


def test_loops_hand_each_target_its_own_literals(repo: Callable[..., Repo]) -> None:
    build = 'def f():\n    for n in ["t", "u"]:\n        lib(name = n, deps = [":" + n + "_x", ":a"])\nf()\n'
    one = repo(build)
    assert [e.text for e in one.site("u").elements] == [":u_x", ":a"]
    assert one.owners("t", ":a") == {"t", "u"}


def test_files_that_are_not_there(repo: Callable[..., Repo]) -> None:
    one = repo('lib(name = "t", deps = [":a"])\n')
    sites = Sites(one.facts, lambda path: None)
    site = sites.locate(one.site("t").leaf, "deps")
    assert [m.text for m in site.missing] == [":a"]
    place = sites.adds(site)
    assert isinstance(place, Blocked) and place.reason is Reason.NOT_EDITABLE and "cannot be read" in place.words


def test_hostile_expressions_end(repo: Callable[..., Repo]) -> None:
    one = repo(
        "a0 = [':x']\n" + "".join(f"a{i + 1} = a{i} + a{i}\n" for i in range(14)) + 'lib(name = "t", deps = a14)\n'
    )
    assert one.site("t").elements[0].text == ":x"


def test_calls_around_labels_are_named(repo: Callable[..., Repo]) -> None:
    build = 'def requirement(n):\n    return "@pip//" + n\n'
    one = repo(build + 'lib(name = "t", deps = [":a", requirement("x")])\n')
    place = one.sites.adds(one.site("t"))
    assert isinstance(place, AddPlace) and place.wrap is not None and place.wrap.function == "requirement"
    assert one.add("t", "@pip//y")[1].endswith('deps = [":a", requirement("x"), requirement("y")])\n')


def test_each_mode_counts(workspace: Make) -> None:
    build = 'load("@x//:y.bzl", "m")\nC = [":c"]\nlib(name = "t", deps = C)\nlib(name = "u", deps = C if m else [])\n'
    modes = (engine.Mode("", symbols={"m": "False"}), engine.Mode("on", symbols={"m": "True"}))
    one = Repo(workspace({"app/BUCK": build}), modes)
    assert one.owners("t", ":c") == {"t", "u"}


def test_a_function_that_changes_what_is_passed_to_it(repo: Callable[..., Repo]) -> None:
    build = (
        'def more(args, l):\n    args["deps"] += [":b"]\n    l.append(":c")\n    l += [":d"]\n'
        'def other(l):\n    l = l + [":no"]\n'
        'def f(name):\n    args = {"deps": [":a"]}\n    l = [":l"]\n    more(args, l = l)\n    other(l)\n'
        '    lib(name = name, **args)\n    lib(name = name + "_l", deps = l)\n'
        'f("t")\n'
    )
    one = repo(build)
    assert [e.text for e in one.site("t").elements] == [":a", ":b"]
    assert [e.text for e in one.site("t_l").elements] == [":l", ":c", ":d"]
    assert not one.site("t").missing and not one.site("t_l").missing
    assert one.drop("t", ":b") == build.replace('    args["deps"] += [":b"]\n', '    args["deps"] += []\n')
    assert one.drop("t_l", ":c") == build.replace('    l.append(":c")\n', "")


def test_the_values_of_a_dict(repo: Callable[..., Repo]) -> None:
    site = repo('lib(name = "t", deps = {"x": ":a", "y": ":b"}.values())\n').site("t")
    assert [(e.text, e.line) for e in site.elements] == [(":a", 1), (":b", 1)]
    assert "app/BUCK:1: it is no entry of a list" in site.elements[0].problem


def test_what_the_entries_of_a_list_are_made_into(repo: Callable[..., Repo]) -> None:
    one = repo('lib(name = "t", deps = ["//k:" + x for x in ["a", "b"]])\n')
    assert one.add("t", "//k:c") == ("app/BUCK", 'lib(name = "t", deps = ["//k:" + x for x in ["a", "b", "c"]])\n')
    assert one.add("t", "//l:c")[1].endswith('["a", "b"]] + ["//l:c"])\n')
    one = repo('lib(name = "t", deps = [x.replace("-", "_") for x in ["a-b"]])\n')
    assert one.add("t")[1].endswith('["a-b"]] + ["//new"])\n')
    one = repo('lib(name = "t", deps = ["//k:" + x for x in ["a", "b"] if x != "b"])\n')
    assert one.add("t", "//k:c")[1].endswith(' + ["//k:c"])\n')


def test_a_default_is_not_lost(repo: Callable[..., Repo]) -> None:
    macro = 'def m(name, deps = [":a"]):\n    lib(name = name, deps = deps)\n'
    assert repo(f'{macro}m(name = "t")\n').add("t")[1].startswith('def m(name, deps = [":a", "//new"]):')
    reason, words = repo(f'{macro}m(name = "t")\nm(name = "u")\n').add("t")
    assert (reason, words) == (Reason.SHARED.name, "app/BUCK:1 also feeds //app:u")
    macro = 'def m(name, **k):\n    lib(name = name, deps = k.pop("deps", [":a"]) + [":b"])\n'
    reason, _ = repo(f'{macro}m(name = "t")\nm(name = "u")\n').add("t")
    assert reason == Reason.SHARED.name


def test_what_people_wrote_for_a_target_comes_before_what_its_helpers_hold(repo: Callable[..., Repo]) -> None:
    build = 'def more():\n    return [":z"]\nlib(name = "t", deps = more())\n'
    assert repo(build).add("t") == ("app/BUCK", build.replace("more())", 'more() + ["//new"])'))
