package evaluate

import (
	"errors"
	"path"
	"slices"

	"go.starlark.net/starlark"

	"buildfix/engine/walk"
)

// Buck2 reads, before a build file, the PACKAGE files of its folder and of the folders above it in its cell. What they
// say of visibility holds for all packages below.

// packageFileNames are the names of PACKAGE files; the first that exists in a folder counts.
var packageFileNames = []string{"BUCK_TREE", "PACKAGE"}

// packageFileOf is the path of the folder's PACKAGE file, or "".
func (e *Engine) packageFileOf(dir *walk.Dir) string {
	if e.buck && dir != nil {
		for _, name := range packageFileNames {
			if dir.HasFile(name) {
				return joinAll(dir.Path, name)
			}
		}
	}
	return ""
}

// packageFileNamed reports whether a file is called as PACKAGE files are.
func (e *Engine) packageFileNamed(file string) bool {
	return e.buck && slices.Contains(packageFileNames, path.Base(file))
}

// packageFiles lists the PACKAGE files that govern a package, outermost first.
func (e *Engine) packageFiles(dir *walk.Dir) []string {
	if !e.buck {
		return nil
	}
	var above []string
	folder := dir.Path
	if e.tree.Dir(folder) == dir {
		if file := e.packageFileOf(dir); file != "" {
			above = append(above, file)
		}
	}
	for folder != dir.Cell.Path && folder != "" {
		folder = parentOf(folder)
		if file := e.packageFileOf(e.tree.Dir(folder)); file != "" {
			above = append([]string{file}, above...)
		}
	}
	return above
}

// readPackageFiles evaluates the PACKAGE files that govern the package and records their calls of package(). Their
// errors cost the package none of its targets.
func (r *run) readPackageFiles() {
	for _, path := range r.engine.packageFiles(r.dir) {
		file := r.engine.files[path]
		if e := r.mode.exceeding(file); e != nil { // once is enough
			r.errors = append(r.errors, *e)
			continue
		}
		inner := r.engine.newRun(r.mode, file, r.dir, r.gone)
		inner.governing = true
		inner.calls, inner.values, inner.parentValues = r.calls, r.values, r.values
		inner.exec()
		for _, e := range inner.errors {
			e.Kind = "call"
			r.errors = append(r.errors, e)
			if inner.fatal.Load() != nil && !inner.shared.Load() {
				r.mode.setExceeding(file, &e)
			}
		}
		r.calls, r.bytes, r.values = inner.calls, r.bytes+inner.bytes, inner.values
		if inner.shared.Load() {
			r.shared.Store(true)
		}
	}
}

// exceeding is the error of a PACKAGE file that exceeded a limit, or nil.
func (m *mode) exceeding(file *sourceFile) *Error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.exceeded[file]
}

func (m *mode) setExceeding(file *sourceFile, e *Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.exceeded[file] = e
}

// values are what PACKAGE files wrote with write_package_value.
type values struct {
	key   string
	value starlark.Value
	outer *values
}

func (v *values) find(key string) starlark.Value {
	for ; v != nil; v = v.outer {
		if v.key == key {
			return v.value
		}
	}
	return starlark.None
}

func writePackageValue(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var key string
	var value, overwrite starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "key", &key, "value", &value, "overwrite?", &overwrite); err != nil {
		return nil, err
	}
	r := runOf(thread)
	if !r.governing {
		return nil, errors.New(b.Name() + ": only a PACKAGE file may call this")
	}
	r.values = &values{key, value, r.values}
	return starlark.None, nil
}

func readPackageValue(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var key string
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &key); err != nil {
		return nil, err
	}
	return runOf(thread).values.find(key), nil
}

func readParentPackageValue(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var key string
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &key); err != nil {
		return nil, err
	}
	return runOf(thread).parentValues.find(key), nil
}
