"""What is said about each finding, by its code; the examples are in examples.txt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Text(NamedTuple):
    """`what` is wrong, `why` that matters, when `repair` is safe or what to do by hand, how to `silence` it besides
    the ways that silence any finding."""

    what: str
    why: str
    repair: str
    silence: str = ""


CODES: Mapping[str, Text] = {
    "BF001": Text(
        "A source of the target imports a module, and none of the target's direct deps provides it.",
        "It may work today because some other dep brings the module along. It breaks for a reason that nobody sees "
        "when somebody tidies that other dep, and whoever builds the target in a sandbox of its own misses it at once.",
        "`--apply` adds the provider: one that is visible, not to be avoided, a library before a binary, by which the "
        "target gets the module already, in the same package before the nearest. Adding is safe if it closes no "
        "cycle, if the dep is not test-only for a target that is not, and if the entry reaches nobody who does not "
        "need it. Imports that may fail (inside `try` with `except ImportError`, below a platform or version guard) "
        "are shown and fail no check; imports below `TYPE_CHECKING` are not required unless `type_checking: require` "
        "says so. `buildfix index MODULE` lists the providers, `buildfix index MODULE --for TARGET` says why that one.",
        "`# @manual` or `# buildfix: ignore why` at the import: it needs no dep. `# @manual=LABEL`: LABEL provides "
        "it. `# @noautodeps` near the top of the source: nothing is proposed for it.",
    ),
    "BF002": Text(
        "A direct dep whose modules nothing in the target uses.",
        "Each such edge makes others build and test again for nothing, and hides who really needs what. It is "
        "dangerous to drop by hand: targets elsewhere may live on it, as the test does here.",
        "`--apply` drops the entry if the dep can do nothing but provide modules, every source of the target was "
        "understood, nothing mentions it in another way (a string, a label, a mock), and every target of the "
        "repository that receives a module through the edge is given the dep directly in the same run. Otherwise the "
        "edge stays, and the report says who is in the way. `buildfix why TARGET DEP` shows who relies on any edge.",
        "`# keep`, `# @manual` or `# buildfix: keep why` at the entry, or above the attribute or the rule.",
    ),
    "BF003": Text(
        "An import that looks as if it were the repository's own, of a module that is nowhere: no file has it, and no "
        "rule that could make it is known. An import from outside that nothing is known to provide, neither a dep nor "
        "anything that says who provides modules, is mentioned and fails no check: the environment may have it.",
        "Whoever runs the target gets an ImportError. Mostly a file was moved, deleted or never committed, or the "
        "name is misspelt.",
        "There is nothing to edit in a build file: mend the import, or say in `third_party` which label provides the "
        "module. Nothing is said of an import that may fail, nor "
        "where something else may well provide the module: a package from elsewhere that continues a folder without "
        "`__init__`, a dep of a kind whose modules are not known, a rule or a `.proto`, `.pyx` or the like from which "
        "the module is made.",
        "`# @manual` or `# buildfix: ignore why` at the import. `import_roots` in buildfix.yaml, if the modules below "
        "a folder have other names than it seems.",
    ),
    "BF004": Text(
        "An import of a file that lies in the repository and is a source of no target, so that no dep can provide it.",
        "It works where everything runs from the tree, and fails where only what is declared is there.",
        "Which target the file belongs to, only people know: add it to the `srcs` of one, or make one for it, and run "
        "buildfix again for the deps. A file whose package has no Python target is mentioned and fails no check, for "
        "nobody has said that it is built this way; an `__init__` with nothing in it needs no owner.",
        "`# @manual` or `# buildfix: ignore why` at the import.",
    ),
    "BF005": Text(
        "A missing dep for which several targets are equally good, or have different files of one module name in "
        "import roots of which the target uses none. The choices are printed and nothing is added.",
        "Two targets with the same source are two copies of one module in every program that has both; which of them "
        "is meant, only people know.",
        "Add the one that is meant by hand; the next run takes it for granted. A label `avoid_dep`, or a "
        "`deprecation`, on the others settles it for everybody, and so does giving the source to one target only.",
        "`# @manual=LABEL` at the import names the provider.",
    ),
    "BF006": Text(
        "A missing dep that would make the target depend on itself. The cycle is printed and nothing is added.",
        "Neither Buck nor Bazel builds a cycle. The import works only because whoever uses the target also has the "
        "other one.",
        "Move what both need to a target of its own, or the import to where the other target already is; then run "
        "again. A cycle that a drop in the same run opens is none: both edits are made together.",
        "`# @manual` at the import.",
    ),
    "BF007": Text(
        "A missing dep whose target may not be used from here. It is not added until its visibility allows it.",
        "An edge to a target that is not visible is an error in the build. That the module arrives by another dep "
        "goes around what the owners of the target have decided.",
        "Who may depend on a target is for its owners to say, so the repair is unsafe. With `--unsafe-fixes` the "
        "target (in Bazel: its package) is added to the dep's `visibility` and the dep to the target, if the "
        "visibility is a list that belongs to that dep alone; a list that is shared, a default of the package, and "
        "what is marked `keep` are left to people.",
        "`# @manual` at the import.",
    ),
    "BF008": Text(
        "A dep on a target that does not exist, although all targets of its package are known.",
        "The build fails as soon as somebody builds the target, often long after the other one was renamed or deleted.",
        "Correct the label by hand, or delete the entry: the other target may have been renamed, or be yet to come. "
        "It is said only of labels that people wrote, and only if the other package was evaluated to its end and "
        "nothing in it may make such a target or file: no macro that could not be found, no rule whose outputs are "
        "not known.",
    ),
    "BF009": Text(
        "A source that is not on disk, and that nothing in the package makes.",
        "The build of the target fails. What the file would import is not known, so no dep of the target is dropped.",
        "Delete the entry, or bring the file back.",
    ),
    "BF010": Text(
        "A dep that stands twice where it always applies, however each is spelt; or a target beside its alias.",
        "Bazel refuses it; elsewhere it makes people delete the one that they see and wonder why the edge is still "
        "there.",
        "`--apply` drops all but one: the first of those that feed the most targets, so that nobody else loses it. A "
        "target beside its alias is mentioned and fails no check.",
        "`# keep` at an entry.",
    ),
    "BF011": Text(
        "A build file could not be evaluated to its end, or a source could not be read or parsed.",
        "Whatever it might have said is taken as unknown: no dep is dropped that it could need. The exit status is 3, "
        "since the rest of the report may lack something.",
        "Mend the file. If a build file needs what is not in the repository, `symbols`, `build_config` or `ignore` in "
        "buildfix.yaml can say so.",
        "`ignore` in buildfix.yaml takes files out of sight. No baseline has this finding, and no option turns it off.",
    ),
    "BF012": Text(
        "A marker that keeps nothing: if it went, buildfix would say and do the same.",
        "Such markers hide what is really special, and one day they keep an edge that should go.",
        "Delete the comment. That is not done for you, for other tools may read it too; it is told only where what "
        "the marker is about is plain.",
        "It fails no check.",
    ),
    "BF013": Text(
        "A library that no target names, and whose modules nothing imports. Looked for only if selected.",
        "It is built and tested for nobody; or it is meant for people elsewhere, who cannot be seen here.",
        "Delete it, or leave it. Nothing is said where a package that may use it could not be wholly evaluated.",
    ),
    "BF014": Text(
        "A library that only tests use, although neither it nor its name says that it is for tests. Looked for only "
        "if selected.",
        "It is shipped, and nothing shipped needs it.",
        "Set `testonly = True`, or leave it.",
        "`testonly = True`, also as the default of the package.",
    ),
}
