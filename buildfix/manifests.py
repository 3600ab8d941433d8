"""What a repository says of its distributions: gazelle_python.yaml, and requirement and lock files of its hubs.

Which modules a distribution holds is known from gazelle_python.yaml, or from the metadata of the distribution if it is
installed beside buildfix; nothing of the repository is run for it. Read once, at the beginning of a run.
"""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from buildfix import disk, hubs
from buildfix.labels import Label
from buildfix.thirdparty import Origin, Provision, normal
from buildfix.workspace import Workspace

MANIFEST = "gazelle_python.yaml"
# Where requirements lie that no hub names.
_USUAL = ("requirements.txt", "requirements_lock.txt", "requirements.lock", "uv.lock", "poetry.lock", "pyproject.toml")
_REQUIREMENT = re.compile(r"^([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?:[=<>!~;@#\\]|$)")


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution that the repository declares: its name, the hub that has it ("" if none is known), the modules
    that it holds as far as they are known, how they are known, and the file that declares it."""

    name: str
    hub: str
    modules: tuple[str, ...]
    origin: Origin
    file: str

    def provisions(self, workspace: Workspace) -> Iterator[Provision]:
        """Its modules, provided by the hub's label; nothing where there are no hubs."""
        text = f"@{self.hub}//{normal(self.name)}"
        label = workspace.resolve(text, "") if self.hub and workspace.dialect == "bazel" else None
        return self.provided_by(label, text) if label is not None else iter(())

    def provided_by(self, label: Label, text: str = "") -> Iterator[Provision]:
        """Its modules, provided by a label that stands for it."""
        for module in self.modules or (normal(self.name),):
            origin = self.origin if self.modules else Origin.METADATA
            yield Provision(module, label, origin, text, f"{self.file}: {self.name}")


def read(root: Path, folders: Iterable[str]) -> tuple[Distribution, ...]:
    """The distributions that the repository declares; `folders` are those of its packages. What is no such file, or a
    torn one, declares nothing."""
    found = [one for folder in sorted({"", *folders}) for one in _manifest(root, f"{folder}/{MANIFEST}".lstrip("/"))]
    declared = hubs.declared(root)
    only = next(iter({hub.name for hub in declared}), "") if len({hub.name for hub in declared}) == 1 else ""
    files = {file: hub.name for hub in declared for file in hub.requirements}
    for file, hub in {**dict.fromkeys(_USUAL, only), **files}.items():
        found += (_installed(name, hub, file) for name in _names(root, Path(file)))
    return tuple(found)


def _manifest(root: Path, file: str) -> Iterator[Distribution]:
    try:
        data = yaml.safe_load(disk.read(root, file))
    except (OSError, yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError):
        return
    manifest = data.get("manifest") if isinstance(data, dict) else None
    mapping = manifest.get("modules_mapping") if isinstance(manifest, dict) else None
    if not isinstance(manifest, dict) or not isinstance(mapping, dict):
        return
    repository = manifest.get("pip_repository")
    hub = repository.get("name") if isinstance(repository, dict) else manifest.get("pip_deps_repository_name")
    modules: dict[str, list[str]] = {}
    for module, name in mapping.items():
        if isinstance(module, str) and isinstance(name, str):
            modules.setdefault(name, []).append(module)
    for name, held in modules.items():
        yield Distribution(name, hub if isinstance(hub, str) else "", tuple(held), Origin.MANIFEST, file)


def _installed(name: str, hub: str, file: str) -> Distribution:
    return Distribution(name, hub, tuple(modules_of(name)), Origin.METADATA, file)


def modules_of(name: str) -> tuple[str, ...]:
    """The modules and packages that an installed distribution holds, the outermost ones only; () if it is not."""
    try:
        files = importlib.metadata.files(name) or ()
    except importlib.metadata.PackageNotFoundError:
        return ()
    paths = [file.parts for file in files if file.suffix in (".py", ".so", ".pyd") and ".." not in file.parts]
    packages = {parts[:-1] for parts in paths if parts[-1] == "__init__.py"}
    found = set()
    for parts in paths:
        outermost = next((parts[:i] for i in range(1, len(parts)) if parts[:i] in packages), None)
        module = ".".join(outermost or (*parts[:-1], parts[-1].partition(".")[0]))
        if all(part.isidentifier() or part.endswith("-stubs") for part in module.split(".")):
            found.add(module)
    return tuple(sorted(found))


def _names(root: Path, path: Path) -> Iterator[str]:
    """The distributions that a requirement or lock file names."""
    try:
        text = disk.read(root, path).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return
    if path.suffix in (".toml", ".lock") and path.name != "requirements.lock":
        try:
            yield from dict.fromkeys(_of_toml(tomllib.loads(text)))
        except (tomllib.TOMLDecodeError, RecursionError):
            return
        return
    for line in text.splitlines():
        match = _REQUIREMENT.match(line.strip())
        if match:
            yield match[1]


def _of_toml(data: Mapping[str, Any]) -> Iterator[str]:
    packages = data.get("package")
    for package in packages if isinstance(packages, list) else ():
        if isinstance(package, dict) and isinstance(package.get("name"), str):
            yield package["name"]
    project = data.get("project")
    listed = project.get("dependencies") if isinstance(project, dict) else None
    for text in listed if isinstance(listed, list) else ():
        match = _REQUIREMENT.match(text) if isinstance(text, str) else None
        if match:
            yield match[1]
