"""Where a new label goes among the labels of a list.

A list that has an order keeps it, and so does each group of a list that comments part. In one that has none, the
longest part that is in order says where, unless the file's other lists that hold the label have it on another side of
its neighbours. A list of a few labels may be in order by accident, so that the others are followed there, too, where
that is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from enum import StrEnum
from itertools import accumulate, pairwise

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


def is_sorted(texts: Sequence[str]) -> bool:
    """Whether labels stand in buildifier's order."""
    return not _descents(sort_key, texts)


def _plain(text: str) -> tuple[object, ...]:
    return (text,)


def _caseless(text: str) -> tuple[object, ...]:
    return (text.lower(),)


# The orders that people keep lists in; the first one counts where a list is in several.
_KEYS: tuple[Key, ...] = (sort_key, labels.sort_key, _plain, _caseless)


# How many more of a file's lists must stand against a place than for it, before they move a label from it.
_MAJORITY = 2
# Fewer labels than this being in order shows little.
_FEW = 4


def place(
    texts: Sequence[str | None],
    new: str,
    order: Order = Order.NEIGHBOURS,
    heads: Collection[int] = (),
    others: Sequence[Sequence[str]] = (),
) -> int:
    """The index at which a new label goes into a list with these labels (None: an entry that is no plain string).

    `heads` are the indexes of the entries that have comments above them: each begins a group, and what is put before it
    ends the group above. `others` are the labels of the file's other lists.
    """
    known = [(index, text) for index, text in enumerate(texts) if text is not None]
    if order is Order.END or not known:
        return len(texts)
    plain = [text for _, text in known]
    if _descents(sort_key, plain) and _sorted_in_groups(texts, heads):
        return _in_a_group(texts, new, heads)
    keys = [sort_key] if order is Order.SORTED else [key for key in _KEYS if not _descents(key, plain)]
    if keys:
        best = _sorted(min(keys, key=lambda key: sum(_descents(key, other) for other in others)), plain, new)
    else:
        best = _among_sorted(plain, new)
    if not keys or (order is Order.NEIGHBOURS and len(plain) < _FEW):
        best = _outvoted(best, plain, new, [other for other in others if new in other])
    return known[best][0] if best < len(known) else known[-1][0] + 1


def _sorted(key: Key, texts: Sequence[str], new: str) -> int:
    return next((index for index, text in enumerate(texts) if key(new) < key(text)), len(texts))


def _among_sorted(texts: Sequence[str], new: str) -> int:
    """Where the longest part of the list that is in order wants it; of several places, beside the closest label."""
    key, kept = max(((key, _in_order(key, texts)) for key in _keys(texts, new)), key=lambda both: len(both[1]))
    low = max((index + 1 for index in kept if not key(new) < key(texts[index])), default=0)
    high = min((index for index in kept if key(new) < key(texts[index])), default=len(texts))
    near = [labels.shared(new, text) for text in texts]
    greater = [key(new) < key(text) for text in texts]

    def fitness(at: int) -> tuple[int, int, int]:
        disorder = sum(greater[:at]) + len(texts) - at - sum(greater[at:])
        return max(near[max(at - 1, 0) : at + 1]), -disorder, -at

    return max(range(low, high + 1), key=fitness)


def _keys(texts: Sequence[str], new: str) -> list[Key]:
    """The orders that a list without one may be thought to have: the usual ones, within runs of one folder too."""
    ranks: dict[str, int] = {}
    for text in texts:
        ranks.setdefault(_folder(text), len(ranks))
    if _folder(new) not in ranks:
        return list(_KEYS)

    def in_runs(key: Key) -> Key:
        return lambda text: (ranks[_folder(text)], key(text))

    return [in_runs(sort_key), in_runs(_plain), *_KEYS]


def _folder(text: str) -> str:
    """The cell, or else the first two folders, of a label; "" if it is relative to its package."""
    cell, slashes, path = text.partition("//")
    return cell or "/".join(path.partition(":")[0].split("/")[:2]) if slashes else ""


def _in_order(key: Key, texts: Sequence[str]) -> list[int]:
    """The indexes of a longest part of the list that is in the order of a key."""
    keys = [key(text) for text in texts]
    length, before = [1] * len(keys), [-1] * len(keys)
    for index, one in enumerate(keys):
        for earlier in range(index):
            if length[earlier] >= length[index] and not one < keys[earlier]:
                length[index], before[index] = length[earlier] + 1, earlier
    at = max(range(len(keys)), key=lambda index: length[index])
    found = [at]
    while before[found[-1]] >= 0:
        found.append(before[found[-1]])
    return found[::-1]


def _outvoted(place: int, texts: Sequence[str], new: str, others: Sequence[Sequence[str]]) -> int:
    """The nearest place with the fewest lists against it, if enough are against the one that was chosen."""
    votes = [sum(_side(text, new, other) for other in others) for text in texts]
    against = sum(vote for vote in votes if vote > 0)
    costs = [*accumulate(votes, lambda cost, vote: cost - vote, initial=against)]
    least = min(costs)
    if costs[place] - least < _MAJORITY:
        return place
    return min((at for at, cost in enumerate(costs) if cost == least), key=lambda at: abs(at - place))


def _side(text: str, new: str, other: Sequence[str]) -> int:
    """1 if a list has `new` behind `text`, -1 if before it, 0 if it does not say."""
    if text not in other or text == new:
        return 0
    return 1 if other.index(text) < other.index(new) else -1


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
