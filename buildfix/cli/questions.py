"""Commands that answer a question and change nothing: `why`, `index`, `graph`, `explain`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from buildfix.cli.shared import (
    CLEAN,
    INCOMPLETE,
    base_of,
    emit,
    errors,
    file_of,
    folder_of,
    here_of,
    jobs_option,
    progress_bar,
    root_option,
)
from buildfix.reports import graphs


@click.command(short_help="What a finding or a reason means.")
@click.argument("word", required=False, metavar="[CODE]")
def explain(word: str | None) -> None:
    """Say what a finding or a reason is: what, why it matters, an example, when the repair is safe, how to silence it.

    CODE is `BF001`, `missing-dep`, or a reason such as `of-macro`. Without it all are listed.
    """
    with errors():
        from buildfix import explain as texts

        click.echo(texts.explain(word) if word else texts.listing(), nl=False)


format_option = click.option(
    "--output-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print the answer.",
)


@click.command(short_help="Why a target has a dep, or needs one.")
@click.argument("target")
@click.argument("dep_or_module")
@root_option
@format_option
@jobs_option
def why(target: str, dep_or_module: str, root: Path | None, output_format: str, jobs: int) -> None:
    """Say why TARGET has a dep, or needs one: what imports it, by which way it arrives, who else relies on the edge,
    and what a repair would do about it.

    TARGET is a label as people write it (`//kit:saw`, `kit:saw`, `:saw` in its folder), or a source file: then all
    targets that have it. DEP_OR_MODULE is a label or a dotted module, of the repository or from outside.

    \b
    Exit status: 0 answered
                 2 there is no such target, dep or module
                 3 something that the answer needs could not be analysed
    """
    with errors():
        from buildfix import asked, pipeline
        from buildfix import why as whys
        from buildfix.reports import answers

        base = base_of(root, ())
        with progress_bar() as progress:
            known, rerun = pipeline.look(base, (), pipeline.Options(jobs=jobs, cache=True), progress)
        here = here_of(base)
        targets = asked.targets(target, here, file_of(base, target), known)
        subject = asked.subject(dep_or_module, here, file_of(base, dep_or_module), known)
        found = whys.answer(targets, subject, known, rerun)
        render = answers.why_json if output_format == "json" else answers.why_text
        emit(render(found).encode("utf-8", "surrogateescape"))
        sys.exit(INCOMPLETE if any(one.not_analysed for one in found) else CLEAN)


@click.command(short_help="Who provides a module.")
@click.argument("modules", nargs=-1)
@click.option("--for", "user", metavar="TARGET", help="Which provider a dep of TARGET would name, and why that one.")
@click.option(
    "--emit", "file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write the facts to FILE."
)
@click.option("--shard", metavar="K/N", help="With --emit: only those of the K-th of N parts of the tree.")
@root_option
@format_option
@jobs_option
def index(
    modules: tuple[str, ...],
    user: str | None,
    file: Path | None,
    shard: str | None,
    root: Path | None,
    output_format: str,
    jobs: int,
) -> None:
    """Say who provides MODULES, and which of several a missing dep would name.

    Without MODULES every module of the repository is listed with its target, one on a line. With --emit nothing is
    judged: FILE gets what `buildfix check --records FILE` judges later, be it on another machine (docs/scale.md).

    \b
    Exit status: 0 answered
                 2 there is no such module
                 3 a package that may provide it could not be analysed
    """
    with errors():
        from buildfix import asked, pipeline
        from buildfix import index as indices
        from buildfix.reports import answers

        base = base_of(root, ())
        if file is not None:
            if modules or user:
                raise click.UsageError("--emit goes with neither MODULES nor --for")
            with progress_bar() as progress:
                pipeline.emit(base, _shard(shard), file, pipeline.Options(jobs=jobs, cache=True), progress)
            return
        if shard is not None:
            raise click.UsageError("--shard goes with --emit")
        with progress_bar() as progress:
            known, _ = pipeline.look(base, (), pipeline.Options(jobs=jobs, cache=True), progress)
        if not modules and output_format == "text":
            lines = (f"{module}\t{label}\n" for module, label in indices.everything(known))
            emit("".join(lines).encode("utf-8", "surrogateescape"))
            return
        named = asked.targets(user, here_of(base), file_of(base, user), known)[0] if user else None
        wanted = [asked.module(text, known) for text in modules] or sorted(known.modules.providers)
        found = [indices.entry(module, named, known) for module in wanted]
        render = answers.index_json if output_format == "json" else answers.index_text
        emit(render(found).encode("utf-8", "surrogateescape"))
        sys.exit(INCOMPLETE if any(one.incomplete for one in found) else CLEAN)


@click.command(short_help="What buildfix sees of a repository.")
@root_option
@format_option
@jobs_option
def doctor(root: Path | None, output_format: str, jobs: int) -> None:
    """Say what buildfix sees of the repository: its dialect, cells and import roots, packages that failed and why, rule
    kinds, modules from outside, markers. It is what a report about a fault should come with.

    \b
    Exit status: 0 all could be analysed
                 3 something could not
    """
    with errors():
        from buildfix import doctor as doctors
        from buildfix import pipeline
        from buildfix.reports import answers

        base = base_of(root, ())
        with progress_bar() as progress:
            known, rerun = pipeline.look(base, (), pipeline.Options(jobs=jobs), progress)
        sections = doctors.look(known, rerun.read)
        render = answers.doctor_json if output_format == "json" else answers.doctor_text
        emit(render(sections).encode("utf-8", "surrogateescape"))
        sys.exit(INCOMPLETE if known.graph.incomplete else CLEAN)


def _shard(text: str | None) -> tuple[int, int]:
    """(which, of how many), from 0, of `K/N`."""
    try:
        which, _, count = (text or "1/1").partition("/")
        found = int(which) - 1, int(count)
    except ValueError:
        found = 0, 0
    if not 0 <= found[0] < found[1]:
        raise click.BadParameter(f"{text!r} is not K/N, the K-th of N parts", param_hint="--shard")
    return found


@click.command(short_help="Join record files.")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--output", required=True, type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="The joined file."
)
def merge(files: tuple[Path, ...], output: Path) -> None:
    """Join record FILES, which `buildfix index --emit` made of parts of one tree, into one.

    \b
    Exit status: 0 joined
                 2 they do not belong together
    """
    with errors():
        from buildfix import records

        header = records.merge(files, output)
        click.echo(f"{output}: {len(header.shards)} of {header.count} parts")


@click.command(short_help="Draw the graph around a target.")
@click.argument("what", nargs=-1, required=True)
@click.option(
    "--depth", type=click.IntRange(min=0), default=1, show_default=True, help="How many edges to go from WHAT."
)
@click.option("--deps", "directions", flag_value="deps", help="Go to deps only.")
@click.option("--dependents", "directions", flag_value="dependents", help="Go to dependents only.")
@root_option
@click.option(
    "--output-format",
    type=click.Choice(list(graphs.FORMATS)),
    default="dot",
    show_default=True,
    help="`html` is one page to search and click in a browser.",
)
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write FILE, not stdout."
)
@jobs_option
def graph(
    what: tuple[str, ...],
    depth: int,
    directions: str | None,
    root: Path | None,
    output_format: str,
    output: Path | None,
    jobs: int,
) -> None:
    """Draw the dependency graph around WHAT, with the edges marked that are missing, unused, or used but not declared.

    WHAT are labels as people write them, source files (the targets that have them), or folders (all targets below).

    \b
    Exit status: 0 drawn
                 2 there is no such target
                 3 a package that is drawn could not be wholly analysed
    """
    with errors():
        from buildfix import asked, pipeline
        from buildfix import graph as drawing

        base = base_of(root, ())
        with progress_bar() as bar:
            known, rerun = pipeline.look(base, (), pipeline.Options(jobs=jobs, cache=True), bar)
        centres = [
            label
            for text in what
            for label in asked.below(text, here_of(base), file_of(base, text), folder_of(base, text), known)
        ]
        view = drawing.View(depth, deps=directions != "dependents", dependents=directions != "deps")
        drawn = drawing.draw(centres, view, known, rerun)
        text = graphs.render(output_format, drawn).encode()
        if output is None:
            emit(text)
        else:
            from buildfix.write import write_file

            write_file(output, text)
            counts = f"{len(drawn.nodes)} targets, {len(drawn.arrows)} edges"
            click.echo(f"{output}: {counts}")
        sys.exit(INCOMPLETE if drawn.not_analysed else CLEAN)
