package evaluate

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"buildfix/engine/walk"
)

// packageOf returns the package-like folder of a file, relative to its cell: for Bazel the nearest enclosing package,
// else the folder that the file is in.
func (e *Engine) packageOf(file string) string {
	folder := parentOf(file)
	if !e.buck {
		for dir := folder; ; dir = parentOf(dir) {
			if d := e.tree.Dir(dir); d != nil && d.BuildFile != "" {
				folder = dir
				break
			}
			if dir == "" {
				break
			}
		}
	}
	return belowCell(e.tree.CellOf(folder), folder)
}

func parentOf(p string) string {
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		return p[:i]
	}
	return ""
}

func belowCell(cell *walk.Cell, p string) string {
	return strings.TrimPrefix(strings.TrimPrefix(p, cell.Path), "/")
}

// packagePath is the package's path relative to its cell.
func (r *run) packagePath() string { return belowCell(r.dir.Cell, r.dir.Path) }

// inPackage is the run of the thread, or an error if a loaded file calls the builtin at its top level.
func inPackage(thread *starlark.Thread, b *starlark.Builtin) (*run, error) {
	r := runOf(thread)
	if r.dir == nil {
		return nil, fmt.Errorf("%s: only a build file, or a macro that it calls, may call this", b.Name())
	}
	return r, nil
}

func packageName(thread *starlark.Thread, b *starlark.Builtin, _ starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	r, err := inPackage(thread, b)
	if err != nil {
		return nil, err
	}
	return starlark.String(r.packagePath()), nil
}

func cellName(thread *starlark.Thread, b *starlark.Builtin, _ starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	r := runOf(thread)
	if r.dir == nil {
		return starlark.String(r.engine.tree.CellOf(r.file.path).Name), nil
	}
	return starlark.String(r.dir.Cell.Name), nil
}

func repositoryName(thread *starlark.Thread, b *starlark.Builtin, _ starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	r, err := inPackage(thread, b)
	if err != nil {
		return nil, err
	}
	return starlark.String("@" + r.dir.Cell.Name), nil
}

func globFiles(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	r, err := inPackage(thread, b)
	if err != nil {
		return nil, err
	}
	var include, exclude, directories, dotfiles starlark.Value
	allowEmpty := starlark.Value(starlark.True)
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "include", &include, "exclude?", &exclude,
		"exclude_directories?", &directories, "allow_empty?", &allowEmpty, "include_dotfiles?", &dotfiles); err != nil {
		return nil, err
	}
	if isOpaque(include) || exclude != nil && isOpaque(exclude) {
		return unknown("glob()"), nil
	}
	opts := walk.Options{Hidden: !r.engine.buck, FoldCase: r.engine.buck}
	if dotfiles != nil && bool(dotfiles.Truth()) {
		opts.Hidden = true
	}
	return r.listing(b, include, exclude, allowEmpty, func(in, out []string) ([]string, error) {
		return r.engine.tree.Glob(r.dir.Path, in, out, opts)
	})
}

func subpackages(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	r, err := inPackage(thread, b)
	if err != nil {
		return nil, err
	}
	var include, exclude starlark.Value
	allowEmpty := starlark.Value(starlark.True)
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "include", &include, "exclude?", &exclude, "allow_empty?", &allowEmpty); err != nil {
		return nil, err
	}
	return r.listing(b, include, exclude, allowEmpty, func(in, out []string) ([]string, error) {
		return r.engine.tree.Subpackages(r.dir.Path, in, out)
	})
}

// listing unpacks the patterns, asks the tree, and makes a list of the answer.
func (r *run) listing(b *starlark.Builtin, include, exclude, allowEmpty starlark.Value, ask func(in, out []string) ([]string, error)) (starlark.Value, error) {
	in, err := stringList(include)
	if err != nil {
		return nil, fmt.Errorf("%s: include: %w", b.Name(), err)
	}
	out, err := stringList(exclude)
	if err != nil {
		return nil, fmt.Errorf("%s: exclude: %w", b.Name(), err)
	}
	found, err := ask(in, out)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	if len(found) == 0 && allowEmpty == starlark.False {
		return nil, fmt.Errorf("%s: nothing matches, and allow_empty is False", b.Name())
	}
	values := make([]starlark.Value, len(found))
	for i, name := range found {
		values[i] = starlark.String(name)
	}
	return starlark.NewList(values), nil
}

func stringList(v starlark.Value) ([]string, error) {
	if v == nil || v == starlark.None {
		return nil, nil
	}
	if _, ok := v.(starlark.Iterable); !ok {
		return nil, fmt.Errorf("want a list of strings, got %s", v.Type())
	}
	var texts []string
	var err error
	each(v, func(x starlark.Value) {
		text, ok := starlark.AsString(x)
		if !ok {
			err = fmt.Errorf("want a list of strings, got a %s in it", x.Type())
		}
		texts = append(texts, text)
	})
	return texts, err
}

func readConfig(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var section, key string
	var fallback starlark.Value = starlark.None
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "section", &section, "field", &key, "default?", &fallback); err != nil {
		return nil, err
	}
	if value, ok := runOf(thread).mode.Config[section+"."+key]; ok {
		return starlark.String(value), nil
	}
	return fallback, nil
}

// hostInfo answers for Linux on x86-64, whatever the machine, so that results do not depend on it.
func hostInfo(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	return hostInfoValue, nil
}

var hostInfoValue = func() *Struct {
	flags := func(set string, all ...string) *Struct {
		var kwargs []starlark.Tuple
		for _, name := range all {
			kwargs = append(kwargs, starlark.Tuple{starlark.String("is_" + name), starlark.Bool(name == set)})
		}
		return newStruct(nil, kwargs)
	}
	return newStruct(nil, []starlark.Tuple{
		{starlark.String("os"), flags("linux", "linux", "macos", "windows", "freebsd", "unknown")},
		{starlark.String("arch"), flags("x86_64", "aarch64", "arm", "armeb", "i386", "mips", "mips64", "mipsel",
			"mipsel64", "powerpc", "ppc64", "riscv64", "unknown", "x86_64")},
		{starlark.String("xcode"), newStruct(nil, nil)},
	})
}()

func (r *run) findTarget(name string) *target {
	for i := len(r.targets) - 1; i >= 0; i-- {
		if r.targets[i].name == name {
			return &r.targets[i]
		}
	}
	return nil
}

func (t *target) describe() *starlark.Dict {
	d := starlark.NewDict(len(t.kwargs) + 2)
	for _, pair := range t.kwargs {
		_ = d.SetKey(pair[0], pair[1])
	}
	_ = d.SetKey(starlark.String("name"), starlark.String(t.name))
	_ = d.SetKey(starlark.String("kind"), starlark.String(t.kind))
	return d
}

func existingRule(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var name string
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &name); err != nil {
		return nil, err
	}
	r, err := inPackage(thread, b)
	if err != nil {
		return nil, err
	}
	if t := r.findTarget(name); t != nil {
		return t.describe(), nil
	}
	return starlark.None, nil
}

func existingRules(thread *starlark.Thread, b *starlark.Builtin, _ starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	r, err := inPackage(thread, b)
	if err != nil {
		return nil, err
	}
	all := starlark.NewDict(len(r.targets))
	for i := range r.targets {
		t := &r.targets[i]
		if err := all.SetKey(starlark.String(t.name), t.describe()); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func ruleExists(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var name string
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &name); err != nil {
		return nil, err
	}
	r, err := inPackage(thread, b)
	if err != nil {
		return nil, err
	}
	return starlark.Bool(r.findTarget(name) != nil), nil
}
