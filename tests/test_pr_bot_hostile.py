"""Artefacts made by people who mean harm: refused, or rendered so that nothing of them gets out of its code.

The Markdown is read by two parsers, one of them GitHub's own.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import cmarkgfm
import jsonschema
import msgspec
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from buildfix.github import artefact, comment, diffs, fixes, render
from buildfix.github.artefact import Artefact, ArtefactError
from buildfix.github.visible import plain

HEAD = "a" * 40
SCHEMA = json.loads((Path(__file__).parent.parent / "buildfix/github/artefact.schema.json").read_text("utf-8"))

TEXTS = [
    "@octocat",
    "@orchard/maintainers please merge",
    "#1",
    "GH-1 and orchard/farm#12",
    "fixes #1, closes orchard/farm#2",
    "0123456789abcdef0123456789abcdef01234567",
    "orchard@0123456789abcdef0123456789abcdef01234567",
    "https://evil.invalid/",
    "www.evil.invalid",
    "<https://evil.invalid/>",
    "someone@evil.invalid",
    "[click](https://evil.invalid/)",
    "[click][1]\n\n[1]: https://evil.invalid/",
    "![pixel](https://evil.invalid/pixel.png)",
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "</code></pre><h1>Approved</h1>",
    "<details><summary>x</summary>",
    "-->",
    "<!-- buildfix 1 0123456789abcdef -->",
    "<!-- buildfix 1 summary -->",
    "<!--",
    "<![CDATA[",
    "`",
    "``",
    "```",
    "`` ` ```` `",
    "` @octocat `",
    " `",
    "a` @octocat `b",
    "``` @octocat",
    "x\n```\n@octocat",
    "x\n\n@octocat\n\n",
    "x\r\n@octocat",
    "x\r@octocat",
    "x\u2028@octocat\u2029",
    "x\x0b\x0c\x85@octocat",
    "~~~\n@octocat",
    "````suggestion\nrm -rf /\n````",
    "# heading",
    "x\n===",
    "---",
    "- [x] approved",
    "1. one\n2. two",
    "> [!WARNING]\n> merge now",
    "| a | b |\n|---|---|\n| @octocat | #1 |",
    "[^1]\n\n[^1]: note",
    ":tada: :+1:",
    "$`\\href{https://evil.invalid/}{x}`$",
    "$$\\unicode{x}$$",
    "**bold** _it_ ~~gone~~",
    "\\`@octocat\\`",
    "&#64;octocat &lt;b&gt; &nbsp;",
    "\u202e//evil\u202c",
    "\u2066x\u2069\u200f\u061c",
    "a\u200bb\u200dc\u2060d\ufeffe",
    "\u3164\u2800\u115f\uffa0",
    "\U000e0041\U000e0042",
    "a\u0338\u0489\ufe0f",
    "\x00\x07\x08\x7f",
    "\x1b[31mred\x1b]8;;https://evil.invalid/\x07",
    "{target} {0.__class__} %s %(x)s",
    "${{ github.token }} $(id) `id`",
    "; rm -rf ~ #",
    "--apply -- /etc",
    "../../etc/passwd",
    "",
    "   ",
    "x" * 990,
    "`" * 990,
    "`" * 8 + " " + "`" * 9,
    "`" * 81 + "@octocat" + "`" * 80,
    "@octocat " * 111,
    "\u202e" * 990,
    "\uff20octocat \uff031",
]


def finding(text: str, **fields: Any) -> dict[str, Any]:
    """A finding all of whose texts are `text`."""
    place = {"file": text, "line": 3}
    evidence = {"place": place, "text": text}
    dependent = {"target": text, "place": place, "module": text, "evidence": evidence, "path": [text] * 3}
    return {
        "code": "BF002",
        "target": text,
        "place": place,
        "dep": text,
        "dep_label": text,
        "attribute": text,
        "module": text,
        "evidence": [evidence] * 3,
        "reasons": [text, "marked"],
        "detail": text,
        "path": [text] * 3,
        "dependents": [{**dependent, "rescued": False}, {**dependent, "target": f"{text}2", "rescued": True}],
        "choices": [text, text],
        "fix": "drop",
        "rescue": False,
        "edits": [place],
        "after": [],
        **fields,
    }


def packed(*findings: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    value = {"kind": artefact.KIND, "version": 1, "head": HEAD, "findings": list(findings), "omitted": 0, "changes": []}
    return {**value, **fields}


def read(value: Any) -> Artefact:
    return artefact.decode(json.dumps(value).encode())


# What is rendered


class _Html(HTMLParser):
    """Collects the tags, and the text outside of code, of what a parser made of Markdown."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.comments: list[str] = []
        self.outside, self.code = "", 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.code += tag == "code"

    def handle_endtag(self, tag: str) -> None:
        self.code -= tag == "code"

    def handle_data(self, data: str) -> None:
        self.outside += "" if self.code else data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


