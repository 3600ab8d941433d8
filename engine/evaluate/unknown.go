package evaluate

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// A Stub stands for a value that is not known: a rule of the build system (native), a loaded symbol that could not be
// resolved, or what came out of one of those. It can be called, has every attribute, adds to lists and strings, is
// empty where it is indexed or iterated, and is false.
type Stub struct {
	text   string // what it stands for
	kind   string // the last name in text
	module string // the load as written, or "" for a native rule
	native bool
}

var (
	_ starlark.Callable  = (*Stub)(nil)
	_ starlark.HasSetKey = (*Stub)(nil)
	_ starlark.Sliceable = (*Stub)(nil)
	_ starlark.HasBinary = (*Stub)(nil)
	_ starlark.HasUnary  = (*Stub)(nil)
	_ starlark.HasAttrs  = (*Stub)(nil)
)

func nativeRule(name string) *Stub { return &Stub{text: name, kind: name, native: true} }

func loadedStub(name, module string) *Stub { return &Stub{text: name, kind: name, module: module} }

// unknown is a value about which nothing is known but the text.
func unknown(text string) *Stub { return &Stub{text: clip(text), kind: text, module: "?"} }

// clip bounds a text that grows with each operation.
func clip(text string) string {
	if len(text) > maxCallee {
		return strings.ToValidUTF8(text[:maxCallee], "")
	}
	return text
}

func (s *Stub) derive(suffix, kind string) *Stub {
	return &Stub{text: clip(s.text + suffix), kind: kind, module: s.module, native: s.native}
}

// parts is what an unknown value gives to n names, or to one if n is negative.
func (s *Stub) parts(n int) starlark.Value {
	if n < 0 {
		return s.derive("[]", s.kind)
	}
	parts := make(starlark.Tuple, n)
	for i := range parts {
		parts[i] = s.derive("[]", s.kind)
	}
	return parts
}

// unpackable is a sequence of which each element, even an unknown one, can be given to n names.
func unpackable(seq starlark.Value, n int) starlark.Value {
	var list starlark.Indexable
	switch seq := seq.(type) {
	case *starlark.List:
		list = seq
	case starlark.Tuple:
		list = seq
	}
	if n < 0 || list == nil {
		return seq
	}
	var elements []starlark.Value
	for i := range list.Len() {
		s, unknown := list.Index(i).(*Stub)
		if unknown && elements == nil {
			elements = make([]starlark.Value, 0, list.Len())
			for j := range i {
				elements = append(elements, list.Index(j))
			}
		}
		switch {
		case unknown:
			elements = append(elements, s.parts(n))
		case elements != nil:
			elements = append(elements, list.Index(i))
		}
	}
	if elements == nil {
		return seq
	}
	return starlark.NewList(elements)
}

func (s *Stub) String() string        { return "<unknown " + s.text + ">" }
func (s *Stub) Name() string          { return s.kind }
func (s *Stub) Type() string          { return "unknown" }
func (s *Stub) Freeze()               {}
func (s *Stub) Truth() starlark.Bool  { return false }
func (s *Stub) Hash() (uint32, error) { return starlark.String(s.text).Hash() }
func (s *Stub) Len() int              { return 0 }
func (s *Stub) AttrNames() []string   { return nil }

func (s *Stub) Attr(name string) (starlark.Value, error)   { return s.derive("."+name, name), nil }
func (s *Stub) SetField(string, starlark.Value) error      { return nil }
func (s *Stub) SetKey(k, v starlark.Value) error           { return nil }
func (s *Stub) Index(int) starlark.Value                   { return s.derive("[]", s.kind) }
func (s *Stub) Slice(_, _, _ int) starlark.Value           { return s }
func (s *Stub) Unary(syntax.Token) (starlark.Value, error) { return s, nil }
func (s *Stub) Get(starlark.Value) (starlark.Value, bool, error) {
	return s.derive("[]", s.kind), true, nil
}

// CallInternal returns an unknown value whose text shows the arguments if they are just strings: requirement("numpy").
func (s *Stub) CallInternal(_ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var words []string
	for _, arg := range args {
		word, ok := arg.(starlark.String)
		if !ok {
			return s.derive("(...)", s.kind), nil
		}
		words = append(words, strconv.Quote(string(word)))
	}
	if len(kwargs) > 0 {
		words = append(words, "...")
	}
	return s.derive("("+strings.Join(words, ", ")+")", s.kind), nil
}

func (s *Stub) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	switch op {
	case syntax.IN, syntax.NOT_IN:
		return starlark.Bool(op == syntax.NOT_IN), nil
	case syntax.PLUS, syntax.PIPE:
		switch y.(type) {
		case *starlark.List, *starlark.Dict, starlark.Tuple, starlark.String, *Stub, *Select, *Concat:
			return concat(s, y, side), nil
		}
	}
	return s, nil
}

// A Select is a choice that the build system makes later. It is not iterable, so that `list += select` concatenates.
type Select struct {
	conditions []starlark.Value
	values     []starlark.Value
	buck       bool
}

var _ starlark.HasBinary = (*Select)(nil)

func (s *Select) String() string        { return fmt.Sprintf("select(%d branches)", len(s.values)) }
func (s *Select) Type() string          { return selectType(s.buck) }
func (s *Select) Truth() starlark.Bool  { return true }
func (s *Select) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: select") }
func (s *Select) Freeze() {
	for _, v := range s.values {
		v.Freeze()
	}
}

func selectType(buck bool) string {
	if buck {
		return "selector"
	}
	return "select"
}

func (s *Select) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	if op == syntax.PLUS || op == syntax.PIPE {
		return concat(s, y, side), nil
	}
	return nil, nil
}

// A Concat is a sum of which at least one part is a Select or a Stub.
type Concat struct {
	parts []starlark.Value
	buck  bool
}

