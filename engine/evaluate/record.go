package evaluate

import (
	"errors"
	"fmt"
	"strconv"

	"go.starlark.net/starlark"

	"buildfix/engine/proto"
)

// A call is one recorded call: its record but for the end, which says how the call ended.
type call struct {
	json   []byte
	failed bool // the call, or one inside it, raised an error
}

// A target is what a call of a rule made, for native.existing_rules.
type target struct {
	name, kind string
	kwargs     []starlark.Tuple
}

// nameless are the native functions that are recorded although they bind no name: what they say holds for the package.
var nameless = map[string]bool{"package": true, "licenses": true, "exports_files": true, "oncall": true}

// callFunction is what every call expression of a file is evaluated by.
func (r *run) callFunction(file *sourceFile, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	index, _ := starlark.AsInt32(args[0])
	site := &file.sites[index]
	fn, args := args[1], args[2:]
	if r.thread.CallStackDepth() > 2*r.engine.limits.Depth {
		return nil, r.errLimit("depth")
	}
	if p, ok := fn.(*Partial); ok {
		fn, args, kwargs = p.bind(args, kwargs)
	}
	id, err := r.begin(site, fn, args, kwargs)
	if err != nil {
		return nil, err
	}
	result, err := r.apply(fn, args, kwargs)
	if id > 0 {
		r.active = r.active[:len(r.active)-1]
		r.calls[id-1].failed = r.calls[id-1].failed || err != nil
	}
	if err == nil || site.soft == hard || fails(fn) || r.fatal.Load() != nil {
		return result, err
	}
	r.passOver(err)
	if site.soft == value {
		return unknown(site.callee + "()"), nil
	}
	return starlark.None, nil
}

// passOver notes an error that costs only the call, or the value, that raised it.
func (r *run) passOver(err error) {
	e := Error{Kind: "call", Message: message(err), File: r.file.path}
	e.place(r.withStack(err))
	if len(r.errors) < maxErrors {
		r.errors = append(r.errors, e)
	}
	for _, outer := range r.active { // they go on without what the call was for
		r.calls[outer-1].failed = true
	}
}

// index is x[y].
func (r *run) index(x, y starlark.Value) (starlark.Value, error) {
	result, err := getIndex(x, y)
	if err != nil && r.fatal.Load() == nil {
		r.passOver(err)
		return unknown("[]"), nil
	}
	return result, err
}

// getIndex does what starlark-go does for x[y].
func getIndex(x, y starlark.Value) (starlark.Value, error) {
	switch x := x.(type) {
	case starlark.Mapping:
		z, found, err := x.Get(y)
		if err == nil && !found {
			err = fmt.Errorf("key %v not in %s", y, x.Type())
		}
		return z, err
	case starlark.Indexable:
		n := x.Len()
		i, err := starlark.AsInt32(y)
		if err != nil {
			return nil, fmt.Errorf("%s index: %w", x.Type(), err)
		}
		at := i
		if at < 0 {
			at += n
		}
		if at < 0 || at >= n {
			return nil, fmt.Errorf("%s index %d out of range", x.Type(), i)
		}
		return x.Index(at), nil
	}
	return nil, fmt.Errorf("unhandled index operation %s[%s]", x.Type(), y.Type())
}

const maxErrors = 1000

// withStack gives an error that was not raised below a call the present stack.
func (r *run) withStack(err error) error {
	var evalErr *starlark.EvalError
	if errors.As(err, &evalErr) {
		return err
	}
	return &starlark.EvalError{Msg: err.Error(), CallStack: r.thread.CallStack()}
}

