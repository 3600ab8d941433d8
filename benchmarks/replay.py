"""Edits of dep lists that people made, from a repository's history: would buildfix have proposed them?

usage: replay.py REPOSITORY EDITS [--alias NAME] [--only N,...] [--keep DIR] [--json FILE]

REPOSITORY is a git repository, bare or not. EDITS is a table with tabs and these columns, others are passed over:

  n                  a number for the commit
  hash, parent       the commit and the one before it
  mode               P: the parent as it is; S: the parent's build files with the commit's Python sources
  build_file         where the edit was made; where a folder has two build files, the other is left out
  target, op, dep    `add` or `remove` of a label; a name in <> stands for any target of the package
  commit_derivable   Y (or Y-...): the imports show it; N: nothing in the sources does, so it must not be proposed as
                     safe; anything else (partial): counted apart

Each state is written to a temporary folder (build files, *.bzl, .buckconfig and Python sources only) and checked once.
An edit counts as proposed if a finding means just that edit, whatever its confidence and however many others there are;
a list of choices or a label that does not exist is none.
--alias is a leading package path that labels may have and that stands for the root.

Prints a Markdown table and totals. Exit status: 0 if at least 95 % of the derivable edits are proposed and none of the
negative ones is safe; 1 if not; 2 if it could not be found out.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

TARGET_SHARE = 0.95
BUILD_FILES = ("BUCK", "TARGETS", "BUILD", "BUILD.bazel")
CONFIGURATION = (".buckconfig", "MODULE.bazel", "WORKSPACE", "WORKSPACE.bazel", "buildfix.yaml")
CODES = {"add": ("BF001", "BF006", "BF007"), "remove": ("BF002",)}  # those that name the one edit they mean


class Edit(NamedTuple):
    """A row of the table."""

    n: str
    hash: str
    parent: str
    mode: str
    build_file: str
    target: str
    op: str
    dep: str
    commit_derivable: str

    @property
    def state(self) -> tuple[str, str]:
        """(commit of the build files, commit of the Python sources)"""
        return self.parent, self.hash if self.mode == "S" else self.parent

    @property
    def kind(self) -> str:
        if self.commit_derivable == "N":
            return "negative"
        return "derivable" if self.commit_derivable.startswith("Y") else "partial"


class Entry(NamedTuple):
    """A file of a commit: git's mode and the id of its content."""

    mode: str
    blob: str


@dataclass(frozen=True)
class Outcome:
    """What a check said of an edit: the confidences with which it was proposed, and whether it would be written."""

    confidences: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    written: bool = False
    trouble: str = ""

    @property
    def proposed(self) -> bool:
        return bool(self.confidences)

    @property
    def safe(self) -> bool:
        return "safe" in self.confidences


@dataclass(frozen=True)
class State:
    """The report of one check, or why there is none; `missing` are files whose content the repository lacks."""

    report: Mapping[str, Any] = field(default_factory=dict)
    trouble: str = ""
    missing: tuple[str, ...] = ()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("repository", type=Path)
    parser.add_argument("edits", type=Path)
    parser.add_argument("--alias", default="", metavar="NAME")
    parser.add_argument("--only", default="", metavar="N,...", help="only these commits, by their number")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write the states here, and leave them")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the outcomes there, too")
    args = parser.parse_args(arguments)
    try:
        edits = read(args.edits, set(filter(None, args.only.split(","))))
    except (OSError, KeyError) as error:
        print(f"replay.py: {args.edits}: {error}", file=sys.stderr)
        return 2
    if not edits:
        print(f"replay.py: {args.edits}: no edits", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="replay-") as scratch:
        outcomes = replay(args.repository, edits, args.keep or Path(scratch), args.alias)
    print("\n".join(table(edits, outcomes)))
    if args.json:
        rows = [{**edit._asdict(), **vars(outcome)} for edit, outcome in zip(edits, outcomes, strict=True)]
        args.json.write_text(json.dumps(rows, indent=1), "utf-8")
    return verdict(edits, outcomes)


