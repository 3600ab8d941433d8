"""`buildfix comment`: from an artefact to comments on the pull request whose head it judged."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from buildfix.github import artefact as artefacts
from buildfix.github import conversation, diffs, fixes, plan, render
from buildfix.github.artefact import Artefact, ArtefactError, Finding
from buildfix.github.client import Client, GitHubError, UncertainError
from buildfix.github.diffs import DiffError, Shown
from buildfix.github.fixes import Fix
from buildfix.github.plan import Anchor, Plan, Remark

MAX_ROUNDS = 3
_REPO = re.compile(r"[A-Za-z0-9-]+/[A-Za-z0-9._-]+")
_WEIGHT: Mapping[str, int] = {"add": 0, "": 1, "drop": 2}
Say = Callable[[str], None]


class StopError(Exception):
    """There is nothing to be done, and that is no fault; the message says why."""


def post(path: Path, head: str, repo: str, token: str, api: str, graphql: str, dry_run: bool, say: Say) -> None:
    """Bring the pull request whose head is `head` up to date with the artefact. Raises ArtefactError, GitHubError."""
    known = artefacts.read(path)
    if not _REPO.fullmatch(repo):
        raise ArtefactError(f"{repo!r}: is no repository; it must be OWNER/NAME")
    if known.head != head:
        raise ArtefactError(f"{path}: is about the commit {known.head}, not about {head}")
    with Client(token, repo, api, graphql or graphql_of(api), dry=say if dry_run else None) as client:
        try:
            run(client, known, say)
        except StopError as stop:
            say(str(stop))


def graphql_of(api: str) -> str:
    """Where a server has GraphQL, if it has REST at `api`."""
    return f"{api.removesuffix('/v3')}/graphql"


def run(client: Client, known: Artefact, say: Say) -> None:
    """One run: read all, decide, write. What may or may not have been written is read again. Raises StopError."""
    inline, last = True, GitHubError("no round was made")
    for round_ in range(MAX_ROUNDS):
        number = find_pull(client, known.head)
        decided = _decide(client, known, number, inline)
        if not decided:
            say(f"#{number} is up to date")
            return
        _check_head(client, number, known.head)
        try:
            conversation.carry_out(client, number, known.head, decided)
        except UncertainError as error:
            last = error
            client.sleep(2.0**round_)
        except GitHubError as error:
            if error.status != 422 or not decided.review or not inline:
                raise
            inline, last = False, error  # a line is not in the diff after all
        else:
            say(f"#{number}: {_told(decided)}")
            return
    raise last


def _decide(client: Client, known: Artefact, number: int, inline: bool) -> Plan:
    files = shown_files(client, number)
    offered = fixes.find(known, files)
    findings = in_order(known.findings)
    by_mark = {finding.fingerprint: finding for finding in findings}

    def summarise(marks: Sequence[str], suggested: bool) -> str:
        if not marks and not known.omitted:
            return ""
        told = [by_mark[mark] for mark in marks]
        return render.summary(told, offered.leftover, suggested, known.omitted, known.head)

    remarks = [remark(finding, offered.of[mark], files) for mark, finding in by_mark.items()]
    state = conversation.read(client, number)
    return plan.decide(state, remarks, summarise, render.nothing_left(known.head), inline)


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """What is added before what goes; else as they came."""
    return sorted(findings, key=lambda finding: _WEIGHT[finding.fix])


def remark(finding: Finding, fix: Fix, files: Mapping[str, Shown]) -> Remark:
    """What there is to say about a finding, and where."""
    body = render.comment(finding, fix, suggested=False)
    if fix.suggestion:
        at = Anchor(fix.suggestion.path, fix.suggestion.start, fix.suggestion.end)
        return Remark(finding.fingerprint, body, at, render.comment(finding, fix, suggested=True))
    return Remark(finding.fingerprint, body, anchor(finding, files))


def anchor(finding: Finding, files: Mapping[str, Shown]) -> Anchor | None:
    """The build file's line, else the line of an edit, else that of an import, if the diff shows one of them."""
    imports = [item.place for item in finding.evidence] if finding.fix != "drop" else []
    for place in (finding.place, *finding.edits, *imports):
        if place.file in files and files[place.file].together(place.line, place.line):
            return Anchor(place.file, place.line, place.line)
    return None


def shown_files(client: Client, number: int) -> dict[str, Shown]:
    """What the pull request's diff shows of each file; nothing of one that GitHub has no patch of."""
    found = {}
    for file in client.pages(f"pulls/{number}/files"):
        try:
            found[file["filename"]] = diffs.shown(file.get("patch") or "")
        except DiffError:
            continue
    return found


def find_pull(client: Client, head: str) -> int:
    """The open pull request with this head. Raises StopError."""
    try:
        pulls = _with_head(client.pages(f"commits/{head}/pulls"), head, client.repo)
    except GitHubError as error:
        if error.status not in {404, 422}:
            raise
        pulls = []
    if not pulls:  # the commit of a fork may be unknown here
        pulls = _with_head(client.pages("pulls", state="open", sort="updated", direction="desc"), head, client.repo)
    if not pulls:
        raise StopError(f"no open pull request has the head {head}: it was closed, or has moved on")
    if len(pulls) > 1:
        raise StopError(f"several pull requests have the head {head}: {', '.join(f'#{number}' for number in pulls)}")
    return pulls[0]


def _with_head(pulls: Iterable[dict[str, object]], head: str, repo: str) -> list[int]:
    found = []
    for pull in pulls:
        here, base = pull["head"], pull["base"]
        assert isinstance(here, dict) and isinstance(base, dict)
        ours = str((base.get("repo") or {}).get("full_name", "")).lower() == repo.lower()
        if pull["state"] == "open" and here["sha"] == head and ours:
            found.append(int(str(pull["number"])))
    return found


def _check_head(client: Client, number: int, head: str) -> None:
    now = client.get(f"pulls/{number}")
    if now["head"]["sha"] != head or now["state"] != "open":
        raise StopError(f"#{number} has moved on from {head}: its newer commits are judged by a run of their own")


def _told(decided: Plan) -> str:
    parts = (
        (len(decided.review), "new at lines"),
        (len(decided.edit), "edited"),
        (len(decided.unresolve) + len(decided.show), "taken up again"),
        (len(decided.resolve) + len(decided.hide), "done"),
        (int(bool(decided.write_summary or decided.edit_summary)), "summary written"),
    )
    return ", ".join(f"{number} {what}" for number, what in parts if number)
