package evaluate

import (
	"fmt"
	"path"
	"sort"
	"strings"
	"sync"

	"go.starlark.net/starlark"

	"buildfix/engine/walk"
)

// A loadTarget says which file a load statement reads.
type loadTarget struct {
	path string // "" if there is no such file
	how  string // "exact", "suffix" or ""
}

// resolve finds the file of a load that is written in the file at from.
func (e *Engine) resolve(from, module string) loadTarget {
	cell, pkg, name, relative := e.split(from, module)
	upwards := e.buck && relative && strings.HasPrefix(name, "../") && path.Clean(name) == name
	if name == "" || !(cleanName(name) || upwards) || !cleanName(pkg) {
		return loadTarget{}
	}
	if cell != nil {
		for _, folder := range e.foldersOf(from, pkg, relative) {
			file := path.Join(folder, name)
			if strings.HasPrefix(file, "../") { // out of the cell
				continue
			}
			if file = joinAll(cell.Path, file); e.tree.Exists(file) {
				return loadTarget{file, "exact"}
			}
		}
	}
	if !e.suffixFallback || relative {
		return loadTarget{}
	}
	for rest := joinAll(pkg, name); ; {
		if rest != from && e.tree.Exists(rest) {
			return loadTarget{rest, "suffix"}
		}
		i := strings.IndexByte(rest, '/')
		if i < 0 {
			return loadTarget{}
		}
		rest = rest[i+1:]
	}
}

// split takes a module string apart: `@cell//pkg:name`, `cell//pkg:name`, `//pkg:name`, `@cell//pkg/name`, `:name`,
// `name`. The cell is nil if it is not in the tree.
func (e *Engine) split(from, module string) (cell *walk.Cell, pkg, name string, relative bool) {
	here := e.tree.CellOf(from)
	before, rest, absolute := strings.Cut(module, "//")
	if !absolute {
		if strings.HasPrefix(module, "@") { // @repo:name is @repo//:name
			repo, name, _ := strings.Cut(module[1:], ":")
			return e.cellNamed(repo), "", name, false
		}
		return here, "", strings.TrimPrefix(module, ":"), true
	}
	pkg, name, colon := strings.Cut(rest, ":")
	if !colon {
		pkg, name = parentOf(rest), path.Base(rest)
	}
	switch {
	case before == "":
		cell = here
	case before == "@" && e.buck:
		cell = here
	default:
		cell = e.cellNamed(strings.TrimLeft(before, "@"))
	}
	return cell, pkg, name, false
}

func (e *Engine) cellNamed(name string) *walk.Cell {
	if target, ok := e.aliases[name]; ok {
		name = target
	}
	return e.tree.CellNamed(name)
}

// foldersOf lists the folders, relative to the cell, in which a load may find its file.
func (e *Engine) foldersOf(from, pkg string, relative bool) []string {
	if !relative {
		return []string{pkg}
	}
	folder := belowCell(e.tree.CellOf(from), parentOf(from))
	if nearest := e.packageOf(from); nearest != folder {
		return []string{nearest, folder}
	}
	return []string{folder}
}

func cleanName(name string) bool {
	return name == "" || path.Clean(name) == name && !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "..")
}

func joinAll(parts ...string) string { return strings.TrimPrefix(path.Join(parts...), "/") }

// markCycles numbers the load cycles. A load that was only guessed from the suffix of its path closes none.
func (e *Engine) markCycles() {
	e.findCycles()
	guessed := false
	for _, f := range e.files {
		for i, target := range f.targets {
			next := e.files[target.path]
			if target.how == "suffix" && next != nil && f.cycle != 0 && f.cycle == next.cycle {
				f.targets[i] = loadTarget{}
				guessed = true
			}
		}
	}
	if !guessed {
		return
	}
	for _, f := range e.files {
		f.cycle = 0
	}
	e.findCycles()
}

