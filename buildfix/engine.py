"""Start the engine, send it one request, decode the records that it streams back.

The protocol is described in docs/protocol.md; this is the only module that speaks it. Positions are kept as the
engine sends them: Starlark ones as (line from 1, column from 1 in code points), Python source ones as (line from 1,
column from 0 in UTF-8 bytes).
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from buildfix.errors import IncompleteError, UsageError
from buildfix.roots import engine_path

PROTOCOL_VERSION = 3


class RequestError(UsageError):
    """The engine refuses the request: an expression or a text of the configuration is not valid Starlark."""


class EngineError(IncompleteError):
    """The engine could not be started, or its stream ended before it was done."""


class Frame(NamedTuple):
    """One active Starlark frame of a call stack; (line, col) is the opening parenthesis of the call in progress."""

    file: str
    line: int
    col: int
    function: str


class Problem(msgspec.Struct, frozen=True):
    """Something that the engine could not read, parse or evaluate."""

    kind: str
    message: str
    file: str = ""
    line: int = 0
    col: int = 0
    stack: tuple[Frame, ...] = ()


class Load(msgspec.Struct, frozen=True):
    """What a file loads: the module as written, and where that was found."""

    module: str
    how: Literal["exact", "suffix", "symbols", "stub"]
    path: str = ""


class Opaque(NamedTuple):
    """A place that may make targets which cannot be seen: the callee as written, the module that it comes from, and
    the position of the call."""

    callee: str
    module: str
    line: int
    file: str


class LoadedFile(msgspec.Struct, frozen=True, tag="file", tag_field="t"):
    """A file that build files load, or that governs packages, and what it loads itself."""

    path: str
    mode: str = ""
    loads: tuple[Load, ...] = ()


class Package(msgspec.Struct, frozen=True, tag="package", tag_field="t"):
    """A folder with a build file, evaluated in one mode. `loads` are those of the build file alone."""

    path: str
    file: str
    cell: str = ""
    mode: str = ""
    loads: tuple[Load, ...] = ()
    opaque: tuple[Opaque, ...] = ()
    complete: bool = True
    errors: tuple[Problem, ...] = ()


class Call(msgspec.Struct, frozen=True, tag="call", tag_field="t"):
    """A call that bound `name`: a rule of the build system or of a file, a macro on the way to one, or an unresolved
    symbol."""

    package: str
    id: int
    callee: str
    kind: str
    how: Literal["function", "native", "stub", "rule"]
    name: str
    args: dict[str, Any]
    stack: tuple[Frame, ...]
    parent: int = 0
    mode: str = ""
    defined: tuple[str, int] | None = None
    ok: bool = True


class Import(NamedTuple):
    """One imported name. `import a.b as c` has module "a.b", name ""; `from .a import b` has level 1, name "b"."""

    module: str
    level: int
    name: str
    asname: str
    line: int
    col: int
    name_line: int
    name_col: int
    end_line: int
    block: int


class Block(NamedTuple):
    """A compound statement around an import: its kind, its head as written, and the block around it (or -1)."""

    kind: str
    head: str
    parent: int
    line: int


class StringConstant(NamedTuple):
    """A string constant that looks like a dotted name or a label; flag "f" marks a constant prefix."""

    text: str
    line: int
    col: int
    flag: str


class DynamicCall(NamedTuple):
    """A call that imports by value: `import_module(x)` and its kin."""

    callee: str
    line: int
    argument: str
    form: Literal["const", "prefix", "unknown", "none", "value"]


class Chain(NamedTuple):
    """An attribute chain that starts at an imported name."""

    text: str
    line: int


class Comment(NamedTuple):
    """A comment in a source that holds a marker word."""

    line: int
    col: int
    text: str
    own_line: bool


class Source(msgspec.Struct, frozen=True, tag="source", tag_field="t"):
    """What one Python source imports, binds and mentions."""

    path: str
    imports: tuple[Import, ...] = ()
    blocks: tuple[Block, ...] = ()
    names: tuple[str, ...] = ()
    all: tuple[str, ...] | None = None
    all_dynamic: bool = False
    stars: bool = False
    strings: tuple[StringConstant, ...] = ()
    dynamic: tuple[DynamicCall, ...] = ()
    chains: tuple[Chain, ...] = ()
    markers: tuple[Comment, ...] = ()
    main: bool = False
    error: Problem | None = None


class Walk(msgspec.Struct, frozen=True, tag="walk", tag_field="t"):
    """A path that the walk could not enter or read."""

    path: str
    kind: str
    message: str = ""


class Fingerprint(msgspec.Struct, frozen=True, tag="fingerprint", tag_field="t"):
    """What the tree is, and its outline (names and sizes of Python and build files); when anything in it last changed,
    and when it was walked, in nanoseconds since 1970."""

    value: str = ""
    shape: str = ""
    newest: int = 0
    now: int = 0


class Stat(msgspec.Struct, frozen=True, tag="stat", tag_field="t"):
    """How long a part of the run took, in milliseconds, and over how many items."""

    name: str
    milliseconds: float = 0
    count: int = 0


class Done(msgspec.Struct, frozen=True, tag="done", tag_field="t"):
    """The last record of a whole stream; peak memory of the engine in megabytes."""

    peak_mb: float = 0


Record = Package | LoadedFile | Call | Source | Walk | Fingerprint | Stat | Done


class Cell(msgspec.Struct, frozen=True):
    """A Buck cell or a Bazel repository that lies in the tree; `path` is relative to the root."""

    name: str
    path: str
    build_files: tuple[str, ...]
    ignore: tuple[str, ...] = ()


class Mode(msgspec.Struct, frozen=True):
    """A named set of overrides in which the build files are evaluated."""

    name: str = ""
    config: Mapping[str, str] = {}
    symbols: Mapping[str, str] = {}


class Symbols(msgspec.Struct, frozen=True):
    """Starlark text that defines well-known symbols for loads that cannot be resolved."""

    path: str
    text: str
    modules: tuple[str, ...] = ("*",)


class Limits(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one package may cost; 0 is the engine's own default. Sizes in megabytes or bytes, times in seconds."""

    steps: int = 0
    depth: int = 0
    memory_mb: int = 0
    package_seconds: float = 0
    file_bytes: int = 0


