package evaluate

import (
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// What one operation may make. starlark-go can neither interrupt an operation nor say what it will allocate.
const (
	maxElements = 1 << 20
	maxBytes    = 8 << 20
	maxIntBits  = 1 << 20
	maxNesting  = 1000
)

// apply calls fn; a builtin only once it is sure that the call stays in bounds, and with unknown values in mind.
func (r *run) apply(fn starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if t, ok := fn.(*typeFunc); ok {
		fn = t.Builtin
	}
	b, ok := fn.(*starlark.Builtin)
	if !ok {
		return starlark.Call(r.thread, fn, args, kwargs)
	}
	if result, ok := opaqueResult(b, args); ok {
		return result, nil
	}
	if !bounded(b, args, kwargs) {
		return nil, r.errLimit("memory")
	}
	return starlark.Call(r.thread, b, args, kwargs)
}

// opaqueResult is the result of a builtin of the language that is given something unknown.
func opaqueResult(b *starlark.Builtin, args starlark.Tuple) (starlark.Value, bool) {
	if len(args) == 0 {
		return nil, false
	}
	switch recv := b.Receiver().(type) {
	case starlark.String:
		for _, arg := range args {
			if isOpaque(arg) || b.Name() == "join" && holdsOpaque(arg) {
				return unknown(b.Name() + "()"), true
			}
		}
	case *starlark.List:
		if b.Name() == "extend" && isOpaque(args[0]) {
			if err := recv.Append(args[0]); err == nil {
				return starlark.None, true
			}
		}
	case *starlark.Dict:
		if b.Name() == "update" && isOpaque(args[0]) {
			return starlark.None, true
		}
	case nil:
		if !isOpaque(args[0]) {
			return nil, false
		}
		switch b.Name() {
		case "list", "tuple", "sorted", "reversed", "str", "repr", "dict", "set", "min", "max", "int", "depset":
			if c, ok := args[0].(*Concat); ok && b.Name() == "list" && !c.hasSelect() {
				return starlark.NewList(c.elements()), true
			}
			if _, ok := args[0].(*Stub); ok {
				return unknown(b.Name() + "()"), true
			}
		case "zip", "enumerate":
			return starlark.NewList(nil), true
		case "any", "all", "bool":
			if _, ok := args[0].(*Stub); ok {
				return starlark.False, true
			}
		case "len":
			if c, ok := args[0].(*Concat); ok && !c.hasSelect() {
				return starlark.MakeInt(len(c.elements())), true
			}
		}
	}
	return nil, false
}

func holdsOpaque(v starlark.Value) bool {
	seq, ok := v.(starlark.Indexable)
	if !ok {
		return false
	}
	for i := 0; i < seq.Len() && i < maxElements; i++ {
		if isOpaque(seq.Index(i)) {
			return true
		}
	}
	return false
}

// bounded reports whether the builtin's result and work stay in bounds.
func bounded(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) bool {
	name := b.Name()[strings.LastIndexByte(b.Name(), '.')+1:] // json.encode
	switch name {
	case "int":
		return len(args) == 0 || size(args[0]) < maxIntBits/8
	case "len", "type", "range", "bool", "hasattr", "getattr", "append", "get", "setdefault", "pop", "insert":
		return true
	case "str", "repr", "print", "fail", "format", "encode", "hash":
		budget := maxBytes
		for _, arg := range args {
			if !measure(arg, &budget, 0) {
				return false
			}
		}
		for _, pair := range kwargs {
			if !measure(pair[1], &budget, 0) {
				return false
			}
		}
		if recv, ok := b.Receiver().(starlark.String); ok { // format may use each argument in each field
			return (maxBytes-budget)*(1+strings.Count(string(recv), "{")) < maxBytes*2
		}
		return true
	case "zip":
		total := 0
		for _, arg := range args {
			total += max(starlark.Len(arg), 0)
		}
		return total < maxElements
	case "join":
		if recv, ok := b.Receiver().(starlark.String); ok && len(args) == 1 {
			budget := maxBytes - len(recv)*max(starlark.Len(args[0]), 0)
			return budget > 0 && measure(args[0], &budget, 0)
		}
	case "replace":
		if recv, ok := b.Receiver().(starlark.String); ok && len(args) >= 2 {
			from, _ := starlark.AsString(args[0])
			to, _ := starlark.AsString(args[1])
			return strings.Count(string(recv), from)*len(to)+len(recv) < maxBytes
		}
	}
	for _, arg := range args {
		if starlark.Len(arg) > maxBytes {
			return false
		}
		if _, isString := arg.(starlark.String); !isString && starlark.Len(arg) > maxElements {
			return false
		}
	}
	return true
}

// measure takes the size of v's text from the budget, and reports whether there was enough.
func measure(v starlark.Value, budget *int, depth int) bool {
	*budget -= 4
	if *budget < 0 || depth > maxNesting {
		return false
	}
	switch v := v.(type) {
	case starlark.String:
		*budget -= len(v)
	case starlark.Bytes:
		*budget -= len(v)
	case starlark.Int:
		if _, small := v.Int64(); !small {
			*budget -= v.BigInt().BitLen()
		}
	case *starlark.Dict:
		for _, item := range v.Items() {
			if !measure(item[0], budget, depth+1) || !measure(item[1], budget, depth+1) {
				return false
			}
		}
	case *Struct:
		for _, field := range v.values {
			if !measure(field, budget, depth+1) {
				return false
			}
		}
	case starlark.Indexable:
		for i := 0; i < v.Len(); i++ {
			if !measure(v.Index(i), budget, depth+1) {
				return false
			}
		}
	}
	return *budget >= 0
}

// plus is x + y.
func (r *run) plus(x, y starlark.Value) (starlark.Value, error) {
	if size(x)+size(y) > maxBytes || elements(x)+elements(y) > maxElements {
		return nil, r.errLimit("memory")
	}
	return starlark.Binary(syntax.PLUS, x, y)
}

// times is x * y.
func (r *run) times(x, y starlark.Value) (starlark.Value, error) {
	a, aInt := x.(starlark.Int)
	b, bInt := y.(starlark.Int)
	switch {
	case aInt && bInt:
		if bits(a)+bits(b) > maxIntBits {
			return nil, r.errLimit("memory")
		}
	case aInt && !repeatable(y, a), bInt && !repeatable(x, b):
		return nil, r.errLimit("memory")
	}
	return starlark.Binary(syntax.STAR, x, y)
}

func repeatable(v starlark.Value, count starlark.Int) bool {
	n, ok := count.Int64()
	if !ok {
		return count.Sign() < 0
	}
	return n <= 1 || (float64(size(v))*float64(n) <= maxBytes && float64(elements(v))*float64(n) <= maxElements)
}

// format is x % y.
func (r *run) format(x, y starlark.Value) (starlark.Value, error) {
	s, ok := x.(starlark.String)
	if !ok {
		return starlark.Binary(syntax.PERCENT, x, y)
	}
	if isOpaque(y) || holdsOpaque(y) {
		return unknown("a text made with %"), nil
	}
	budget := maxBytes - len(s)
	if !measure(y, &budget, 0) {
		return nil, r.errLimit("memory")
	}
	return starlark.Binary(syntax.PERCENT, x, y)
}

// factor checks the right side of an augmented assignment.
func (r *run) factor(y starlark.Value) (starlark.Value, error) {
	if n, ok := y.(starlark.Int); ok {
		if small, ok := n.Int64(); !ok || small > maxElements {
			return nil, r.errLimit("memory")
		}
	}
	return r.addend(y)
}

func (r *run) addend(y starlark.Value) (starlark.Value, error) {
	if size(y) > maxBytes || elements(y) > maxElements {
		return nil, r.errLimit("memory")
	}
	return y, nil
}

func size(v starlark.Value) int {
	switch v := v.(type) {
	case starlark.String:
		return len(v)
	case starlark.Bytes:
		return len(v)
	}
	return 0
}

func elements(v starlark.Value) int {
	switch v.(type) {
	case starlark.String, starlark.Bytes:
		return 0
	}
	return max(starlark.Len(v), 0)
}

func bits(n starlark.Int) int {
	if _, small := n.Int64(); small {
		return 64
	}
	return n.BigInt().BitLen()
}
