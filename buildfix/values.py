"""Attribute values as the engine states them (docs/protocol.md, "Values"), taken apart into strings and conditions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """A string in a value; `condition` is the select branch that it stands in, "" where it always applies."""

    text: str
    condition: str = ""


class Entries(NamedTuple):
    """The strings of a list-like value, in order; `unknown` if a part of it could not be evaluated."""

    items: tuple[Entry, ...]
    unknown: bool = False


class Pair(NamedTuple):
    """An item of a dict-like value whose value is a string."""

    key: str
    value: str
    condition: str = ""


NOTHING = Entries(())


def entries(value: Any) -> Entries:
    """The strings of a list, tuple, set, select or concatenation of these; those of a dict are its values."""
    if value is None:
        return NOTHING
    found: list[Entry] = []
    unknown = _collect(value, "", found)
    return Entries(tuple(found), unknown)


def pairs(value: Any) -> tuple[Pair, ...]:
    """The (key, value) items of a dict, or of the dicts in a select or concatenation; values that are lists give one
    pair for each string."""
    return tuple(_pairs(value, ""))


def texts(value: Any) -> tuple[str, ...]:
    """All strings of a list-like value, whatever their condition."""
    if type(value) is list and all(type(item) is str for item in value):
        return tuple(value)  # as nearly all are
    return tuple(entry.text for entry in entries(value).items)


def walk_strings(value: Any) -> Iterator[str]:
    """Every string anywhere in a value, dict keys and select branches included, select conditions excepted."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            if type(item) is str:
                yield item
            else:
                yield from walk_strings(item)
    elif isinstance(value, dict):
        if "$select" in value:
            for _, branch in value["$select"]:
                yield from walk_strings(branch)
            return
        for key, item in value.items():
            if not key.startswith("$"):
                yield key
            if key not in ("$unknown", "$function", "$float", "$bytes"):
                yield from walk_strings(item)


def without(value: Any, strings: Collection[str]) -> Any:
    """A list-like value less the entries that are one of `strings`; what is then empty and adds nothing is left out."""
    if isinstance(value, list):
        return [without(item, strings) for item in value if not (isinstance(item, str) and item in strings)]
    if isinstance(value, dict):
        if "$select" in value:
            return {"$select": [[key, without(branch, strings)] for key, branch in value["$select"]]}
        if "$concat" in value:
            parts = [part for part in without(value["$concat"], strings) if part != []]
            return parts[0] if len(parts) == 1 else {"$concat": parts} if parts else []
        return {key: without(item, strings) for key, item in value.items()}
    return [] if value is None else value


_MACRO = re.compile(r"\$\((?:\w+(?:[-_]\w+)*)\s+([^()\s]+)[^()]*\)")


def macro_labels(text: str) -> list[str]:
    """The labels in `$(location //x:y)`, `$(exe :tool)` and the like."""
    return _MACRO.findall(text) if "$(" in text else []


def _collect(value: Any, condition: str, found: list[Entry]) -> bool:
    if isinstance(value, str):
        found.append(Entry(value, condition))
        return False
    if isinstance(value, list):
        unknown = False
        for item in value:
            if type(item) is str:
                found.append(Entry(item, condition))
            else:
                unknown |= _collect(item, condition, found)
        return unknown
    if not isinstance(value, dict):
        return False
    match next(iter(value), None):
        case "$unknown" | "$function":
            return True
        case "$select":
            return _collect_select(value["$select"], condition, found)
        case "$concat" | "$tuple" | "$set" as kind:
            return _collect(value[kind], condition, found)
        case "$dict":
            return _collect([item for _, item in value["$dict"]], condition, found)
        case _:
            return _collect(list(value.values()), condition, found)


def _collect_select(branches: list[Any], condition: str, found: list[Entry]) -> bool:
    """What stands in every branch always applies; the rest applies under its branch's condition."""
    unknown = False
    listed: list[list[Entry]] = []
    for key, branch in branches:
        inside: list[Entry] = []
        unknown |= _collect(branch, _also(condition, str(key)), inside)
        listed.append(inside)
    common = set.intersection(*({entry.text for entry in inside} for inside in listed)) if listed else set()
    seen: set[str] = set()
    for inside in listed:
        for entry in inside:
            if entry.text not in common:
                found.append(entry)
            elif entry.text not in seen:
                seen.add(entry.text)
                found.append(Entry(entry.text, condition))
    return unknown


def _also(outer: str, inner: str) -> str:
    return f"{outer} and {inner}" if outer else inner


def _pairs(value: Any, condition: str) -> Iterator[Pair]:
    if not isinstance(value, dict):
        return
    if "$select" in value:
        for key, branch in value["$select"]:
            yield from _pairs(branch, _also(condition, str(key)))
        return
    if "$concat" in value:
        for part in value["$concat"]:
            yield from _pairs(part, condition)
        return
    items = value["$dict"] if "$dict" in value else value.items()
    for key, item in items:
        if isinstance(key, str) and not key.startswith("$"):
            for entry in entries(item).items:
                yield Pair(key, entry.text, _also(condition, entry.condition) if entry.condition else condition)
