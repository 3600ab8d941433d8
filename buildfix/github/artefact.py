"""What the untrusted run hands to the trusted one: its strict shape, writing it, reading it.

The structs are the schema: an unknown key, a longer text or a longer list is refused. `schema()` is the same as JSON
Schema, published in artefact.schema.json. `VERSION` grows whenever a field comes, goes or changes its meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from buildfix.errors import UsageError
from buildfix.findings import Key

KIND: Literal["buildfix-pull-request"] = "buildfix-pull-request"
VERSION: Literal[1] = 1
MAX_BYTES = 4_000_000
MAX_FINDINGS = 200
MAX_CHANGES = 100
MAX_ITEMS = 50

Text = Annotated[str, Meta(max_length=1000)]
Long = Annotated[str, Meta(max_length=4000)]
Line = Annotated[int, Meta(ge=0, le=10_000_000)]
Sha = Annotated[str, Meta(pattern="^[0-9a-f]{40}$", min_length=40, max_length=40)]
Mark = Annotated[str, Meta(pattern="^[0-9a-f]{16}$", min_length=16, max_length=16)]
Texts = Annotated[tuple[Text, ...], Meta(max_length=MAX_ITEMS)]
CodeName = Literal[
    "BF001", "BF002", "BF003", "BF004", "BF005", "BF006", "BF007",
    "BF008", "BF009", "BF010", "BF011", "BF012", "BF013", "BF014",
]  # fmt: skip


class ArtefactError(UsageError):
    """The artefact is not what it must be; the message says how."""


class _Strict(Struct, frozen=True, forbid_unknown_fields=True):
    """Every field must be there, and no other."""


class Place(_Strict, frozen=True):
    """A line of a file, from 1; 0 is the whole file."""

    file: Text
    line: Line

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


class Evidence(_Strict, frozen=True):
    """A place and what stands there."""

    place: Place
    text: Text


class Dependent(_Strict, frozen=True):
    """A target that dropping the edge alone would break, and how it gets the module."""

    target: Text
    place: Place
    module: Text
    evidence: Evidence
    path: Texts
    rescued: bool


class Finding(_Strict, frozen=True):
    """A finding of the JSON report, less what nobody needs for a comment. Only findings that fail a check are here."""

    code: CodeName
    target: Text
    place: Place
    dep: Text
    dep_label: Text
    attribute: Text
    module: Text
    evidence: Annotated[tuple[Evidence, ...], Meta(max_length=MAX_ITEMS)]
    reasons: Texts
    detail: Long
    path: Texts
    dependents: Annotated[tuple[Dependent, ...], Meta(max_length=MAX_ITEMS)]
    choices: Texts
    fix: Literal["", "add", "drop"]
    rescue: bool
    edits: Annotated[tuple[Place, ...], Meta(max_length=MAX_ITEMS)]
    after: Annotated[tuple[Mark, ...], Meta(max_length=MAX_FINDINGS)]

    @property
    def fingerprint(self) -> str:
        """Which finding it is, whatever lines move; computed here, and the same as the JSON report's."""
        subject = self.dep_label or self.dep or self.module or self.place.file
        return Key(self.code, self.target, subject).fingerprint


class Change(_Strict, frozen=True):
    """A file that the repair changes, as a unified diff."""

    path: Text
    diff: Annotated[str, Meta(max_length=200_000)]


class Artefact(_Strict, frozen=True):
    """The whole artefact. `omitted` counts the findings that there was no room for; then there are no changes."""

    kind: Literal["buildfix-pull-request"]
    version: Literal[1]
    head: Sha
    findings: Annotated[tuple[Finding, ...], Meta(max_length=MAX_FINDINGS)]
    omitted: Annotated[int, Meta(ge=0, le=10_000_000)]
    changes: Annotated[tuple[Change, ...], Meta(max_length=MAX_CHANGES)]


def schema() -> dict[str, Any]:
    """The artefact's JSON Schema."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(Artefact)}


def read(path: Path) -> Artefact:
    """The artefact in a file. Raises ArtefactError."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ArtefactError(f"{path}: cannot be read: {error.strerror}") from error
    return decode(data, str(path))


def decode(data: bytes, name: str = "the artefact") -> Artefact:
    """The artefact in some bytes. Raises ArtefactError."""
    if len(data) > MAX_BYTES:
        raise ArtefactError(f"{name}: is larger than {MAX_BYTES} bytes")
    try:
        return msgspec.json.decode(data, type=Artefact)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ArtefactError(f"{name}: is no artefact of version {VERSION}: {error}") from error


def pack(report: bytes, head: str, name: str = "the report") -> bytes:
    """The artefact for a JSON report (docs/json.md), cut to what may be in one. Raises ArtefactError."""
    try:
        whole = msgspec.json.decode(report)
        failing = [finding for finding in whole["findings"] if finding["fails"]]
        findings = [_finding(finding) for finding in failing[:MAX_FINDINGS]]
        changes = [{"path": change["path"], "diff": change["diff"]} for change in whole["changes"]]
    except (msgspec.MsgspecError, KeyError, TypeError) as error:
        raise ArtefactError(f"{name}: is no JSON report of this version of buildfix: {error!r}") from error
    omitted = len(failing) - len(findings)
    return _fitting(head, findings, omitted, [] if omitted else changes, name)


def _fitting(
    head: str, findings: Sequence[Mapping[str, Any]], omitted: int, changes: Sequence[Mapping[str, Any]], name: str
) -> bytes:
    """The artefact with its changes, or without them if they are too large."""
    value = {"kind": KIND, "version": VERSION, "head": head, "findings": findings, "omitted": omitted}
    for offered in (changes, ()):
        try:
            made = msgspec.convert({**value, "changes": offered}, Artefact)
        except msgspec.ValidationError as error:
            if not offered:
                raise ArtefactError(f"{name}: cannot be made an artefact: {error}") from error
            continue
        data = msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n"
        if len(data) <= MAX_BYTES:
            return data
    raise ArtefactError(f"{name}: is too large for an artefact")


def _finding(finding: Mapping[str, Any]) -> dict[str, Any]:
    """A finding of the report; lists and texts that are too long for a comment anyway are cut."""
    value = {name: finding[name] for name in Finding.__struct_fields__}
    value["reasons"] = [reason["code"] for reason in finding["reasons"]]
    value["detail"] = value["detail"][:4000]
    for name in ("evidence", "dependents", "choices", "path"):
        value[name] = value[name][:MAX_ITEMS]
    # A repair of which some is not told cannot be taken piece by piece; one that cannot be found says the same.
    for name, limit in (("edits", MAX_ITEMS), ("after", MAX_FINDINGS)):
        if len(value[name]) > limit:
            value["edits"], value["after"] = [], []
    return value
