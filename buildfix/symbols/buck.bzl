"""Meanings of well-known Buck symbols, for loads that cannot be resolved here.

Meta's public repositories load them from shims that a plain clone often lacks. They are read as in fbcode, where the
Python targets are made.
"""

def fbcode_target(_kind, **kwargs):
    return _kind(**kwargs)

def non_fbcode_target(_kind = None, **kwargs):
    pass

def fbcode_target_only(_kind, **kwargs):
    return _kind(**kwargs)

def is_fbcode():
    return True

def is_xplat():
    return False

def is_arvr_mode():
    return False

def is_fbcode_target():
    return True

def buck_filegroup(**kwargs):
    native.filegroup(**kwargs)

def buck_genrule(**kwargs):
    native.genrule(**kwargs)

def buck_sh_binary(**kwargs):
    native.sh_binary(**kwargs)

def buck_sh_test(**kwargs):
    native.sh_test(**kwargs)

def buck_command_alias(**kwargs):
    native.command_alias(**kwargs)

def export_file(**kwargs):
    native.export_file(**kwargs)

def fb_xplat_cxx_library(**kwargs):
    native.cxx_library(**kwargs)

def fb_xplat_cxx_binary(**kwargs):
    native.cxx_binary(**kwargs)

def fb_xplat_cxx_test(**kwargs):
    native.cxx_test(**kwargs)

def python_library(**kwargs):
    native.python_library(**kwargs)

def python_binary(**kwargs):
    native.python_binary(**kwargs)

def python_unittest(**kwargs):
    native.python_test(**kwargs)

def python_pytest(**kwargs):
    native.python_test(**kwargs)

def cpp_library(**kwargs):
    native.cxx_library(**kwargs)

def cpp_binary(**kwargs):
    native.cxx_binary(**kwargs)

def cpp_unittest(**kwargs):
    native.cxx_test(**kwargs)

def cpp_python_extension(**kwargs):
    native.cxx_python_extension(**kwargs)

fb_native = native

def _paths_basename(p):
    return p.rpartition("/")[-1]

def _paths_dirname(p):
    head, _, _ = p.rpartition("/")
    return head

def _paths_is_absolute(path):
    return path.startswith("/") or (len(path) > 2 and path[1] == ":")

def _paths_join(path, *others):
    result = path
    for other in others:
        if _paths_is_absolute(other):
            result = other
        elif not result or result.endswith("/"):
            result += other
        else:
            result += "/" + other
    return result

def _paths_split_extension(p):
    name = _paths_basename(p)
    dot = name.rfind(".")
    if dot <= 0:
        return (p, "")
    cut = len(name) - dot
    return (p[:-cut], p[-cut:])

def _paths_replace_extension(p, new_extension):
    return _paths_split_extension(p)[0] + new_extension

def _paths_normalize(path):
    if not path:
        return "."
    absolute = path.startswith("/")
    kept = []
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part == ".." and kept and kept[-1] != "..":
            kept.pop()
        elif part != ".." or not absolute:
            kept.append(part)
    joined = "/".join(kept)
    return "/" + joined if absolute else joined or "."

def _paths_starts_with(path, other):
    return path == other or path.startswith(other + "/")

def _paths_relativize(path, start):
    path = _paths_normalize(path)
    start = _paths_normalize(start)
    if start == ".":
        return path
    if path == start:
        return "."
    if not path.startswith(start + "/"):
        fail("Path '%s' is not beneath '%s'" % (path, start))
    return path[len(start) + 1:]

paths = struct(
    basename = _paths_basename,
    dirname = _paths_dirname,
    is_absolute = _paths_is_absolute,
    is_normalized = lambda p: _paths_normalize(p) == p,
    join = _paths_join,
    normalize = _paths_normalize,
    relativize = _paths_relativize,
    replace_extension = _paths_replace_extension,
    split_extension = _paths_split_extension,
    starts_with = _paths_starts_with,
)
