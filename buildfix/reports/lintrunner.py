"""Messages of a lintrunner adapter, one on a line.

lintrunner replaces whole files and takes one replacement of a file, so that all that is repaired in a file is one
message; what is not repaired is a message of its own. Every message makes lintrunner fail, so that what fails no check
is told only along with a repair.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from buildfix.findings import FileChange, Finding, Result
from buildfix.reports import severity, wording
from buildfix.reports.plain import printable
from buildfix.reports.view import PLAIN, View

_CODE = "BUILDFIX"


def render(result: Result, view: View = PLAIN) -> bytes:
    """JSON Lines. Paths are absolute, for lintrunner may have been started elsewhere."""
    return "".join(json.dumps(message) + "\n" for message in _messages(result, view)).encode()


def _messages(result: Result, view: View) -> Iterator[dict[str, Any]]:
    open_ = [f for f in result.findings if not severity.repaired(f, result.applied)]
    for change in () if result.applied else result.changes:
        yield _change(change, _repaired(result, change), view)
    for finding in open_:
        if not finding.fix and finding.fails:
            yield _message(
                finding.place.file,
                view,
                line=finding.place.line or None,
                severity=severity.of(finding, result.applied).lintrunner,
                name=wording.title(finding),
                description=wording.account(finding),
            )


def _change(change: FileChange, findings: list[Finding], view: View) -> dict[str, Any]:
    weights = sorted((severity.of(finding, applied=False) for finding in findings), key=lambda weight: weight.rank)
    lines = [finding.place.line for finding in findings if finding.place.file == change.path and finding.place.line]
    return _message(
        change.path,
        view,
        line=min(lines, default=None),
        severity=(weights[0] if weights else severity.ERROR).lintrunner,
        name=", ".join(dict.fromkeys(wording.title(finding) for finding in findings)) or "repair",
        original=change.before.decode(),
        replacement=change.after.decode(),
        description="\n\n".join(wording.account(finding) for finding in findings)
        or "changes with the repair of other files",
    )


def _repaired(result: Result, change: FileChange) -> list[Finding]:
    """The findings that a change of a file repairs, alone or with others."""
    indexes = {one.finding for one in result.repairs if any(part.path == change.path for part in one.changes)}
    own = [i for i in indexes if result.findings[i].place.file == change.path]
    return [result.findings[i] for i in sorted(own or indexes)]


def _message(path: str, view: View, **fields: Any) -> dict[str, Any]:
    empty = dict.fromkeys(("line", "char", "original", "replacement", "description"))
    message = {"path": str(view.root / path), "code": _CODE, **empty, **fields}
    try:
        message["path"].encode()
    except UnicodeEncodeError:  # lintrunner cannot be told of such a file, and so not how to change it
        said = f"{printable(path)}: {message['description']}"
        message |= {"path": None, "line": None, "original": None, "replacement": None, "description": said}
    return message
