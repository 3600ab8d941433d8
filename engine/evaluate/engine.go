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
	company        sync.RWMutex // held by each package that is evaluated; for writing by one that must be alone

	packages []*walk.Dir
	files    map[string]*sourceFile
	prelude  *sourceFile // the prelude's prelude.bzl, or nil
	modes    []*mode
}

// A mode is one way to evaluate, with the files that were loaded in it.
type mode struct {
	proto.Mode
	texts    []symbolText
	replaced starlark.StringDict
	implicit []implicitImport

	mu      sync.Mutex
	modules map[*sourceFile]*module

	exceeded map[*sourceFile]*Error // PACKAGE files that exceeded a limit
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
	e.choosePackages(req.Packages, req.Shard)
	for _, m := range req.Modes {
		implicit := e.implicitImports(m.Config["buildfile.package_includes"])
		e.modes = append(e.modes, &mode{Mode: m, implicit: implicit, modules: map[*sourceFile]*module{},
			exceeded: map[*sourceFile]*Error{}})
	}
	e.parseAll(e.firstFiles())
	e.markCycles()
	e.markPrelude(e.preludeFile())
	for _, mode := range e.modes {
		if err := e.defineSymbols(mode, req.Symbols); err != nil {
			return nil, err
		}
	}
	e.watch.rebase()
	return e, nil
}

// choosePackages lists the packages to evaluate. One that was asked for and does not exist has no build file.
func (e *Engine) choosePackages(wanted []string, shard proto.Shard) {
	if wanted == nil {
		for _, dir := range e.tree.Packages() {
			if shard.Has(dir.Path) {
				e.packages = append(e.packages, dir)
			}
		}
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

// firstFiles lists what is evaluated without being loaded, and says whether it is a build file or a PACKAGE file.
func (e *Engine) firstFiles() map[string]bool {
	first := map[string]bool{}
	if file := e.preludeFile(); file != "" {
		first[file] = false
	}
	for _, m := range e.modes {
		for _, i := range m.implicit {
			if i.file != "" {
				first[i.file] = false
			}
		}
	}
	for _, dir := range e.packages {
		if dir.BuildFile != "" {
			first[joinAll(dir.Path, dir.BuildFile)] = true
			for _, file := range e.packageFiles(dir) {
				first[file] = true
			}
		}
	}
	return first
}

// parseAll parses the files and, transitively, what they load, several at once.
func (e *Engine) parseAll(first map[string]bool) {
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
		file := e.parse(p, first[p])
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
	for p := range first {
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
		file.prelude = true                                // the texts mean the same whether there is a prelude or not
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
	var done atomic.Int64
	work := make(chan *job)
	for range e.jobs {
		go func() {
			for j := range work {
				record := e.evaluateJob(j)
				e.watch.hold(len(record))
				j.result <- record
				progress(int(done.Add(1)), len(jobs))
			}
		}()
	}
	go func() {
		for _, j := range jobs {
			e.watch.waitForRoom() // what has begun will end, so the record that is waited for will come
			work <- j
		}
		close(work)
	}()
	for i, j := range jobs {
		record := <-j.result
		if i%len(e.packages) == 0 { // the first of its mode
			if err := emit(e.fileRecords(j.mode)); err != nil {
				return i, err
			}
		}
		err := emit(record)
		e.watch.hold(-len(record))
		if err != nil {
			return i, err
		}
	}
	return len(jobs), nil
}

// evaluateJob evaluates one package; once more, alone, if it ran out of memory in company.
func (e *Engine) evaluateJob(j *job) []byte {
	e.company.RLock()
	record, shared := e.evaluate(j)
	e.company.RUnlock()
	if !shared {
		return record
	}
	e.company.Lock()
	defer e.company.Unlock()
	e.forgetShared()
	e.watch.begin()
	defer e.watch.setAlone(false)
	record, _ = e.evaluate(j)
	return record
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
		r.readPackageFiles()
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
