"""Findings as Markdown that says what a colleague would say.

All text of the artefact goes through `code` or `fence`, which let none of it out: in a code span or block GitHub makes
no links, mentions or references, and no HTML. What stands outside of them is written here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from buildfix.findings import Code, Reason
from buildfix.github.artefact import Dependent, Finding
from buildfix.github.fixes import Fix
from buildfix.github.visible import visible

MAX_BODY = 60_000
"""GitHub takes 65,536 characters."""
MAX_PATCH_LINES = 150
MAX_SHOWN = 10
MAX_LISTED = 30
_MAX_CODE = 200
_MARKER = re.compile(r"<!-- buildfix 1 ([0-9a-f]{16}|summary) -->\r?(?:\n|$)")
_SAFE_PATH = re.compile(r"[A-Za-z0-9_+.][A-Za-z0-9_+./-]{0,199}")
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
SUMMARY = "summary"
MISSING_DEP, UNUSED_DEP = Code.MISSING_DEP.value, Code.UNUSED_DEP.value

_CAUSES: Mapping[str, str] = {
    "BF001": "{target} imports {module}, and none of its deps provides it.",
    "BF002": "{target} lists {dep} and does not use it.",
    "BF003": "{target} imports {module}, which looks like a module of this repository and is nowhere in it.",
    "BF004": "{target} imports {module}, a file that no target has among its sources.",
    "BF005": "{target} imports {module}, which several targets provide; none of them is the better choice.",
    "BF006": "{target} imports {module}; a dep on {dep}, which provides it, would make the target depend on itself.",
    "BF007": "{target} imports {module}, and {dep}, which provides it, is not visible from here.",
    "BF008": "{target} lists {dep}, and there is no such target.",
    "BF009": "{target} lists {thing} as a source, and there is no such file.",
    "BF010": "{target} lists {dep} more than once.",
    "BF011": "{place} could not be analysed, so what {target} needs is not wholly known and nothing was dropped.",
    "BF012": "The marker at {place} keeps nothing.",
    "BF013": "Nothing depends on {target}, and nothing imports what it provides.",
    "BF014": "Only tests use the library {target}.",
}
_INTENTIONAL: Mapping[str, str] = {
    "BF001": "If the import needs no dep, write {mark} behind it, and this will not come up again.",
    "BF002": "If the edge is there on purpose, write {mark} behind the entry, and this will not come up again.",
}
_MARKS: Mapping[str, str] = {"BF001": "# @manual", "BF002": "# keep: the reason"}
_PUBLIC = "the target is public"
_REASONS = {reason.name.lower().replace("_", "-"): reason.value for reason in Reason}


def marker(name: str) -> str:
    """The hidden first line of a comment: a finding's fingerprint, or SUMMARY."""
    return f"<!-- buildfix 1 {name} -->"


def marked(body: str) -> str:
    """The name in a comment's marker; "" if it has none."""
    found = _MARKER.match(body)
    return found[1] if found else ""


def code(text: str) -> str:
    """Any text as a code span that nothing in it can end."""
    shown = visible(text)
    shown = shown if len(shown) <= _MAX_CODE else f"{shown[: _MAX_CODE - 1]}…"
    if not shown.strip(" "):
        return "(nothing)"
    ticks = "`" * (_longest_run(shown) + 1)
    space = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def fence(info: str, content: str) -> str:
    """Lines as a code block that none of them can end."""
    ticks = "`" * max(3, _longest_run(content) + 1)
    return f"{ticks}{info}\n{content}{'' if content.endswith(chr(10)) or not content else chr(10)}{ticks}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def comment(finding: Finding, fix: Fix, suggested: bool) -> str:
    """A finding as a comment on a line; with its suggestion, or with the patch in its place."""
    parts = [*_story(finding), *_remedy(finding, fix, suggested), *_intentional(finding)]
    return f"{marker(finding.fingerprint)}\n" + "\n\n".join(parts)


