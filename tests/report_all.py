"""Prints what buildfix says of each repository, in every form: `python report_all.py JOBS ROOT ...`.

One process for many repositories, so that a test can have many of them with a hash seed of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

from buildfix import config, engine, pipeline, reports, roots


def said(root: Path, jobs: int) -> bytes:
    try:
        result = pipeline.check(root, (), pipeline.Options(jobs=jobs, parts=True))
    except (config.ConfigError, roots.WorkspaceError, engine.EngineError) as error:
        return str(error).encode()
    return b"".join(reports.render(name, result) for name in reports.FORMATS)


def main(jobs: int, roots: list[Path]) -> None:
    for root in roots:
        text = said(root, jobs)
        sys.stdout.buffer.write(b"%d %s\n%s\n" % (text.count(b"\n") + 1, root.parent.name.encode(), text))


if __name__ == "__main__":
    main(int(sys.argv[1]), [Path(argument) for argument in sys.argv[2:]])
