"""Facts in files: what the engine states of a tree, or of a part of it, kept to be judged later or elsewhere.

A record file is a header, one JSON object on a line, and then the engine's records as docs/protocol.md describes them.
Files of all parts of one tree, read together, are what one run over all of it states.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from buildfix import __version__, engine, write
from buildfix.engine import Facts, Fingerprint, Progress, Request, Shard
from buildfix.errors import UsageError

VERSION = 1


class RecordsError(UsageError):
    """The record files cannot be used; the message names the file and says what to do."""


class Header(msgspec.Struct, frozen=True, tag="buildfix-records", tag_field="t"):
    """What records are of: the parts of a tree (`shards` of `count`), whose outline is `tree` (names and sizes of its
    Python and build files, the same for a copy of it), and what was asked (`request`, a digest). `tool` and `protocol`
    are versions."""

    version: int
    tool: str
    protocol: int
    request: str
    tree: str
    shards: tuple[int, ...]
    count: int


def emit(request: Request, shard: Shard, file: Path, progress: Progress | None = None) -> None:
    """Write what the engine states of a part of the tree. Raises what engine.run does, and WriteError."""
    data = engine.stream(msgspec.structs.replace(request, shard=shard), progress)
    facts = engine.facts_of(data)
    header = _header(request, facts.fingerprint, (shard.index,), max(1, shard.count))
    write.write_file(file, msgspec.json.encode(header) + b"\n" + data)


def read(files: Sequence[Path], request: Request) -> Facts:
    """The facts in the files, which together must be of all parts of the tree as it is here.

    `request` is what would be asked of the engine here. Raises RecordsError.
    """
    headers, streams = _parts(files)
    expected = _header(request, _fingerprint(request), (), 0)
    for file, header in zip(files, headers, strict=True):
        if header.request != expected.request:
            raise RecordsError(f"{file}: made with another configuration or dialect than this repository has")
        if header.tree != expected.tree:
            raise RecordsError(f"{file}: made of another tree; make the records anew (buildfix index --emit)")
    whole = _whole(files, headers)
    if missing := [i for i in range(headers[0].count) if i not in whole.shards]:
        raise RecordsError(f"part {missing[0] + 1} of {headers[0].count} is missing (buildfix index --emit --shard)")
    try:
        return _united([engine.facts_of(data) for data in streams])
    except engine.EngineError as error:
        raise RecordsError(f"{', '.join(map(str, files))}: {error}") from error


def merge(files: Sequence[Path], to: Path) -> Header:
    """Join record files of one tree into one; returns its header. Raises RecordsError and WriteError."""
    headers, streams = _parts(files)
    header = _whole(files, headers)
    lines: dict[bytes, None] = {}
    last = b""
    for data in streams:
        for line in data.splitlines():
            if line.startswith(b'{"t":"done"'):
                last = max(last, line)
            else:
                lines[line] = None  # each part has the files that are loaded in several
    body = b"\n".join((msgspec.json.encode(header), *lines, last))
    write.write_file(to, body + b"\n")
    return header


def _parts(files: Sequence[Path]) -> tuple[list[Header], list[bytes]]:
    headers, streams = [], []
    for file in files:
        try:
            head, _, data = file.read_bytes().partition(b"\n")
            header = msgspec.json.decode(head, type=Header)
        except OSError as error:
            raise RecordsError(f"{file}: cannot be read: {error.strerror}") from error
        except msgspec.MsgspecError as error:
            raise RecordsError(f"{file}: not a record file: {error}; buildfix index --emit makes one") from error
        if (header.version, header.protocol) != (VERSION, engine.PROTOCOL_VERSION):
            raise RecordsError(f"{file}: made by buildfix {header.tool}, which keeps other records than {__version__}")
        headers.append(header)
        streams.append(data)
    return headers, streams


def _whole(files: Sequence[Path], headers: Sequence[Header]) -> Header:
    """The header of all together."""
    first = headers[0]
    seen: dict[int, Path] = {}
    for file, header in zip(files, headers, strict=True):
        if (header.request, header.tree, header.count) != (first.request, first.tree, first.count):
            raise RecordsError(f"{file}: not of the same tree, configuration and number of parts as {files[0]}")
        for shard in header.shards:
            if shard in seen:
                raise RecordsError(f"{file}: part {shard + 1} is in {seen[shard]}, too")
            seen[shard] = file
    return msgspec.structs.replace(first, shards=tuple(sorted(seen)))


def _header(request: Request, fingerprint: Fingerprint, shards: tuple[int, ...], count: int) -> Header:
    asked = msgspec.structs.replace(request, root="", jobs=0, shard=Shard(), cache=engine.Cache())
    digest = hashlib.sha256(msgspec.json.encode(asked, order="sorted")).hexdigest()[:32]
    return Header(VERSION, __version__, engine.PROTOCOL_VERSION, digest, fingerprint.shape, shards, count)


def _fingerprint(request: Request) -> Fingerprint:
    return engine.run(msgspec.structs.replace(request, do=("fingerprint",))).fingerprint


def _united(parts: Iterable[Facts]) -> Facts:
    found = list(parts)
    key: Callable[[Any], tuple[str, str]] = lambda one: (one.mode, one.path)  # noqa: E731
    return replace(
        found[0],
        packages=tuple(sorted((one for part in found for one in part.packages), key=key)),
        files=tuple(sorted({key(one): one for part in found for one in part.files}.values(), key=key)),
        calls=tuple(sorted((one for part in found for one in part.calls), key=lambda one: (one.mode, one.package))),
        sources=tuple(sorted((one for part in found for one in part.sources), key=lambda one: one.path)),
        walk=tuple(sorted({one for part in found for one in part.walk}, key=lambda one: (one.path, one.kind))),
        fingerprint=Fingerprint(),
    )
