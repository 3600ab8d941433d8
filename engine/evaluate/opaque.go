package evaluate

import (
	"slices"
	"strconv"

	"go.starlark.net/starlark"

	"buildfix/engine/proto"
)

// An opaqueCall is a place that may make targets which cannot be seen: a macro that could not be resolved and is called
// without a name, a rule whose name is not known, a loop over something unknown.
type opaqueCall struct {
	callee, module, file string
	line                 int
}

const maxOpaque = 1000

// noteOpaque notes a call that was not recorded if it may make targets nevertheless.
func (r *run) noteOpaque(site *site, fn starlark.Value, kwargs []starlark.Tuple) {
	module := ""
	switch fn := fn.(type) {
	case *Stub:
		module = fn.module
		if site.soft == statement && !fn.native { // it might do anything
			break
		}
		if !bindsUnknownName(kwargs) {
			return
		}
	case *Rule:
		module = fn.file
		if !bindsUnknownName(kwargs) {
			return
		}
	default:
		return
	}
	r.addOpaque(site.callee, module)
}

// bindsUnknownName reports whether a call has a name that is no string yet.
func bindsUnknownName(kwargs []starlark.Tuple) bool {
	i := findKey(kwargs, starlark.String("name"))
	return i >= 0 && isOpaque(kwargs[i][1])
}

// addOpaque notes the innermost Starlark position, once.
func (r *run) addOpaque(callee, module string) {
	if r.dir == nil || r.governing || len(r.opaque) >= maxOpaque {
		return
	}
	file, line := here(r.thread)
	if call := (opaqueCall{callee, module, file, line}); !slices.Contains(r.opaque, call) {
		r.opaque = append(r.opaque, call)
	}
}

func appendOpaque(dst []byte, calls []opaqueCall) []byte {
	dst = append(dst, `,"opaque":[`...)
	for i, c := range calls {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '[')
		dst = proto.AppendString(dst, c.callee)
		dst = append(dst, ',')
		dst = proto.AppendString(dst, c.module)
		dst = append(dst, ',')
		dst = strconv.AppendInt(dst, int64(c.line), 10)
		dst = append(dst, ',')
		dst = proto.AppendString(dst, c.file)
		dst = append(dst, ']')
	}
	return append(dst, ']')
}