// findCycles finds the strongly connected components of the loads, by Tarjan's algorithm.
func (e *Engine) findCycles() {
	type state struct {
		index, low int
		onStack    bool
	}
	states := map[*sourceFile]*state{}
	var stack []*sourceFile
	components := 0
	var visit func(f *sourceFile) *state
	visit = func(f *sourceFile) *state {
		s := &state{index: len(states), low: len(states), onStack: true}
		states[f] = s
		stack = append(stack, f)
		loop := false
		for _, target := range f.targets {
			next := e.files[target.path]
			if next == nil {
				continue
			}
			loop = loop || next == f
			if t := states[next]; t == nil {
				s.low = min(s.low, visit(next).low)
			} else if t.onStack {
				s.low = min(s.low, t.index)
			}
		}
		if s.low != s.index {
			return s
		}
		components++
		at := len(stack)
		for at--; stack[at] != f; at-- {
		}
		members := stack[at:]
		stack = stack[:at]
		for _, member := range members {
			states[member].onStack = false
			if len(members) > 1 || loop {
				member.cycle = components
			}
		}
		return s
	}
	paths := make([]string, 0, len(e.files))
	for p := range e.files {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	for _, p := range paths {
		if f := e.files[p]; states[f] == nil {
			visit(f)
		}
	}
}

// A module is a loaded file, evaluated once in each mode.
type module struct {
	done    chan struct{} // closed once the fields below are set
	once    sync.Once
	globals starlark.StringDict
	errors  []Error
	shared  bool // it was cancelled for memory that others used too
}

func (m *module) finish(globals starlark.StringDict, errors []Error, shared bool) {
	m.once.Do(func() {
		m.globals, m.errors, m.shared = globals, errors, shared
		close(m.done)
	})
}

// module returns the evaluated file, waiting for another goroutine that is at it. Load cycles never get here.
func (r *run) module(file *sourceFile) *module {
	r.mode.mu.Lock()
	m := r.mode.modules[file]
	mine := m == nil
	if mine {
		m = &module{done: make(chan struct{})}
		r.mode.modules[file] = m
	}
	r.mode.mu.Unlock()
	r.pause() // the file has its own clock
	defer r.resume()
	if !mine {
		select {
		case <-m.done:
		case <-r.gone.c: // nobody reads what this goroutine does from now on
		}
		return m
	}
	go func() { // so that others do not wait for a goroutine that was given up
		select {
		case <-m.done:
		case <-r.gone.c:
			m.finish(nil, []Error{r.limitError("time", file.path)}, false)
		}
	}()
	inner := r.engine.newRun(r.mode, file, nil, r.gone)
	globals := inner.exec()
	m.finish(globals, inner.errors, inner.shared.Load())
	return m
}

// load is what a load statement evaluates to: the value of its symbol, or a tuple of the values.
func (r *run) load(file *sourceFile, index int) (starlark.Value, error) {
	stmt, target := &file.loads[index], file.targets[index]
	var globals starlark.StringDict
	next := r.engine.files[target.path]
	switch {
	case next == nil:
	case next.cycle != 0 && next.cycle == file.cycle:
		r.loadError("load-cycle", file, stmt, fmt.Sprintf("%s and %s load each other", file.path, next.path))
	default:
		m := r.module(next)
		globals = m.globals
		if m.shared {
			r.shared.Store(true)
		}
		if target.how == "exact" && len(m.errors) == 0 {
			for _, name := range stmt.names {
				if globals[name] == nil && !r.mode.defines(stmt.module, name) {
					r.loadError("load", file, stmt, fmt.Sprintf("%s does not define %s", target.path, name))
				}
			}
		}
	}
	values := make(starlark.Tuple, len(stmt.names))
	for i, name := range stmt.names {
		values[i] = r.mode.symbol(stmt.module, name, globals)
	}
	if len(values) == 1 {
		return values[0], nil
	}
	return values, nil
}

func (r *run) loadError(kind string, file *sourceFile, stmt *loadStmt, text string) {
	r.errors = append(r.errors, Error{
		Kind: kind, Message: text, File: file.path, Line: int(stmt.pos.Line), Col: int(stmt.pos.Col),
	})
}

// symbol is the value that a load of name from module gives.
func (m *mode) symbol(module, name string, globals starlark.StringDict) starlark.Value {
	if v := m.replaced[name]; v != nil {
		return v
	}
	if v := globals[name]; v != nil {
		return v
	}
	for _, text := range m.texts {
		if v := text.globals[name]; v != nil && matchesModule(text.modules, module) {
			return v
		}
	}
	return loadedStub(name, module)
}

// defines reports whether name is known whatever the loaded file defines.
func (m *mode) defines(module, name string) bool {
	_, isStub := m.symbol(module, name, nil).(*Stub)
	return !isStub
}

// how says where the symbols of a load that found no file come from.
func (m *mode) how(stmt *loadStmt) string {
	for _, name := range stmt.names {
		if !m.defines(stmt.module, name) {
			return "stub"
		}
	}
	return "symbols"
}

func matchesModule(patterns []string, module string) bool {
	for _, p := range patterns {
		if matchStars(p, module) {
			return true
		}
	}
	return false
}

// matchStars matches text with a pattern in which `*` stands for anything.
func matchStars(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return strings.HasSuffix(text, parts[len(parts)-1])
}
