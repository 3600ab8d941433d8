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
