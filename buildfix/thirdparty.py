"""Module to external label: what the configuration says."""

from __future__ import annotations

from collections.abc import Mapping

from buildfix.labels import Label
from buildfix.workspace import Workspace


class ThirdParty:
    """Which label outside the sources provides a dotted module."""

    def __init__(self, configured: Mapping[str, str], workspace: Workspace) -> None:
        self._labels: dict[str, tuple[str, Label]] = {}
        for module, text in configured.items():
            label = workspace.resolve(text, "")
            if label is not None:
                self._labels[module] = (text, label)

    def modules_of(self, label: Label) -> tuple[str, ...]:
        """The modules that the configuration says a label provides."""
        return tuple(module for module, (_, known) in self._labels.items() if known == label)

    def provider(self, module: str) -> tuple[str, Label] | None:
        """(label as configured, its identity) for the longest configured leading part of a dotted name, or None."""
        while module:
            if module in self._labels:
                return self._labels[module]
            module = module.rpartition(".")[0]
        return None
