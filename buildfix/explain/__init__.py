"""Findings and reasons in prose: what `buildfix explain` prints and what docs/findings.md is made of.

Nothing here needs the engine or a repository.
"""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterator
from functools import cache
from importlib import resources

from buildfix.errors import UsageError
from buildfix.explain.codes import CODES
from buildfix.explain.reasons import REASONS
from buildfix.findings import OFF_BY_DEFAULT, Code, Reason

_WIDTH = 120

_HEAD = """\
# Findings

Each finding has a code, the target that it is about, a place, and its evidence. `buildfix explain CODE` prints one of
these sections. What is shown here is what buildfix says about `fixtures/one-of-each-finding`.

Any of them but BF011 is silenced for one run by `--ignore CODE`, for good by `findings: {CODE: false}` in
[buildfix.yaml](config.md), and as far as it is known today by a [baseline](baseline.md). `--select` and `--ignore` take
codes or names. What is not looked for is not repaired either, except that whoever would lose a module by another repair
is given it.
"""
_REASONS_HEAD = """\
## Reasons

Why something is not repaired, or not without `--unsafe-fixes`. The list is complete. `buildfix explain REASON` prints
one of these paragraphs.
"""


class UnknownError(UsageError):
    """Nothing is called so; the message says what is near."""


def listing() -> str:
    """All codes and reasons, one on a line."""
    codes = (f"{code.value} {code.slug}{_off(code)}" for code in Code)
    reasons = (f"{slug(reason)}: {reason.value}" for reason in Reason)
    return "\n".join((*codes, "", "Reasons that keep something from being repaired:", *reasons, ""))


def _off(code: Code) -> str:
    return " (off unless selected)" if code in OFF_BY_DEFAULT else ""


def explain(word: str) -> str:
    """What there is to say about a code (BF001, missing-dep), else about a reason (of-macro). Raises UnknownError."""
    wanted = word.strip().lower().replace("_", "-")
    for code in Code:
        if wanted in (code.value.lower(), code.slug):
            return _section(code)
    for reason in Reason:
        if wanted == slug(reason):
            return _paragraph(reason)
    names = [name for code in Code for name in (code.value, code.slug)] + [slug(reason) for reason in Reason]
    near = difflib.get_close_matches(wanted, names, n=3) or difflib.get_close_matches(word.upper(), names, n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise UnknownError(f"{word!r} is neither a finding nor a reason{hint}; `buildfix explain` lists them")


def document() -> str:
    """The text of docs/findings.md."""
    return "\n".join((_HEAD, *(_section(code) for code in Code), _REASONS_HEAD, *(_paragraph(one) for one in Reason)))


def slug(reason: Reason) -> str:
    """The reason's name as machines and people type it: `would-cycle`."""
    return reason.name.lower().replace("_", "-")


def _section(code: Code) -> str:
    text = CODES[code.value]
    parts = [
        f"## {code.value} {code.slug}",
        _filled(text.what),
        textwrap.indent("\n".join(examples().get(code.value, ())), "    "),
        _filled(f"**Why it matters.** {text.why}"),
        _filled(f"**What to do.** {text.repair}"),
        _filled(f"**To silence it.** {text.silence}") if text.silence else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _paragraph(reason: Reason) -> str:
    return f"### {slug(reason)}: {reason.value}\n{_filled(REASONS[slug(reason)])}\n"


def _filled(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


@cache
def examples() -> dict[str, tuple[str, ...]]:
    """What buildfix says about each kind of finding, by code."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    text = resources.files("buildfix.explain").joinpath("examples.txt").read_text("utf-8")
    for line in text.splitlines():
        if line.startswith("["):
            lines = found.setdefault(line.strip("[]"), [])
        elif line:
            lines.append(line)
    return {code: tuple(shown) for code, shown in found.items()}


def dump(shown: dict[str, tuple[str, ...]]) -> str:
    """The text of examples.txt."""
    return "\n".join(_dumped(shown))


def _dumped(shown: dict[str, tuple[str, ...]]) -> Iterator[str]:
    for code, lines in sorted(shown.items()):
        yield from (f"[{code}]", *lines, "")