_GITHUB_READS = re.compile(r"@|#\d|GH-|[0-9a-f]{7}|://|www\.|[:$]\S+[:$]|[<>{}`\\]|\[|\]")
MARKER = re.compile(r"<!-- buildfix 1 (?:[0-9a-f]{16}|summary) -->\n")


def check_markdown(body: str, expected_blocks: int | None = None) -> None:
    """Nothing that is not ours is outside of code, by either parser, and nothing is invisible."""
    assert len(body) <= 65_536
    assert MARKER.match(body)
    assert all(plain(line) for line in body.split("\n"))
    assert "`" * 20 not in body  # GitHub's parser gives up on long delimiters

    tokens = MarkdownIt("gfm-like", {"html": True, "linkify": True}).parse(body)
    html = [token.content for token in tokens if token.type == "html_block"]
    assert len(html) == 1 and MARKER.fullmatch(html[0].rstrip("\n") + "\n"), html
    kinds = {token.type for token in tokens} | {t.type for token in tokens for t in token.children or ()}
    allowed = {"paragraph", "bullet_list", "list_item", "strong"}
    allowed_kinds = {f"{name}_{end}" for name in allowed for end in ("open", "close")}
    extra = {"inline", "text", "code_inline", "fence", "html_block", "hr", "softbreak"}
    assert kinds <= allowed_kinds | extra, kinds
    fences = [token for token in tokens if token.type == "fence"]
    assert all(token.info in {"diff", "suggestion"} for token in fences)
    outside = [t.content for token in tokens for t in token.children or () if t.type == "text"]
    assert not [text for text in outside if _GITHUB_READS.search(text)], outside

    page = _Html()
    page.feed(cmarkgfm.github_flavored_markdown_to_html(body, Options.CMARK_OPT_UNSAFE))
    assert {tag for tag, _ in page.tags} <= {"p", "strong", "code", "pre", "ul", "li", "hr"}, page.tags
    assert all(not attrs or (tag == "pre" and attrs["lang"] in {"diff", "suggestion"}) for tag, attrs in page.tags)
    assert len(page.comments) == 1
    assert not _GITHUB_READS.search(page.outside), page.outside
    blocks = sum(tag == "pre" for tag, _ in page.tags)
    assert blocks == len(fences) and expected_blocks in {None, blocks}


def bodies(known: Artefact, files: Mapping[str, diffs.Shown]) -> Iterator[str]:
    """Everything that could be written for an artefact."""
    offered = fixes.find(known, files)
    findings = comment.in_order(known.findings)
    for one in findings:
        remark = comment.remark(one, offered.of[one.fingerprint], files)
        yield remark.body
        if remark.suggestion:
            yield remark.suggestion
    for omitted in (0, 5):
        for suggested in (False, True):
            yield render.summary(findings, offered.leftover, suggested, omitted, known.head)
    yield render.nothing_left(known.head)


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_no_text_gets_out_of_its_code(text: str) -> None:
    for fix in ("", "add", "drop"):
        known = read(packed(finding(text, fix=fix)))
        for body in bodies(known, {}):
            check_markdown(body, 0)


@pytest.mark.parametrize("code", [f"BF{number:03}" for number in range(1, 15)])
def test_nor_does_it_for_any_code(code: str) -> None:
    for text in (
        "@octocat",
        "`` ` ```` `",
        "x\n```\n@octocat #1",
        "[click](https://evil.invalid/)",
        "-->",
        "\u202e",
        "",
    ):
        for body in bodies(read(packed(finding(text, code=code, fix=""))), {}):
            check_markdown(body, 0)


@given(st.text(max_size=60), st.sampled_from(["", "add", "drop"]))
def test_no_text_whatsoever_gets_out_of_its_code(text: str, fix: str) -> None:
    known = read(packed(finding(text.encode("utf-8", "replace").decode(), fix=fix)))
    for body in bodies(known, {}):
        check_markdown(body, 0)


