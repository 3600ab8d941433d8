"""Random Python sources, scanned by the engine and, as the truth, parsed by the running interpreter's `ast`.

usage: fuzz_scan.py [SOURCES] [--first SEED]

Every source that the interpreter can parse must give the facts that its tree gives, and no error. Everything depends on
the seed and the interpreter; what differs is printed with its seed. Exit status 1 if anything did.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import random_sources
import test_scan_against_ast

BATCH = 2000


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sources", type=int, nargs="?", default=20_000)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    args = parser.parse_args()
    begun, scanned = time.monotonic(), 0
    failed: list[str] = []
    for first in range(args.first, args.first + args.sources, BATCH):
        seeds = range(first, min(first + BATCH, args.first + args.sources))
        with tempfile.TemporaryDirectory() as folder:
            count, differences = test_scan_against_ast.compare(seeds, Path(folder))
        scanned += count
        failed += differences
    for text in failed[:20]:
        seed = int(text.partition(":")[0])
        print(f"--- seed {text}\n{random_sources.source(seed).decode(errors='replace')}")
    print(
        f"{args.sources} sources, {scanned} of them valid, in {time.monotonic() - begun:.0f} s: "
        f"{len(failed)} differences"
    )
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