def read(path: Path, only: set[str]) -> list[Edit]:
    """The rows of the table, those of the commits `only` if any are given."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [Edit(**{name: row[name] for name in Edit._fields}) for row in rows if not only or row["n"] in only]


def replay(repository: Path, edits: Sequence[Edit], scratch: Path, alias: str) -> list[Outcome]:
    """The outcome of each edit. Each state is written and checked once, whatever the number of its edits."""
    groups: dict[tuple[str, str], list[Edit]] = defaultdict(list)
    for edit in edits:
        groups[edit.state].append(edit)
    found: dict[Edit, Outcome] = {}
    for number, ((base, sources), group) in enumerate(groups.items(), 1):
        print(f"{number}/{len(groups)} {base[:10]}", file=sys.stderr)
        root = scratch / f"{base[:10]}-{sources[:10]}"
        state = check(repository, base, sources, {edit.build_file for edit in group}, root)
        found.update((edit, outcome(edit, state, alias)) for edit in group)
    return [found[edit] for edit in edits]


# --- states ----------------------------------------------------------------------------------------------------------


def check(repository: Path, base: str, sources: str, build_files: set[str], root: Path) -> State:
    """Write a state to `root` and let buildfix check it."""
    try:
        entries = {
            **{path: entry for path, entry in tree(repository, base).items() if not path.endswith(".py")},
            **{path: entry for path, entry in tree(repository, sources).items() if path.endswith(".py")},
        }
        missing = write(repository, without_twins(entries, build_files), root)
    except subprocess.CalledProcessError as error:
        return State(trouble=f"git: {error.stderr.decode(errors='replace').strip()}")
    command = [sys.executable, "-m", "buildfix", "--root", str(root), "--check", "--output-format", "json"]
    process = subprocess.run(command, capture_output=True)
    if process.returncode not in (0, 1, 3):
        return State(trouble=f"buildfix: {process.stderr.decode(errors='replace').strip()}", missing=missing)
    return State(json.loads(process.stdout), missing=missing)


def git(repository: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    command = ["git", "-C", str(repository), *arguments]
    environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1"}  # what a partial clone lacks is told, not fetched
    return subprocess.run(command, input=stdin, capture_output=True, check=True, env=environment).stdout


def tree(repository: Path, commit: str) -> dict[str, Entry]:
    """The files of a commit that a check has to look at."""
    found = {}
    for line in git(repository, "ls-tree", "-r", "-z", commit).split(b"\0"):
        head, _, path = line.decode("utf-8", "surrogateescape").partition("\t")
        name = PurePosixPath(path).name
        if name in BUILD_FILES or name in CONFIGURATION or name.endswith((".py", ".bzl")):
            mode, kind, blob = head.split()
            if kind == "blob":
                found[path] = Entry(mode, blob)
    return found


def without_twins(entries: Mapping[str, Entry], build_files: set[str]) -> dict[str, Entry]:
    """The files without those build files that stand beside one that was edited."""
    edited = {str(PurePosixPath(path).parent): path for path in build_files if PurePosixPath(path).name in BUILD_FILES}
    return {
        path: entry
        for path, entry in entries.items()
        if PurePosixPath(path).name not in BUILD_FILES or edited.get(str(PurePosixPath(path).parent), path) == path
    }


def write(repository: Path, entries: Mapping[str, Entry], root: Path) -> tuple[str, ...]:
    """Write files below `root`; returns those whose content the repository does not have."""
    stdin = "".join(f"{entry.blob}\n" for entry in entries.values()).encode()
    output = git(repository, "cat-file", "--batch", stdin=stdin)
    missing, position = [], 0
    for path, entry in entries.items():
        end = output.index(b"\n", position)
        head = output[position:end].split()
        if head[1] == b"missing":
            missing.append(path)
            position = end + 1
            continue
        size = int(head[2])
        content = output[end + 1 : end + 1 + size]
        position = end + 1 + size + 1
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if entry.mode == "120000":
            file.symlink_to(content.decode("utf-8", "surrogateescape"))
        else:
            file.write_bytes(content)
    return tuple(missing)


# --- outcomes --------------------------------------------------------------------------------------------------------


def canonical(label: str, alias: str) -> str:
    """A label without its cell, an alias of the root and a name that the package implies."""
    cell, _, rest = label.rpartition("//")
    package, _, name = rest.partition(":")
    if alias and (package == alias or package.startswith(f"{alias}/")):
        package = package[len(alias) :].lstrip("/")
    elif "third-party" in package:
        return f"{cell}//{package}:{name}"  # the same path in another cell is something else
    return f"//{package}:{name or package.rpartition('/')[2]}"


def outcome(edit: Edit, state: State, alias: str) -> Outcome:
    """Whether a state's report has the edit."""
    lacking = [path for path in state.missing if path.startswith(str(PurePosixPath(edit.build_file).parent))]
    trouble = state.trouble or (f"content missing: {', '.join(lacking)}" if lacking else "")
    if not state.report:
        return Outcome(trouble=trouble)
    found = [finding for finding in state.report["findings"] if matches(edit, finding, alias)]
    return Outcome(
        confidences=tuple(sorted({finding["confidence"] for finding in found})),
        reasons=tuple(sorted({reason["code"] for finding in found for reason in finding["reasons"]})),
        written=any(finding["fix"] for finding in found),
        trouble=trouble,
    )


