"""What a run may do: which findings count, which repairs are wanted, which files may be written.

The two tables say how far each reason lets a finding go, and whether a check fails on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from buildfix.findings import OFF_BY_DEFAULT, Code, Confidence, Key, Reason

Judgement = tuple[Confidence, bool]

MISSING: Mapping[Reason, Judgement] = {
    Reason.GUESSED: (Confidence.UNSAFE, False),
    Reason.GUARDED_IMPORT: (Confidence.UNSAFE, False),
    Reason.VISIBILITY: (Confidence.UNSAFE, True),
    Reason.NO_AUTODEPS: (Confidence.DISPLAY, False),
    Reason.MARKED: (Confidence.DISPLAY, False),
    Reason.CONDITIONAL: (Confidence.DISPLAY, False),
    Reason.SHARED: (Confidence.DISPLAY, True),
}
UNUSED: Mapping[Reason, Judgement] = {
    Reason.SOURCE_NOT_ANALYSED: (Confidence.DISPLAY, False),
    Reason.PACKAGE_NOT_ANALYSED: (Confidence.DISPLAY, False),
    Reason.NOT_IMPORT_ONLY: (Confidence.UNSAFE, False),
    Reason.UNKNOWN_KIND: (Confidence.UNSAFE, False),
    Reason.DYNAMIC_IMPORT: (Confidence.UNSAFE, False),
    Reason.THIRD_PARTY: (Confidence.UNSAFE, False),
    Reason.OF_MACRO: (Confidence.DISPLAY, False),
    Reason.PUBLIC: (Confidence.DISPLAY, False),
    Reason.SHARED: (Confidence.DISPLAY, False),
    Reason.EVIDENCE: (Confidence.DISPLAY, False),
    Reason.EVIDENCE_ELSEWHERE: (Confidence.DISPLAY, False),
}
_OTHERWISE: Judgement = (Confidence.DISPLAY, True)
# An edge that people or the lack of knowledge keep is no finding at all.
QUIET = frozenset((Reason.MARKED, Reason.NO_AUTODEPS, Reason.EVIDENCE))


def weigh(reasons: Iterable[Reason], table: Mapping[Reason, Judgement]) -> Judgement:
    """The most cautious of what the reasons make of a finding; it fails a check only if no reason excuses it."""
    judged = [table.get(reason, _OTHERWISE) for reason in reasons] or [_OTHERWISE]
    confidence = Confidence.DISPLAY if any(c is Confidence.DISPLAY for c, _ in judged) else judged[0][0]
    return confidence, all(fails for _, fails in judged)


@dataclass(frozen=True, slots=True)
class Policy:
    """What was asked for. `only_under` are the paths below which files may be written, () for everywhere; `known` the
    keys (findings.Finding.key) of findings that are neither told nor repaired."""

    unsafe: bool = False
    add_only: bool = False
    only_under: tuple[str, ...] = ()
    codes: frozenset[Code] = frozenset(Code) - OFF_BY_DEFAULT
    known: frozenset[Key] = frozenset()

    def permits(self, reasons: Iterable[Reason], table: Mapping[Reason, Judgement]) -> bool:
        """Whether a repair may be made in spite of what speaks against its being safe."""
        return all(self.unsafe and table.get(reason, _OTHERWISE)[0] is Confidence.UNSAFE for reason in reasons)

    def writes(self, path: str) -> bool:
        """Whether a file may be written."""
        return not self.only_under or any(below(path, folder) for folder in self.only_under)


def selected(findings: Mapping[Code, bool], select: Iterable[Code], ignore: Iterable[Code]) -> frozenset[Code]:
    """The codes that count: those selected, else the default ones as the configuration changes them; less the ignored.

    What could not be analysed always counts, for it says whether the rest is complete.
    """
    usual = {code for code in Code if findings.get(code, code not in OFF_BY_DEFAULT)}
    return frozenset(((set(select) or usual) - set(ignore)) | {Code.NOT_ANALYSED})


DEFAULT = Policy()
"""What is asked for by those who ask for nothing."""


def below(path: str, folder: str) -> bool:
    """Whether a path is a folder's or lies in it; both are relative to the root, which is ""."""
    return not folder or path == folder or path.startswith(folder + "/")
