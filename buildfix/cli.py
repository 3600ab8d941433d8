"""The commands, and nothing else: options in, a Result to a report, an exit status out."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from buildfix import __version__, reports
from buildfix.reports import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from buildfix.engine import Progress
    from buildfix.findings import Code, Result

CLEAN, FINDINGS, USAGE, INCOMPLETE = 0, 1, 2, 3

_ONLY_HERE = frozenset(("action", "output_format", "counts", "jobs", "write_baseline"))
"""Options that are of no use in the command that goes on from a report."""


class _Commands(click.Group):
    """A group in which whatever names no command is a check: `buildfix exir/` is `buildfix check exir/`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        if not args or (args[0] not in self.commands and args[0] not in own):
            args = ["check", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="buildfix")
def main() -> None:
    """Repair the dependency edges of Buck and Bazel targets.

    `buildfix [OPTIONS] [PATHS]` is short for `buildfix check [OPTIONS] [PATHS]`; `buildfix check --help` lists the
    options. A path that is spelt like a command is written `./why`.
    """


_root = click.option(
    "--root", type=click.Path(path_type=Path), help="The repository's root; else found from the first path."
)
_jobs = click.option(
    "--jobs", type=click.IntRange(min=0), default=0, metavar="N", help="Workers; 0 is one for each core."
)


@main.command()
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
@click.option("--since", default="", metavar="REV", help="Look only at what differs from REV, a git revision.")
@_root
@click.option(
    "--output-format",
    type=click.Choice(list(FORMATS)),
    default="text",
    show_default=True,
    help="How to print the findings.",
)
@click.option("--statistics", "counts", is_flag=True, help="Print only how many findings there are of each kind.")
@_jobs
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
    since: str,
    root: Path | None,
    output_format: str,
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
    with _errors():
        from buildfix import baseline, check
        from buildfix.policy import Policy
        from buildfix.reports import statistics

        if write_baseline and (known is None or paths or action != "check"):
            raise click.UsageError("--write-baseline needs --baseline FILE, and goes with neither PATHS nor a repair")
        if counts and (action == "diff" or output_format not in statistics.FORMATS):
            raise click.UsageError("--statistics goes with --output-format text or json, and not with --diff")
        if action == "diff" and output_format == "text":
            output_format = "diff"
        given = paths
        if paths_from is not None:
            paths = (*paths, *_read_paths(paths_from))
            if not paths:
                return  # a list of nothing is not everything
        base = _base(root, paths)
        policy = Policy(
            unsafe=unsafe_fixes,
            add_only=add_only,
            only_under=tuple(check.relative(base, path) for path in only_under),
            known=baseline.read(known) if known and not write_baseline else frozenset(),
        )
        options = check.Options(
            jobs=jobs,
            policy=policy,
            since=since,
            select=_codes("--select", select),
            ignore=_codes("--ignore", ignore),
            parts=output_format in reports.IN_PARTS,
        )
        with _progress() as progress:
            result = check.check(base, paths, options, progress)
        if known and write_baseline:
            keys = baseline.keys(result.findings)
            baseline.save(known, keys)
            click.echo(f"{known}: {baseline.count(len(keys))}")
            return
        if action == "apply":
            result = check.apply(base, result)
        again = _again(click.get_current_context(), given)
    _write(statistics.render(result, output_format) if counts else _report(result, output_format, base, again))
    sys.exit(CLEAN if output_format in reports.ALWAYS_ZERO else status(result, action))


def _again(context: click.Context, paths: tuple[Path, ...]) -> tuple[str, ...] | None:
    """The options and paths of a run, less those that say what to do or how to print it; None if stdin is one."""
    words = []
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if parameter.name not in _ONLY_HERE and isinstance(parameter, click.Option) and value:
            for one in value if isinstance(value, tuple) else (value,):
                words += [parameter.opts[0]] if one is True else [parameter.opts[0], str(one)]
    return None if "-" in words else (*words, *map(str, paths))