def summary(remarks: Sequence[Finding], patch: str, suggested: bool, omitted: int, head: str) -> str:
    """The one comment that has all findings which belong to no line of the diff: briefly, but for edges that others
    live on."""
    stories = {finding: "\n\n".join(_story(finding)) for finding in remarks if finding.dependents}
    shown = _fitting(stories)
    told = {mark for finding in shown for mark in finding.after}
    brief = [one for one in remarks if one not in stories and one.fingerprint not in told]
    parts = [f"Build dependencies at {code(head[:12])}, outside the lines that this changes:"]
    if brief:
        parts.append("\n".join(map(_line, brief[:MAX_LISTED])))
    parts += [stories[finding] for finding in shown]
    more = max(0, len(brief) - MAX_LISTED) + len(stories) - len(shown) + omitted
    if more:
        parts.append(f"{_number(more).capitalize()} more: {code('buildfix')} shows all.")
    if any(finding.fix for finding in remarks):
        parts += _leftover(patch, suggested)
    entry, use = code(_MARKS[UNUSED_DEP]), code(_MARKS[MISSING_DEP])
    parts.append(f"What is on purpose can say so: {entry} behind an entry, {use} behind an import.")
    return f"{marker(SUMMARY)}\n" + "\n\n".join(parts)


def _fitting(stories: Mapping[Finding, str]) -> list[Finding]:
    """As many findings as there is room for beside the list and the patch."""
    shown, room = list[Finding](), MAX_BODY // 4
    for finding, story in stories.items():
        room -= len(story)
        if room < 0 or len(shown) == MAX_SHOWN:
            break
        shown.append(finding)
    return shown


def _line(finding: Finding) -> str:
    """A finding in one line of a list."""
    what = {"add": f" Add {code(finding.dep)}.", "drop": " The entry can go."}.get(finding.fix, "")
    return f"- {code(str(finding.place))}: {_cause(finding)}{what}"


def nothing_left(head: str) -> str:
    """What the summary says once all of its findings are gone."""
    return f"{marker(SUMMARY)}\nBuild dependencies at {code(head[:12])}: no findings outside the changed lines."


def _story(finding: Finding) -> list[str]:
    """What is wrong and where, how that is known, and who would suffer."""
    parts = [f"**{_cause(finding)}**", *_evidence(finding)]
    if finding.dependents:
        parts += _dependents(finding)
    if finding.fix == "drop" and finding.detail.startswith(_PUBLIC):
        parts.append("The target is public: whoever depends on it from outside of this repository cannot be seen here.")
    if finding.choices:
        parts.append(f"It could be {_alternatives(finding.choices)}.")
    return parts


def _cause(finding: Finding) -> str:
    if finding.code == UNUSED_DEP and finding.dependents:
        number = len(_targets(finding.dependents))
        others = "another target gets" if number == 1 else f"{_number(number)} other targets get"
        return f"{code(finding.target)} does not use {code(finding.dep)}, but {others} it through this edge."
    return _CAUSES[finding.code].format(
        target=code(finding.target),
        dep=code(finding.dep),
        module=code(finding.module),
        thing=code(finding.dep or finding.module),
        place=code(str(finding.place)),
    )


def _evidence(finding: Finding) -> list[str]:
    if finding.code == UNUSED_DEP:
        provided = f": {_shown(code(item.text) for item in finding.evidence[:1])}" if finding.evidence else ""
        return [f"{code(str(finding.place))} lists it, and none of the target's sources imports what it has{provided}."]
    parts = []
    if finding.evidence:
        where = _shown(f"{code(str(item.place))} ({code(item.text)})" for item in finding.evidence)
        parts.append(f"Seen at {where}.")
    if finding.code == MISSING_DEP and len(finding.path) > 1:
        parts.append(f"It works so far only because the module comes along through {_way(finding.path)}.")
    return parts


