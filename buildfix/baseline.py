"""Known findings, which a run keeps quiet about: a file of their keys.

A key has no line and no spelling in it, so that neither moved lines nor a label written in another way make a finding
new. What keeps a run from being complete (BF011) is never known.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from buildfix import write
from buildfix.errors import UsageError
from buildfix.findings import Code, Finding, Key
from buildfix.policy import Policy
from buildfix.targets import Target, TargetGraph

VERSION = 1


class BaselineError(UsageError):
    """The baseline cannot be used; the message names the file and says what to do."""


def read(path: Path) -> frozenset[Key]:
    """The keys in a baseline. Raises BaselineError."""
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise BaselineError(f"{path}: cannot be read: {error.strerror}; --write-baseline makes it") from error
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"{path}: not a baseline: {error}; --write-baseline makes one anew") from error
    version = data.get("version") if isinstance(data, dict) else None
    if version != VERSION:
        raise BaselineError(f"{path}: not a baseline of version {VERSION}; --write-baseline makes one anew")
    entries = data.get("findings")
    if not isinstance(entries, list):
        raise BaselineError(f"{path}: `findings` is no list; --write-baseline makes one anew")
    return frozenset(_key(path, number, entry) for number, entry in enumerate(entries, 1))


def _key(path: Path, number: int, entry: Any) -> Key:
    if not isinstance(entry, list) or len(entry) != len(Key._fields) or not all(isinstance(e, str) for e in entry):
        raise BaselineError(f"{path}: entry {number} of `findings` is not a code, a target and a subject")
    return Key(*entry)


def keys(findings: Iterable[Finding]) -> frozenset[Key]:
    """The keys of findings, as far as they can be known."""
    return frozenset(finding.key for finding in findings if finding.code is not Code.NOT_ANALYSED)


def tell(
    findings: Sequence[Finding], graph: TargetGraph, policy: Policy, selected: Callable[[Target], bool]
) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """The findings that are to be told, and remarks on those that are not and on entries that no longer occur.

    What one call makes several times is told once: an entry counts for all of the call's targets.
    """
    named = {str(label): label for label in graph.targets} if policy.known else {}
    seen: set[Key] = set()
    told = []
    for finding in findings:
        kin = graph.kin(named[finding.target]) if finding.target in named else ()
        every = {finding.key, *(finding.key._replace(target=str(label)) for label in kin)}
        known = every & policy.known if finding.code is not Code.NOT_ANALYSED else set()
        seen |= known
        if finding.fix or not known:
            told.append(finding)
    quiet = len(findings) - len(told)
    gone = sorted(
        key
        for key in policy.known - seen
        if key.code in policy.codes and (key.target not in named or selected(graph.targets[named[key.target]]))
    )
    notes = [f"{count(quiet)}: not shown"] if quiet else []
    notes += [f"the baseline's entry {' '.join(key)} no longer occurs: --write-baseline takes it out" for key in gone]
    return tuple(told), tuple(notes)


def count(number: int) -> str:
    """So many known findings, in words."""
    return f"{number} known finding" + ("" if number == 1 else "s")


def dump(known: Iterable[Key]) -> bytes:
    """A baseline's text, one entry a line, so that merging two of them is easy."""
    lines = ",\n".join(f"    {json.dumps(list(key))}" for key in sorted(known))
    return f'{{\n  "version": {VERSION},\n  "findings": [\n{lines}\n  ]\n}}\n'.encode()


def save(path: Path, known: Iterable[Key]) -> None:
    """Write a baseline, whole or not at all. Raises WriteError."""
    write.write_file(path, dump(known))
