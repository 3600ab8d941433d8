"""`buildfix.yaml` is read strictly: what is not understood is an error that names the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from buildfix.config import Config, ConfigError, ImportRoot, ModeConfig, load, parse
from buildfix.roots import clean_path


def test_without_a_file_everything_has_its_default(tmp_path: Path) -> None:
    assert load(tmp_path) == Config()


def test_an_empty_file_says_nothing() -> None:
    assert parse("# nothing\n") == Config()


def test_every_key_is_read() -> None:
    config = parse(
        "dialect: bazel\n"
        "import_roots:\n  - src\n  - path: lib\n    prefix: acme.lib\n"
        "label_prefixes: {acme: '', acme/x: y/}\n"
        "ignore: [/setup.py, '**/vendor']\n"
        "third_party: {yaml: '//third-party:pyyaml'}\n"
        "kinds: {acme_library: py_library}\n"
        "type_checking: require\n"
        "noautodeps: untouched\n"
        "generated_files: edit\n"
        "symbols: {is_oss: 'True'}\n"
        "build_config: {acme.flag: 1}\n"
        "modes: {phone: {symbols: {is_phone: 'True'}}, desk: {build_config: {a.b: c}}}\n"
    )
    assert config.dialect == "bazel"
    assert config.import_roots == (ImportRoot("src", ""), ImportRoot("lib", "acme.lib"))
    assert config.label_prefixes == {"acme": "", "acme/x": "y"}
    assert config.ignore == ("/setup.py", "**/vendor")
    assert config.third_party == {"yaml": "//third-party:pyyaml"}
    assert config.kinds == {"acme_library": "py_library"}
    assert (config.type_checking, config.noautodeps, config.generated_files) == ("require", "untouched", "edit")
    assert config.symbols == {"is_oss": "True"}
    assert config.build_config == {"acme.flag": "1"}
    assert config.modes == (ModeConfig("phone", {"is_phone": "True"}, {}), ModeConfig("desk", {}, {"a.b": "c"}))


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("dialect: buck\nimport_root: [x]\n", 2, "unknown key 'import_root'"),
        ("dialect: ninja\n", 1, "expected one of buck, bazel"),
        ("ignore: setup.py\n", 1, "expected a list of strings"),
        ("ignore:\n  - ok\n  - [nested]\n", 3, "expected a string"),
        ("\n\nkinds: [a]\n", 3, "expected keys and values"),
        ("dialect: buck\ndialect: bazel\n", 2, "stands here twice"),
        ("import_roots:\n  - path: a\n    prefx: b\n", 3, "unknown key 'prefx'"),
        ("a: [\n", 2, "not valid YAML"),
        ("- just\n- a list\n", 1, "expected keys and values"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert f"buildfix.yaml:{line}:" in str(caught.value)
    assert words in str(caught.value)


def test_a_file_that_is_not_utf8_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "buildfix.yaml").write_bytes(b"dialect: \xff\n")
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path)


def test_paths_have_one_form() -> None:
    assert [clean_path(text) for text in (".", "./a//b/", "a\\b", "")] == ["", "a/b", "a/b", ""]


@pytest.mark.parametrize("text", ["- ../elsewhere", "- /etc", "- {path: a/../../b, prefix: b}"])
def test_an_import_root_lies_below_the_root(text: str) -> None:
    with pytest.raises(ConfigError, match=r"buildfix.yaml:2: expected a folder relative to the root"):
        parse(f"import_roots:\n  {text}\n")


def test_what_is_nested_too_deeply_is_an_error() -> None:
    with pytest.raises(ConfigError, match="nested too deeply"):
        parse("[" * 5_000 + "]" * 5_000)
