"""A first buildfix.yaml: what was found out of the repository, for people to read and correct.

What is written down there is no guess any more: a dep on a third-party label that the file names is added of buildfix's
own accord. That is why people have to look at it first.
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from buildfix.knowledge import Knowledge
from buildfix.thirdparty import Origin, Provision

_HEAD = """\
# What buildfix found out of this repository, as a beginning. It finds the same without this file; what is written here
# holds, so read it before you keep it. docs/config.md describes every key.
"""
_THIRD_PARTY = """\
# The labels that provide modules from outside the repository, guessed from their names and from the targets that have
# them. Take out what is wrong: what stays is added wherever the module is imported.
"""


def text(known: Knowledge) -> str:
    """The text of a configuration that says what was found."""
    return "".join(_lines(known))


def _lines(known: Knowledge) -> Iterator[str]:
    space = known.graph.workspace
    yield _HEAD
    yield f"\ndialect: {space.dialect}\n"
    roots = [{"path": root.path, "prefix": root.prefix} if root.prefix else root.path for root in known.modules.roots]
    yield '\n# The folders from which modules are imported; "" is the repository\'s root.\n'
    yield _dump({"import_roots": roots})
    if space.prefixes:
        yield "\n# Leading package paths that stand for a folder.\n"
        yield _dump({"label_prefixes": dict(sorted(space.prefixes.items()))})
    guessed = [one for one in known.third_party.provisions() if one.origin in (Origin.NAME, Origin.LEARNT)]
    if guessed:
        yield f"\n{_THIRD_PARTY}third_party:\n"
        for one in guessed:
            yield f"  # {one.origin}: {one.evidence}\n"
            yield f"  {_dump({one.module: _written(one)})}"


def _written(provision: Provision) -> str:
    return provision.text or str(provision.label)


def _dump(value: object) -> str:
    return yaml.safe_dump(value, sort_keys=False, width=110, allow_unicode=True)
