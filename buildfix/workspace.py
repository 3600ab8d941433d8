"""Where the root is, Buck or Bazel, cells and aliases, package to folder and back.

Reads `.buckconfig` (with the files that it includes) and `MODULE.bazel` or `WORKSPACE`, and nothing else. What can
only be learnt from the labels themselves, a prefix that stands for the root, is added later (`with_prefixes`).
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from buildfix import buckconfig, disk, labels
from buildfix.buildfile import BuildFileError, parse_tree
from buildfix.config import Config
from buildfix.engine import Cell
from buildfix.labels import Label
from buildfix.roots import (
    BAZEL_BUILD_FILES,
    BAZEL_MARKS,
    BUCK_BUILD_FILES,
    BUCK_MARKS,
    Dialect,
    WorkspaceError,
    clean_path,
    guess_dialect,
)

_ALWAYS_IGNORED = (".git", ".hg", ".sl", "buck-out", "/bazel-*", "__pycache__", "node_modules", ".venv", "/.buckd")


@dataclass(frozen=True, slots=True)
class Workspace:
    """A repository on disk: its root, dialect, cells (the root's own has the name ""), aliases and ignore patterns.

    `prefixes` maps a leading package path to the folder that it stands for: {"executorch": ""} makes
    `//executorch/exir:lib` and `//exir:lib` one label.
    """

    root: Path
    dialect: Dialect
    cells: tuple[Cell, ...]
    aliases: Mapping[str, str]
    ignore: tuple[str, ...] = ()
    build_config: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    prefixes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    packages: frozenset[str] = frozenset()
    _resolved: dict[tuple[str, str], Label | None] = field(default_factory=dict, repr=False, compare=False)
    _homes: dict[str, tuple[str, str]] = field(default_factory=dict, repr=False, compare=False)

    def with_packages(self, folders: Iterable[str]) -> Workspace:
        """The same workspace, knowing which folders are packages."""
        return replace(self, packages=frozenset(folders), _resolved={}, _homes={})

    def with_prefixes(self, prefixes: Mapping[str, str]) -> Workspace:
        """The same workspace, with label prefixes that stand for folders."""
        return replace(self, prefixes=MappingProxyType(dict(prefixes)), _resolved={}, _homes={})

    def cell_of(self, folder: str) -> Cell:
        """The cell that holds a folder: the one with the longest path above it."""
        inside = [cell for cell in self.cells if _below(folder, cell.path)]
        return max(inside, key=lambda cell: len(cell.path))

    def package_of(self, folder: str) -> tuple[str, str]:
        """(repo, package path within it) of a folder."""
        home = self._homes.get(folder)
        if home is None:
            cell = self.cell_of(folder)
            inner = folder[len(cell.path) :].lstrip("/") if cell.path else folder
            home = self._homes[folder] = ("" if cell is self.cells[0] else cell.name, inner)
        return home

    def folder(self, label: Label) -> str | None:
        """The folder of a label's package, or None if its repository does not lie in the tree."""
        cell = self._cell_named(label.repo)
        return None if cell is None else _join(cell.path, label.package)

    def is_here(self, label: Label) -> bool:
        """Whether the label's package is one of the tree's."""
        folder = self.folder(label)
        return folder is not None and folder in self.packages

    def resolve(self, text: str, folder: str) -> Label | None:
        """The identity of the label `text`, as written in the package at `folder`; None if it is no label."""
        home_repo, home_package = self.package_of(folder)
        key = (text, home_repo if "//" in text else folder)
        if key not in self._resolved:
            self._resolved[key] = self._resolve(text, home_repo, home_package)
        return self._resolved[key]

    def _resolve(self, text: str, home_repo: str, home_package: str) -> Label | None:
        spelling = labels.split(text)
        if spelling is None:
            return None
        if spelling.prefix is None:
            return Label(home_repo, home_package, spelling.name)
        repo = self._repo(spelling.prefix, home_repo)
        for candidate in self._candidates(Label(repo, spelling.package, spelling.name), home_repo):
            if self.is_here(candidate):
                return self._at_home(candidate)
        return self._outside(repo, spelling)

    def _at_home(self, label: Label) -> Label:
        """A package of a nested Bazel repository has one identity, also where a label names it from around it."""
        if self.dialect == "bazel" and label.repo == "":
            repo, package = self.package_of(label.package)
            if repo.startswith("./"):
                return Label(repo, package, label.name)
        return label

    def _outside(self, repo: str, spelling: labels.Spelling) -> Label:
        """One identity for every spelling of a package that is not in the tree: an in-tree cell that lacks it says
        no more than the root cell does."""
        if self.dialect == "buck" and self._cell_named(repo) is not None:
            repo = ""
        return Label(repo, spelling.package, spelling.name)

    def _candidates(self, label: Label, home_repo: str) -> Iterable[Label]:
        yield label
        if self._cell_named(label.repo) is None:
            return
        # Buck repositories write root labels in their other cells too. A Bazel label means its own repository, but what
        # is nested in another without being declared or ignored there is built from there as well.
        from_root = self.dialect == "buck" or label.repo.startswith("./")
        for repo in dict.fromkeys((label.repo, "" if from_root else label.repo)):
            if repo != label.repo:
                yield Label(repo, label.package, label.name)
            for prefix, folder in self.prefixes.items():
                if _below(label.package, prefix):
                    rest = label.package[len(prefix) :].lstrip("/")
                    yield Label(repo, _join(folder, rest), label.name)

    def _repo(self, prefix: str, home_repo: str) -> str:
        name = prefix.lstrip("@")
        if name == "":
            return "" if prefix else home_repo
        name = self.aliases.get(name, name)
        return "" if name == self.cells[0].name else name

    def _cell_named(self, repo: str) -> Cell | None:
        if repo == "":
            return self.cells[0]
        return next((cell for cell in self.cells[1:] if cell.name == repo), None)


def read(root: Path, config: Config) -> Workspace:
    """The workspace at `root`. Raises WorkspaceError if it has no build files of either dialect, or cannot be read."""
    root = Path(os.path.realpath(root))
    if not root.is_dir():
        raise WorkspaceError(f"{root} is not a folder")
    dialect = config.dialect or _dialect(root)
    if dialect is None:
        raise WorkspaceError(
            f"{root} is not a Buck or Bazel repository: there is no .buckconfig, MODULE.bazel or WORKSPACE in it, and "
            "no BUCK, TARGETS or BUILD file below it"
        )
    workspace = _read_buck(root) if dialect == "buck" else _read_bazel(root)
    build_config = {**workspace.build_config, **config.build_config}
    workspace = replace(
        workspace,
        ignore=(*workspace.ignore, *_ALWAYS_IGNORED, *config.ignore),
        build_config=MappingProxyType(build_config),
    )
    return workspace.with_prefixes(config.label_prefixes or {})


def _dialect(root: Path) -> Dialect | None:
    if any(disk.is_file(root / name) for name in BUCK_MARKS):
        return "buck"
    if any(disk.is_file(root / name) for name in BAZEL_MARKS):
        return "bazel"
    return guess_dialect(root)


# --- Buck ------------------------------------------------------------------------------------------------------------


def _read_buck(root: Path) -> Workspace:
    sections = buckconfig.read(root, root)
    paths = {**sections.get("repositories", {}), **sections.get("cells", {})}
    aliases = {**sections.get("repository_aliases", {}), **sections.get("cell_aliases", {})}
    cells: list[Cell] = []
    for name, path in paths.items():
        folder = clean_path(os.path.normpath(path))
        if folder.startswith(".."):
            continue  # outside the tree: its labels are outside labels
        own = sections if folder == "" else buckconfig.read(root, root / folder)
        cells.append(Cell(name, folder, _buck_build_files(own or sections), _buck_ignore(own)))
    if not any(cell.path == "" for cell in cells):
        cells.append(Cell("root", "", _buck_build_files(sections), _buck_ignore(sections)))
    cells.sort(key=lambda cell: (cell.path != "", cell.path))
    flat = {f"{section}.{key}": value for section, keys in sections.items() for key, value in keys.items()}
    return Workspace(
        root=root,
        dialect="buck",
        cells=tuple(cells),
        aliases=MappingProxyType(dict(aliases)),
        build_config=MappingProxyType(flat),
    )


def _buck_build_files(sections: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    buildfile = sections.get("buildfile", {})
    if "name_v2" in buildfile:
        names = _words(buildfile["name_v2"])
    elif "name" in buildfile:
        names = _words(buildfile["name"])
    else:
        return BUCK_BUILD_FILES
    return tuple(dict.fromkeys(variant for name in names for variant in (f"{name}.v2", name)))


def _buck_ignore(sections: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    return tuple(_words(sections.get("project", {}).get("ignore", "")))


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[,\s\\]+", text) if word]


# --- Bazel -----------------------------------------------------------------------------------------------------------


def _read_bazel(root: Path) -> Workspace:
    own_names: set[str] = set()
    local: dict[str, str] = {}
    for file in BAZEL_MARKS:
        for function, args in _top_calls(root, file):
            if function in ("module", "workspace"):
                own_names |= {args[key] for key in ("name", "repo_name") if args.get(key)}
            elif function in ("local_path_override", "local_repository") and "path" in args:
                local[args.get("module_name") or args.get("name", "")] = args["path"]
    cells = [Cell("", "", BAZEL_BUILD_FILES)]
    for name, path in sorted(local.items()):
        folder = clean_path(os.path.normpath(path))
        if name and folder and not path.startswith(("/", "..")):
            cells.append(Cell(name, folder, BAZEL_BUILD_FILES))
    ignored = _bazelignore(root)
    known = {cell.path for cell in cells}
    for folder in _nested_repositories(root, ignored):
        if folder not in known:
            cells.append(Cell(f"./{folder}", folder, BAZEL_BUILD_FILES))
    return Workspace(
        root=root,
        dialect="bazel",
        cells=tuple(cells),
        aliases=MappingProxyType(dict.fromkeys(own_names, "")),
        ignore=ignored,
    )


def _nested_repositories(root: Path, ignored: tuple[str, ...]) -> Iterable[str]:
    """The folders below the root that are repositories of their own (examples, vendored ones)."""
    skipped = {root / pattern.lstrip("/") for pattern in ignored}
    for where, folders, files in os.walk(root):
        here = Path(where)
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith((".", "bazel-")) and name != "node_modules" and here / name not in skipped
        )
        if here != root and not set(files).isdisjoint(BAZEL_MARKS):
            yield here.relative_to(root).as_posix()


def _bazelignore(root: Path) -> tuple[str, ...]:
    path = root / ".bazelignore"
    try:
        lines = (disk.text(root, path) or "").splitlines()
    except OSError as error:
        raise WorkspaceError(f"{path}: cannot be read: {error.strerror}") from error
    folders = [clean_path(line) for line in lines if line.strip() and not line.lstrip().startswith("#")]
    return tuple(f"/{folder.strip()}" for folder in folders if folder.strip())


def _top_calls(root: Path, file: str) -> list[tuple[str, dict[str, str]]]:
    """The calls at the top of a Starlark file, with those of their arguments that are string literals."""
    if not disk.is_file(root / file):
        return []
    try:
        tree = parse_tree(file, disk.read(root, file))
    except (BuildFileError, OSError):
        return []
    calls = []
    for statement in tree.body:
        node = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            args = {
                keyword.arg: keyword.value.value
                for keyword in node.keywords
                if keyword.arg and isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str)
            }
            calls.append((node.func.id, args))
    return calls


def _below(path: str, folder: str) -> bool:
    return folder == "" or path == folder or path.startswith(folder + "/")


def _join(folder: str, rest: str) -> str:
    return f"{folder}/{rest}" if folder and rest else folder or rest


# --- what only the labels can tell -----------------------------------------------------------------------------------


def learn_prefixes(
    spelled: Iterable[tuple[str, str]], targets: frozenset[tuple[str, str]], workspace: Workspace
) -> dict[str, str]:
    """The leading package paths that stand for the root, as the labels themselves show.

    `spelled` holds (label as written, folder of the package), `targets` (folder, name) of every target that exists.
    A path is such a prefix if no folder is called so and most of the labels below it name a target once it is
    taken off. Prefixes that the workspace already knows are kept.
    """
    hits: dict[str, set[str]] = {}
    misses: dict[str, set[str]] = {}
    folders = {parent for package in workspace.packages for parent in _parents(package)}
    for text, home in {(text, workspace.package_of(folder)[0]) for text, folder in spelled}:
        spelling = labels.split(text)
        if spelling is None or not spelling.package or spelling.prefix is None:
            continue
        label = Label(workspace._repo(spelling.prefix, home), spelling.package, spelling.name)
        cell = workspace._cell_named(label.repo)
        if cell is None or workspace.is_here(label):
            continue
        parts = spelling.package.split("/")
        known = [i for i in (1, 2, 3) if i <= len(parts) and "/".join(parts[:i]) not in folders]
        hit = next((i for i in known if ("/".join(parts[i:]), spelling.name) in targets), None)
        if hit is not None:
            hits.setdefault("/".join(parts[:hit]), set()).add(text)
        for i in known:
            if i != hit:
                misses.setdefault("/".join(parts[:i]), set()).add(text)
    found = dict(workspace.prefixes)
    for prefix, proofs in sorted(hits.items()):
        if prefix not in found and len(proofs) >= len(misses.get(prefix, ())):
            found[prefix] = ""
    return found


def _parents(folder: str) -> Iterable[str]:
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