def matches(edit: Edit, finding: Mapping[str, Any], alias: str) -> bool:
    if finding["code"] not in CODES[edit.op] or not finding["dep"]:
        return False
    target, wanted = canonical(finding["target"], alias), canonical(edit.target, alias)
    package, _, name = wanted.partition(":")
    if target != wanted and not (name.startswith("<") and target.startswith(f"{package}:")):
        return False
    return canonical(edit.dep, alias) in (canonical(finding[key], alias) for key in ("dep", "dep_label"))


# --- report ----------------------------------------------------------------------------------------------------------


def judged(edit: Edit, result: Outcome) -> str:
    """hit, miss, kept out (a negative one that is not safe), wrong (one that is), or failed."""
    if not result.proposed and result.trouble:
        return "failed"
    if edit.kind == "negative":
        return "wrong" if result.safe else "kept out"
    return "hit" if result.proposed else "miss"


def table(edits: Sequence[Edit], outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield "| n | commit | mode | target | op | dep | kind | outcome | confidence | written | why not safe |"
    yield "|--:|---|---|---|---|---|---|---|---|---|---|"
    for edit, result in zip(edits, outcomes, strict=True):
        cells = (
            edit.n,
            edit.hash[:10],
            edit.mode,
            edit.target,
            edit.op,
            edit.dep,
            edit.kind,
            judged(edit, result),
            ", ".join(result.confidences),
            "yes" if result.written else "",
            result.trouble or ", ".join(result.reasons),
        )
        yield "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
    yield ""
    counts = count(edits, outcomes)
    for kind in ("derivable", "partial"):
        total = sum(counts[kind].values())
        if total:
            yield f"- {kind}: {counts[kind]['hit']} of {total} proposed ({counts[kind]['hit'] / total:.1%})"
    if counts["negative"]:
        yield f"- negative: {counts['negative']['wrong']} of {counts['negative'].total()} proposed as safe"


def count(edits: Sequence[Edit], outcomes: Sequence[Outcome]) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for edit, result in zip(edits, outcomes, strict=True):
        counts[edit.kind][judged(edit, result)] += 1
    return counts


def verdict(edits: Sequence[Edit], outcomes: Sequence[Outcome]) -> int:
    counts = count(edits, outcomes)
    if any(counter["failed"] for counter in counts.values()):
        return 2
    derivable = counts["derivable"]
    return int(derivable["hit"] < TARGET_SHARE * derivable.total() or counts["negative"]["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
