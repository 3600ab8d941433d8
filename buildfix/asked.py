"""What people type for a target, a dep or a module, and what it stands for; or what is near to it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from buildfix import stdlib
from buildfix.errors import Error, IncompleteError, UsageError
from buildfix.knowledge import Knowledge
from buildfix.labels import Label
from buildfix.policy import below as under


class UnknownError(Error):
    """There is nothing of that name; the message says what is near. `incomplete`: it may be where nobody could look."""

    def __init__(self, message: str, incomplete: bool = False) -> None:
        super().__init__(message)
        self.exit_status = IncompleteError.exit_status if incomplete else UsageError.exit_status


class Subject(NamedTuple):
    """What a question is about: a target by its `label`, or a dotted `module`."""

    label: Label | None
    module: str = ""

    def __str__(self) -> str:
        return str(self.label) if self.label is not None else self.module


def targets(text: str, here: str, path: str | None, known: Knowledge) -> tuple[Label, ...]:
    """The targets that a label names, as people write it in the folder `here`; or, if `text` is the existing file
    `path`, all that have it among their sources. Raises UnknownError."""
    if path is not None:
        owners = [
            label for label, target in known.graph.targets.items() if any(src.path == path for src in target.srcs)
        ]
        if not owners:
            raise UnknownError(f"no target has {path} among its sources", unseen_above(path, known))
        return tuple(sorted(owners))
    found = [label for label in _labels(text, here, known) if label in known.graph.targets]
    if not found:
        raise _no_target(text, here, known)
    return (found[0],)


def below(text: str, here: str, file: str | None, folder: str | None, known: Knowledge) -> tuple[Label, ...]:
    """What `targets` gives; if the text is the existing `folder`, all targets of the packages below it. Raises
    UnknownError."""
    if folder is None:
        return targets(text, here, file, known)
    found = [label for label, one in known.graph.targets.items() if under(one.folder, folder)]
    if not found:
        raise UnknownError(f"there is no target below {folder or 'the root'}", folder in known.graph.unseen)
    return tuple(sorted(found))


def subject(text: str, here: str, path: str | None, known: Knowledge) -> Subject:
    """A dep by its label or a module by its dotted name (or by its file). Raises UnknownError."""
    if path is not None and path.endswith((".py", ".pyi")):
        return Subject(None, _module_of(path, known))
    if "/" not in text and ":" not in text and not text.startswith("@"):
        try:
            return Subject(None, module(text, known))
        except UnknownError:
            if not any(label in known.graph.targets for label in _labels(text, here, known)):
                raise
    mentioned = {edge.label for target in known.graph.targets.values() for edge in target.edges}
    for label in _labels(text, here, known):
        if label in known.graph.targets or label in mentioned:
            return Subject(label)
    raise _no_target(text, here, known)


def module(text: str, known: Knowledge) -> str:
    """A module of the repository or one that its sources import; of a name inside a module, the module. Raises
    UnknownError."""
    if known.modules.known(text) or stdlib.has(text):
        return text
    outside = {name for uses in known.uses.values() for name in uses.externals}
    if any(f"{name}.".startswith(f"{text}.") for name in outside) or known.third_party.provider(text) is not None:
        return text
    nowhere = {name for uses in known.uses.values() for name in uses.unresolved}
    if text in nowhere:
        return text
    longest = known.modules.longest_known(text)
    if longest and (longest not in known.modules.folders or _binds(longest, text[len(longest) + 1 :], known)):
        return longest
    names = [*known.modules.files, *known.modules.providers, *outside]
    raise UnknownError(f"no module {text}{_near(text, names)}")


def _binds(module: str, rest: str, known: Knowledge) -> bool:
    """Whether a package has a name that is not one of its modules."""
    name = rest.partition(".")[0]
    files = known.modules.files.get(module, ())
    return any(
        name in source.names or any(name in (one.asname, one.name) for one in source.imports)
        for source in (known.modules.sources[path] for path in files)
    )


def _module_of(path: str, known: Knowledge) -> str:
    placed = [name for (_, file), names in known.modules.placed.items() if file == path for name in names]
    used = [name for name in placed if name in known.importers]
    names = (*used, *placed, *known.modules.names_of(path))
    if not names:
        raise UnknownError(f"{path} is no module")
    return names[0]


def _labels(text: str, here: str, known: Knowledge) -> Iterator[Label]:
    """The labels that a text may stand for in a folder: as written in a build file, or as a path of packages."""
    space = known.graph.workspace
    texts: list[str] = []
    if "//" in text or text.startswith((":", "@")):
        texts = [text]
    else:
        _, package = space.package_of(here)
        below = f"{package}/{text}".lstrip("/")
        texts = [f"//{below}", f"//{text}", *([f":{text}"] if "/" not in text and ":" not in text else [])]
    for one in texts:
        label = space.resolve(one.rstrip("/"), here)
        if label is not None:
            yield label


def _no_target(text: str, here: str, known: Knowledge) -> UnknownError:
    label = next(_labels(text, here, known), None)
    if label is None:
        return UnknownError(f"{text!r} is no label")
    in_package = [one for one in known.graph.targets if (one.repo, one.package) == (label.repo, label.package)]
    near = difflib.get_close_matches(label.name, [one.name for one in in_package], n=3)
    if near:
        hint = f"; did you mean {' or '.join(str(label._replace(name=name)) for name in near)}?"
    elif in_package:
        first = sorted(str(one) for one in in_package)
        more = f" and {len(first) - 5} more" if len(first) > 5 else ""
        hint = f"; its package has {', '.join(first[:5])}{more}"
    else:
        hint = _near(str(label), (str(one) for one in known.graph.targets))
    folder = known.graph.workspace.folder(label)
    incomplete = folder is not None and folder in known.graph.unseen
    remark = "; its package could not be wholly analysed, so it may be there" if incomplete else ""
    return UnknownError(f"no target {label}{hint}{remark}", incomplete)


def _near(text: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(text, sorted(set(names)), n=3, cutoff=0.7)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def unseen_above(path: str, known: Knowledge) -> bool:
    """Whether a file may be a source of a target that could not be seen: one of its package, or of one above."""
    folder = path
    while folder:
        folder = folder.rpartition("/")[0]
        if folder in known.graph.unseen:
            return True
    return False
