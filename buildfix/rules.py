"""What each rule kind means: which attributes hold sources and deps, what it provides, who may depend on it.

A table. A repository adds its own kinds with `kinds:` in buildfix.yaml (`my_py_library: python_library`); a kind that
neither knows but whose name says that it is a Python rule is read as one, and marked as guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum


class Role(StrEnum):
    """What a rule is for, as far as import edges are concerned."""

    LIBRARY = "library"
    BINARY = "binary"
    TEST = "test"
    EXTENSION = "extension"
    PREBUILT = "prebuilt"
    GENERATED = "generated"
    ALIAS = "alias"
    GATHER = "gather"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule kind.

    `srcs`, `deps` and so on name attributes. `deps` may be edited; `fixed_deps` count as deps and are never edited;
    `partial_deps` hold deps that apply under a condition. `imports_only` is true where a target of the kind can do
    nothing for its dependents but provide modules. `dependable` says whether a Python target may depend on it.
    `makes` are the modules that it makes of each of its files that end in `made_from`, `{}` being the file's stem; a
    kind that generates and says nothing here makes modules that nobody knows.
    """

    kind: str
    role: Role
    python: bool = True
    srcs: tuple[str, ...] = ("srcs",)
    deps: str = "deps"
    fixed_deps: tuple[str, ...] = ()
    partial_deps: tuple[str, ...] = ()
    resources: tuple[str, ...] = ("resources", "data")
    imports_only: bool = False
    dependable: bool = True
    made_from: str = ""
    makes: tuple[str, ...] = ()
    guessed: bool = False
    known: bool = True


_BUCK_FIXED = ("preload_deps", "plugins", "runtime_deps", "exported_deps", "external_deps")
_OTHER_FIXED = ("exported_deps", "implementation_deps", "runtime_deps")
_BUCK_PARTIAL = ("platform_deps", "versioned_deps")
_BUCK_SRCS = ("srcs", "gen_srcs", "versioned_srcs", "platform_srcs", "typings", "type_stubs")


def _buck(kind: str, role: Role, **changes: object) -> Rule:
    rule = Rule(
        kind,
        role,
        srcs=_BUCK_SRCS,
        fixed_deps=_BUCK_FIXED,
        partial_deps=_BUCK_PARTIAL,
        resources=("resources", "platform_resources", "par_resources", "data"),
        imports_only=role is Role.LIBRARY,
        dependable=role is not Role.TEST and role is not Role.BINARY,
    )
    return replace(rule, **changes)  # type: ignore[arg-type]


def _bazel(kind: str, role: Role, **changes: object) -> Rule:
    rule = Rule(
        kind,
        role,
        srcs=("srcs", "pyi_srcs"),
        fixed_deps=("pyi_deps", "pytest_deps"),
        resources=("data",),
        imports_only=role is Role.LIBRARY,
        dependable=role is not Role.TEST,
    )
    return replace(rule, **changes)  # type: ignore[arg-type]


def _generated(kind: str, made_from: str, *makes: str, role: Role = Role.GENERATED) -> Rule:
    return _bazel(kind, role, srcs=(), deps="", fixed_deps=("deps",), made_from=made_from, makes=makes)


def _other(kind: str, role: Role = Role.OTHER) -> Rule:
    return Rule(kind, role, python=False, srcs=(), fixed_deps=_OTHER_FIXED, resources=())


