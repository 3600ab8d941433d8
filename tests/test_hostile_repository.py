"""What a pull request may put beside build files and sources to read, to hang, or to mislead: configuration, links,
pipes, names. Nothing outside the repository is read or written, and no run hangs or ends in a fault of buildfix."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from conftest import Run, snapshot

Make = Callable[[dict[str, str | bytes]], Path]
Files = dict[str, str | bytes]

SECRET = "c0ffee-and-cream"
BUCK: Files = {
    ".buckconfig": "[cells]\n  root = .\n",
    "kit/BUCK": 'python_library(name = "saw", srcs = ["saw.py"])\n',
    "kit/saw.py": "S = 1\n",
    "yard/BUCK": 'python_library(name = "work", srcs = ["work.py"], deps = [])\n',
    "yard/work.py": "import kit.saw\n",
}
BAZEL: Files = {
    "MODULE.bazel": 'module(name = "yard")\n',
    "kit/BUILD.bazel": 'py_library(name = "saw", srcs = ["saw.py"])\n',
    "kit/saw.py": "S = 1\n",
    "yard/BUILD.bazel": 'py_library(name = "work", srcs = ["work.py"], deps = [])\n',
    "yard/work.py": "import kit.saw\n",
}
TELL = 'fail("got " + str(read_config("default", "key")))\n'


def run_all(buildfix: Run, root: Path) -> list[str]:
    """Everything that check, apply and doctor say, in both formats; none of them is faulty."""
    said = []
    for args in (
        ("--check",),
        ("--check", "--output-format", "json"),
        ("--apply",),
        ("doctor",),
        ("doctor", "--output-format", "json"),
    ):
        words = [args[0], "--root", root, *args[1:]] if args[0] == "doctor" else ["--root", root, *args]
        done = buildfix(*words)
        assert done.returncode in (0, 1, 2, 3), done
        assert "Traceback" not in done.stderr, done.stderr
        assert "fault of buildfix" not in done.stderr, done.stderr
        said.append(done.stdout + done.stderr)
    return said


# --- what lies outside


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder beside the repository that holds a secret under every name that buildfix might read."""
    folder = tmp_path / "outside"
    (folder / ".buckconfig.d").mkdir(parents=True)
    for name in (".buckconfig", ".buckconfig.d/more", "credentials"):
        (folder / name).write_text(f"[default]\n  key = {SECRET}\n")
    (folder / "buildfix.yaml").write_text(f"ignore: [{SECRET}]\n{SECRET}: 1\n")
    (folder / "requirements.txt").write_text(f"{SECRET}\n")
    (folder / "gazelle_python.yaml").write_text(f"manifest: {{modules_mapping: {{lathe: {SECRET}}}}}\n")
    (folder / "MODULE.bazel").write_text(f'module(name = "{SECRET}")\n')
    (folder / "PACKAGE").write_text(f'fail("{SECRET}")\n')
    (folder / "defs.bzl").write_text(f'KEY = "{SECRET}"\nfail(KEY)\n')
    (folder / "data.json").write_text(f'{{"key": "{SECRET}"}}')
    (folder / "secret.py").write_text(f"import {SECRET.replace('-', '_')}\n")
    return folder


INCLUDES = ["<file:../outside/credentials>", "<?file:../outside/credentials>", "<file:{}/credentials>"]


@pytest.mark.parametrize("include", INCLUDES)
def test_configuration_includes_nothing_from_outside(
    include: str, workspace: Make, outside: Path, buildfix: Run
) -> None:
    config = f"[cells]\n  root = .\n{include.format(outside)}\n"
    root = workspace(BUCK | {".buckconfig": config, "kit/BUCK": TELL})
    said = run_all(buildfix, root)
    assert "got None" in said[0]
    assert SECRET not in "".join(said)


@pytest.mark.parametrize("path", ["../outside", "/outside", "{}", "kit/../../outside", "linked"])
def test_cells_lie_inside(path: str, workspace: Make, outside: Path, buildfix: Run) -> None:
    config = f"[cells]\n  root = .\n  other = {path.format(outside)}\n"
    root = workspace(BUCK | {".buckconfig": config, "kit/BUCK": 'load("@other//:defs.bzl", "KEY")\n' + TELL})
    (root / "linked").symlink_to(outside)
    assert SECRET not in "".join(run_all(buildfix, root))


