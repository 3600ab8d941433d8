package evaluate

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// A Rule is what rule(), repository_rule() and macro() return. A call of it makes a target.
type Rule struct {
	what     string // the function that made it
	name     string // of the global that it was assigned to
	file     string
	line     int
	impl     starlark.Value   // of a symbolic macro, which calls of it run; else nil
	attrs    []starlark.Value // the names of its attributes, as far as they are known
	defaults []starlark.Tuple
}

func (r *Rule) Name() string {
	if r.name == "" {
		return r.what
	}
	return r.name
}
func (r *Rule) String() string        { return "<" + r.what + " " + r.name + ">" }
func (r *Rule) Type() string          { return "rule" }
func (r *Rule) Freeze()               {}
func (r *Rule) Truth() starlark.Bool  { return true }
func (r *Rule) Hash() (uint32, error) { return starlark.String(r.file + r.name).Hash() }

// CallInternal runs a symbolic macro's implementation. A rule has nothing to run.
func (r *Rule) CallInternal(thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) > 0 {
		return nil, fmt.Errorf("%s: unexpected positional arguments", r.Name())
	}
	if r.impl == nil {
		return &Stub{text: r.Name() + "()", kind: r.Name(), module: r.file}, nil
	}
	for _, pair := range r.defaults {
		i := findKey(kwargs, pair[0])
		if i < 0 {
			kwargs = append(kwargs, pair)
		} else if kwargs[i][1] == starlark.None {
			kwargs[i] = pair
		}
	}
	return starlark.Call(thread, r.impl, nil, kwargs)
}

func findKey(kwargs []starlark.Tuple, key starlark.Value) int {
	for i, pair := range kwargs {
		if pair[0] == key {
			return i
		}
	}
	return -1
}

// nameRules gives the rules and enum or record types among the globals the names that they are assigned to.
func nameRules(globals starlark.StringDict) {
	for _, name := range globals.Keys() {
		switch v := globals[name].(type) {
		case *Rule:
			if v.name == "" {
				v.name = name
			}
		case *Constructor:
			if v.name == "" {
				v.name = name
			}
		}
	}
}

// An attribute is what attr.string(...) and the like return; only the default matters.
type attribute struct{ value starlark.Value }

func (a *attribute) String() string        { return "<attribute>" }
func (a *attribute) Type() string          { return "Attribute" }
func (a *attribute) Freeze()               { a.value.Freeze() }
func (a *attribute) Truth() starlark.Bool  { return true }
func (a *attribute) Hash() (uint32, error) { return 0, nil }

// attrModule is Bazel's `attr`: each of its members makes an attribute.
type attrModule struct{ *Stub }

func (attrModule) Attr(name string) (starlark.Value, error) {
	return starlark.NewBuiltin("attr."+name, func(_ *starlark.Thread, _ *starlark.Builtin, _ starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if i := findKey(kwargs, starlark.String("default")); i >= 0 {
			return &attribute{kwargs[i][1]}, nil
		}
		return &attribute{starlark.None}, nil
	}), nil
}

// A Constructor is a provider, or a record or enum type of Buck2.
type Constructor struct {
	name   string
	fields []starlark.Tuple // a record's fields and their defaults
	values []starlark.Value // of an enum
	enum   bool
}

func (c *Constructor) Name() string          { return c.name }
func (c *Constructor) String() string        { return "<type " + c.name + ">" }
func (c *Constructor) Type() string          { return "function" }
func (c *Constructor) Truth() starlark.Bool  { return true }
func (c *Constructor) Hash() (uint32, error) { return starlark.String(c.name).Hash() }
func (c *Constructor) Freeze()               {}
func (c *Constructor) AttrNames() []string   { return []string{"type"} }
func (c *Constructor) Len() int              { return len(c.values) }
func (c *Constructor) Index(i int) starlark.Value {
	return c.values[i]
}

// Iterate goes over an enum's values.
func (c *Constructor) Iterate() starlark.Iterator { return starlark.NewList(c.values).Iterate() }

