"""Which comments to write, edit, resolve or take up again: a function of what is there and what there is to say.

What is there once stays: a finding keeps its thread however its lines move, and no thread is ever deleted. A thread
that a person resolved, or hid, is theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

MAX_INLINE = 10


@dataclass(frozen=True, slots=True)
class Anchor:
    """Lines of the pull request's diff, on its right side."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Remark:
    """What there is to say about one finding. `suggestion` is the text that is right at exactly the lines of `anchor`
    and nowhere else; "" if there is none, or if `anchor` is None, which belongs to no line."""

    fingerprint: str
    body: str
    anchor: Anchor | None = None
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread that we began: its ids and that of its first comment, which says `body`.

    `at` is where it stands now, None if its lines are gone. `theirs`: a person resolved or hid it. `answered`: somebody
    else wrote in it.
    """

    id: str
    comment: str
    number: int
    fingerprint: str
    body: str
    at: Anchor | None = None
    resolved: bool = False
    hidden: bool = False
    theirs: bool = False
    answered: bool = False


@dataclass(frozen=True, slots=True)
class Summary:
    """Our summary comment."""

    comment: str
    number: int
    body: str
    hidden: bool = False
    theirs: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """What of ours is in a pull request."""

    threads: tuple[Thread, ...] = ()
    summary: Summary | None = None


@dataclass(frozen=True, slots=True)
class NewComment:
    """A comment of the review."""

    anchor: Anchor
    body: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do, in this order: `show` and `unresolve` what is taken up again, `edit` (review comments by number),
    `review` in one request, the summary, `resolve`, `hide`."""

    show: tuple[str, ...] = ()
    unresolve: tuple[Thread, ...] = ()
    edit: tuple[tuple[int, str], ...] = ()
    review: tuple[NewComment, ...] = ()
    write_summary: str = ""
    edit_summary: tuple[int, str] | None = None
    resolve: tuple[Thread, ...] = ()
    hide: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__slots__)


@dataclass(slots=True)
class _Draft:
    show: list[str] = field(default_factory=list)
    unresolve: list[Thread] = field(default_factory=list)
    edit: list[tuple[int, str]] = field(default_factory=list)
    resolve: list[Thread] = field(default_factory=list)
    review: list[NewComment] = field(default_factory=list)
    rest: list[str] = field(default_factory=list)


def decide(
    state: State,
    remarks: Sequence[Remark],
    summarise: Callable[[Sequence[str], bool], str],
    nothing_left: str,
    inline: bool = True,
) -> Plan:
    """The plan. `remarks` are in order of weight. `summarise` makes the summary of the findings with these
    fingerprints, told whether there are suggestions elsewhere; "" says that there is nothing to sum up. Without
    `inline`, no new comment is put at a line."""
    draft = _Draft()
    threads, others = _threads(state)
    wanted = {remark.fingerprint for remark in remarks}
    gone = [thread for mark, thread in threads.items() if mark not in wanted]
    draft.resolve += [thread for thread in (*gone, *others) if not (thread.resolved or thread.hidden)]
    live = sum(remark.fingerprint in threads for remark in remarks)
    suggested = False
    for remark in remarks:
        thread = threads.get(remark.fingerprint)
        if thread is not None:
            suggested |= _continue(draft, thread, remark)
        elif inline and remark.anchor is not None and live < MAX_INLINE:
            live += 1
            suggested |= bool(remark.suggestion)
            draft.review.append(NewComment(remark.anchor, remark.suggestion or remark.body))
        else:
            draft.rest.append(remark.fingerprint)
    return _with_summary(draft, state.summary, summarise(draft.rest, suggested), nothing_left)


def _threads(state: State) -> tuple[Mapping[str, Thread], Sequence[Thread]]:
    """The thread of each fingerprint, the oldest that is open if there are several, and the others."""
    found: dict[str, Thread] = {}
    others: list[Thread] = []
    for thread in sorted(state.threads, key=lambda one: one.resolved or one.hidden):
        if thread.fingerprint in found:
            others.append(thread)
        else:
            found[thread.fingerprint] = thread
    return found, others


def _continue(draft: _Draft, thread: Thread, remark: Remark) -> bool:
    """Go on in a thread that is there; says whether it now holds a suggestion that can be taken."""
    if thread.theirs:
        return False
    fits = bool(remark.suggestion) and thread.at is not None and thread.at == remark.anchor
    body = remark.suggestion if fits else remark.body
    if thread.hidden:
        draft.show.append(thread.comment)
    if thread.resolved:
        draft.unresolve.append(thread)
    if not same(thread.body, body):
        draft.edit.append((thread.number, body))
    return fits


def _with_summary(draft: _Draft, old: Summary | None, text: str, nothing_left: str) -> Plan:
    write, edit, hide = "", None, list[str]()
    if old is None:
        write = text
    elif not old.theirs:
        if text and old.hidden:
            draft.show.append(old.comment)
        elif not text and not old.hidden:
            hide.append(old.comment)
        if not same(old.body, text or nothing_left) and (text or not old.hidden):
            edit = (old.number, text or nothing_left)
    return Plan(
        show=tuple(draft.show),
        unresolve=tuple(draft.unresolve),
        edit=tuple(draft.edit),
        review=tuple(draft.review),
        write_summary=write,
        edit_summary=edit,
        resolve=tuple(draft.resolve),
        hide=tuple(hide),
    )


def same(one: str, other: str) -> bool:
    """Whether two comments say the same; GitHub may change the ends of lines and of the whole."""
    return _bare(one) == _bare(other)


def _bare(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]
