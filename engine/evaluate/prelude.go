package evaluate

import (
	"strings"

	"go.starlark.net/starlark"

	"buildfix/engine/walk"
)

// In Buck2 what the prelude's prelude.bzl defines is known in every file outside of the prelude, and the fields of its
// `native` in every build file. `[buildfile] package_includes` makes further symbols known to whole folders, which
// macros reach by implicit_package_symbol.

// preludeFile is the path of the prelude's prelude.bzl, or "" if it is not in the tree.
func (e *Engine) preludeFile() string {
	if cell := e.cellNamed("prelude"); e.buck && cell != nil {
		if file := joinAll(cell.Path, "prelude.bzl"); e.tree.Exists(file) {
			return file
		}
	}
	return ""
}

// markPrelude finds the files that make up the prelude, for which there is none.
func (e *Engine) markPrelude(path string) {
	e.prelude = e.files[path]
	var visit func(f *sourceFile)
	visit = func(f *sourceFile) {
		if f == nil || f.prelude {
			return
		}
		f.prelude = true
		for _, target := range f.targets {
			visit(e.files[target.path])
		}
	}
	visit(e.prelude)
}

// preludeSymbols is what the prelude defines for the run's file, or nil.
func (r *run) preludeSymbols() starlark.StringDict {
	if p := r.engine.prelude; p != nil && !r.file.prelude {
		return r.module(p).globals
	}
	return nil
}

// An implicitImport is one entry of package_includes.
type implicitImport struct {
	folder  string // in the root cell
	file    string
	module  string
	symbols map[string]string // alias to name in the file
}

// implicitImports reads the setting: `folder=>module::alias=symbol::symbol,folder=>...`.
func (e *Engine) implicitImports(setting string) []implicitImport {
	var imports []implicitImport
	for _, item := range strings.Split(setting, ",") {
		folder, spec, _ := strings.Cut(strings.TrimSpace(item), "=>")
		parts := strings.Split(spec, "::")
		if len(parts) < 2 || !e.buck {
			continue
		}
		i := implicitImport{folder, e.resolve("", parts[0]).path, parts[0], map[string]string{}}
		for _, symbol := range parts[1:] {
			alias, name, renamed := strings.Cut(symbol, "=")
			if !renamed {
				name = alias
			}
			i.symbols[alias] = name
		}
		imports = append(imports, i)
	}
	return imports
}

// implicitFor is the import for the package: that of the nearest folder above it.
func (m *mode) implicitFor(dir *walk.Dir) *implicitImport {
	if dir == nil || dir.Cell.Path != "" {
		return nil
	}
	for folder := dir.Path; ; folder = parentOf(folder) {
		for i := range m.implicit {
			if m.implicit[i].folder == folder {
				return &m.implicit[i]
			}
		}
		if folder == "" {
			return nil
		}
	}
}

func implicitSymbol(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var name string
	var fallback starlark.Value = starlark.None
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &name, &fallback); err != nil {
		return nil, err
	}
	r := runOf(thread)
	found := r.mode.implicitFor(r.dir)
	if found == nil || found.symbols[name] == "" {
		return fallback, nil
	}
	var globals starlark.StringDict
	if file := r.engine.files[found.file]; file != nil {
		globals = r.module(file).globals
	}
	return r.mode.symbol(found.module, found.symbols[name], globals), nil
}
