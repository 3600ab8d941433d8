"""What buildfix has to say: the Finding, its code, its confidence and the closed list of reasons.

Every output format is a function of these values and of the Plan (repair.py); nothing else reaches a report.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Code(StrEnum):
    """The findings that exist; docs/findings.md describes each."""

    MISSING_DEP = "BF001"
    UNUSED_DEP = "BF002"
    UNRESOLVED_IMPORT = "BF003"
    UNOWNED_MODULE = "BF004"
    AMBIGUOUS_PROVIDER = "BF005"
    WOULD_CYCLE = "BF006"
    NOT_VISIBLE = "BF007"
    DANGLING_LABEL = "BF008"
    MISSING_SOURCE = "BF009"
    DUPLICATE_DEP = "BF010"
    NOT_ANALYSED = "BF011"
    UNUSED_MARKER = "BF012"
    ORPHAN_TARGET = "BF013"
    TEST_ONLY_LIBRARY = "BF014"

    @property
    def slug(self) -> str:
        """The finding's name in words, e.g. `missing-dep`."""
        return self.name.lower().replace("_", "-")


def codes_of(words: Iterable[str]) -> frozenset[Code]:
    """The codes that words name: a code, a name, or `ALL`. Raises ValueError with the word that names none."""
    named = {word: code for code in Code for word in (code.value, code.slug)}
    found: set[Code] = set()
    for word in words:
        if word != "ALL" and word not in named:
            raise ValueError(f"{word!r} names no finding; they are {', '.join(f'{c.value} {c.slug}' for c in Code)}")
        found |= set(Code) if word == "ALL" else {named[word]}
    return frozenset(found)


OFF_BY_DEFAULT = frozenset((Code.ORPHAN_TARGET, Code.TEST_ONLY_LIBRARY))
"""Findings that are a matter of taste: they are looked for only where they are selected."""


class Confidence(StrEnum):
    """`safe` is applied by `--apply`; `unsafe` may be right and is not applied; `display` is only shown."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY = "display"


class Reason(StrEnum):
    """Whatever keeps a finding from being safe, or an edge from being dropped. The value is what people read."""

    MARKED = "a marker keeps it"
    NO_AUTODEPS = "the target is below a marker that turns automatic changes off"
    GENERATED_FILE = "the build file is generated"
    SOURCE_NOT_ANALYSED = "a source of the target could not be analysed"
    PACKAGE_NOT_ANALYSED = "a package that could rely on it is not wholly known"
    DYNAMIC_IMPORT = "a dynamic import could be served by it"
    EVIDENCE = "there is other evidence that it is used"
    EVIDENCE_ELSEWHERE = "there is evidence that a target which gets something through it uses that"
    GUARDED_IMPORT = "the import is guarded"
    NOT_IMPORT_ONLY = "the dep does more than provide modules"
    UNKNOWN_KIND = "the rule's kind is not known for certain"
    THIRD_PARTY = "the dep is third-party code"
    GUESSED = "that the dep provides the module is a guess"
    PUBLIC = "dependents of a public target outside the repository cannot be seen"
    RELIED_ON = "a target that gets a module through it cannot be given the dep directly"
    WOULD_CYCLE = "the dep would close a cycle"
    NOT_VISIBLE = "the dep is not visible from the target"
    VISIBILITY = "the dep would have to be made visible to the target"
    TEST_ONLY = "the dep is test-only and the target is not"
    AVOIDED = "what provides the module is marked as nothing to depend on"
    DANGLING = "the label that a marker names does not exist"
    NOT_A_DEP = "the rule that provides the module may not be depended on"
    AMBIGUOUS = "several targets provide the module"
    NOT_EDITABLE = "the place where it is written cannot be edited"
    OF_MACRO = "a macro gives it to all its targets"
    SHARED = "the entry is shared with targets that need it"
    CONDITIONAL = "the dep is declared under a condition only"
    NOT_PROVEN = "evaluating the edited files did not give the expected result"
    NOT_ASKED_FOR = "only adds were asked for"
    NOT_TO_BE_WRITTEN = "the file lies outside the paths that may be written"
    KNOWN = "the baseline has it"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line of a file: path relative to the root, line from 1 (0: the whole file)."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True, order=True)
class Evidence:
    """Why something is so: a place and what stands there, e.g. `import of executorch.exir.memory`."""

    place: Place
    text: str


@dataclass(frozen=True, slots=True, order=True)
class Dependent:
    """A target that a naive drop would break.

    `module` is what it imports (at `evidence`), `path` the labels from the target to the module's provider as they
    stand before any edit, `place` the target's own place in a build file, `rescued` whether the plan gives it the
    dep directly.
    """

    target: str
    place: Place
    module: str
    evidence: Evidence
    path: tuple[str, ...]
    rescued: bool


class Key(NamedTuple):
    """A finding without its place and words: `subject` is the dep, module or file that it is about."""

    code: str
    target: str
    subject: str

    @property
    def fingerprint(self) -> str:
        """The key as a short text."""
        return hashlib.sha256("\0".join(self).encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with one target. Labels are spelt as in the file that the finding is about.

    `target` is the canonical label; `dep` the label as it is written, or would be, `dep_label` its canonical form.
    `place` is the line of the dep's
    entry (unused), or of the target (missing). `fix` says what the plan does: "add", "drop" or "" (nothing).
    `detail` adds to the reasons in words: the place that cannot be edited, the cycle, the error message. `edits` are
    the places where the plan's edits for it begin; `after` the fingerprints of the findings that must be repaired
    before it, or with it.
    """

    code: Code
    target: str
    place: Place
    message: str
    confidence: Confidence
    dep: str = ""
    dep_label: str = ""
    attribute: str = ""
    module: str = ""
    evidence: tuple[Evidence, ...] = ()
    reasons: tuple[Reason, ...] = ()
    detail: str = ""
    path: tuple[str, ...] = ()
    dependents: tuple[Dependent, ...] = ()
    choices: tuple[str, ...] = ()
    fix: str = ""
    rescue: bool = False
    outside: bool = False
    fails: bool = True
    edits: tuple[Place, ...] = ()
    after: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        """What makes it this finding and no other, whatever lines move and however its dep is spelt."""
        return Key(self.code.value, self.target, self.dep_label or self.dep or self.module or self.place.file)

    @property
    def fingerprint(self) -> str:
        """The key as a short text."""
        return self.key.fingerprint


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file's bytes before and after; `outside` if it lies outside the paths that were asked for."""

    path: str
    before: bytes
    after: bytes
    outside: bool = False


@dataclass(frozen=True, slots=True)
class Repair:
    """What repairs one finding and breaks nobody by itself: with a drop come the adds that it asks for.

    `finding` is its place in Result.findings, `others` are those of the findings that this repairs, too.
    """

    finding: int
    others: tuple[int, ...]
    changes: tuple[FileChange, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """What was looked at: packages, targets and sources, and how many of each could not be analysed."""

    packages: int = 0
    packages_incomplete: int = 0
    targets: int = 0
    python_targets: int = 0
    sources: int = 0
    sources_broken: int = 0
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Result:
    """What a run found and what it would change, or has changed; the input of every report.

    `findings` are sorted by place, code and dep. A finding whose `fix` is not empty is repaired by `changes`;
    `applied` says whether these have been written. `repairs` are the same changes finding by
    finding, if they were asked for.
    """

    findings: tuple[Finding, ...]
    changes: tuple[FileChange, ...]
    summary: Summary
    applied: bool = False
    repairs: tuple[Repair, ...] = ()