// begin records the call if it binds a name, and returns its id, or 0.
func (r *run) begin(site *site, fn starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (int, error) {
	if r.dir == nil {
		return 0, nil
	}
	var params []string // of the positional arguments
	how, kind := "", ""
	var definedIn string
	var definedAt int
	switch fn := fn.(type) {
	case *starlark.Function:
		params = positionalNames(fn, len(args))
		how, kind = "function", fn.Name()
		definedIn, definedAt = fn.Position().Filename(), int(fn.Position().Line)
	case *Stub:
		how, kind = "native", fn.kind
		if !fn.native {
			how, definedIn = "stub", fn.module
		}
	case *Rule:
		how, kind = "rule", fn.Name()
		definedIn, definedAt = fn.file, fn.line
	default:
		return 0, nil
	}
	name, named := boundName(params, args, kwargs)
	if r.governing {
		if how != "native" || kind != "package" {
			return 0, nil
		}
	} else if !named {
		r.noteOpaque(site, fn, kwargs)
		if !(how == "native" && nameless[kind]) && !(how == "stub" && site.soft == statement) {
			return 0, nil
		}
	}
	id := len(r.calls) + 1
	parent := 0
	if n := len(r.active); n > 0 {
		parent = r.active[n-1]
	}
	dst := append(make([]byte, 0, 512), `{"t":"call"`...)
	dst = proto.AppendField(dst, "mode", r.mode.Name)
	dst = proto.AppendField(dst, "package", r.dir.Path)
	dst = proto.AppendInt(dst, "id", int64(id))
	dst = proto.AppendInt(dst, "parent", int64(parent))
	dst = proto.AppendField(dst, "callee", site.callee)
	dst = proto.AppendField(dst, "kind", kind)
	dst = proto.AppendField(dst, "how", how)
	if definedIn != "" {
		dst = append(dst, `,"defined":[`...)
		dst = proto.AppendString(dst, definedIn)
		dst = append(dst, ',')
		dst = strconv.AppendInt(dst, int64(definedAt), 10)
		dst = append(dst, ']')
	}
	dst = proto.AppendField(dst, "name", name)
	dst = proto.AppendKey(dst, "args")
	enc := encoder{dst: dst}
	enc.args(params, args, kwargs)
	dst = r.appendStack(proto.AppendKey(enc.dst, "stack"))
	r.bytes += len(dst)
	if enc.failed || r.bytes > r.engine.limits.MemoryMB<<20/16 {
		return 0, r.errLimit("memory")
	}
	r.calls = append(r.calls, call{json: dst})
	r.active = append(r.active, id)
	if how != "function" && named {
		r.targets = append(r.targets, target{name, kind, kwargs})
	}
	return id, nil
}

// positionalNames returns the names of the first n positional parameters, as far as there are any.
func positionalNames(fn *starlark.Function, n int) []string {
	if n == 0 {
		return nil
	}
	count := fn.NumParams() - fn.NumKwonlyParams()
	if fn.HasVarargs() {
		count--
	}
	if fn.HasKwargs() {
		count--
	}
	names := make([]string, 0, n)
	for i := 0; i < n && i < count; i++ {
		name, _ := fn.Param(i)
		names = append(names, name)
	}
	return names
}

// boundName returns the string that the call binds to `name`.
func boundName(params []string, args starlark.Tuple, kwargs []starlark.Tuple) (string, bool) {
	for _, pair := range kwargs {
		if pair[0] == starlark.String("name") {
			name, ok := pair[1].(starlark.String)
			return string(name), ok
		}
	}
	for i, param := range params {
		if param == "name" {
			name, ok := args[i].(starlark.String)
			return string(name), ok
		}
	}
	return "", false
}

// appendStack encodes the active Starlark frames, outermost first.
func (r *run) appendStack(dst []byte) []byte {
	dst = append(dst, '[')
	for i := r.thread.CallStackDepth() - 1; i >= 0; i-- {
		frame := r.thread.DebugFrame(i)
		fn, ok := frame.Callable().(*starlark.Function)
		if !ok {
			continue
		}
		if dst[len(dst)-1] != '[' {
			dst = append(dst, ',')
		}
		pos := frame.Position()
		dst = proto.AppendFrame(dst, pos.Filename(), int(pos.Line), int(pos.Col), fn.Name())
	}
	return append(dst, ']')
}

// appendTo writes the finished record.
func (c *call) appendTo(dst []byte) []byte {
	dst = append(dst, c.json...)
	dst = proto.AppendBool(dst, "ok", !c.failed)
	return append(dst, "}\n"...)
}