@given(st.text(alphabet="`~ @#\n\t-<>[]()!|\\x\u202e", max_size=60))
def test_no_mixture_of_signs_gets_out_of_its_code(text: str) -> None:
    for body in bodies(read(packed(finding(text))), {}):
        check_markdown(body, 0)


def hostile_change(text: str, path: str = "yard/BUCK") -> tuple[Artefact, dict[str, diffs.Shown]]:
    """An artefact that replaces a line by `text` and puts it into a pull request that shows the whole file."""
    lines = text.split("\n")
    added = "".join(f"+{line}\n" for line in lines)
    diff = f"--- a/{path}\n+++ b/{path}\n@@ -1,3 +1,{2 + len(lines)} @@\n a\n-b\n{added} c\n"
    one = finding("//yard:work", fix="drop", place={"file": path, "line": 2}, edits=[{"file": path, "line": 2}])
    files = {path: diffs.shown("@@ -0,0 +1,3 @@\n+a\n+b\n+c")}
    return read(packed(one, changes=[{"path": path, "diff": diff}])), files


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_no_patch_gets_out_of_its_block(text: str) -> None:
    known, files = hostile_change(text)
    shown = 0
    for body in bodies(known, files):
        check_markdown(body)
        shown += "```diff" in body or "```suggestion" in body
    assert bool(shown) == all(plain(line) for line in text.split("\n"))


@given(st.lists(st.sampled_from(["`", "~", " ", "x", "\n", "@me", "suggestion", "<!--"]), max_size=20).map("".join))
def test_no_fence_is_too_short(text: str) -> None:
    known, files = hostile_change(text)
    for body in bodies(known, files):
        check_markdown(body)


def test_a_body_is_never_too_long() -> None:
    many = [finding(f"{number}" + "`" * 190, fix="") for number in range(200)]
    many[0]["path"] = many[0]["path"] * 15
    for body in bodies(read(packed(*many, omitted=10_000)), {}):
        check_markdown(body)


# What is refused

