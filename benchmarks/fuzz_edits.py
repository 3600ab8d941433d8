"""Random valid build files with random literals, comments and layouts, and random edits to them.

usage: fuzz_edits.py [FILES] [--first SEED] [--jobs N]

Each file is parsed, edited and parsed again; nothing but the intended change may differ: no other byte of the lines
around, no comment but those of what went, no line ending. Then the same file is torn: the editor may refuse what is
left, and must change nothing else. Everything depends on the seed alone; what fails is printed with its seed. Exit
status 1 if anything did.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import random_build_files


def attempt(seed: int) -> tuple[int, str]:
    """The seed, and what went wrong with its file."""
    try:
        random_build_files.check(seed)
        random_build_files.check_torn(seed)
    except Exception:
        return seed, traceback.format_exc()
    return seed, ""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", type=int, nargs="?", default=20_000)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    begun = time.monotonic()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(args.jobs, mp_context=context) as pool:
        seeds = range(args.first, args.first + args.files)
        failed = [(seed, why) for seed, why in pool.map(attempt, seeds, chunksize=100) if why]
    for seed, why in failed[:5]:
        print(f"--- seed {seed}\n{random_build_files.Writer(seed).file().decode()}")
        print(f"--- torn\n{random_build_files.torn(seed)!r}\n{why}")
    print(f"{args.files} files in {time.monotonic() - begun:.0f} s: {len(failed)} failed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
