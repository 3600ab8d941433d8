package evaluate

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.starlark.net/starlark"

	"buildfix/engine/walk"
)

// An Error is something that went wrong in a package or in a file that it loads.
type Error struct {
	Kind, Message, File string
	Line, Col           int
	Stack               []Frame
}

// A Frame is one active Starlark function: where it is, and its name.
type Frame struct {
	File      string
	Line, Col int
	Function  string
}

// A run is one evaluation of one file in one mode, on one Starlark thread.
type run struct {
	engine *Engine
	mode   *mode
	file   *sourceFile
	dir    *walk.Dir // of the package, or nil for a loaded file
	thread *starlark.Thread
	gone   *abandon

	errors  []Error
	calls   []call
	bytes   int   // of encoded calls
	active  []int // ids of the recorded calls that have not returned
	targets []target
	prints  int
	opaque  []opaqueCall
	symbols starlark.StringDict // added by load_symbols

	governing            bool    // the file is a PACKAGE file
	values, parentValues *values // of PACKAGE files

	fatal   atomic.Pointer[string] // the limit that was exceeded
	shared  atomic.Bool            // memory ran out while other packages were evaluated too
	mu      sync.Mutex             // guards the clock
	timer   *time.Timer
	started time.Time
	spent   time.Duration
}

// An abandon tells a worker that its goroutine is stuck in something that cannot be interrupted.
type abandon struct {
	once sync.Once
	c    chan struct{}
}

func (a *abandon) now() { a.once.Do(func() { close(a.c) }) }

// stuckAfter is how long after its time limit a run may still go on before its goroutine is given up.
const stuckAfter = 3 * time.Second

const runKey = "run"

func runOf(thread *starlark.Thread) *run { return thread.Local(runKey).(*run) }

func (e *Engine) newRun(m *mode, file *sourceFile, dir *walk.Dir, gone *abandon) *run {
	r := &run{engine: e, mode: m, file: file, dir: dir, gone: gone}
	r.thread = &starlark.Thread{
		Name:  file.path,
		Print: r.print,
		OnMaxSteps: func(*starlark.Thread) {
			r.exceed("steps")
		},
	}
	r.thread.SetLocal(runKey, r)
	r.thread.SetMaxExecutionSteps(e.limits.Steps)
	return r
}

// exec evaluates the file, adds what ended it to r.errors, and returns the globals that it got to define.
func (r *run) exec() (globals starlark.StringDict) {
	r.engine.watch.add(r)
	r.resume()
	defer func() {
		r.pause()
		r.engine.watch.remove(r)
		if x := recover(); x != nil {
			r.errors = append(r.errors, Error{Kind: "internal", Message: fmt.Sprint("panic: ", x), File: r.file.path})
		}
	}()
	if r.file.err != nil {
		r.errors = append(r.errors, *r.file.err)
		return nil
	}
	globals, err := r.execProgram()
	if err != nil {
		r.errors = append(r.errors, r.ending(err))
	} else if kind := r.fatal.Load(); kind != nil { // at the very last step
		r.errors = append(r.errors, r.limitError(*kind, r.file.path))
	}
	maps.Copy(globals, r.symbols)
	if r.dir == nil {
		nameRules(globals)
		if err := freeze(globals); err != nil {
			r.errors = append(r.errors, Error{Kind: "memory", Message: err.Error(), File: r.file.path})
			return nil
		}
	}
	return globals
}

func (r *run) execProgram() (starlark.StringDict, error) {
	if r.file.data != nil {
		value, err := decodeData(r.thread, r.file.path, r.file.data)
		if err != nil {
			return starlark.StringDict{}, err
		}
		return starlark.StringDict{"value": value}, nil
	}
	return r.file.program.Init(r.thread, r.predeclared())
}

// ending turns the error that ended the file into an Error.
func (r *run) ending(err error) Error {
	var e Error
	if kind := r.fatal.Load(); kind != nil {
		e = r.limitError(*kind, r.file.path)
	} else {
		e = Error{Kind: "eval", Message: message(err), File: r.file.path}
	}
	e.place(err)
	return e
}

func (r *run) limitError(kind, file string) Error {
	l := r.engine.limits
	text := map[string]string{
		"steps":  fmt.Sprintf("more than %d steps", l.Steps),
		"depth":  fmt.Sprintf("calls are nested more than %d deep", l.Depth),
		"time":   fmt.Sprintf("more than %d seconds", l.PackageSeconds),
		"memory": fmt.Sprintf("more than %d MB of memory, or a value that is too large", l.MemoryMB),
	}[kind]
	return Error{Kind: kind, Message: text, File: file}
}

// message is the error's text; it is bounded, as Starlark code can make it.
func message(err error) string {
	text := err.Error()
	if len(text) > 2000 {
		text = strings.ToValidUTF8(text[:2000], "") + "..."
	}
	return text
}

// place fills in the stack of a Starlark error, and the position of its innermost frame.
func (e *Error) place(err error) {
	var evalErr *starlark.EvalError
	if !errors.As(err, &evalErr) {
		return
	}
	for _, fr := range evalErr.CallStack {
		if fr.Pos.Filename() == "<builtin>" {
			continue
		}
		e.Stack = append(e.Stack, Frame{fr.Pos.Filename(), int(fr.Pos.Line), int(fr.Pos.Col), fr.Name})
	}
	if n := len(e.Stack); n > 0 {
		last := e.Stack[n-1]
		e.File, e.Line, e.Col = last.File, last.Line, last.Col
		if n > maxErrorFrames { // a recursion
			e.Stack = append(e.Stack[:maxErrorFrames/2:maxErrorFrames/2], e.Stack[n-maxErrorFrames/2:]...)
		}
	}
}

const maxErrorFrames = 100

// exceed ends the run because a limit is exceeded. It may be called from another goroutine.
func (r *run) exceed(kind string) {
	if r.fatal.CompareAndSwap(nil, &kind) {
		r.thread.Cancel(kind)
	}
}

// errLimit is returned by builtins that refuse to go on.
func (r *run) errLimit(kind string) error {
	r.exceed(kind)
	return errors.New(kind + " limit exceeded")
}

// pause stops the clock while the goroutine waits for, or evaluates, something that has its own clock.
func (r *run) pause() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
		r.spent += time.Since(r.started)
	}
}

func (r *run) resume() {
	r.mu.Lock()
	defer r.mu.Unlock()
	limit := time.Duration(r.engine.limits.PackageSeconds) * time.Second
	r.started = time.Now()
	r.timer = time.AfterFunc(limit-r.spent, r.timeUp)
}

func (r *run) timeUp() {
	r.exceed("time")
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer = time.AfterFunc(stuckAfter, r.gone.now)
	}
}

const maxPrints = 20

func (r *run) print(thread *starlark.Thread, msg string) {
	if r.prints++; r.prints > maxPrints {
		return
	}
	r.engine.log("print: %s: %s", r.file.path, clip(msg))
}
