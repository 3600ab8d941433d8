"""Where a repository's root is, what its cells are, and which label a spelling stands for."""

from __future__ import annotations

from pathlib import Path

import pytest

from buildfix.config import Config
from buildfix.labels import Label
from buildfix.roots import WorkspaceError, find_root
from buildfix.workspace import Workspace, learn_prefixes, read


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


BUCKCONFIG = """\
[buildfile]
  name = TARGETS
  name_v2 = TARGETS,BUCK

[repositories]
  root = .
  tools = tools

[repository_aliases]
  kit = tools
  ghost = nowhere

[project]
  ignore = \\
      out, \\
      **/.cache
"""


@pytest.fixture
def buck(tmp_path: Path) -> Workspace:
    write(tmp_path, {".buckconfig": BUCKCONFIG, "a/b/BUCK": "", "tools/x/BUCK": "", "tools/.buckconfig": ""})
    return read(tmp_path, Config()).with_packages(["a/b", "tools/x"])


def test_a_buckconfig_names_cells_build_files_and_what_is_ignored(buck: Workspace) -> None:
    root, tools = buck.cells
    assert (root.name, root.path, root.build_files) == ("root", "", ("TARGETS.v2", "TARGETS", "BUCK.v2", "BUCK"))
    assert root.ignore == ("out", "**/.cache")
    assert (tools.name, tools.path) == ("tools", "tools")


@pytest.mark.parametrize(
    ("text", "folder", "expected"),
    [
        (":x", "a/b", Label("", "a/b", "x")),
        ("//a/b:x", "tools/x", Label("", "a/b", "x")),
        ("root//a/b:x", "a/b", Label("", "a/b", "x")),
        ("tools//x:y", "a/b", Label("tools", "x", "y")),
        ("kit//x:y", "a/b", Label("tools", "x", "y")),
        ("@kit//x:y", "a/b", Label("tools", "x", "y")),
        (":y", "tools/x", Label("tools", "x", "y")),
        ("//x:y", "tools/x", Label("tools", "x", "y")),
        ("kit//lost:y", "a/b", Label("", "lost", "y")),
        ("//lost:y", "a/b", Label("", "lost", "y")),
        ("elsewhere//a:b", "a/b", Label("elsewhere", "a", "b")),
    ],
)
def test_spellings_of_one_target_have_one_identity(buck: Workspace, text: str, folder: str, expected: Label) -> None:
    assert buck.resolve(text, folder) == expected


def test_a_folder_of_another_cell_is_not_a_package_of_the_root_cell(buck: Workspace) -> None:
    label = buck.resolve("//tools/x:y", "a/b")
    assert label is not None and label != Label("tools", "x", "y")


def test_a_prefix_that_stands_for_the_root_is_learnt_from_the_labels(buck: Workspace) -> None:
    spelled = [("//acme/a/b:x", "a/b"), ("//acme/a/b:y", "a/b"), ("//other/a:z", "a/b"), ("//a/b:x", "a/b")]
    targets = frozenset([("a/b", "x"), ("a/b", "y")])
    assert learn_prefixes(spelled, targets, buck) == {"acme": ""}
    assert buck.with_prefixes({"acme": ""}).resolve("kit//acme/a/b:x", "a/b") == Label("", "a/b", "x")


def test_a_module_file_names_the_repository_and_its_local_modules(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "MODULE.bazel": 'module(name = "orchard")\nlocal_path_override(module_name = "press", path = "press")\n',
            "a/BUILD.bazel": "",
            "press/b/BUILD": "",
            ".bazelignore": "# not these\nout\n",
        },
    )
    space = read(tmp_path, Config()).with_packages(["a", "press/b"])
    assert space.dialect == "bazel"
    assert space.resolve("@orchard//a:x", "a") == Label("", "a", "x")
    assert space.resolve("@//a", "a") == Label("", "a", "a")
    assert space.resolve("@press//b", "a") == Label("press", "b", "b")
    assert space.resolve("@pypi//yaml", "a") == Label("pypi", "yaml", "yaml")
    assert "/out" in space.ignore


def test_the_root_is_found_from_below(tmp_path: Path) -> None:
    write(tmp_path, {".buckconfig": "", "cell/.buckconfig": "", "cell/a/b/BUCK": ""})
    assert find_root(tmp_path / "cell/a/b") == tmp_path


def test_a_folder_that_is_no_repository_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, {"notes.txt": "", ".git/HEAD": ""})
    with pytest.raises(WorkspaceError, match="not in a Buck or Bazel repository"):
        find_root(tmp_path)
    with pytest.raises(WorkspaceError, match="not a Buck or Bazel repository"):
        read(tmp_path, Config())


def test_a_broken_buckconfig_is_an_error_that_names_it(tmp_path: Path) -> None:
    write(tmp_path, {".buckconfig": "no section = here\n"})
    with pytest.raises(WorkspaceError, match=r"\.buckconfig: not a valid"):
        read(tmp_path, Config())