func (c *Constructor) Attr(name string) (starlark.Value, error) {
	switch {
	case name == "type":
		return starlark.String(c.name), nil
	case name == "values" && c.enum:
		return starlark.NewBuiltin("values", func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
			var texts []starlark.Value
			for _, v := range c.values {
				text, _ := v.(*Struct).find("value")
				texts = append(texts, text)
			}
			return starlark.NewList(texts), nil
		}), nil
	}
	return nil, nil
}

// CallInternal makes a struct of the keyword arguments, or finds an enum's value.
func (c *Constructor) CallInternal(_ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if c.enum && len(args) == 1 {
		for _, v := range c.values {
			text, _ := v.(*Struct).find("value")
			for _, want := range []starlark.Value{text, v} {
				if same, err := starlark.Equal(args[0], want); err == nil && same {
					return v, nil
				}
			}
		}
	}
	if c.enum {
		return nil, fmt.Errorf("%s: no such value", c.name)
	}
	all := append([]starlark.Tuple(nil), kwargs...)
	for _, field := range c.fields {
		if f, ok := field[1].(*attribute); ok && f.value != nil && findKey(kwargs, field[0]) < 0 {
			all = append(all, starlark.Tuple{field[0], f.value})
		}
	}
	return newStruct(c, all), nil
}

// A Partial is a function with some arguments bound.
type Partial struct {
	fn     starlark.Value
	args   starlark.Tuple
	kwargs []starlark.Tuple
}

func (p *Partial) Name() string {
	if c, ok := p.fn.(starlark.Callable); ok {
		return c.Name()
	}
	return "partial"
}
func (p *Partial) String() string        { return "<partial " + p.Name() + ">" }
func (p *Partial) Type() string          { return "function" }
func (p *Partial) Truth() starlark.Bool  { return true }
func (p *Partial) Hash() (uint32, error) { return starlark.String(p.Name()).Hash() }
func (p *Partial) Freeze() {
	p.fn.Freeze()
	p.args.Freeze()
	for _, pair := range p.kwargs {
		pair.Freeze()
	}
}

// bind returns what a call of the partial calls in the end.
func (p *Partial) bind(args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, starlark.Tuple, []starlark.Tuple) {
	all := append(append(starlark.Tuple(nil), p.args...), args...)
	named := append([]starlark.Tuple(nil), p.kwargs...)
	for _, pair := range kwargs {
		if i := findKey(named, pair[0]); i >= 0 {
			named[i] = pair
		} else {
			named = append(named, pair)
		}
	}
	if inner, ok := p.fn.(*Partial); ok {
		return inner.bind(all, named)
	}
	return p.fn, all, named
}

func (p *Partial) CallInternal(thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	fn, args, kwargs := p.bind(args, kwargs)
	return starlark.Call(thread, fn, args, kwargs)
}

// A Label is Bazel's Label.
type Label struct{ repo, pkg, name string }

func parseLabel(text, repo, pkg string) *Label {
	l := &Label{repo: repo, pkg: pkg}
	rest := text
	if i := strings.Index(rest, "//"); i >= 0 {
		if repoText := rest[:i]; repoText != "" {
			l.repo = strings.TrimLeft(repoText, "@")
		}
		rest = rest[i+2:]
		l.pkg, l.name, _ = strings.Cut(rest, ":")
		if l.name == "" {
			l.name = l.pkg[strings.LastIndex(l.pkg, "/")+1:]
		}
		return l
	}
	l.name = strings.TrimPrefix(rest, ":")
	return l
}

// String is what str() gives: the canonical form, as far as it is known here.
func (l *Label) String() string { return "@@" + l.repo + "//" + l.pkg + ":" + l.name }

