"""buildfix repairs the dependency edges of Buck and Bazel targets.

For programs: `check` finds what is wrong in a repository and how to repair it, `apply` writes the repair.

    import buildfix

    result = buildfix.check("path/to/repository", ["exir"])
    for finding in result.findings:
        print(finding.place, finding.code, finding.message)
    result = buildfix.apply("path/to/repository", result)

What they return and raise is described at their definitions and in docs/api.md. All other modules may change from one
version to the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from buildfix.api import apply, check
    from buildfix.errors import Error, IncompleteError, UsageError
    from buildfix.findings import (
        Code,
        Confidence,
        Dependent,
        Evidence,
        FileChange,
        Finding,
        Place,
        Reason,
        Result,
        Summary,
    )

__version__ = "0.1.0"

__all__ = [
    "Code",
    "Confidence",
    "Dependent",
    "Error",
    "Evidence",
    "FileChange",
    "Finding",
    "IncompleteError",
    "Place",
    "Reason",
    "Result",
    "Summary",
    "UsageError",
    "apply",
    "check",
]


def __getattr__(name: str) -> Any:
    """The names of the API are imported when they are asked for: the command line begins without them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from buildfix import api, errors, findings

    return next(getattr(module, name) for module in (api, errors, findings) if hasattr(module, name))
