// Package evaluate evaluates build files and states which calls they make. It knows what the languages of Buck2 and
// Bazel mean, but nothing about what a rule is for.
package evaluate

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"go.starlark.net/starlark"

	"buildfix/engine/proto"
	"buildfix/engine/walk"
)

// An Engine evaluates the packages of one tree.
type Engine struct {
	tree           *walk.Tree
	buck           bool
	aliases        map[string]string
	suffixFallback bool
	limits         proto.Limits
	jobs           int
	log            func(format string, args ...any)
	watch          *watchdog

	packages []*walk.Dir
	files    map[string]*sourceFile
	modes    []*mode
}

// A mode is one way to evaluate, with the files that were loaded in it.
type mode struct {
	proto.Mode
	texts    []symbolText
	replaced starlark.StringDict

	mu      sync.Mutex
	modules map[*sourceFile]*module
}

// A symbolText is one of the request's texts, evaluated.
type symbolText struct {
	globals starlark.StringDict
	modules []string
}

// New prepares an engine: it parses the build files and all that they load, and evaluates the request's symbols.
func New(req *proto.Request, tree *walk.Tree, jobs int, log func(format string, args ...any)) (*Engine, error) {
	e := &Engine{
		tree: tree, buck: req.Dialect == "buck", aliases: req.Aliases, suffixFallback: req.LoadSuffixFallback,
		limits: req.Limits, jobs: jobs, log: log, files: map[string]*sourceFile{},
		watch: newWatchdog(req.Limits.MemoryMB),
	}
	e.choosePackages(req.Packages)
	var first []string
	for _, dir := range e.packages {
		if dir.BuildFile != "" {
			first = append(first, joinAll(dir.Path, dir.BuildFile))
		}
	}
	e.parseAll(first)
	e.markCycles()
	for _, m := range req.Modes {
		mode := &mode{Mode: m, modules: map[*sourceFile]*module{}}
		if err := e.defineSymbols(mode, req.Symbols); err != nil {
			return nil, err
		}
		e.modes = append(e.modes, mode)
	}
	e.watch.rebase()
	return e, nil
}

// choosePackages lists the packages to evaluate. One that was asked for and does not exist has no build file.
func (e *Engine) choosePackages(wanted []string) {
	if wanted == nil {
		e.packages = e.tree.Packages()
		return
	}
	wanted = slices.Clone(wanted)
	slices.Sort(wanted)
	for _, p := range slices.Compact(wanted) {
		dir := e.tree.Dir(p)
		if dir == nil {
			dir = &walk.Dir{Path: p, Cell: e.tree.CellOf(p)}
		}
		e.packages = append(e.packages, dir)
	}
}

// parseAll parses the files and, transitively, what they load, several at once.
func (e *Engine) parseAll(first []string) {
	isBuild := map[string]bool{}
	for _, p := range first {
		isBuild[p] = true
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, e.jobs)
	var parse func(p string)
	start := func(p string) { // with mu held
		if _, ok := e.files[p]; !ok {
			e.files[p] = nil
			wg.Add(1)
			go parse(p)
		}
	}
	parse = func(p string) {
		defer wg.Done()
		slots <- struct{}{}
		file := e.parse(p, isBuild[p])
		<-slots
		mu.Lock()
		defer mu.Unlock()
		e.files[p] = file
		for _, target := range file.targets {
			if target.path != "" {
				start(target.path)
			}
		}
	}
	mu.Lock()
	for _, p := range first {
		start(p)
	}
	mu.Unlock()
	wg.Wait()
}

// parse reads and parses one file, and resolves its loads.
func (e *Engine) parse(p string, isBuild bool) *sourceFile {
	text, err := e.tree.Read(p)
	if err != nil {
		return &sourceFile{path: p, err: &Error{Kind: "read", Message: err.Error(), File: p}}
	}
	file := parseFile(p, text, isBuild)
	e.resolveLoads(file)
	return file
}

func (e *Engine) resolveLoads(file *sourceFile) {
	for _, stmt := range file.loads {
		file.targets = append(file.targets, e.resolve(file.path, stmt.module))
	}
}