@main.command()
@_root
@click.option("--force", is_flag=True, help="Replace the file if there is one.")
@click.option("--print", "only_print", is_flag=True, help="Print the file; write nothing.")
def init(root: Path | None, force: bool, only_print: bool) -> None:
    """Write a first buildfix.yaml: what was found of the repository, for you to review.

    It holds the import roots, the label prefixes, and a map of third-party modules that was learnt from the repository
    itself, with what each entry rests on.
    """
    with _errors():
        from buildfix import check, config, starter, workspace, write

        base = _base(root, ())
        settings = config.Config() if force else config.load(base)
        file = base / config.FILE_NAMES[0]
        space = workspace.read(base, settings)
        old = next((base / name for name in config.FILE_NAMES if (base / name).exists()), None)
        if old is not None and not (force or only_print):
            _stop(f"{old}: is there already; --force replaces it, --print only prints")
        with _progress() as progress:
            text = starter.text(check.load(space, settings, check.Options(), progress))
        if only_print:
            _write(text.encode())
            return
        write.write_file(old or file, text.encode())
        click.echo(f"{old or file}: written; review it, then run buildfix again")


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--pack", is_flag=True, help="Print the artefact for FILE, a JSON report.")
@click.option("--head", required=True, metavar="SHA", help="The pull request's head commit that was checked.")
@click.option("--repo", envvar="GITHUB_REPOSITORY", metavar="OWNER/NAME", help="Default: $GITHUB_REPOSITORY.")
@click.option("--dry-run", is_flag=True, help="Print the requests that would write, one JSON object on a line.")
def comment(file: Path, pack: bool, head: str, repo: str | None, dry_run: bool) -> None:
    """Comment on the pull request whose head is SHA: say what FILE, an artefact, found there.

    The artefact is made by `--pack` from what `buildfix check --output-format json` printed. It may come from a run
    that nobody trusts. The token is $GITHUB_TOKEN; docs/pr-bot.md shows the two workflows.
    """
    with _errors():
        from buildfix.github import artefact

        try:
            if pack:
                click.echo(artefact.pack(file.read_bytes(), head, str(file)), nl=False)
                return
            _post(file, head, repo, dry_run)
        except artefact.ArtefactError as error:
            _stop(str(error))
        except OSError as error:
            _stop(f"{file}: cannot be read: {error.strerror}")


def _post(file: Path, head: str, repo: str | None, dry_run: bool) -> None:
    try:
        from buildfix.github import client
        from buildfix.github import comment as bot
    except ModuleNotFoundError as error:
        if error.name != "httpx":
            raise
        _stop("comment needs httpx, which the extra `github` brings: pip install 'buildfix[github]'")
    token = os.environ.get("GITHUB_TOKEN", "")
    if not repo or not token:
        raise click.UsageError("comment needs --repo OWNER/NAME (or $GITHUB_REPOSITORY), and $GITHUB_TOKEN")
    api = os.environ.get("GITHUB_API_URL", "https://api.github.com").rstrip("/")
    try:
        bot.post(file, head, repo, token, api, os.environ.get("GITHUB_GRAPHQL_URL", ""), dry_run, click.echo)
    except client.GitHubError as error:
        _stop(str(error), INCOMPLETE)


@main.command()
@click.argument("word", required=False, metavar="[CODE]")
def explain(word: str | None) -> None:
    """Say what a finding or a reason is: what, why it matters, an example, when the repair is safe, how to silence it.

    CODE is `BF001`, `missing-dep`, or a reason such as `of-macro`. Without it all are listed.
    """
    from buildfix import explain as texts

    try:
        click.echo(texts.explain(word) if word else texts.listing(), nl=False)
    except texts.UnknownError as error:
        _stop(str(error))


_format = click.option(
    "--output-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print the answer.",
)


@main.command()
@click.argument("target")
@click.argument("dep_or_module")
@_root
@_format
@_jobs
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
    with _errors():
        from buildfix import asked, check
        from buildfix import why as whys
        from buildfix.reports import answers

        base = _base(root, ())
        with _progress() as progress:
            known, rerun = check.look(base, (), check.Options(jobs=jobs), progress)
        here = _here(base)
        targets = asked.targets(target, here, _file(base, target), known)
        subject = asked.subject(dep_or_module, here, _file(base, dep_or_module), known)
        found = whys.answer(targets, subject, known, rerun)
        render = answers.why_json if output_format == "json" else answers.why_text
        _write(render(found).encode("utf-8", "surrogateescape"))
        sys.exit(INCOMPLETE if any(one.not_analysed for one in found) else CLEAN)


