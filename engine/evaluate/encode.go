package evaluate

import (
	"math/big"
	"strconv"

	"go.starlark.net/starlark"

	"buildfix/engine/proto"
)

const (
	maxEncodedBytes = 8 << 20
	maxEncodedDepth = 64
)

// An encoder appends Starlark values as JSON, as docs/protocol.md says. It fails on what is too large.
type encoder struct {
	dst    []byte
	depth  int
	failed bool
}

// args encodes the arguments of a call as one object.
func (e *encoder) args(params []string, args starlark.Tuple, kwargs []starlark.Tuple) {
	e.dst = append(e.dst, '{')
	for i, arg := range args {
		key := strconv.Itoa(i)
		if i < len(params) {
			key = params[i]
		}
		e.pair(key, arg)
	}
	var seen map[string]bool
	if len(kwargs) > 0 {
		seen = make(map[string]bool, len(kwargs))
	}
	for _, pair := range kwargs {
		key := string(pair[0].(starlark.String))
		if !seen[key] {
			seen[key] = true
			e.pair(key, pair[1])
		}
	}
	e.dst = append(e.dst, '}')
}

func (e *encoder) pair(key string, v starlark.Value) {
	if e.dst[len(e.dst)-1] != '{' {
		e.dst = append(e.dst, ',')
	}
	e.dst = proto.AppendString(e.dst, key)
	e.dst = append(e.dst, ':')
	e.value(v)
}

func (e *encoder) value(v starlark.Value) {
	if e.failed || len(e.dst) > maxEncodedBytes {
		e.failed = true
		return
	}
	if e.depth++; e.depth > maxEncodedDepth {
		e.tagged("$unknown", "nested too deeply")
		e.depth--
		return
	}
	defer func() { e.depth-- }()
	switch v := v.(type) {
	case starlark.NoneType:
		e.dst = append(e.dst, "null"...)
	case starlark.Bool:
		e.dst = strconv.AppendBool(e.dst, bool(v))
	case starlark.String:
		e.dst = proto.AppendString(e.dst, string(v))
	case starlark.Int:
		e.integer(v)
	case starlark.Float:
		e.tagged("$float", v.String())
	case starlark.Bytes:
		e.tagged("$bytes", string(v))
	case *starlark.List:
		e.list(v.Len(), v.Index)
	case starlark.Tuple:
		e.open("$tuple")
		e.list(v.Len(), v.Index)
		e.dst = append(e.dst, '}')
	case *starlark.Dict:
		e.dict(v)
	case *starlark.Set:
		e.open("$set")
		e.sequence(v)
		e.dst = append(e.dst, '}')
	case *Select:
		e.open("$select")
		e.list(len(v.values), func(i int) starlark.Value {
			return jsonPair{v.conditions[i], v.values[i]}
		})
		e.dst = append(e.dst, '}')
	case jsonPair:
		e.list(2, func(i int) starlark.Value { return v[i] })
	case *Concat:
		e.open("$concat")
		e.list(len(v.parts), func(i int) starlark.Value { return v.parts[i] })
		e.dst = append(e.dst, '}')
	case *Stub:
		e.tagged("$unknown", v.text)
	case *Label:
		e.dst = proto.AppendString(e.dst, v.text())
	case *Depset:
		e.list(len(v.items), func(i int) starlark.Value { return v.items[i] })
	case *Struct:
		e.open("$struct")
		e.dst = append(e.dst, '{')
		for i, name := range v.names {
			e.pair(name, v.values[i])
		}
		e.dst = append(e.dst, "}}"...)
	case starlark.Callable:
		e.tagged("$function", v.Name())
	default:
		e.tagged("$unknown", v.Type())
	}
}

// A jsonPair is a two-element list inside a tagged object; it exists only while it is encoded.
type jsonPair [2]starlark.Value

func (jsonPair) String() string        { return "pair" }
func (jsonPair) Type() string          { return "pair" }
func (jsonPair) Freeze()               {}
func (jsonPair) Truth() starlark.Bool  { return true }
func (jsonPair) Hash() (uint32, error) { return 0, nil }

func (e *encoder) integer(v starlark.Int) {
	if n, ok := v.Int64(); ok {
		e.dst = strconv.AppendInt(e.dst, n, 10)
		return
	}
	if n := v.BigInt(); n.BitLen() < 256 {
		e.dst = n.Append(e.dst, 10)
		return
	}
	e.tagged("$unknown", "an integer of "+strconv.Itoa((*big.Int).BitLen(v.BigInt()))+" bits")
}

func (e *encoder) open(tag string) {
	e.dst = append(e.dst, '{', '"')
	e.dst = append(e.dst, tag...)
	e.dst = append(e.dst, '"', ':')
}

func (e *encoder) tagged(tag, text string) {
	e.open(tag)
	e.dst = proto.AppendString(e.dst, text)
	e.dst = append(e.dst, '}')
}

func (e *encoder) list(n int, at func(int) starlark.Value) {
	e.dst = append(e.dst, '[')
	for i := 0; i < n && !e.failed; i++ {
		if i > 0 {
			e.dst = append(e.dst, ',')
		}
		e.value(at(i))
	}
	e.dst = append(e.dst, ']')
}

func (e *encoder) sequence(v starlark.Iterable) {
	e.dst = append(e.dst, '[')
	iter := v.Iterate()
	defer iter.Done()
	var x starlark.Value
	for i := 0; iter.Next(&x) && !e.failed; i++ {
		if i > 0 {
			e.dst = append(e.dst, ',')
		}
		e.value(x)
	}
	e.dst = append(e.dst, ']')
}

func (e *encoder) dict(v *starlark.Dict) {
	items := v.Items()
	for _, item := range items {
		if key, ok := item[0].(starlark.String); !ok || len(key) > 0 && key[0] == '$' {
			e.open("$dict")
			e.list(len(items), func(i int) starlark.Value { return jsonPair{items[i][0], items[i][1]} })
			e.dst = append(e.dst, '}')
			return
		}
	}
	e.dst = append(e.dst, '{')
	for _, item := range items {
		e.pair(string(item[0].(starlark.String)), item[1])
	}
	e.dst = append(e.dst, '}')
}