// defineSymbols evaluates the request's texts and the mode's expressions. Their errors are the request's.
func (e *Engine) defineSymbols(m *mode, texts []proto.Symbols) error {
	define := func(p, text string) (starlark.StringDict, error) {
		file := parseFile(p, []byte(text), false)
		file.targets = make([]loadTarget, len(file.loads)) // a text's loads are unknown values, or other texts' symbols
		r := e.newRun(m, file, nil, &abandon{c: make(chan struct{})})
		globals := r.exec()
		if len(r.errors) > 0 {
			err := r.errors[0]
			return nil, fmt.Errorf("symbols: %s:%d:%d: %s", err.File, err.Line, err.Col, err.Message)
		}
		return globals, nil
	}
	for _, text := range texts {
		globals, err := define(text.Path, text.Text)
		if err != nil {
			return err
		}
		m.texts = append(m.texts, symbolText{globals, text.Modules})
	}
	m.replaced = starlark.StringDict{}
	for name, expression := range m.Symbols {
		globals, err := define("<mode "+m.Name+">", "value = ("+expression+")\n")
		if err != nil {
			return fmt.Errorf("modes: %s: %w", name, err)
		}
		if rule, ok := globals["value"].(*Rule); ok {
			rule.name = name
		}
		m.replaced[name] = globals["value"]
	}
	return nil
}

// A job is one package in one mode.
type job struct {
	mode   *mode
	dir    *walk.Dir
	result chan []byte
}

// Run evaluates all packages in all modes and emits their records in order. It returns how many there were.
func (e *Engine) Run(emit func([]byte) error, progress func(done, total int)) (int, error) {
	go e.watch.watch()
	defer close(e.watch.stop)
	var jobs []*job
	for _, m := range e.modes {
		for _, dir := range e.packages {
			jobs = append(jobs, &job{m, dir, make(chan []byte, 1)})
		}
	}
	var again []*job // those that ran out of memory in company
	var mu sync.Mutex
	var done atomic.Int64
	work := make(chan *job)
	var workers sync.WaitGroup
	for i := 0; i < e.jobs; i++ {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for j := range work {
				record, shared := e.evaluate(j)
				if shared {
					mu.Lock()
					again = append(again, j)
					mu.Unlock()
					continue
				}
				e.watch.held.Add(int64(cap(record)))
				j.result <- record
				progress(int(done.Add(1)), len(jobs))
			}
		}()
	}
	go func() {
		for _, j := range jobs {
			work <- j
		}
		close(work)
		workers.Wait()
		e.forgetShared()
		for _, j := range again {
			record, _ := e.evaluate(j)
			j.result <- record
			progress(int(done.Add(1)), len(jobs))
		}
	}()
	for i, j := range jobs {
		record := <-j.result
		err := emit(record)
		e.watch.held.Add(-int64(cap(record)))
		if err != nil {
			return i, err
		}
	}
	return len(jobs), nil
}

// forgetShared drops the files whose evaluation was cancelled for memory that others used too.
func (e *Engine) forgetShared() {
	for _, m := range e.modes {
		m.mu.Lock()
		for file, module := range m.modules {
			if module.shared {
				delete(m.modules, file)
			}
		}
		m.mu.Unlock()
	}
}

// evaluate evaluates one package and returns its records. shared says that it must be done again, alone.
func (e *Engine) evaluate(j *job) (record []byte, shared bool) {
	if j.dir.BuildFile == "" {
		return missingPackage(j.mode.Name, j.dir), false
	}
	file := e.files[joinAll(j.dir.Path, j.dir.BuildFile)]
	gone := &abandon{c: make(chan struct{})}
	r := e.newRun(j.mode, file, j.dir, gone)
	done := make(chan []byte, 1)
	go func() {
		r.exec()
		done <- e.record(r)
	}()
	select {
	case record = <-done:
		return record, r.shared.Load()
	case <-gone.c:
		e.watch.forget(gone)
		stuck := e.newRun(j.mode, file, j.dir, gone) // the calls so far are still being written to
		stuck.errors = []Error{r.limitError("time", file.path)}
		return e.record(stuck), false
	}
}

// Files is the number of build files and loaded files.
func (e *Engine) Files() int { return len(e.files) }