_TABLE: tuple[Rule, ...] = (
    _buck("python_library", Role.LIBRARY),
    _buck("fb_python_library", Role.LIBRARY),
    _buck("python_binary", Role.BINARY, srcs=(*_BUCK_SRCS, "main")),
    _buck("fb_python_binary", Role.BINARY, srcs=(*_BUCK_SRCS, "main")),
    _buck("python_test", Role.TEST),
    _buck("python_unittest", Role.TEST),
    _buck("python_pytest", Role.TEST),
    _buck("fb_python_test", Role.TEST),
    _buck("python_needed_coverage_test", Role.TEST),
    _buck("cpp_python_extension", Role.EXTENSION, srcs=(), deps="", fixed_deps=("deps", *_BUCK_FIXED)),
    _buck("cxx_python_extension", Role.EXTENSION, srcs=(), deps="", fixed_deps=("deps", *_BUCK_FIXED)),
    _buck("rust_python_extension", Role.EXTENSION, srcs=(), deps="", fixed_deps=("deps", *_BUCK_FIXED)),
    _buck("python_extension", Role.EXTENSION, srcs=(), deps="", fixed_deps=("deps", *_BUCK_FIXED)),
    _buck("prebuilt_python_library", Role.PREBUILT, srcs=(), deps="", fixed_deps=("deps", *_BUCK_FIXED)),
    _bazel("py_library", Role.LIBRARY),
    _bazel("py_binary", Role.BINARY),
    _bazel("py_test", Role.TEST),
    _bazel("py_pytest_test", Role.TEST),
    _bazel("pytest_test", Role.TEST),
    _generated("py_proto_library", ".proto", "{}_pb2"),
    _generated("python_proto_library", ".proto", "{}_pb2"),
    _generated("py_grpc_library", ".proto", "{}_pb2_grpc"),
    _generated("python_grpc_library", ".proto", "{}_pb2", "{}_pb2_grpc"),
    _generated("py_thrift_library", ".thrift", "{}", "{}/ttypes", "{}/constants"),
    _generated("python_thrift_library", ".thrift", "{}", "{}/ttypes", "{}/constants"),
    _generated("flatbuffer_py_library", ".fbs"),
    _generated("py_flatbuffer_library", ".fbs"),
    _generated("cython_library", ".pyx", "{}", role=Role.EXTENSION),
    _generated("pyx_library", ".pyx", "{}", role=Role.EXTENSION),
    _bazel("py_extension", Role.EXTENSION, srcs=(), deps="", fixed_deps=("deps",)),
    _bazel("pybind_extension", Role.EXTENSION, srcs=(), deps="", fixed_deps=("deps",)),
    _bazel("nanobind_extension", Role.EXTENSION, srcs=(), deps="", fixed_deps=("deps",)),
    _bazel("py_import", Role.PREBUILT, srcs=(), deps="", fixed_deps=("deps",)),
    _other("alias", Role.ALIAS),
    _other("configured_alias", Role.ALIAS),
    _other("versioned_alias", Role.ALIAS),
    _other("test_suite"),
    _other("filegroup"),
    _other("genrule"),
    _other("export_file"),
    _other("sh_binary"),
    _other("sh_test"),
    _other("command_alias"),
    _other("package_group"),
    _other("proto_library"),
    _other("config_setting"),
    _other("constraint_value"),
    _other("platform"),
)

_BY_KIND = {rule.kind: rule for rule in _TABLE}

_NATIVE_LANGUAGE = re.compile(
    r"^_*(fb_|xplat_|prebuilt_)*(cxx|cc|cpp|objc|apple|android|java|kt|rust|go|js|ts|swift|ocaml)_"
)
_GUESSES: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (re.compile(r"(^|_)py(thon)?_.*(extension|binding)"), "cxx_python_extension", "py_extension"),
    (re.compile(r"(^|_)py(thon)?_.*test|(^|_)pytest|(^|_)py(thon)?test$"), "python_test", "py_test"),
    (re.compile(r"(^|_)py(thon)?_.*binary$"), "python_binary", "py_binary"),
    (re.compile(r"(^|_)py(thon)?_.*lib(rary)?$|(^|_)pylib$"), "python_library", "py_library"),
)


def rule_of(kind: str, has_python_sources: bool, kinds: Mapping[str, str], bazel: bool) -> Rule:
    """The Rule of a kind; `kinds` is the configuration's own mapping, `has_python_sources` lets a name be guessed."""
    seen: set[str] = set()
    while kind in kinds and kind not in seen:
        seen.add(kind)
        kind = kinds[kind]
    bare = kind.lstrip("_")
    found = _BY_KIND.get(kind) or _BY_KIND.get(bare)
    if found is not None:
        return found
    if _NATIVE_LANGUAGE.match(bare):
        return _other(kind)
    if has_python_sources:
        for pattern, buck_like, bazel_like in _GUESSES:
            if pattern.search(bare):
                like = _BY_KIND[bazel_like if bazel else buck_like]
                return replace(like, kind=kind, guessed=True, imports_only=False)
    return Rule(kind, Role.OTHER, python=False, srcs=(), fixed_deps=_OTHER_FIXED, resources=(), known=False)
