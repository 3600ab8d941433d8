"""How to write a label in the list that it goes into: as its neighbours do.

A label of this repository has a style: what stands before `//`, and a leading path that stands for the root
(`//executorch/` ). The style of the list decides, then that of the package, then that of the repository.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from buildfix import labels, values
from buildfix.labels import Label
from buildfix.targets import Target, TargetGraph


class Style(NamedTuple):
    """`prefix` stands before `//`, `head` is the leading path that is not the package's own."""

    prefix: str
    head: str


class Speller:
    """Spells labels for the targets of one graph."""

    def __init__(self, graph: TargetGraph) -> None:
        self._graph = graph
        self._styles: dict[str, Counter[Style]] = {}

    def spell(self, label: Label, target: Target, siblings: Sequence[str]) -> str:
        """`label` as it is to be written among `siblings` in a list of `target`."""
        if label not in self._graph.targets:
            return self._used_as(label) or str(label)
        same = (label.repo, label.package) == (target.label.repo, target.label.package)
        if same and self._prefers_relative(target, siblings):
            return f":{label.name}"
        style = self._style(label, target, siblings)
        package = f"{style.head}/{label.package}" if style.head and label.package else style.head or label.package
        if label.name == package.rpartition("/")[2] and self._prefers_short(target, siblings):
            return f"{style.prefix}//{package}"
        return f"{style.prefix}//{package}:{label.name}"

    def _prefers_relative(self, target: Target, siblings: Sequence[str]) -> bool:
        home = (target.label.repo, target.label.package)
        for texts in (siblings, self._of_package(target.folder)):
            votes: Counter[bool] = Counter()
            for text in texts:
                found = self._graph.workspace.resolve(text, target.folder)
                if found is not None and (found.repo, found.package) == home:
                    votes["//" not in text] += 1
            if votes:
                return votes[True] >= votes[False]
        return True

    def _prefers_short(self, target: Target, siblings: Sequence[str]) -> bool:
        """Whether `//a/b` is written rather than `//a/b:b`, by the nearest labels that could be written so."""
        own = _short_votes(siblings) or _short_votes(self._of_package(target.folder)) or self._short_everywhere
        return own[True] > own[False]

    def _style(self, label: Label, target: Target, siblings: Sequence[str]) -> Style:
        votes = (
            self._style_votes(siblings, target.folder, label.repo)
            or self._style_votes(self._of_package(target.folder), target.folder, label.repo)
            or self._styles_everywhere(label.repo)
        )
        if votes:
            return min(votes, key=lambda style: (-votes[style], style))
        return Style("" if label.repo in ("", target.label.repo) else label.repo, "")

    def _style_votes(self, texts: Iterable[str], folder: str, repo: str) -> Counter[Style]:
        found = (self._style_of(text, folder, repo) for text in texts)
        return Counter(style for style in found if style is not None)

    def _styles_everywhere(self, repo: str) -> Counter[Style]:
        if repo not in self._styles:
            votes: Counter[Style] = Counter()
            for target in self._graph.targets.values():
                votes += self._style_votes(_written(target), target.folder, repo)
            self._styles[repo] = votes
        return self._styles[repo]

    def _style_of(self, text: str, folder: str, repo: str) -> Style | None:
        """The style of a label, if it names a package of `repo` that lies in the tree."""
        spelling = labels.split(text)
        if spelling is None or spelling.prefix is None:
            return None
        found = self._graph.workspace.resolve(text, folder)
        if found is None or found.repo != repo or found not in self._graph.targets:
            return None
        head = spelling.package
        if found.package:
            head = head[: len(head) - len(found.package)].rstrip("/")
        return Style(spelling.prefix, head)

    def _used_as(self, label: Label) -> str | None:
        """The way in which a label outside the repository is most often written."""
        votes = self._outside.get(label)
        return min(votes, key=lambda text: (-votes[text], text)) if votes else None

    @cached_property
    def _outside(self) -> dict[Label, Counter[str]]:
        found: dict[Label, Counter[str]] = {}
        for target in self._graph.targets.values():
            for edge in target.edges:
                if edge.label not in self._graph.targets:
                    found.setdefault(edge.label, Counter())[edge.text] += 1
        return found

    def _of_package(self, folder: str) -> Iterable[str]:
        return self._by_package.get(folder, ())

    @cached_property
    def _by_package(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for target in self._graph.targets.values():
            found.setdefault(target.folder, []).extend(_written(target))
        return found

    @cached_property
    def _short_everywhere(self) -> Counter[bool]:
        return _short_votes(text for target in self._graph.targets.values() for text in _written(target))


def _written(target: Target) -> Iterable[str]:
    """The labels of a target's deps as people wrote them, without what a macro made of them."""
    written = {name: values.texts(target.written.args.get(name)) for name in {edge.attribute for edge in target.edges}}
    return (edge.text for edge in target.edges if edge.text in written[edge.attribute])


def _short_votes(texts: Iterable[str]) -> Counter[bool]:
    """How many of the labels that could leave their name out do so, and how many do not."""
    votes: Counter[bool] = Counter()
    for text in texts:
        spelling = labels.split(text)
        if spelling is not None and spelling.prefix is not None and spelling.name == spelling.package.split("/")[-1]:
            votes[not spelling.named] += 1
    return votes
