"""What an import's surroundings make of it: the table `_CONTEXTS` says how firmly an import below each is needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import IntEnum

from buildfix.engine import Import, Source


class Need(IntEnum):
    """How firmly a module is needed, from mere evidence to a plain import."""

    IMPLIED = 0  # it runs along: the `__init__` of a parent package
    MENTIONED = 1
    TYPE_CHECKING = 2
    GUARDED = 3
    MUST = 4


_IMPORT_ERRORS = re.compile(r"\b(ImportError|ModuleNotFoundError|Exception|BaseException)\b")
_GUARDS = re.compile(
    r"\bsys\s*\.\s*(platform|version_info|version|implementation|maxsize)\b|\bplatform\s*\.\s*\w+|\bos\s*\.\s*(name|uname)\b"
    r"|\bfind_spec\b|\bPY[23]\b|\bsix\s*\.\s*PY|\bis_(fbcode|oss|xplat)\b|\b(IS|ON)_(WINDOWS|LINUX|MACOS|DARWIN)\b"
)
_TYPING = re.compile(r"(?:[\w.]+\.)?\bTYPE_CHECKING\b|\bMYPY\b")
_NOT = re.compile(r"\(*\s*not\b")


def _if_need(head: str, typing_names: frozenset[str]) -> Need:
    if _is_typing(head, typing_names):
        return Need.MUST if _NOT.match(head) else Need.TYPE_CHECKING
    return Need.GUARDED if _GUARDS.search(head) else Need.MUST


def _else_need(head: str, typing_names: frozenset[str]) -> Need:
    if _is_typing(head, typing_names):
        return Need.TYPE_CHECKING if _NOT.match(head) else Need.MUST
    return Need.GUARDED if _GUARDS.search(head) else Need.MUST


def _is_typing(head: str, typing_names: frozenset[str]) -> bool:
    return bool(_TYPING.search(head)) or not typing_names.isdisjoint(re.findall(r"\w+", head))


def _handlers(head: str, _: frozenset[str]) -> Need:
    return Need.GUARDED if _IMPORT_ERRORS.search(head) else Need.MUST


def _suppressed(head: str, _: frozenset[str]) -> Need:
    return Need.GUARDED if "suppress" in head and _IMPORT_ERRORS.search(head) else Need.MUST


_CONTEXTS: Mapping[str, Callable[[str, frozenset[str]], Need]] = {
    "if": _if_need,
    "elif": _if_need,
    "else": _else_need,
    "try": _handlers,
    "except": _handlers,
    "with": _suppressed,
}


def typing_names(source: Source) -> frozenset[str]:
    """What a source calls TYPE_CHECKING, besides that."""
    return frozenset(one.asname for one in source.imports if one.name == "TYPE_CHECKING" and one.asname)


def need_of(source: Source, statement: Import, typing_names: frozenset[str]) -> Need:
    """How firmly an import is needed, by all the blocks around it."""
    need, block = Need.MUST, statement.block
    while block >= 0:
        kind, head, block, _ = source.blocks[block]
        judge = _CONTEXTS.get(kind)
        if judge is not None:
            need = min(need, judge(head, typing_names))
    return need
