"""Where a new label goes among the labels of a list.

A list that has an order keeps it. In one that has none, the new label goes where the fewest of the others stand on the
wrong side of it, and a label counts the more the closer it is: a run of siblings that is sorted stays sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from itertools import pairwise

from buildfix import labels

Key = Callable[[str], "tuple[object, ...]"]


class Order(StrEnum):
    """Where a new entry goes: among its neighbours, sorted whatever the rest looks like, or last."""

    NEIGHBOURS = "neighbours"
    SORTED = "sorted"
    END = "end"


def _cells_first(text: str) -> tuple[object, ...]:
    """What names a cell or repository, then `:x`, then `//x`."""
    group, parts, _ = labels.sort_key(text)
    return group % 3, parts, text


def _plain(text: str) -> tuple[object, ...]:
    return (text,)


def _caseless(text: str) -> tuple[object, ...]:
    return (text.lower(),)


# The orders that people keep lists in; the first one counts where a list is in several.
_KEYS: tuple[Key, ...] = (labels.sort_key, _cells_first, _plain, _caseless)


def place(texts: Sequence[str | None], new: str, order: Order = Order.NEIGHBOURS) -> int:
    """The index at which a new label goes into a list with these labels (None: an entry that is no plain string)."""
    known = [(index, text) for index, text in enumerate(texts) if text is not None]
    if order is Order.END or not known:
        return len(texts)
    plain = [text for _, text in known]
    key = labels.sort_key if order is Order.SORTED else min(_KEYS, key=lambda key: _descents(key, plain))
    if order is Order.SORTED or not _descents(key, plain):
        return next((index for index, text in known if _less(key, new, text)), known[-1][0] + 1)
    best = _least_disorder(key, plain, new)
    return known[best][0] if best < len(known) else known[-1][0] + 1


def _least_disorder(key: Key, texts: Sequence[str], new: str) -> int:
    cost = lowest = 0
    best = 0
    for text in texts:
        if not _less(key, new, text):
            cost += 4 ** labels.shared(new, text)
    lowest = cost
    for index, text in enumerate(texts):
        weight = 4 ** labels.shared(new, text)
        cost += weight if _less(key, new, text) else -weight
        if cost < lowest:
            best, lowest = index + 1, cost
    return best


def _descents(key: Key, texts: Sequence[str]) -> int:
    return sum(_less(key, other, one) for one, other in pairwise(texts))


def _less(key: Key, one: str, other: str) -> bool:
    return key(one) < key(other)