class Cache(msgspec.Struct, frozen=True):
    """The file in which the engine keeps what it saw of sources, "" for none; `key` says what else that depends on."""

    file: str = ""
    key: str = ""


class Shard(msgspec.Struct, frozen=True):
    """One of several parts of a tree, from 0; `count` 0 is all of it."""

    index: int = 0
    count: int = 0


class Request(msgspec.Struct, frozen=True):
    """The one request of a run; docs/protocol.md describes each field."""

    root: str
    dialect: Literal["buck", "bazel"]
    cells: tuple[Cell, ...]
    aliases: Mapping[str, str] = {}
    load_suffix_fallback: bool = True
    modes: tuple[Mode, ...] = (Mode(),)
    symbols: tuple[Symbols, ...] = ()
    overlay: Mapping[str, str] = {}
    do: tuple[str, ...] = ("evaluate", "scan", "fingerprint")
    packages: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    shard: Shard = Shard()
    cache: Cache = Cache()
    ignore: tuple[str, ...] = ()
    marker_words: tuple[str, ...] = ()
    callee_words: tuple[str, ...] = ()
    holder_words: tuple[str, ...] = ()
    limits: Limits = Limits()
    jobs: int = 0
    version: int = PROTOCOL_VERSION


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that one run of the engine stated."""

    packages: tuple[Package, ...] = ()
    calls: tuple[Call, ...] = ()
    sources: tuple[Source, ...] = ()
    walk: tuple[Walk, ...] = ()
    stats: tuple[Stat, ...] = ()
    peak_mb: float = 0
    files: tuple[LoadedFile, ...] = ()
    fingerprint: Fingerprint = field(default_factory=Fingerprint)


Progress = Callable[[str, int, int], None]
"""Called with (what is being done, how many are done, how many there are)."""


def run(request: Request, progress: Progress | None = None) -> Facts:
    """Run the engine once and return its facts.

    Raises RequestError if the engine refuses the request, EngineError if it cannot be started, fails, or ends its
    stream early.
    """
    return facts_of(stream(request, progress))


def stream(request: Request, progress: Progress | None = None) -> bytes:
    """Run the engine once and return its records as it sends them. Raises what `run` does."""
    binary = engine_path()
    try:
        process = subprocess.Popen([str(binary)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        raise EngineError(
            f"cannot start the engine {binary}: {error.strerror or error}; install buildfix again to build it"
        ) from error
    log: list[str] = []
    with process:
        reader = threading.Thread(target=_read_log, args=(process, log, progress), daemon=True)
        reader.start()
        try:
            assert process.stdin is not None and process.stdout is not None
            with suppress(BrokenPipeError):  # the engine ended early; its status and log say why
                process.stdin.write(msgspec.json.encode(request))
                process.stdin.close()
            data = process.stdout.read()
            status = process.wait()
        except BaseException:
            process.kill()
            raise
        reader.join()
    if status == 2:
        raise RequestError("; ".join(log[-5:]) or "the engine refuses the request")
    if status != 0:
        said = "; ".join(log[-5:]) or "no message"
        raise EngineError(f"the engine stopped before it was done (exit status {status}): {said}")
    return data


def facts_of(data: bytes) -> Facts:
    """The facts in a stream of records. Raises EngineError if it is torn, or no such stream."""
    try:
        records = msgspec.json.Decoder(Record).decode_lines(data)
    except msgspec.DecodeError as error:
        raise EngineError(f"the engine's records cannot be read: {error}") from error
    facts, done = _collect(records)
    if not done:
        raise EngineError("the engine's records end before it was done")
    return facts


def _read_log(process: subprocess.Popen[bytes], log: list[str], progress: Progress | None) -> None:
    assert process.stderr is not None
    for raw in process.stderr:
        line = raw.decode("utf-8", "replace").rstrip("\n")
        words = line.split(" ")
        if len(words) == 4 and words[0] == "progress":
            if progress is not None:
                progress(words[1], int(words[2]), int(words[3]))
        else:
            log.append(line)


def _collect(records: Sequence[Record]) -> tuple[Facts, bool]:
    by_kind = _Collected()
    for record in records:
        by_kind.lists[type(record)].append(record)
    done = by_kind.lists[Done]
    facts = Facts(
        packages=tuple(by_kind.lists[Package]),
        files=tuple(by_kind.lists[LoadedFile]),
        calls=tuple(by_kind.lists[Call]),
        sources=tuple(by_kind.lists[Source]),
        walk=tuple(by_kind.lists[Walk]),
        stats=tuple(by_kind.lists[Stat]),
        peak_mb=done[0].peak_mb if done else 0,
        fingerprint=next(iter(by_kind.lists[Fingerprint]), Fingerprint()),
    )
    return facts, bool(done) and records[-1] is done[0]


@dataclass(slots=True)
class _Collected:
    lists: dict[type, list[Any]] = field(default_factory=lambda: {kind: [] for kind in get_args(Record)})
