"""Which dotted names are Python's own."""

from __future__ import annotations

import sys
import sysconfig
from functools import cache
from pathlib import Path

# Names of the standard library of any Python 3 that the running interpreter may lack.
_GONE = frozenset(
    [
        "aifc",
        "asynchat",
        "asyncore",
        "audioop",
        "binhex",
        "cgi",
        "cgitb",
        "chunk",
        "crypt",
        "distutils",
        "formatter",
        "imghdr",
        "imp",
        "macpath",
        "mailcap",
        "msilib",
        "nis",
        "nntplib",
        "ossaudiodev",
        "parser",
        "pipes",
        "smtpd",
        "sndhdr",
        "spwd",
        "sunau",
        "symbol",
        "telnetlib",
        "uu",
        "xdrlib",
        "lib2to3",
        "tomllib",
        "compression",
        "annotationlib",
        "__future__",
        "_typeshed",
    ]
)


def is_top_level(name: str) -> bool:
    """Whether `name` is a top-level module of the standard library."""
    return name in sys.stdlib_module_names or name in _GONE


@cache
def has(module: str) -> bool:
    """Whether the standard library has the dotted `module`; anything below a module that is no package counts as
    absent, so `wave.wave` is not the standard library's."""
    top, _, rest = module.partition(".")
    if not is_top_level(top):
        return False
    if not rest or top in _GONE:
        return True
    folder = Path(sysconfig.get_path("stdlib"), *module.split("."))
    if folder.is_dir() or folder.with_suffix(".py").is_file():
        return True
    return module in ("os.path", "concurrent.interpreters", "string.templatelib") or top in ("distutils",)
