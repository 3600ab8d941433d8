"""An edge of a target: the literal in a file where a person wrote it, and who else that literal feeds.

`Sites.locate` starts at the call that people wrote and walks the attribute's expression outwards over the actual call
stack (walk.py, scopes.py); what only the rule's own call has (a macro added it) is located from there. Every label of
the evaluated lists is accounted for by an element, or stands in `missing` with the place where a person should look.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from buildfix import labels, values
from buildfix.bindings import accepts
from buildfix.buildfile import BuildFile, BuildFileError, Span
from buildfix.engine import Call, Frame, Package
from buildfix.findings import Reason
from buildfix.scopes import Env, Part, Scopes
from buildfix.walk import Element, Gap, Holder, Walk
from buildfix.walk import Sequence as Listed

__all__ = ["AddPlace", "AttributeSite", "Blocked", "Element", "Owner", "Sites", "Unlocated"]


class Owner(NamedTuple):
    """A target that a literal feeds: the folder of its package, and its name."""

    package: str
    name: str


class Unlocated(NamedTuple):
    """A label of an evaluated list that no element accounts for, and where it seems to come from."""

    text: str
    file: str
    line: int
    words: str


@dataclass(frozen=True, slots=True)
class AddPlace:
    """Where an entry can be added to attribute `name` of `target` (package, name).

    `kind` "list": into the list literal at `span`; "attribute": as a new attribute of the call whose opening
    parenthesis is at `span.start`; "extend": as a list added to the expression at `span`. `texts` are the labels that
    the list holds; `wrap` names the function in whose calls some of them are written (`requirement`), or is "".
    """

    target: tuple[str, str]
    kind: str
    file: str
    line: int
    span: Span
    name: str
    holder: Holder
    texts: tuple[str, ...] = ()
    wrap: str = ""


@dataclass(frozen=True, slots=True)
class Blocked:
    """Why nothing can be added, and where a person should look."""

    reason: Reason
    words: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
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

    def find(self, text: str) -> tuple[Element, ...]:
        """The elements for a label: those of exactly this text, else those that a macro may have turned into it."""
        exact = tuple(e for e in self.elements if e.text == text)
        return exact or tuple(e for e in self.elements if e.text is not None and akin(e.text, text))


_FORMS = (
    "kwargs", "literal", "variable", "parameter", "select", "conditional", "comprehension", "call", "append", "dict",
    "default",
)  # fmt: skip


class Sites:
    """All targets of a run. `read` returns the bytes of a root-relative path, or of a symbols text's path; None if
    there is no such file. Files are parsed, and owners computed, when first asked for."""

    def __init__(self, calls: Sequence[Call], packages: Sequence[Package], read: Callable[[str], bytes | None]) -> None:
        self._calls = {(call.mode, call.package, call.id): call for call in calls}
        self._packages = packages
        loads = {(load.file, load.module): load.path for package in packages for load in package.loads if load.path}
        self._scopes = Scopes(read, loads)
        self._named_iterations: dict[tuple[object, ...], dict[str, dict[str, Part]]] = {}
        self._said: dict[tuple[str, str, int], dict[str, list[str]]] = {}
        self._located: dict[tuple[str, str, int, str], AttributeSite] = {}

    def file(self, path: str) -> BuildFile:
        """A parsed file; raises BuildFileError if it cannot be read or parsed."""
        return self._scopes.file(path)

    def chain(self, leaf: Call) -> tuple[Call, ...]:
        """The recorded calls of a target from the one that people wrote to the rule's own.

        The written one is the outermost of the target's name; where no macro call has that name, the outermost.
        """
        calls = [leaf]
        while calls[-1].parent:
            calls.append(self._calls[(leaf.mode, leaf.package, calls[-1].parent)])
        named = [index for index, call in enumerate(calls) if call.name == leaf.name]
        last = named[-1] or len(calls) - 1
        return tuple(reversed(calls[: last + 1]))

    # Where an attribute is written

    def locate(self, leaf: Call, attribute: str) -> AttributeSite:
        """Where the entries of a target's attribute are written; `leaf` is the rule's own call."""
        key = (leaf.mode, leaf.package, leaf.id, attribute)
        if key not in self._located:
            self._scopes.restart()
            self._located[key] = self._locate(leaf, attribute)
        return self._located[key]

    def _locate(self, leaf: Call, attribute: str) -> AttributeSite:
        chain = self.chain(leaf)
        written = chain[0]
        target = Owner(leaf.package, leaf.name)
        walk = Walk(self._scopes, target, attribute)
        frame = written.stack[-1] if written.stack else Frame(leaf.package, 0, 0, "")
        line, form, problem, known = frame.line, "absent", "", set[str]()
        for call in chain:
            texts = values.texts(call.args.get(attribute))
            if call is not written and all(text in known or _accounted(text, walk.elements) for text in texts):
                known |= set(texts)
                continue
            one = Walk(self._scopes, target, attribute)
            try:
                parts, env = self._parts(call, attribute)
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
        missing = tuple(self._unlocated(text, walk, leaf) for text in wanted if not _accounted(text, walk.elements))
        return AttributeSite(
            leaf, written, attribute, frame.file, line, form, tuple(walk.elements), tuple(walk.sequences),
            tuple(walk.gaps), missing, problem,
        )  # fmt: skip

    def _parts(self, call: Call, attribute: str) -> tuple[list[Part], Env]:
        """What a recorded call passes for an attribute, and the activation in which it is written."""
        env = self._env(call)
        if env is None or env.call is None:
            frame = call.stack[-1] if call.stack else Frame("", 0, 0, "")
            raise BuildFileError(frame.file, frame.line, "no call is written here")
        return self._scopes.argument(env.call, attribute, env, self._callee(call)), env

    def _callee(self, call: Call) -> Any:
        """The definition of the function that a call called, if it is one."""
        if call.how != "function" or call.defined is None:
            return None
        try:
            file = self.file(call.defined[0])
        except BuildFileError:
            return None
        return file.definition_at(call.defined[1])

    def _unlocated(self, text: str, walk: Walk, leaf: Call) -> Unlocated:
        if walk.gaps:
            gap = walk.gaps[0]
            return Unlocated(text, gap.file, gap.line, gap.words)
        frame = leaf.stack[-1] if leaf.stack else Frame(leaf.package, 0, 0, "")
        return Unlocated(text, frame.file, frame.line, f"{frame.function or leaf.kind} adds it")

    # Activations

    def _env(self, call: Call) -> Env | None:
        """The activation in which a recorded call was made. Raises BuildFileError if a file cannot be parsed."""
        return self._entered(call, 0, None)

    def _entered(self, call: Call, index: int, caller: tuple[Env, ast.Call] | None) -> Env | None:
        frame = call.stack[index]
        file = self.file(frame.file)
        offset = file.position(frame.line, frame.col)
        node = file.call_at(frame.line, frame.col)
        if offset is None or node is None:
            return None
        function = file.function_at(offset)
        env = Env(file, function, offset, caller if function is not None else None, node, live=True)
        last = index + 1 == len(call.stack)
        if any(_loops(env)):
            name = self._name_at(call, index)
            if name is not None:
                env = env.looping(self._iteration(call, index, env, node, name))
            elif not last:
                for loops in self._iterations(env):
                    inner = self._entered(call, index + 1, (env.looping(loops), node))
                    if inner is not None and inner.call is not None and call.name in self._names(inner, inner.call):
                        return inner
        return env if last else self._entered(call, index + 1, (env, node))

    def _iteration(self, call: Call, index: int, env: Env, node: ast.Call, name: str) -> dict[str, Part]:
        """What the loop variables stood for when the recorded call at a depth of the stack bound `name`."""
        # Calls with the same stack, made in the same iterations of the loops on it, share the answer.
        around: list[object] = []
        outer = env.caller
        for depth in reversed(range(index)):
            if outer is not None and outer[0].loops:
                around.append(self._name_at(call, depth) or call.id)
            outer = outer[0].caller if outer is not None else None
        key = (call.mode, call.package, call.stack[: index + 1], *around)
        if key not in self._named_iterations:
            table: dict[str, dict[str, Part]] = {}
            for loops in self._iterations(env):
                for one in self._names(env.looping(loops), node):
                    table.setdefault(one, loops)
            self._named_iterations[key] = table
        return self._named_iterations[key].get(name, {})

    def _name_at(self, call: Call, index: int) -> str | None:
        """The name that the recorded call at a depth of the stack bound, if one is recorded there."""
        one: Call | None = call
        while one is not None:
            if len(one.stack) == index + 1:
                return one.name
            one = self._calls.get((call.mode, call.package, one.parent))
        return None

    def _names(self, env: Env, node: ast.Call) -> list[str]:
        """What a call passes as `name`, where that can be told."""
        callee = self._scopes.function(node.func, env)
        function = callee.expr if callee and isinstance(callee.expr, ast.FunctionDef | ast.Lambda) else None
        found = [self._scopes.evaluate(p.expr, p.env) for p in self._scopes.argument(node, "name", env, function)]
        return [name for name in found if isinstance(name, str)]

    def _iterations(self, env: Env) -> Iterator[dict[str, Part]]:
        """What the variables of the loops around an activation's position may stand for, iteration by iteration."""
        return self._iterate(env, list(_loops(env)))

    def _iterate(self, env: Env, loops: list[tuple[ast.expr, ast.expr]]) -> Iterator[dict[str, Part]]:
        target, iterated = loops[0]
        for item in self._scopes.items(iterated, env) or []:
            found = self._scopes.unpack(target, item)
            if len(loops) == 1:
                yield found
            else:
                for inner in self._iterate(env.looping(found), loops[1:]):
                    yield {**found, **inner}

    # Owners

    def owners(self, literal: Element | AddPlace) -> frozenset[Owner]:
        """All targets, of all kinds, packages and modes, that a literal feeds, or that an entry added here would."""
        key = (literal.holder, literal.span, literal.target)
        if key not in self._owners:
            texts = literal.texts if isinstance(literal, AddPlace) else (literal.text,) if literal.constant else ()
            fed = self._fed(literal, self._through(literal.holder), [text for text in texts if text])
            self._owners[key] = frozenset(Owner(leaf.package, leaf.name) for leaf in fed) | {Owner(*literal.target)}
        return self._owners[key]

    def _fed(self, literal: Element | AddPlace, leaves: list[Call], texts: list[str]) -> Iterable[Call]:
        attribute = literal.attribute if isinstance(literal, Element) else literal.name
        if isinstance(literal, AddPlace) and literal.kind == "attribute":
            return [leaf for leaf in leaves if self._would_get(leaf, literal)]
        if literal.holder.kind == "call":
            # A macro may make several targets and hand the list to some of them only. That shows in the evaluated
            # arguments, unless it drops the labels for the target in question.
            having = [leaf for leaf in leaves if self._has(leaf, attribute, texts)]
            return having if any((leaf.package, leaf.name) == literal.target for leaf in having) else leaves
        return [leaf for leaf in leaves if self._reached(literal, leaf, attribute, texts)]

    def _reached(self, literal: Element | AddPlace, leaf: Call, attribute: str, texts: list[str]) -> bool:
        """Whether the walk of any of a target's attributes comes by a literal."""
        names = {attribute}
        for call in (one for one in self.chain(leaf) if one.name == leaf.name):
            for name, value in call.args.items():
                found = tuple(values.walk_strings(value))
                if any(akin(text, other) for text in texts for other in found):
                    names.add(name)
        for name in names:
            site = self.locate(leaf, name)
            places = {e.key for e in site.elements} | {s.key for s in site.sequences}
            if (literal.file, literal.span) in places:
                return True
            lost = {unlocated.text for unlocated in site.missing}
            if any(akin(text, other) for text in texts for other in lost):
                return True
        return False

    def _would_get(self, leaf: Call, place: AddPlace) -> bool:
        """Whether a new attribute of a call on a target's stack would reach the rule's own call."""
        node = self.file(place.file).call_at(place.holder.line, place.holder.col)
        self._scopes.restart()
        try:
            Walk(self._scopes, place.target, place.name).run(self._parts(leaf, place.name)[0])
        except BuildFileError:
            return True
        return node is not None and self._scopes.asked(node, place.name)

    def _has(self, leaf: Call, attribute: str, texts: list[str]) -> bool:
        """Whether a call of a target's own name has one of some labels among its arguments; where there are none to
        look for, whether it has anything in the attribute."""
        calls = [call for call in self.chain(leaf) if call.name == leaf.name]
        if not texts:
            return any(call.args.get(attribute) for call in calls)
        known = self._said.get((leaf.mode, leaf.package, leaf.id))
        if known is None:
            known = self._said[(leaf.mode, leaf.package, leaf.id)] = {}
            for text in {text for call in calls for value in call.args.values() for text in values.walk_strings(value)}:
                known.setdefault(_akin_name(text), []).append(text)
        return any(akin(text, other) for text in texts for other in known.get(_akin_name(text), ()))

    @cached_property
    def _owners(self) -> dict[tuple[Holder, Span, tuple[str, str]], frozenset[Owner]]:
        return {}

    def _through(self, holder: Holder) -> list[Call]:
        """The rules' own calls whose stack goes through a holder, or, for a file, whose package loads it."""
        if holder.kind == "call":
            return self._by_position.get((holder.file, holder.line, holder.col), [])
        found: dict[int, Call] = {}
        for (line, _), leaves in self._by_file.get(holder.file, {}).items():
            if holder.kind == "file" or holder.line <= line <= holder.col:
                found |= {id(leaf): leaf for leaf in leaves}
        if holder.kind == "file":
            for package in self._loading.get(holder.file, ()):
                found |= {id(leaf): leaf for leaf in self._by_package.get(package, ())}
        return list(found.values())

    @cached_property
    def _leaves(self) -> list[Call]:
        return [call for call in self._calls.values() if call.how != "function" and call.name]

    @cached_property
    def _by_position(self) -> dict[tuple[str, int, int], list[Call]]:
        found: dict[tuple[str, int, int], list[Call]] = {}
        for leaf in self._leaves:
            for place in {(frame.file, frame.line, frame.col) for frame in leaf.stack}:
                found.setdefault(place, []).append(leaf)
        return found

    @cached_property
    def _by_file(self) -> dict[str, dict[tuple[int, int], list[Call]]]:
        found: dict[str, dict[tuple[int, int], list[Call]]] = {}
        for (file, line, col), leaves in self._by_position.items():
            found.setdefault(file, {})[(line, col)] = leaves
        return found

    @cached_property
    def _by_package(self) -> dict[str, list[Call]]:
        found: dict[str, list[Call]] = {}
        for leaf in self._leaves:
            found.setdefault(leaf.package, []).append(leaf)
        return found

    @cached_property
    def _loading(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for package in self._packages:
            for load in package.loads:
                found.setdefault(load.path, set()).add(package.path)
        return found

    # Adding

    def adds(self, site: AttributeSite) -> AddPlace | Blocked:
        """The nearest place that is the target's own where an entry can be added; or why there is none.

        `owners` of the place says whom else the added entry would reach: the other targets of one call site.
        """
        if site.problem:
            return Blocked(Reason.NOT_EDITABLE, site.problem, site.file, site.line)
        places = [self._list_place(site, listed) for listed in sorted(site.sequences, key=_depth) if listed.plain]
        places += filter(None, (self._call_place(site, call) for call in self.chain(site.leaf)))
        if not places:
            words = f"{site.written.kind} takes no {site.attribute}"
            return Blocked(Reason.NOT_EDITABLE, words, site.file, site.line)
        families = self._families(site)
        for family in families:
            for place in places:
                if self.owners(place) <= family:
                    return place
        shared = places[0]
        others = sorted(f"{o.package}:{o.name}" for o in self.owners(shared) - families[-1])
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        return Blocked(Reason.SHARED, f"also feeds {', '.join(others[:3])}{more}", shared.file, shared.line)

    def _families(self, site: AttributeSite) -> tuple[frozenset[Owner], ...]:
        """Whom an added entry may reach, the best choice first: what the written call makes, then what the outermost
        recorded call makes (a library and its static twin)."""
        outermost = site.leaf
        while outermost.parent:
            outermost = self._calls[(outermost.mode, outermost.package, outermost.parent)]
        found = []
        for call in (site.written, outermost):
            frame = call.stack[-1]
            made = self._through(Holder("call", frame.file, frame.line, frame.col))
            here = {Owner(leaf.package, leaf.name) for leaf in made if leaf.package == site.leaf.package}
            found.append(frozenset(here | {Owner(site.leaf.package, site.leaf.name)}))
        return tuple(found)

    def _list_place(self, site: AttributeSite, listed: Listed) -> AddPlace:
        target = Owner(site.leaf.package, site.leaf.name)
        holder, texts = listed.holder, listed.texts
        return AddPlace(
            target, "list", listed.file, listed.line, listed.span, site.attribute, holder, texts, listed.wrap
        )

    def _call_place(self, site: AttributeSite, call: Call) -> AddPlace | None:
        """A recorded call as the place: its attribute's expression is extended, or a new attribute is made."""
        frame = call.stack[-1]
        holder = Holder("call", frame.file, frame.line, frame.col)
        try:
            env = self._env(call)
        except BuildFileError:
            return None
        if env is None or env.call is None:
            return None
        file, target = env.file, Owner(site.leaf.package, site.leaf.name)
        for keyword in env.call.keywords:
            if keyword.arg == site.attribute:
                if isinstance(keyword.value, ast.Dict | ast.Constant) and not _is_none(keyword.value):
                    return None
                span = file.span(keyword.value)
                return AddPlace(target, "extend", file.path, keyword.value.lineno, span, site.attribute, holder)
        callee = self._callee(call)
        if callee is not None and not accepts(callee, site.attribute):
            return None
        if self._scopes.argument(env.call, site.attribute, env, callee):
            return None
        opening = Span(file.opening(env.call), file.opening(env.call) + 1)
        place = AddPlace(target, "attribute", file.path, frame.line, opening, site.attribute, holder)
        return place if call is site.leaf or self._would_get(site.leaf, place) else None


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


def _akin_name(text: str) -> str:
    """Labels that are akin have this in common."""
    return _NAME.sub("", text).removesuffix("_static")


def _accounted(text: str, elements: Sequence[Element]) -> bool:
    return any(e.text is not None and akin(e.text, text) for e in elements)


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


def _loops(env: Env) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The (target, iterable) of the loops of an activation's function around its position, from the outside in."""
    found: list[tuple[ast.expr, ast.expr]] = []
    node: ast.AST = env.call if env.call is not None else env.file.tree
    while node in env.file.parents and node is not env.function:
        parent = env.file.parents[node]
        if isinstance(parent, ast.For) and node in parent.body:
            found.append((parent.target, parent.iter))
        if isinstance(parent, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
            found += [(g.target, g.iter) for g in reversed(parent.generators)]
        node = parent
    return reversed(found)


def _depth(listed: Listed) -> int:
    return listed.depth


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
