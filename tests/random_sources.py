"""Random Python sources, torn from real ones and put together anew; for tests and benchmarks/fuzz_scan.py."""

from __future__ import annotations

import ast
import random
import re
import sysconfig
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TOKENS = re.compile(rb"\w+|\n[ \t]*|[ \t]+|[^\w\s]|\s", re.DOTALL)

# What the scanner has a rule of its own for, and the standard library seldom writes.
RARE = [
    b"import a.b as c", b"from . import d", b"from .e import (f, g as h,)", b"from i import *", b"__all__ = ['j']",
    b"__all__ += k.__all__", b"import_module('l.m')", b"__import__(f'n.{o}')", b"x = '//p/q:r'", b"plugins = ['s']",
    b"if TYPE_CHECKING: import t", b"try: import u\nexcept ImportError: import v\nelse: import w\nfinally: import y",
    b"match z:\n case {'a': b, **c}: import d", b"with (e as f, g): import h", b"lambda: (i := j)", b"global k",
    b"async def l():\n async for m in n: import o", b"class p(q, metaclass=r): import s", b"patch('t.u')",
    b"f'{v!r:>{w}}'",
    b"'a.b' 'c' % d", b"rb'\\d' b'e'", b"'''f.g\nh'''", b"(i.j)[0].k", b"# @manual", b"\\\n", b"\f", b"del l, m.n",
    b"for o, in *p, q: import r\nelse: import s", b"@t.u\ndef v(w: x.y = z, /, *, a) -> b: import c", b"print >> d, e",
]  # fmt: skip


@cache
def pieces() -> tuple[bytes, ...]:
    """Statements of the standard library that stand at the start of a line, without what is below them."""
    folder = Path(sysconfig.get_path("stdlib"))
    found: dict[bytes, None] = {}
    for path in sorted(folder.glob("*.py"))[::6]:
        data = path.read_bytes()
        try:
            statements = ast.parse(data).body
        except (SyntaxError, ValueError):
            continue
        lines = data.splitlines(keepends=True)
        for one in statements:
            if (one.end_lineno or one.lineno) - one.lineno < 40:
                found[b"".join(lines[one.lineno - 1 : one.end_lineno])] = None
    return (*found,)


def source(seed: int) -> bytes:
    """One source, which may be torn. Everything depends on the seed and the interpreter's standard library."""
    chance = random.Random(seed)
    parts = [chance.choice(RARE if chance.random() < 0.5 else pieces()) for _ in range(chance.randint(1, 4))]
    tokens = TOKENS.findall(b"\n".join(parts))
    for _ in range(chance.choice([0, 1, 1, 2, 4])):
        at = chance.randrange(len(tokens) + 1)
        other = chance.choice(tokens) if tokens and chance.random() < 0.5 else chance.choice(RARE)
        match chance.randrange(4):
            case 0:
                tokens[at : at + 1] = []
            case 1:
                tokens[at:at] = [other]
            case 2:
                tokens[at : at + 1] = [other]
            case _:
                start, end = sorted((at, chance.randrange(len(tokens) + 1)))
                tokens[at:at] = tokens[start : min(end, start + 20)]
    return b"".join(tokens)


def compiles(data: bytes) -> bool:
    """Whether the running interpreter can parse a source."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(data)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def valid(seeds: range) -> Iterator[tuple[int, bytes]]:
    """Those of the sources that the interpreter can parse, with their seeds."""
    for seed in seeds:
        data = source(seed)
        if compiles(data):
            yield seed, data
