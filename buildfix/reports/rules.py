"""What each code means, for formats that carry the explanation along; docs/findings.md says more."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from buildfix.findings import Code


class Rule(NamedTuple):
    """One sentence that says what is wrong, and more about why it matters and what to do."""

    short: str
    help: str


RULES: Mapping[Code, Rule] = MappingProxyType(
    {
        Code.MISSING_DEP: Rule(
            "A target imports a module that none of its direct deps provides.",
            "It works only as long as some other dep brings the module along. Add the dep that provides it; "
            "`buildfix --apply` does.",
        ),
        Code.UNUSED_DEP: Rule(
            "Nothing in a target uses one of its deps.",
            "Others may live on the edge: `buildfix --apply` drops it only together with the deps that they need "
            "instead. A dep that is there for a reason which no source shows is kept by a comment `# keep`.",
        ),
        Code.UNRESOLVED_IMPORT: Rule(
            "An import names nothing that exists.",
            "Neither the repository, nor the standard library, nor a known third-party package has the module. Correct "
            "the import, or say in buildfix.yaml which label provides it.",
        ),
        Code.UNOWNED_MODULE: Rule(
            "An imported file belongs to no target.",
            "The file exists, but no target lists it among its sources, so no dep can provide it. Add it to a target.",
        ),
        Code.AMBIGUOUS_PROVIDER: Rule(
            "Several targets provide a missing module, and none is better than the others.",
            "Choose one of them and add it to the deps.",
        ),
        Code.WOULD_CYCLE: Rule(
            "A missing dep would make the target depend on itself.",
            "Move what both targets use into a third one, or the import out of one of them.",
        ),
        Code.NOT_VISIBLE: Rule(
            "A missing dep may not be used from the target.",
            "Widen the visibility of the dep, or use what it offers by a target that is visible.",
        ),
        Code.DANGLING_LABEL: Rule(
            "A dep names a target that does not exist.",
            "Correct the label or drop it.",
        ),
        Code.MISSING_SOURCE: Rule(
            "A target lists a source that does not exist.",
            "Correct the path or drop it.",
        ),
        Code.DUPLICATE_DEP: Rule(
            "A target lists the same dep twice.",
            "One entry is enough, however it is spelt.",
        ),
        Code.NOT_ANALYSED: Rule(
            "A build file or a source could not be understood to its end.",
            "What it might have said is taken as unknown: no dep is dropped that it could need, and findings may be "
            "missing.",
        ),
        Code.UNUSED_MARKER: Rule(
            "A marker keeps nothing.",
            "Nothing would change without the comment; drop it.",
        ),
        Code.ORPHAN_TARGET: Rule(
            "Nothing depends on a library.",
            "If nobody outside the repository uses it, it can go.",
        ),
        Code.TEST_ONLY_LIBRARY: Rule(
            "Only tests depend on a library.",
            "Mark it as test-only, so that nothing else begins to.",
        ),
    }
)
