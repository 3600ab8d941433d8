"""`buildfix.yaml` to a frozen Config. An unknown key or a wrong type is an error that names the line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import yaml

from buildfix import disk
from buildfix.errors import UsageError
from buildfix.findings import Code, codes_of
from buildfix.roots import CONFIG_FILES, clean_path


class ConfigError(UsageError):
    """The configuration cannot be used; the message names file and line."""


class ImportRoot(NamedTuple):
    """A folder (relative to the root) whose files are importable below the dotted `prefix` ("" for none)."""

    path: str
    prefix: str


class ModeConfig(NamedTuple):
    """A way in which the repository is built: what it changes of the loaded symbols and of `read_config`'s answers."""

    name: str
    symbols: Mapping[str, str]
    build_config: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that a repository can say about itself; each key's default is what is found without it."""

    dialect: Literal["buck", "bazel"] | None = None
    import_roots: tuple[ImportRoot, ...] | None = None
    label_prefixes: Mapping[str, str] | None = None
    ignore: tuple[str, ...] = ()
    third_party: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    kinds: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    type_checking: Literal["ignore", "require"] = "ignore"
    conftest: Literal["keep", "require", "ignore"] = "keep"
    pytest_plugins: tuple[str, ...] = ()
    noautodeps: Literal["rescue", "untouched", "ignore"] = "rescue"
    generated_files: Literal["report", "edit"] = "report"
    public_targets: Literal["repair", "report"] = "repair"
    symbols: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    build_config: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    modes: tuple[ModeConfig, ...] = ()
    findings: Mapping[Code, bool] = field(default_factory=lambda: MappingProxyType({}))


def load(root: Path) -> Config:
    """The Config of the repository at `root`; the default one if it has no file. Raises ConfigError."""
    for name in CONFIG_FILES:
        path = root / name
        if disk.is_file(path):
            try:
                text = disk.read(root, name).decode("utf-8")
            except OSError as error:
                raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
            except UnicodeDecodeError as error:
                raise ConfigError(f"{path}: cannot be read: {error}") from error
            return parse(text, name)
    return Config()