def _dependents(finding: Finding) -> list[str]:
    by_target = _targets(finding.dependents)
    number = len(by_target)
    whom = {1: "it", 2: "both"}.get(number, "all of them")
    lines = []
    for items in list(by_target.values())[:MAX_SHOWN]:
        first = items[0]
        modules = _shown(code(item.module) for item in items)
        given = "" if all(item.rescued for item in items) else " It cannot be given the dep by this repair."
        lines.append(
            f"- {code(first.target)} imports {modules} at {code(str(first.evidence.place))} "
            f"and receives it only through {_way(first.path)}.{given}"
        )
    if number > MAX_SHOWN:
        lines.append(f"- and {number - MAX_SHOWN} more")
    return [f"Dropping only this line would break {whom}:", "\n".join(lines)]


def _targets(dependents: Iterable[Dependent]) -> dict[str, list[Dependent]]:
    found: dict[str, list[Dependent]] = {}
    for item in dependents:
        found.setdefault(item.target, []).append(item)
    return found


def _remedy(finding: Finding, fix: Fix, suggested: bool) -> list[str]:
    if not finding.fix:
        why = [_REASONS[name] for name in finding.reasons if name in _REASONS]
        parts = [f"It is not repaired automatically: {'; '.join(why)}."] if why else []
        return [*parts, *([f"In detail: {code(finding.detail)}."] if finding.detail else [])]
    if suggested and fix.suggestion:
        return [fence("suggestion", "".join(f"{line}\n" for line in fix.suggestion.lines))]
    if fix.by:
        return ["The suggestion for another finding at these lines repairs this one, too."]
    first = _what_to_do(finding)
    command = f"In a checkout, {code(_command(finding))} does it"
    if not _fits(fix.patch):
        return [f"{first} {command}."]
    return [f"{first} {command}; so does {code('git apply')} with this patch:", fence("diff", fix.patch)]


def _what_to_do(finding: Finding) -> str:
    if finding.fix == "add":
        return f"Add {code(finding.dep)} to its {code(finding.attribute)}."
    if not finding.dependents:
        return "The line can go."
    number = len(_targets(finding.dependents))
    whom = {1: "that target", 2: "both targets"}.get(number, f"all {_number(number)} targets")
    return f"So give {whom} the dep first, and drop the line then."


def _command(finding: Finding) -> str:
    path = finding.place.file
    return f"buildfix --apply {path}" if _SAFE_PATH.fullmatch(path) else "buildfix --apply"


def _leftover(patch: str, suggested: bool) -> list[str]:
    after = ", once the suggestions have been taken," if suggested else ""
    if not _fits(patch):
        return [f"What can be repaired, {code('buildfix --apply')} repairs."]
    return [
        f"This patch repairs what can be repaired{after} as {code('buildfix --apply')} would:",
        fence("diff", patch),
    ]


def _fits(patch: str) -> bool:
    return bool(patch) and patch.count("\n") <= MAX_PATCH_LINES and len(patch) <= MAX_BODY // 4


def _intentional(finding: Finding) -> list[str]:
    text = _INTENTIONAL.get(finding.code)
    return [text.format(mark=code(_MARKS[finding.code]))] if text else []


def _way(labels: Sequence[str]) -> str:
    if len(labels) > MAX_SHOWN:
        labels = (*labels[: MAX_SHOWN - 1], "...", labels[-1])
    return " → ".join(map(code, labels))


def _alternatives(choices: Sequence[str]) -> str:
    return " or ".join(map(code, choices[:MAX_SHOWN])) + (" or another" if len(choices) > MAX_SHOWN else "")


def _shown(items: Iterable[str]) -> str:
    """Some items in a row, and how many more there are."""
    known = list(dict.fromkeys(items))
    more = f" and {len(known) - 3} more" if len(known) > 3 else ""
    return ", ".join(known[:3]) + more


def _number(number: int) -> str:
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)
