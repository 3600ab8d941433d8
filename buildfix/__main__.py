"""`buildfix` and `python -m buildfix`: the help text, which needs no program, or the program."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line."""
    if sys.argv[1:] in (["--help"], ["-h"]) and _is_wide():
        with open(os.path.join(os.path.dirname(__file__), "cli", "help.txt"), encoding="utf-8") as text:
            sys.stdout.write(text.read())
        return
    from buildfix.cli import main

    main(prog_name="buildfix")


def _is_wide() -> bool:
    """Whether the text fits as it was written; click writes it anew for a narrow terminal."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal():
        return int(columns) >= 80
    try:
        return os.get_terminal_size().columns >= 80
    except OSError:
        return True


if __name__ == "__main__":
    main()