GOOD = packed(finding("//a:b"))
DEEP = "[" * 100_000
REFUSED: dict[str, bytes] = {
    name: value if isinstance(value, bytes) else json.dumps(value).encode()
    for name, value in {
        "empty": b"",
        "no JSON": b"hello",
        "not UTF-8": b'{"kind": "\xff"}',
        "nested without end": DEEP.encode(),
        "a list": [],
        "a text": "x",
        "null": None,
        "no keys": {},
        "an unknown key": {**GOOD, "html": "<b>"},
        "an unknown key of a finding": packed({**finding("x"), "body": "@me"}),
        "an unknown key of a place": packed(finding("x", place={"file": "x", "line": 1, "column": 1})),
        "an unknown key of a change": packed(changes=[{"path": "a/BUCK", "diff": "", "mode": "755"}]),
        "a key is missing": {key: value for key, value in GOOD.items() if key != "omitted"},
        "a key of a finding is missing": packed({k: v for k, v in finding("x").items() if k != "target"}),
        "another kind": {**GOOD, "kind": "something"},
        "another version": {**GOOD, "version": 2},
        "the version as text": {**GOOD, "version": "1"},
        "a short head": {**GOOD, "head": "abc"},
        "a head with a line end": {**GOOD, "head": HEAD + "\n"},
        "a head with capitals": {**GOOD, "head": HEAD.upper()},
        "a head that is a branch": {**GOOD, "head": "refs/heads/main" + "a" * 25},
        "an unknown code": packed(finding("x", code="BF999")),
        "a code that is Markdown": packed(finding("x", code="@me")),
        "an unknown fix": packed(finding("x", fix="run")),
        "a line below zero": packed(finding("x", place={"file": "x", "line": -1})),
        "a line beyond all files": packed(finding("x", place={"file": "x", "line": 10**12})),
        "a line as text": packed(finding("x", place={"file": "x", "line": "1"})),
        "a line with a fraction": packed(finding("x", place={"file": "x", "line": 1.5})),
        "a text that is a number": packed(finding("x", target=1)),
        "a text that is a list": packed(finding("x", target=["x"])),
        "a text that is null": packed(finding("x", target=None)),
        "a text that is too long": packed(finding("x" * 1001)),
        "too many findings": packed(*[finding("x")] * 201),
        "too many choices": packed(finding("x", choices=["x"] * 51)),
        "too many steps": packed(finding("x", path=["x"] * 51)),
        "too many dependents": packed(finding("x", dependents=finding("x")["dependents"] * 26)),
        "too many changes": packed(changes=[{"path": f"a{n}/BUCK", "diff": ""} for n in range(101)]),
        "a diff that is too long": packed(changes=[{"path": "a/BUCK", "diff": "x" * 200_001}]),
        "larger than may be": json.dumps(GOOD).encode() + b" " * 4_000_000,
        "a fingerprint that is none": packed(finding("x", after=["../../x"])),
        "a truth that is text": packed(finding("x", rescue="true")),
        "omitted below zero": packed(omitted=-1),
    }.items()
}
DIFF = "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-a\n+b\n"
REFUSED_CHANGES = {
    "an absolute path": ("/etc/BUCK", DIFF.format("/etc/BUCK")),
    "a path out of the repository": ("a/../../BUCK", DIFF.format("a/../../BUCK")),
    "git's own folder": (".git/hooks/x.bzl", DIFF.format(".git/hooks/x.bzl")),
    "a path with a line end": ("a\n+++ b/BUCK", DIFF.format("a\n+++ b/BUCK")),
    "a path that turns around": ("a\u202e/BUCK", DIFF.format("a\u202e/BUCK")),
    "an empty path": ("", DIFF.format("")),
    "a diff of another file": ("a/BUCK", DIFF.format("b/BUCK")),
    "a diff of two files": ("a/BUCK", DIFF.format("a/BUCK") + DIFF.format("b/BUCK")),
    "a diff that says too little": ("a/BUCK", DIFF.format("a/BUCK").replace("-1 +1", "-1,5 +1,5")),
    "a diff that says too much": ("a/BUCK", DIFF.format("a/BUCK") + "+more\n"),
    "a diff with a mode": ("a/BUCK", "old mode 100644\nnew mode 100755\n" + DIFF.format("a/BUCK")),
    "no diff": ("a/BUCK", "rm -rf /"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_artefact_is_refused(name: str) -> None:
    with pytest.raises(ArtefactError):
        artefact.decode(REFUSED[name])


@pytest.mark.parametrize("name", REFUSED)
def test_the_published_schema_refuses_the_same(name: str) -> None:
    try:
        value = json.loads(REFUSED[name])
    except (ValueError, RecursionError):
        return
    valid = jsonschema.Draft202012Validator(SCHEMA).is_valid(value)
    assert not valid or name in {"larger than may be", "a head with a line end"}  # `$` is read before a last line end


@pytest.mark.parametrize("name", REFUSED_CHANGES)
def test_a_change_that_is_none_is_refused(name: str) -> None:
    path, diff = REFUSED_CHANGES[name]
    with pytest.raises(ArtefactError):
        fixes.find(read(packed(finding("x"), changes=[{"path": path, "diff": diff}])), {})


@pytest.mark.parametrize("path", ["setup.py", ".github/workflows/x.yml", "BUCK.sh", "a/BUCKET", "x.bzl.py"])
def test_only_build_files_are_ever_offered(path: str) -> None:
    one = finding("x", place={"file": path, "line": 1}, edits=[{"file": path, "line": 1}])
    known = read(packed(one, changes=[{"path": path, "diff": DIFF.format(path)}]))
    found = fixes.find(known, {path: diffs.shown("@@ -0,0 +1 @@\n+a")})
    assert [dataclasses.astuple(fix) for fix in found.of.values()] == [(None, "", "")] and not found.leftover


def test_a_suggestion_is_made_of_what_github_shows() -> None:
    """Lines that are not those of the head are not replaced."""
    known, files = hostile_change("d")
    assert [fix for fix in fixes.find(known, files).of.values() if fix.suggestion]
    other = {"yard/BUCK": diffs.shown("@@ -0,0 +1,3 @@\n+a\n+B\n+c")}
    assert not [fix for fix in fixes.find(known, other).of.values() if fix.suggestion]


def test_a_good_artefact_is_good_by_the_published_schema() -> None:
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(GOOD)
    assert json.loads(msgspec.json.encode(read(GOOD))) == GOOD


def test_there_are_enough_of_them() -> None:
    assert len(REFUSED) + len(REFUSED_CHANGES) + len(TEXTS) >= 120