LINKED = {
    ".buckconfig": BUCK,
    ".buckconfig.local": BUCK,
    ".buckconfig.d": BUCK,
    "buildfix.yaml": BUCK,
    "kit/PACKAGE": BUCK,
    "requirements.txt": BAZEL,
    "gazelle_python.yaml": BAZEL,
    "yard/gazelle_python.yaml": BAZEL,
    "WORKSPACE": BAZEL,
    ".bazelignore": BAZEL,
}


@pytest.mark.parametrize("name", LINKED)
def test_no_link_of_a_known_name_is_followed_outside(name: str, workspace: Make, outside: Path, buildfix: Run) -> None:
    files = LINKED[name]
    more: Files = {"kit/BUCK": TELL} if files is BUCK else {"yard/work.py": "import kit.saw\nimport lathe\n"}
    root = workspace({path: text for path, text in (files | more).items() if path != name} | {".buckroot": ""})
    source = {"WORKSPACE": "MODULE.bazel", ".bazelignore": "requirements.txt", ".buckconfig.local": ".buckconfig"}
    (root / name).symlink_to(outside / source.get(name, Path(name).name))
    before = snapshot(outside)
    assert SECRET not in "".join(run_all(buildfix, root))
    assert snapshot(outside) == before


def test_build_files_load_nothing_from_outside(workspace: Make, outside: Path, buildfix: Run) -> None:
    loads = ["//linked:defs.bzl", ":linked.bzl", "//../outside:defs.bzl", f"/{outside}:defs.bzl", "//x:data.json"]
    for number, label in enumerate(loads):
        name = "value" if label.endswith("json") else "KEY"
        root = workspace(BUCK | {f"x{number}/BUCK": f'load("{label}", "{name}")\nfail({name})\n'})
        (root / f"x{number}/linked.bzl").symlink_to(outside / "defs.bzl")
    (root / "linked").symlink_to(outside)
    (root / "x").mkdir()
    (root / "x/data.json").symlink_to(outside / "data.json")
    (root / "kit/secret.py").symlink_to(outside / "secret.py")
    said = "".join(run_all(buildfix, root))
    assert SECRET not in said
    assert SECRET.replace("-", "_") not in said


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes have no names here")
@pytest.mark.parametrize("files", [BUCK, BAZEL], ids=["buck", "bazel"])
def test_a_pipe_is_not_waited_for(files: Files, workspace: Make, buildfix: Run) -> None:
    root = workspace(files)
    names = [
        "buildfix.yaml", ".buckconfig.local", "requirements.txt", "pyproject.toml", "uv.lock", "gazelle_python.yaml",
        "WORKSPACE", ".bazelignore", "kit/PACKAGE", "kit/gazelle_python.yaml", "odd/BUCK", "odd/BUILD.bazel",
        "odd/x.py", "kit/saw.pyi",
    ]  # fmt: skip
    for name in names:
        (root / name).parent.mkdir(exist_ok=True)
        os.mkfifo(root / name)
    said = run_all(buildfix, root)
    assert "imports kit.saw without a dep on //kit:saw" in said[0]


# --- what is large, deep or turns in circles

DEEP = 100_000
HOSTILE_CONFIGURATION: Mapping[str, tuple[Files, str, str]] = {
    "a file that includes itself": (BUCK, ".buckconfig", "[cells]\n  root = .\n" + "<file:.buckconfig>\n" * 20),
    "a name with a zero": (BUCK, ".buckconfig", "<file:a\0b>\n"),
    "a name that is too long": (BUCK, ".buckconfig", f"<file:{'a' * 5000}>\n"),
    "no section": (BUCK, ".buckconfig", "\x1b[2J\n=\n"),
    "aliases in a circle": (BUCK, ".buckconfig", "[cells]\n  root = .\n[cell_aliases]\n  a = b\n  b = a\n"),
    "deep YAML": (BUCK, "buildfix.yaml", "ignore: " + "[" * DEEP + "]" * DEEP),
    "YAML that holds itself": (BUCK, "buildfix.yaml", "third_party: &a {a: *a}\n"),
    "YAML that makes objects": (BUCK, "buildfix.yaml", "ignore: !!python/object/apply:os.abort []\n"),
    "a deep manifest": (BAZEL, "gazelle_python.yaml", "manifest: " + "[" * DEEP + "]" * DEEP),
    "a manifest that grows": (
        BAZEL,
        "gazelle_python.yaml",
        "a0: &a0 [x, x, x, x, x, x, x, x]\n"
        + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 8)}]\n" for i in range(1, 20))
        + "manifest: {modules_mapping: {a: *a19}}\n",
    ),
    "a manifest of other types": (BAZEL, "gazelle_python.yaml", "manifest: {modules_mapping: {1: 2, x: [3]}}\n"),
    "signs in MODULE.bazel": (BAZEL, "MODULE.bazel", "x = " + "-" * DEEP + "1\n"),
    "sums in MODULE.bazel": (BAZEL, "MODULE.bazel", "x = " + "1 + " * DEEP + "1\n"),
    "brackets in MODULE.bazel": (BAZEL, "MODULE.bazel", "x = " + "(" * DEEP + ")" * DEEP + "\n"),
    "attributes in WORKSPACE": (BAZEL, "WORKSPACE", "x" + ".a" * DEEP + "\n"),
    "zeros in WORKSPACE": (BAZEL, "WORKSPACE", "\0" * 64),
    "deep TOML": (BAZEL, "pyproject.toml", "x = " + "[" * DEEP + "]" * DEEP + "\n"),
    "long requirements": (BAZEL, "requirements.txt", "a[" * 1_000_000 + "\n" + "-" * 1_000_000),
    "folders of .bazelignore": (BAZEL, ".bazelignore", "/\n..\n*\n[\n\0\n" + "a/" * 5000 + "\n"),
}


