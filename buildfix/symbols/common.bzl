"""Meanings of symbols that both dialects load from libraries: skylib's paths."""

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

def _dicts_add(*dictionaries, **kwargs):
    result = {}
    for d in dictionaries:
        result.update(d)
    result.update(kwargs)
    return result

dicts = struct(
    add = _dicts_add,
    omit = lambda dictionary, keys: {k: v for k, v in dictionary.items() if k not in keys},
    pick = lambda dictionary, keys: {k: dictionary[k] for k in keys if k in dictionary},
)

types = struct(
    is_bool = lambda v: type(v) == "bool",
    is_depset = lambda v: type(v) == "depset",
    is_dict = lambda v: type(v) == "dict",
    is_function = lambda v: type(v) in ("function", "builtin_function_or_method"),
    is_int = lambda v: type(v) == "int",
    is_list = lambda v: type(v) == "list",
    is_none = lambda v: v == None,
    is_string = lambda v: type(v) == "string",
    is_tuple = lambda v: type(v) == "tuple",
)

structs = struct(to_dict = lambda s: {k: getattr(s, k) for k in dir(s)})