@main.command()
@click.argument("modules", nargs=-1)
@click.option("--for", "user", metavar="TARGET", help="Which provider a dep of TARGET would name, and why that one.")
@_root
@_format
@_jobs
def index(modules: tuple[str, ...], user: str | None, root: Path | None, output_format: str, jobs: int) -> None:
    """Say who provides MODULES, and which of several a missing dep would name.

    Without MODULES every module of the repository is listed with its target, one on a line.

    \b
    Exit status: 0 answered
                 2 there is no such module
                 3 a package that may provide it could not be analysed
    """
    with _errors():
        from buildfix import asked, check
        from buildfix import index as indices
        from buildfix.reports import answers

        base = _base(root, ())
        with _progress() as progress:
            known, _ = check.look(base, (), check.Options(jobs=jobs), progress)
        if not modules and output_format == "text":
            lines = (f"{module}\t{label}\n" for module, label in indices.everything(known))
            _write("".join(lines).encode("utf-8", "surrogateescape"))
            return
        named = asked.targets(user, _here(base), _file(base, user), known)[0] if user else None
        wanted = [asked.module(text, known) for text in modules] or sorted(known.modules.providers)
        found = [indices.entry(module, named, known) for module in wanted]
        render = answers.index_json if output_format == "json" else answers.index_text
        _write(render(found).encode("utf-8", "surrogateescape"))
        sys.exit(INCOMPLETE if any(one.incomplete for one in found) else CLEAN)


def _here(base: Path) -> str:
    """The current folder, relative to the root; the root itself if it lies elsewhere."""
    here = Path(os.path.realpath(Path.cwd()))
    return here.relative_to(base).as_posix().removeprefix(".") if here.is_relative_to(base) else ""


def _file(base: Path, text: str) -> str | None:
    """The file that a word names, relative to the root; None if it names none."""
    from buildfix import check

    return check.relative(base, Path(text)) if os.path.isfile(text) else None


def _codes(option: str, words: tuple[str, ...]) -> frozenset[Code]:
    from buildfix.findings import codes_of

    try:
        return codes_of(part.strip() for word in words for part in word.split(",") if part.strip())
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=option) from None


def _read_paths(file: Path) -> Iterator[Path]:
    """The paths in a file; those that are not there any more were deleted by the change that it lists."""
    from buildfix import check

    try:
        data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise check.PathError(f"{file}: cannot be read: {error.strerror}") from error
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


def _base(root: Path | None, paths: tuple[Path, ...]) -> Path:
    """The root that was named, or that of the first path or of the current folder."""
    from buildfix import check, workspace

    start = paths[0] if paths else Path.cwd()
    if root is None and not start.exists():
        raise check.PathError(f"{start}: no such file or folder")
    return (root if root is not None else workspace.find_root(start.absolute())).resolve()


@contextmanager
def _errors() -> Iterator[None]:
    """Every error that can be foreseen ends with one line for people and a status of its own; the rest is a fault."""
    import gc

    from buildfix import asked, baseline, check, config, engine, workspace, write
    from buildfix import since as changes

    gc.disable()  # one run builds a few large values that all live to its end; collecting them only costs time
    try:
        yield
    except click.UsageError:
        raise
    except (
        baseline.BaselineError,
        changes.SinceError,
        config.ConfigError,
        workspace.WorkspaceError,
        check.PathError,
        engine.RequestError,
    ) as error:
        _stop(str(error))
    except asked.UnknownError as error:
        _stop(str(error), INCOMPLETE if error.incomplete else USAGE)
    except (engine.EngineError, write.WriteError) as error:
        _stop(str(error), INCOMPLETE)
    except KeyboardInterrupt:
        _stop("interrupted; nothing was written", 130)
    except Exception as error:
        if os.environ.get("BUILDFIX_DEBUG"):
            raise
        where = "set BUILDFIX_DEBUG=1 to see where, and please report it"
        _stop(f"this is a fault of buildfix: {type(error).__name__}: {error}; {where}; nothing was written", INCOMPLETE)


def _report(result: Result, output_format: str, root: Path, command: tuple[str, ...] | None) -> bytes:
    from buildfix.reports.view import View, wants_color, wants_links

    return reports.render(output_format, result, View(root, wants_color(sys.stdout), wants_links(sys.stdout), command))


def _write(content: bytes) -> None:
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stderr.close()  # the reader has seen enough; python would complain at exit


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """A bar on stderr, if that is a terminal, for what takes longer than half a second."""
    if not sys.stderr.isatty():
        yield None
        return
    from buildfix.progress import bar

    with bar() as update:
        yield update


def _stop(message: str, code: int = USAGE) -> NoReturn:
    click.echo(f"buildfix: {message}", err=True)
    sys.exit(code)