@pytest.mark.parametrize("name", HOSTILE_CONFIGURATION)
def test_hostile_configuration_is_no_fault_of_buildfix(name: str, workspace: Make, buildfix: Run) -> None:
    files, path, text = HOSTILE_CONFIGURATION[name]
    said = run_all(buildfix, workspace(files | {path: text}))
    assert "\x1b" not in "".join(said)


def test_each_file_is_included_once(workspace: Make, buildfix: Run) -> None:
    """Ten files that each include the next ten times would otherwise be read ten billion times."""
    config: Files = {f"c{i}": f"<file:c{i + 1}>\n" * 10 for i in range(10)}
    config |= {"c10": "[default]\n  key = the last\n", ".buckconfig": "<file:c0>\n", "kit/BUCK": TELL}
    assert "got the last" in run_all(buildfix, workspace(BUCK | config))[0]


def test_there_is_an_end_to_includes(workspace: Make, buildfix: Run) -> None:
    config: Files = {f"c{i}": f"<file:c{i + 1}>\n" for i in range(2000)}
    said = run_all(buildfix, workspace(BUCK | config | {".buckconfig": "<file:c0>\n"}))
    assert "more than 200 files" in said[0]


@pytest.mark.parametrize("name", ["requirements.txt", "gazelle_python.yaml", "buildfix.yaml", "WORKSPACE", "huge/x.py"])
def test_a_file_that_is_too_large_is_not_read(name: str, workspace: Make, buildfix: Run) -> None:
    root = workspace(BAZEL)
    (root / name).parent.mkdir(exist_ok=True)
    with open(root / name, "wb") as file:
        file.truncate(1 << 40)  # it takes no room
    run_all(buildfix, root)


# --- names

CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
ODD = [
    "new\nline",
    "::error::x",
    "\x1b]0;title\x07",
    "--apply",
    "sp ace",
    "\u202egnp.BUCK",
    "a;rm -rf $HOME",
    "'\"`$(id)`",
]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not have such names")
@pytest.mark.parametrize("name", ODD)
def test_odd_names_are_shown_harmlessly(name: str, workspace: Make, buildfix: Run) -> None:
    odd = name.replace("/", "")
    files = BUCK | {
        f"{odd}/BUCK": 'python_library(name = "odd", srcs = glob(["*.py"]), deps = ["//yard:work"])\n',
        f"{odd}/{odd}.py": "import kit.saw\n",
    }
    root = workspace(files)
    before = snapshot(root)
    said = run_all(buildfix, root)
    for text in (said[0], said[2], said[3]):
        assert CONTROLS.search(text) is None, text
        assert not any(line.startswith("::") for line in text.splitlines())
    json.loads(said[1])
    after = snapshot(root)
    assert before.keys() == after.keys()
    assert {path for path in before if before[path] != after[path]} <= {"yard/BUCK", f"{odd}/BUCK"}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not have such names")
def test_a_name_that_is_not_utf_8_is_reported(workspace: Make, buildfix: Run) -> None:
    root = workspace(BUCK)
    folder = os.fsencode(root) + b"/b\xff"
    os.mkdir(folder)
    with open(folder + b"/BUCK", "w") as file:
        file.write('python_library(name = "odd", deps = ["//kit:saw"])\n')
    said = run_all(buildfix, root)
    assert "not UTF-8" in said[0]
