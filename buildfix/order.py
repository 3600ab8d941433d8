"""Where a new label goes among the labels of a list.

A list that has an order keeps it, and so does each group of a list that comments part. In one that has none, the new
label goes where the fewest of the others stand on the wrong side of it, and a label counts the more the closer it is: a
run of siblings that is sorted stays sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from enum import StrEnum
from itertools import pairwise

from buildfix import labels

Key = Callable[[str], "tuple[object, ...]"]


class Order(StrEnum):
    """Where a new entry goes: among its neighbours, sorted whatever the rest looks like, or last."""

    NEIGHBOURS = "neighbours"
    SORTED = "sorted"
    END = "end"


def sort_key(text: str) -> tuple[object, ...]:
    """buildifier's order: what names a cell, then `:x`, then `//x`, then `@x`; within each, part by part, where `:` and
    `.` part."""
    group = 1 if text.startswith(":") else 2 if text.startswith("//") else 3 if text.startswith("@") else 0
    return group, text.replace(":", ".").split("."), text


def _plain(text: str) -> tuple[object, ...]:
    return (text,)


def _caseless(text: str) -> tuple[object, ...]:
    return (text.lower(),)


# The orders that people keep lists in; the first one counts where a list is in several.
_KEYS: tuple[Key, ...] = (sort_key, labels.sort_key, _plain, _caseless)


def place(texts: Sequence[str | None], new: str, order: Order = Order.NEIGHBOURS, heads: Collection[int] = ()) -> int:
    """The index at which a new label goes into a list with these labels (None: an entry that is no plain string).

    `heads` are the indexes of the entries that have comments above them: each begins a group, and what is put before it
    ends the group above.
    """
    known = [(index, text) for index, text in enumerate(texts) if text is not None]
    if order is Order.END or not known:
        return len(texts)
    plain = [text for _, text in known]
    key = sort_key if order is Order.SORTED else min(_KEYS, key=lambda key: _descents(key, plain))
    if _descents(sort_key, plain) and _sorted_in_groups(texts, heads):
        return _in_a_group(texts, new, heads)
    if order is Order.SORTED or not _descents(key, plain):
        return next((index for index, text in known if _less(key, new, text)), known[-1][0] + 1)
    costs = _disorder(key, plain, new)
    best = costs.index(min(costs))
    return known[best][0] if best < len(known) else known[-1][0] + 1


def _in_a_group(texts: Sequence[str | None], new: str, heads: Collection[int]) -> int:
    """The best of the places at which every group stays sorted."""
    known = [index for index, text in enumerate(texts) if text is not None]
    disorder = _disorder(sort_key, [text for text in texts if text is not None], new)
    costs = dict(zip((*known, known[-1] + 1), disorder, strict=True))
    fitting = (index for index in range(len(texts) + 1) if _fits(texts, index, new, heads))
    return min(fitting, key=lambda index: (costs.get(index, max(disorder) + 1), index))


def _sorted_in_groups(texts: Sequence[str | None], heads: Collection[int]) -> bool:
    return all(
        one is None or other is None or index in heads or not _less(sort_key, other, one)
        for index, (one, other) in enumerate(pairwise(texts), 1)
    )


def _fits(texts: Sequence[str | None], index: int, new: str, heads: Collection[int]) -> bool:
    """Whether the group that a new label would get into stays sorted."""
    before = texts[index - 1] if index else None
    behind = texts[index] if index < len(texts) and index not in heads else None
    return not (before and _less(sort_key, new, before)) and not (behind and _less(sort_key, behind, new))


def _disorder(key: Key, texts: Sequence[str], new: str) -> list[int]:
    """How much would be out of order, for each place that a new label can have among others."""
    weights = [4 ** labels.shared(new, text) for text in texts]
    cost = sum(weight for text, weight in zip(texts, weights, strict=True) if not _less(key, new, text))
    found = [cost]
    for text, weight in zip(texts, weights, strict=True):
        cost += weight if _less(key, new, text) else -weight
        found.append(cost)
    return found


def _descents(key: Key, texts: Sequence[str]) -> int:
    return sum(_less(key, other, one) for one, other in pairwise(texts))


def _less(key: Key, one: str, other: str) -> bool:
    return key(one) < key(other)
