"""From an attribute of a target to where each of its entries is written.

`Locator.locate` starts at the call that people wrote and walks the attribute's expression outwards over the actual call
stack (walk.py, scopes.py); what only the rule's own call has (a macro added it) is located from there. Every label of
the evaluated lists is accounted for by an element, or stands in `missing` with the place where a person should look.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

from buildfix import labels, values
from buildfix.activations import Env
from buildfix.buildfile import BuildFileError, Span
from buildfix.engine import Call, Frame
from buildfix.literals import Element, Gap, Wrap
from buildfix.literals import Sequence as Listed
from buildfix.places import Owner
from buildfix.scopes import Scopes
from buildfix.stacks import Stacks
from buildfix.walk import Walk


class Unlocated(NamedTuple):
    """A label of an evaluated list that no element accounts for, and where it seems to come from."""

    text: str
    file: str
    line: int
    words: str


@dataclass(frozen=True, eq=False)
class AttributeSite:
    """How an attribute of a target is written.

    `form` names what its value is made of, joined by `+`: literal, variable, select, conditional, comprehension, call,
    parameter, default, append, kwargs, dict, other; or it is `absent`. (`file`, `line`) is the attribute, or the call
    where the attribute is absent.
    """

    leaf: Call = field(repr=False)
    written: Call = field(repr=False)
    attribute: str
    file: str
    line: int
    form: str
    elements: tuple[Element, ...]
    sequences: tuple[Listed, ...]
    gaps: tuple[Gap, ...]
    missing: tuple[Unlocated, ...]
    problem: str = ""

    @cached_property
    def keys(self) -> frozenset[tuple[str, Span]]:
        """The literals of the site: its elements and the lists."""
        return frozenset((*(e.key for e in self.elements), *(s.key for s in self.sequences)))

    def find(self, text: str) -> tuple[Element, ...]:
        """The elements for a label: those of exactly this text, else those that a macro may have turned into it."""
        exact = tuple(e for e in self.elements if e.text == text)
        return exact or tuple(e for e in self.elements if e.text is not None and akin(e.text, text))


_FORMS = (
    "kwargs", "literal", "variable", "parameter", "select", "conditional", "comprehension", "call", "append", "dict",
    "default",
)  # fmt: skip


class Locator:
    """Where attributes are written, each located when first asked for."""

    def __init__(self, scopes: Scopes, stacks: Stacks) -> None:
        self._scopes = scopes
        self._stacks = stacks
        self._located: dict[tuple[str, str, int, str], AttributeSite] = {}

    def locate(self, leaf: Call, attribute: str) -> AttributeSite:
        """Where the entries of a target's attribute are written; `leaf` is the rule's own call."""
        key = (leaf.mode, leaf.package, leaf.id, attribute)
        if key not in self._located:
            self._scopes.restart()
            self._located[key] = self._locate(leaf, attribute)
        return self._located[key]

    def _locate(self, leaf: Call, attribute: str) -> AttributeSite:
        chain = self._stacks.chain(leaf)
        written = chain[0]
        target = Owner(leaf.package, leaf.name)
        walk = Walk(self._scopes, target, attribute)
        frame = written.stack[-1] if written.stack else Frame(leaf.package, 0, 0, "")
        line, form, problem, known = frame.line, "absent", "", set[str]()
        for call in chain:
            texts = values.texts(call.args.get(attribute))
            accounted = _accountant(walk.elements)
            if call is not written and all(text in known or accounted(text) for text in texts):
                known |= set(texts)
                continue
            one = Walk(self._scopes, target, attribute)
            try:
                parts, env = self._stacks.parts(call, attribute)
            except BuildFileError as error:
                problem = problem or str(error)
                continue
            one.run(parts)
            _name_unknown(one.elements, texts)
            if call is written and parts:
                form = _form(call, env, attribute, one)
                first = parts[0].expr
                line = getattr(first, "lineno", line) if parts[0].env.file.path == frame.file else line
            known |= set(texts)
            _unite(walk, one)
        wanted = dict.fromkeys(text for call in (written, leaf) for text in values.texts(call.args.get(attribute)))
        accounted = _accountant(walk.elements)
        missing = tuple(self._unlocated(text, walk, leaf) for text in wanted if not accounted(text))
        return AttributeSite(
            leaf=leaf,
            written=written,
            attribute=attribute,
            file=frame.file,
            line=line,
            form=form,
            elements=tuple(walk.elements),
            sequences=_with_wraps(walk.sequences, walk.elements),
            gaps=tuple(walk.gaps),
            missing=missing,
            problem=problem,
        )

    def _unlocated(self, text: str, walk: Walk, leaf: Call) -> Unlocated:
        if walk.gaps:
            gap = walk.gaps[0]
            return Unlocated(text, gap.file, gap.line, f"{gap.file}:{gap.line}: {gap.words}")
        frame = leaf.stack[-1] if leaf.stack else Frame(leaf.package, 0, 0, "")
        return Unlocated(
            text, frame.file, frame.line, f"{frame.file}:{frame.line}: {frame.function or leaf.kind} adds it"
        )


_NAME = re.compile(r".*[:/]", re.DOTALL)


@lru_cache(maxsize=1 << 16)
def akin(one: str, other: str) -> bool:
    """Whether a macro may have made one label from the other: the same name, and one package ends like the other."""
    if one == other:
        return True
    ours_name, theirs_name = _NAME.sub("", one), _NAME.sub("", other)
    if ours_name != theirs_name and f"{ours_name}_static" != theirs_name and ours_name != f"{theirs_name}_static":
        return False
    a, b = labels.split(one), labels.split(other)
    if a is None or b is None:
        return False
    if a.prefix is None or b.prefix is None:
        return a.prefix == b.prefix
    ours, theirs = a.package.split("/"), b.package.split("/")
    short, long = sorted((ours, theirs), key=len)
    return short == [""] or long[-len(short) :] == short


@lru_cache(maxsize=1 << 16)
def akin_name(text: str) -> str:
    """Labels that are akin have this in common."""
    return _NAME.sub("", text).removesuffix("_static")


def _accountant(elements: Sequence[Element]) -> Callable[[str], bool]:
    """Whether one of some elements accounts for a label; made once for all the labels of a list."""
    exact = {element.text for element in elements}
    by_name: dict[str, list[str]] = {}
    for text in exact:
        if text is not None:
            by_name.setdefault(akin_name(text), []).append(text)
    return lambda text: text in exact or any(akin(other, text) for other in by_name.get(akin_name(text), ()))


def _name_unknown(elements: list[Element], texts: Sequence[str]) -> None:
    """Give elements of unknown text the labels that stand at their place in the evaluated list."""
    at = 0
    for index, element in enumerate(elements):
        if element.text is not None:
            at = texts.index(element.text, at) + 1 if element.text in texts[at:] else at
        elif at < len(texts):
            following = next((e.text for e in elements[index + 1 :] if e.text is not None), None)
            if texts[at] != following:
                elements[index] = replace(element, text=texts[at])
                at += 1


def _with_wraps(lists: Sequence[Listed], elements: Sequence[Element]) -> tuple[Listed, ...]:
    """Lists with the function in whose calls some of their entries are written, if it puts something before its
    argument: `requirement("x")` for `@pip//x`."""
    wraps: dict[tuple[str, Span | None], Wrap] = {}
    for element in elements:
        if element.call is not None and element.text is not None:
            function, argument = element.call
            if argument and element.text.endswith(argument):
                wrap = Wrap(function, (element.text.removesuffix(argument), ""))
                wraps.setdefault((element.file, element.sequence), wrap)
    return tuple(replace(one, wrap=wraps[one.key]) if one.key in wraps else one for one in lists)


def _unite(walk: Walk, more: Walk) -> None:
    known = {element.key for element in walk.elements}
    walk.elements += [element for element in more.elements if element.key not in known]
    listed = {sequence.key for sequence in walk.sequences}
    walk.sequences += [sequence for sequence in more.sequences if sequence.key not in listed]
    walk.gaps += [gap for gap in more.gaps if gap not in walk.gaps]


def _form(call: Call, env: Env, attribute: str, walk: Walk) -> str:
    forms = dict(walk.forms)
    assert env.call is not None
    if not any(keyword.arg == attribute for keyword in env.call.keywords):
        forms["kwargs"] = None
    return "+".join(form for form in _FORMS if form in forms) or "other"
