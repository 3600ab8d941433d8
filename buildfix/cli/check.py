"""`buildfix check`: look for what is wrong, print it or the repair, or write the repair."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from buildfix import disk, kept, reports
from buildfix.cli.shared import (
    CLEAN,
    FINDINGS,
    INCOMPLETE,
    base_of,
    emit,
    errors,
    jobs_option,
    progress_bar,
    root_option,
)
from buildfix.reports import FORMATS
from buildfix.reports.view import View, wants_color, wants_links
from buildfix.roots import PathError, relative

if TYPE_CHECKING:
    from collections.abc import Iterator

    from buildfix.findings import Code, Result

_ONLY_HERE = frozenset(("action", "output_format", "counts", "cache", "jobs", "write_baseline"))
"""Options that are of no use in the command that goes on from a report."""


@click.command(short_help="Report what is wrong, or repair it.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--paths-from", type=click.Path(path_type=Path), metavar="FILE", help="More PATHS, one on a line; `-` is stdin."
)
@click.option("--check", "action", flag_value="check", default="check", help="Report what is wrong (the default).")
@click.option("--diff", "action", flag_value="diff", help="Print the repair as a patch; write nothing.")
@click.option("--apply", "action", flag_value="apply", help="Write the repair.")
@click.option("--unsafe-fixes", is_flag=True, help="Repair also what may not be safe.")
@click.option("--select", multiple=True, metavar="CODES", help="Look for these findings only: `BF001,unused-dep`.")
@click.option("--ignore", multiple=True, metavar="CODES", help="Do not look for these findings.")
@click.option("--add-only", is_flag=True, help="Add deps, drop none.")
@click.option(
    "--only-under",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Write no file outside PATH (may be given several times).",
)
@click.option(
    "--baseline",
    "known",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keep quiet about the findings in FILE.",
)
@click.option("--write-baseline", is_flag=True, help="Write all findings to the file that --baseline names.")
@click.option(
    "--records",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Judge what `buildfix index --emit` wrote to FILE; all parts must be given.",
)
@click.option("--since", default="", metavar="REV", help="Look only at what differs from REV, a git revision.")
@root_option
@click.option(
    "--output-format",
    type=click.Choice(list(FORMATS)),
    default="text",
    show_default=True,
    help="How to print the findings.",
)
@click.option("--cache/--no-cache", default=True, help="Keep reports, and print one again where nothing has changed.")
@click.option("--statistics", "counts", is_flag=True, help="Print only how many findings there are of each kind.")
@jobs_option
def check(
    paths: tuple[Path, ...],
    paths_from: Path | None,
    action: str,
    unsafe_fixes: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    add_only: bool,
    only_under: tuple[Path, ...],
    known: Path | None,
    write_baseline: bool,
    records: tuple[Path, ...],
    since: str,
    root: Path | None,
    output_format: str,
    cache: bool,
    counts: bool,
    jobs: int,
) -> None:
    """Check the targets below PATHS (the whole repository if none is given), and repair them if asked to.

    PATHS choose the targets to look at. A repair may also have to write elsewhere, where another target relied on an
    edge that goes; the report says so.

    \b
    Exit status: 0 clean, or all repaired
                 1 findings remain (with --diff: the patch is not empty)
                 2 the command line or the configuration is wrong
                 3 something could not be analysed
    With `--output-format lintrunner` it is 0 also where findings remain or something could not be analysed.
    """
    if write_baseline and (known is None or paths or action != "check"):
        raise click.UsageError("--write-baseline needs --baseline FILE, and goes with neither PATHS nor a repair")
    if counts and (action == "diff" or output_format not in ("text", "json")):
        raise click.UsageError("--statistics goes with --output-format text or json, and not with --diff")
    if action == "diff" and output_format == "text":
        output_format = "diff"
    given = paths
    with errors():
        if paths_from is not None:
            paths = (*paths, *_read_paths(paths_from))
            if not paths:
                return  # a list of nothing is not everything
        base = base_of(root, paths)
        view = View(base, wants_color(sys.stdout), wants_links(sys.stdout), _again(click.get_current_context(), given))
        shelf = None
        if cache and action != "apply" and not (write_baseline or since or records):
            shelf = kept.Shelf(base, _words(click.get_current_context(), base, paths, known, view))
        report = shelf.find() if shelf else None
        if report is None:
            from buildfix import baseline, pipeline
            from buildfix.policy import Policy
            from buildfix.reports import statistics

            policy = Policy(
                unsafe=unsafe_fixes,
                add_only=add_only,
                only_under=tuple(relative(base, path) for path in only_under),
                known=baseline.read(known) if known and not write_baseline else frozenset(),
            )
            options = pipeline.Options(
                jobs=jobs,
                policy=policy,
                since=since,
                records=records,
                cache=cache,
                select=_codes("--select", select),
                ignore=_codes("--ignore", ignore),
                parts=output_format in reports.IN_PARTS,
            )
            with progress_bar() as progress, disk.recording() as read:
                seen, rerun = pipeline.look(base, paths, options, progress)
                result = pipeline.judge(seen, rerun)
                basis = pipeline.basis(seen, rerun, read) if shelf else None
            if known and write_baseline:
                keys = baseline.keys(result.findings)
                baseline.save(known, keys)
                click.echo(f"{known}: {baseline.count(len(keys))}")
                return
            if action == "apply":
                result = pipeline.apply(base, result)
            text = statistics.render(result, output_format) if counts else reports.render(output_format, result, view)
            report = kept.Report(text, CLEAN if output_format in reports.ALWAYS_ZERO else status(result, action))
            if shelf and basis:
                shelf.keep(report, basis)
    emit(report.text)
    sys.exit(report.status)


def _words(
    context: click.Context, base: Path, paths: tuple[Path, ...], known: Path | None, view: View
) -> dict[str, object]:
    """All of a command line that has a say in what is printed."""
    given = {key: str(value) for key, value in context.params.items() if key not in ("jobs", "cache", "root")}
    places = [os.path.relpath(os.path.realpath(path), base) for path in (*paths, *context.params["only_under"])]
    return given | {
        "places": places,
        "baseline": known.read_text("utf-8", "replace") if known and known.is_file() else "",
        "view": (view.color, view.links, view.command),
    }


def _again(context: click.Context, paths: tuple[Path, ...]) -> tuple[str, ...] | None:
    """The options and paths of a run, less those that say what to do or how to print it; None if stdin is one."""
    words = []
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if parameter.name not in _ONLY_HERE and isinstance(parameter, click.Option) and value:
            for one in value if isinstance(value, tuple) else (value,):
                words += [parameter.opts[0]] if one is True else [parameter.opts[0], str(one)]
    return None if "-" in words else (*words, *map(str, paths))


def _codes(option: str, words: tuple[str, ...]) -> frozenset[Code]:
    from buildfix.findings import codes_of

    try:
        return codes_of(part.strip() for word in words for part in word.split(",") if part.strip())
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=option) from None


def _read_paths(file: Path) -> Iterator[Path]:
    """The paths in a file; those that are not there any more were deleted by the change that it lists."""
    try:
        data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise PathError(f"{file}: cannot be read: {error.strerror}") from error
    return (path for line in os.fsdecode(data).splitlines() if line and os.path.lexists(path := Path(line)))


def status(result: Result, action: str) -> int:
    """The exit status: what could not be analysed, else what remains, decides."""
    from buildfix.findings import Code

    if any(finding.code is Code.NOT_ANALYSED for finding in result.findings):
        return INCOMPLETE
    if action == "diff":
        return FINDINGS if result.changes else CLEAN
    remain = [f for f in result.findings if f.fails and not (result.applied and f.fix)]
    return FINDINGS if remain else CLEAN