def parse(text: str, name: str = "buildfix.yaml") -> Config:
    """The Config that `text` describes; `name` stands in error messages. Raises ConfigError."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{name}:{line}: not valid YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{name}: not valid YAML: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{name}: nested too deeply") from error
    if node is None:
        return Config()
    reader = _Reader(name)
    values = {key: _KEYS[key](reader, value) for key, value in reader.mapping(node, allowed=tuple(_KEYS)).items()}
    return Config(**values)


@dataclass(frozen=True, slots=True)
class _Reader:
    name: str

    def fail(self, node: yaml.Node, problem: str) -> ConfigError:
        return ConfigError(f"{self.name}:{node.start_mark.line + 1}: {problem}")

    def string(self, node: yaml.Node) -> str:
        if isinstance(node, yaml.ScalarNode) and node.tag in ("tag:yaml.org,2002:str", "tag:yaml.org,2002:null"):
            return "" if node.tag.endswith("null") else str(node.value)
        raise self.fail(node, f"expected a string, found {_describe(node)}")

    def scalar(self, node: yaml.Node) -> str:
        if isinstance(node, yaml.ScalarNode):
            return str(node.value)
        raise self.fail(node, f"expected a single value, found {_describe(node)}")

    def strings(self, node: yaml.Node) -> tuple[str, ...]:
        if not isinstance(node, yaml.SequenceNode):
            raise self.fail(node, f"expected a list of strings, found {_describe(node)}")
        return tuple(self.string(item) for item in node.value)

    def mapping(self, node: yaml.Node, allowed: tuple[str, ...] = ()) -> dict[str, yaml.Node]:
        if not isinstance(node, yaml.MappingNode):
            raise self.fail(node, f"expected keys and values, found {_describe(node)}")
        result: dict[str, yaml.Node] = {}
        for key_node, value in node.value:
            key = self.scalar(key_node)
            if allowed and key not in allowed:
                raise self.fail(key_node, f"unknown key {key!r}; the keys are {', '.join(allowed)}")
            if key in result:
                raise self.fail(key_node, f"key {key!r} stands here twice")
            result[key] = value
        return result

    def string_map(self, node: yaml.Node) -> Mapping[str, str]:
        return MappingProxyType({key: self.scalar(value) for key, value in self.mapping(node).items()})

    def findings(self, node: yaml.Node) -> Mapping[Code, bool]:
        found: dict[Code, bool] = {}
        for name, value in self.mapping(node).items():
            try:
                codes = codes_of([name])
            except ValueError as error:
                raise self.fail(value, str(error)) from None
            found |= dict.fromkeys(codes, self.boolean(value))
        return MappingProxyType(found)

    def boolean(self, node: yaml.Node) -> bool:
        if isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:bool":
            return str(node.value).lower() in ("true", "yes", "on")
        raise self.fail(node, f"expected true or false, found {_describe(node)}")

    def modes(self, node: yaml.Node) -> tuple[ModeConfig, ...]:
        found = []
        for name, value in self.mapping(node).items():
            values = self.mapping(value, allowed=("symbols", "build_config"))
            read = {key: self.string_map(item) for key, item in values.items()}
            found.append(ModeConfig(name, read.get("symbols", {}), read.get("build_config", {})))
        return tuple(found)

    def choice(self, *choices: str) -> Callable[[yaml.Node], str]:
        def read(node: yaml.Node) -> str:
            value = self.string(node)
            if value not in choices:
                raise self.fail(node, f"expected one of {', '.join(choices)}, found {value!r}")
            return value

        return read

    def import_roots(self, node: yaml.Node) -> tuple[ImportRoot, ...]:
        if not isinstance(node, yaml.SequenceNode):
            raise self.fail(node, f"expected a list of roots, found {_describe(node)}")
        return tuple(self.import_root(item) for item in node.value)

    def import_root(self, node: yaml.Node) -> ImportRoot:
        if isinstance(node, yaml.ScalarNode):
            return ImportRoot(self.folder(node), "")
        values = self.mapping(node, allowed=("path", "prefix"))
        prefix = self.string(values["prefix"]).strip(".") if "prefix" in values else ""
        return ImportRoot(self.folder(values["path"]) if "path" in values else "", prefix)

    def folder(self, node: yaml.Node) -> str:
        text = self.string(node)
        if text.startswith("/") or ".." in text.replace("\\", "/").split("/"):
            raise self.fail(node, f"expected a folder relative to the root and below it, found {text!r}")
        return clean_path(text)


def _describe(node: yaml.Node) -> str:
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    if isinstance(node, yaml.MappingNode):
        return "keys and values"
    return repr(node.value)


_KEYS: dict[str, Callable[[_Reader, yaml.Node], Any]] = {
    "dialect": lambda r, n: r.choice("buck", "bazel")(n),
    "import_roots": lambda r, n: r.import_roots(n),
    "label_prefixes": lambda r, n: MappingProxyType({clean_path(k): clean_path(v) for k, v in r.string_map(n).items()}),
    "ignore": lambda r, n: r.strings(n),
    "third_party": lambda r, n: r.string_map(n),
    "kinds": lambda r, n: r.string_map(n),
    "type_checking": lambda r, n: r.choice("ignore", "require")(n),
    "conftest": lambda r, n: r.choice("keep", "require", "ignore")(n),
    "pytest_plugins": lambda r, n: r.strings(n),
    "noautodeps": lambda r, n: r.choice("rescue", "untouched", "ignore")(n),
    "generated_files": lambda r, n: r.choice("report", "edit")(n),
    "public_targets": lambda r, n: r.choice("repair", "report")(n),
    "symbols": lambda r, n: r.string_map(n),
    "build_config": lambda r, n: r.string_map(n),
    "modes": lambda r, n: r.modes(n),
    "findings": lambda r, n: r.findings(n),
}