var _ starlark.HasBinary = (*Concat)(nil)

const maxParts = 10_000

// concat joins x and y, x being the receiver of a binary operation on the given side.
func concat(x, y starlark.Value, side starlark.Side) starlark.Value {
	if side == starlark.Right {
		x, y = y, x
	}
	c := &Concat{}
	for _, v := range []starlark.Value{x, y} {
		switch v := v.(type) {
		case *Concat:
			c.parts = append(c.parts, v.parts...)
			c.buck = c.buck || v.buck
		case *Select:
			c.parts = append(c.parts, v)
			c.buck = c.buck || v.buck
		case *starlark.List: // a copy: the list may change later
			elements := make([]starlark.Value, v.Len())
			for i := range elements {
				elements[i] = v.Index(i)
			}
			c.parts = append(c.parts, starlark.NewList(elements))
		default:
			c.parts = append(c.parts, v)
		}
	}
	if len(c.parts) > maxParts {
		return unknown("a sum of too many parts")
	}
	return c
}

func (c *Concat) String() string       { return fmt.Sprintf("concatenation of %d parts", len(c.parts)) }
func (c *Concat) Type() string         { return selectType(c.buck) }
func (c *Concat) Truth() starlark.Bool { return true }
func (c *Concat) Hash() (uint32, error) {
	for _, v := range c.parts {
		if text, ok := v.(starlark.String); ok && !c.hasSelect() { // a text of which a part is unknown
			return text.Hash()
		}
	}
	return 0, fmt.Errorf("unhashable type: select")
}
func (c *Concat) Freeze() {
	for _, v := range c.parts {
		v.Freeze()
	}
}

func (c *Concat) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	switch op {
	case syntax.PLUS, syntax.PIPE:
		return concat(c, y, side), nil
	case syntax.IN, syntax.NOT_IN: // only `y in c` where c has no select
		if side == starlark.Right && !c.hasSelect() {
			found := false
			for _, v := range c.elements() {
				if same, err := starlark.Equal(v, y); err == nil && same {
					found = true
				}
			}
			return starlark.Bool(found == (op == syntax.IN)), nil
		}
	}
	return nil, nil
}

// Attr gives a sum that holds no select the methods of an unknown value, so that shared code can go on.
func (c *Concat) Attr(name string) (starlark.Value, error) {
	if c.hasSelect() {
		return nil, nil
	}
	return unknown("(sum)." + name), nil
}

func (c *Concat) AttrNames() []string { return nil }

func (c *Concat) hasSelect() bool {
	for _, v := range c.parts {
		if _, ok := v.(*Select); ok {
			return true
		}
	}
	return false
}

// elements lists what a sum without selects holds; each unknown part is one unknown element.
func (c *Concat) elements() []starlark.Value {
	var all []starlark.Value
	for _, part := range c.parts {
		switch part := part.(type) {
		case *starlark.List:
			for i := 0; i < part.Len(); i++ {
				all = append(all, part.Index(i))
			}
		default:
			all = append(all, part)
		}
	}
	return all
}

// isOpaque reports whether v is, or is a sum with, something unknown or chosen later.
func isOpaque(v starlark.Value) bool {
	switch v.(type) {
	case *Stub, *Select, *Concat:
		return true
	}
	return false
}

// A Struct is what struct(), providers and records make. An attribute that it lacks is an unknown value.
type Struct struct {
	constructor starlark.Value // nil for struct()
	names       []string       // sorted
	values      []starlark.Value
	frozen      bool
}

var _ starlark.HasAttrs = (*Struct)(nil)

func newStruct(constructor starlark.Value, kwargs []starlark.Tuple) *Struct {
	s := &Struct{constructor: constructor}
	sorted := append([]starlark.Tuple(nil), kwargs...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i][0].(starlark.String) < sorted[j][0].(starlark.String) })
	for _, pair := range sorted {
		s.names = append(s.names, string(pair[0].(starlark.String)))
		s.values = append(s.values, pair[1])
	}
	return s
}

func (s *Struct) find(name string) (starlark.Value, bool) {
	i := sort.SearchStrings(s.names, name)
	if i < len(s.names) && s.names[i] == name {
		return s.values[i], true
	}
	return nil, false
}

func (s *Struct) Attr(name string) (starlark.Value, error) {
	if v, ok := s.find(name); ok {
		return v, nil
	}
	return loadedStub(name, "?"), nil
}

func (s *Struct) AttrNames() []string   { return s.names }
func (s *Struct) String() string        { return fmt.Sprintf("struct(%d fields)", len(s.names)) }
func (s *Struct) Truth() starlark.Bool  { return true }
func (s *Struct) Hash() (uint32, error) { return starlark.String(fmt.Sprint(s.names)).Hash() }
func (s *Struct) Type() string {
	if s.constructor != nil {
		return "record"
	}
	return "struct"
}

func (s *Struct) Freeze() {
	if s.frozen {
		return
	}
	s.frozen = true
	for _, v := range s.values {
		v.Freeze()
	}
}

// CompareSameType compares structs by their fields.
func (s *Struct) CompareSameType(op syntax.Token, other starlark.Value, depth int) (bool, error) {
	o := other.(*Struct)
	same := s.constructor == o.constructor && len(s.names) == len(o.names)
	for i := 0; same && i < len(s.names); i++ {
		same = s.names[i] == o.names[i]
		if same {
			var err error
			if same, err = starlark.EqualDepth(s.values[i], o.values[i], depth-1); err != nil {
				return false, err
			}
		}
	}
	switch op {
	case syntax.EQL:
		return same, nil
	case syntax.NEQ:
		return !same, nil
	}
	return false, fmt.Errorf("struct %s struct is not defined", op)
}
