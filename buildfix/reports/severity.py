"""How much a finding weighs, and what each format calls that: the only table of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from buildfix.findings import Confidence, Finding


@dataclass(frozen=True, slots=True)
class Severity:
    """A weight by its own name and by those that the formats have for it; `rank` sorts the heaviest first."""

    name: str
    rank: int
    github: str
    gitlab: str
    sarif: str
    reviewdog: str
    lintrunner: str


ERROR = Severity("error", 0, "error", "major", "error", "ERROR", "error")
WARNING = Severity("warning", 1, "warning", "minor", "warning", "WARNING", "warning")
NOTE = Severity("note", 2, "notice", "info", "note", "INFO", "advice")

# Whether it fails a check, and how sure buildfix is. What fails a check is an error, so that no report looks better
# than the exit status; of the rest, what somebody can have repaired is a warning.
_SEVERITIES: Mapping[tuple[bool, Confidence], Severity] = MappingProxyType(
    {
        (True, Confidence.SAFE): ERROR,
        (True, Confidence.UNSAFE): ERROR,
        (True, Confidence.DISPLAY): ERROR,
        (False, Confidence.SAFE): WARNING,
        (False, Confidence.UNSAFE): WARNING,
        (False, Confidence.DISPLAY): NOTE,
    }
)


def of(finding: Finding, applied: bool) -> Severity:
    """A finding's weight; one that has been repaired is only worth a note."""
    return NOTE if repaired(finding, applied) else _SEVERITIES[finding.fails, finding.confidence]


def repaired(finding: Finding, applied: bool) -> bool:
    """Whether a finding is one no more."""
    return applied and bool(finding.fix)
