"""How to write a label in the list that it goes into: as its neighbours do.

A label of this repository has a style: what stands before `//`, and a leading path that stands for the root
(`//executorch/` ). The style of the list decides, then that of the package, then that of the repository.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from buildfix import labels
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

    def spell(self, label: Label, target: Target, siblings: Sequence[str]) -> str:
        """`label` as it is to be written among `siblings` in a list of `target`."""
        if label not in self._graph.targets:
            return self._used_as(label) or str(label)
        same = (label.repo, label.package) == (target.label.repo, target.label.package)
        if same and self._prefers_relative(target, siblings):
            return f":{label.name}"
        style = self._style(label, target, siblings)
        package = f"{style.head}/{label.package}" if style.head and label.package else style.head or label.package
        if label.name == package.rpartition("/")[2] and self._prefers_short(label, target, siblings):
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

    def _prefers_short(self, label: Label, target: Target, siblings: Sequence[str]) -> bool:
        for texts in (siblings, self._of_package(target.folder), self._everywhere):
            votes: Counter[bool] = Counter()
            for text in texts:
                spelling = labels.split(text)
                if spelling is not None and spelling.prefix is not None:
                    if spelling.name == spelling.package.rpartition("/")[2]:
                        votes[not spelling.named] += 1
            if votes:
                return votes[True] > votes[False]
        return False

    def _style(self, label: Label, target: Target, siblings: Sequence[str]) -> Style:
        for texts in (siblings, self._of_package(target.folder), self._everywhere):
            votes: Counter[Style] = Counter(
                style for text in texts if (style := self._style_of(text, target.folder, label.repo)) is not None
            )
            if votes:
                return min(votes, key=lambda style: (-votes[style], style))
        return Style("" if label.repo in ("", target.label.repo) else label.repo, "")

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
            found.setdefault(target.folder, []).extend(edge.text for edge in target.edges)
        return found

    @cached_property
    def _everywhere(self) -> list[str]:
        return [edge.text for target in self._graph.targets.values() for edge in target.edges]
