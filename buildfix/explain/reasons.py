"""What is said about each reason that keeps something from being repaired, by the reason's name."""

from __future__ import annotations

from collections.abc import Mapping

REASONS: Mapping[str, str] = {
    "marked": "People keep the entry, the attribute or the rule with a comment (docs/markers.md). Delete the comment "
    "if its reason is gone.",
    "no-autodeps": "The target, its file or a scope around it is taken out of automatic changes by `@noautodeps`, "
    "`@autodeps-skip` or one of its labels. What is missing is shown and fails no check; nothing is dropped. It is "
    "still given a dep that it would lose by a drop elsewhere, unless `noautodeps` in buildfix.yaml says otherwise.",
    "generated-file": "The first lines of the build file say that a program writes it, so an edit would be lost. "
    "Change what the program reads, or set `generated_files: edit`.",
    "source-not-analysed": "A source of the target could not be read or parsed, is made by a rule, or is not there. "
    "It may use the dep, so the edge stays.",
    "package-not-analysed": "A package could not be evaluated to its end, and one of its sources imports something "
    "that comes through the edge. Who has that source is not known, so it cannot be given the dep, and the edge stays.",
    "dynamic-import": "A source imports something by a value that is not known before it runs, and the dep could be "
    "what it asks for. `--unsafe-fixes` drops the edge all the same.",
    "evidence": "Nothing imports the dep, but something mentions it: another attribute, a string, a target that gets "
    "it only from those who depend on it. That is enough to keep an edge, and too little to ask for one.",
    "evidence-elsewhere": "Nothing in the target uses the dep, but another target gets through the edge what it runs "
    "along, names in a string or is tested with. Nobody would declare that, so it is not given the dep, and the edge "
    "stays. If the evidence is none, drop the edge by hand.",
    "guarded-import": "The import may fail, or is for one platform or version: the target works without the dep. "
    "`--unsafe-fixes` adds it.",
    "not-import-only": "The dep is of a kind that can do more for its dependents than provide modules (it carries "
    "data, it is linked, it is made by a rule), or it brings along something of that kind; no import shows that. "
    "`--unsafe-fixes` drops the edge if it is the dep itself that is of such a kind.",
    "unknown-kind": "The rule that makes the target is known by its name only, and may do more with its deps than "
    "import them. `kinds` in buildfix.yaml says what it stands for; `--unsafe-fixes` believes the name.",
    "third-party": "Nothing imports what the dep is said to provide, but a distribution may be needed without an "
    "import (a plugin, a backend, a command). `--unsafe-fixes` drops it.",
    "guessed": "Nobody has said which label provides the module: it is guessed from names, or from what other targets "
    "have that import it. `third_party` in buildfix.yaml makes it certain; `--unsafe-fixes` believes the guess.",
    "relied-on": "Another target gets a module through the edge and cannot be given the dep itself: it would close a "
    "cycle, it is not visible, or its build file cannot be edited. The finding lists who it is. Mend that first.",
    "would-cycle": "With the dep the target would depend on itself, also when all drops of the run are counted in.",
    "not-visible": "The dep's `visibility` does not admit the target.",
    "visibility": "The dep is not visible from the target, and its visibility is a list that belongs to it alone, so "
    "that the target could be added there. Who may depend on it is for its owners to say: `--unsafe-fixes` makes both "
    "edits.",
    "public": "The target may be used from outside the repository, where nobody can see who lives on its edges, and "
    "`public_targets` in buildfix.yaml says that these are to stay.",
    "test-only": "The dep is a test or `testonly`, and the target is neither; the build refuses such an edge. Move "
    "what is needed to a library, or make the target test-only as well.",
    "avoided": "Everything that provides the module is marked (`avoid_dep`, `depslint_never_add`, `deprecation`) as "
    "what nothing new should depend on. Import what takes its place, or add the dep by hand.",
    "dangling": "A comment in a source names a label that does not exist, so it is not added. Correct the comment.",
    "not-a-dep": "The module is a source of a rule on which nothing may depend, such as a test or a binary, and of no "
    "other. Move it to a library.",
    "ambiguous": "Several targets provide the module and nothing prefers one of them.",
    "not-editable": "The list or the entry is written in a way that no edit can be made of with certainty: it is "
    "computed, it comes from a file that cannot be read, or the macro takes no such attribute. The place is printed; "
    "edit it by hand.",
    "of-macro": "The dep stands in a macro, which gives it to all its targets. That is the macro's own decision, even "
    "if none of the targets of today needs it.",
    "shared": "The entry, or the list to which one would be added, also feeds other targets, and what is right for "
    "this one is wrong for them. They are printed. Give the target a list of its own.",
    "conditional": "The dep is declared below a condition (`select`, `platform_deps`) and imported whatever the "
    "condition, and the entry cannot be moved for certain: it may be there because the dep exists only so.",
    "not-proven": "The edit was tried on a copy in memory, and evaluating that did not give what was planned: a macro "
    "drops or rewrites the label, or a check in a build file fails. Nothing of it is written.",
    "not-asked-for": "`--add-only` was given, and this is a drop.",
    "not-to-be-written": "The file lies outside what `--only-under` allows.",
    "known": "The file that `--baseline` names has the finding, so it is left alone.",
}