// text is the label as one would write it.
func (l *Label) text() string {
	text := "//" + l.pkg + ":" + l.name
	if l.repo != "" {
		text = "@" + l.repo + text
	}
	return text
}
func (l *Label) Type() string          { return "Label" }
func (l *Label) Freeze()               {}
func (l *Label) Truth() starlark.Bool  { return true }
func (l *Label) Hash() (uint32, error) { return starlark.String(l.String()).Hash() }
func (l *Label) AttrNames() []string {
	return []string{"name", "package", "relative", "repo_name", "same_package_label", "workspace_name", "workspace_root"}
}

func (l *Label) Attr(name string) (starlark.Value, error) {
	switch name {
	case "name":
		return starlark.String(l.name), nil
	case "package":
		return starlark.String(l.pkg), nil
	case "repo_name", "workspace_name":
		return starlark.String(l.repo), nil
	case "workspace_root":
		return starlark.String(""), nil
	case "relative", "same_package_label":
		return starlark.NewBuiltin(name, func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			var text string
			if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &text); err != nil {
				return nil, err
			}
			return parseLabel(text, l.repo, l.pkg), nil
		}), nil
	}
	return nil, nil
}

// CompareSameType compares labels by their text.
func (l *Label) CompareSameType(op syntax.Token, other starlark.Value, _ int) (bool, error) {
	return starlark.Compare(op, starlark.String(l.String()), starlark.String(other.String()))
}

// A Depset is Bazel's depset, as a plain list without duplicates.
type Depset struct{ items []starlark.Value }

func (d *Depset) String() string        { return "depset" }
func (d *Depset) Type() string          { return "depset" }
func (d *Depset) Truth() starlark.Bool  { return len(d.items) > 0 }
func (d *Depset) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: depset") }
func (d *Depset) AttrNames() []string   { return []string{"to_list"} }
func (d *Depset) Freeze() {
	for _, v := range d.items {
		v.Freeze()
	}
}

func (d *Depset) Attr(name string) (starlark.Value, error) {
	if name != "to_list" {
		return nil, nil
	}
	return starlark.NewBuiltin("to_list", func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
		return starlark.NewList(append([]starlark.Value(nil), d.items...)), nil
	}), nil
}

// A typeFunc is a builtin such as list, which in Buck2 also makes types: `list[str] | None`.
type typeFunc struct {
	*starlark.Builtin
	of string // what type() says of its values
}

var (
	_ starlark.Mapping   = (*typeFunc)(nil)
	_ starlark.HasBinary = (*typeFunc)(nil)
	_ starlark.HasAttrs  = (*typeFunc)(nil)
)

func (t *typeFunc) Get(starlark.Value) (starlark.Value, bool, error) { return t, true, nil }
func (t *typeFunc) AttrNames() []string                              { return []string{"type"} }
func (t *typeFunc) Attr(name string) (starlark.Value, error) {
	if name == "type" {
		return starlark.String(t.of), nil
	}
	return nil, nil
}

func (t *typeFunc) Binary(op syntax.Token, y starlark.Value, _ starlark.Side) (starlark.Value, error) {
	if op == syntax.PIPE {
		return starlark.NewList([]starlark.Value{t, y}), nil
	}
	return nil, nil
}

// isType reports whether Buck2 takes v for a type.
func isType(v starlark.Value) bool {
	switch v := v.(type) {
	case starlark.NoneType, starlark.String, starlark.Callable, starlark.Tuple:
		return true
	case *starlark.List: // a choice of types
		return v.Len() > 0 && isType(v.Index(0))
	}
	return false
}

// isInstance is Buck2's isinstance, as far as types are known here.
func isInstance(v, t starlark.Value) bool {
	switch t := t.(type) {
	case *typeFunc:
		return v.Type() == t.of
	case starlark.NoneType:
		return v == starlark.None
	case *Constructor:
		s, ok := v.(*Struct)
		return ok && s.constructor == starlark.Value(t)
	case *starlark.List:
		for i := 0; i < t.Len(); i++ {
			if isInstance(v, t.Index(i)) {
				return true
			}
		}
	case *Stub:
		if t.kind == "Callable" {
			_, ok := v.(starlark.Callable)
			return ok
		}
	}
	return false
}
