package evaluate

import (
	"fmt"

	"go.starlark.net/starlark"
)

// here is the innermost Starlark position of the thread.
func here(thread *starlark.Thread) (file string, line int) {
	for i := 0; i < thread.CallStackDepth(); i++ {
		frame := thread.DebugFrame(i)
		if _, ok := frame.Callable().(*starlark.Function); ok {
			pos := frame.Position()
			return pos.Filename(), int(pos.Line)
		}
	}
	return "", 0
}

func makeRule(thread *starlark.Thread, b *starlark.Builtin, _ starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	file, line := here(thread)
	return &Rule{what: b.Name(), file: file, line: line, attrs: attributeNames(kwargs)}, nil
}

// attributeNames are the names of the attributes that a rule or macro declares; one that it declares as None it drops.
func attributeNames(kwargs []starlark.Tuple) []starlark.Value {
	i := findKey(kwargs, starlark.String("attrs"))
	if i < 0 {
		return nil
	}
	var names []starlark.Value
	if attrs, ok := kwargs[i][1].(*starlark.Dict); ok {
		for _, item := range attrs.Items() {
			if _, isName := item[0].(starlark.String); isName && item[1] != starlark.None {
				names = append(names, item[0])
			}
		}
	}
	return names
}

// commonAttributes are what `inherit_attrs = "common"` inherits, and what every rule has.
var commonAttributes = []starlark.Value{
	starlark.String("compatible_with"), starlark.String("deprecation"), starlark.String("exec_compatible_with"),
	starlark.String("exec_properties"), starlark.String("features"), starlark.String("package_metadata"),
	starlark.String("restricted_to"), starlark.String("tags"), starlark.String("target_compatible_with"),
	starlark.String("testonly"), starlark.String("toolchains"),
}

// inherited are the names of the attributes that a symbolic macro takes over from a rule, as far as they are known.
func inherited(from starlark.Value) []starlark.Value {
	switch from := from.(type) {
	case *Rule:
		return append(append([]starlark.Value(nil), from.attrs...), commonAttributes...)
	case *Stub:
		return commonAttributes
	case starlark.String:
		return commonAttributes
	}
	return nil
}

// makeMacro makes a symbolic macro, whose calls run its implementation with the attributes' defaults filled in.
func makeMacro(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	file, line := here(thread)
	rule := &Rule{what: b.Name(), file: file, line: line}
	if i := findKey(kwargs, starlark.String("implementation")); i >= 0 {
		rule.impl = kwargs[i][1]
	}
	rule.attrs = attributeNames(kwargs)
	rule.defaults = append(rule.defaults, starlark.Tuple{starlark.String("visibility"), starlark.NewList(nil)})
	declared := starlark.NewDict(0)
	if i := findKey(kwargs, starlark.String("attrs")); i >= 0 {
		if attrs, ok := kwargs[i][1].(*starlark.Dict); ok {
			declared = attrs
		}
	}
	for _, item := range declared.Items() {
		if a, ok := item[1].(*attribute); ok {
			rule.defaults = append(rule.defaults, starlark.Tuple{item[0], a.value})
		}
	}
	if i := findKey(kwargs, starlark.String("inherit_attrs")); i >= 0 {
		for _, name := range inherited(kwargs[i][1]) {
			if _, own, _ := declared.Get(name); !own && findKey(rule.defaults, name) < 0 { // the default is None, whatever the rule's is
				rule.attrs = append(rule.attrs, name)
				rule.defaults = append(rule.defaults, starlark.Tuple{name, starlark.None})
			}
		}
	}
	for _, pair := range rule.defaults {
		pair[1].Freeze()
	}
	return rule, nil
}

func makeLabel(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &v); err != nil {
		return nil, err
	}
	text, ok := starlark.AsString(v)
	if !ok {
		return v, nil
	}
	file, _ := here(thread) // a label is relative to the file that writes it
	engine := runOf(thread).engine
	return parseLabel(text, engine.tree.CellOf(file).Name, engine.packageOf(file)), nil
}

func packageRelativeLabel(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &v); err != nil {
		return nil, err
	}
	r := runOf(thread)
	text, ok := starlark.AsString(v)
	if !ok || r.dir == nil {
		return v, nil
	}
	return parseLabel(text, r.dir.Cell.Name, r.packagePath()), nil
}

func makeDepset(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var direct, transitive, order starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "direct?", &direct, "order?", &order, "transitive?", &transitive); err != nil {
		return nil, err
	}
	d := &Depset{}
	seen := starlark.NewSet(0)
	add := func(v starlark.Value) {
		if found, err := seen.Has(v); err == nil && found {
			return
		}
		_ = seen.Insert(v)
		d.items = append(d.items, v)
	}
	each(direct, add)
	each(transitive, func(v starlark.Value) {
		if sub, ok := v.(*Depset); ok {
			for _, item := range sub.items {
				add(item)
			}
		}
	})
	return d, nil
}

// each calls fn for each element of v, if it has any.
func each(v starlark.Value, fn func(starlark.Value)) {
	if v == nil {
		return
	}
	iter := starlark.Iterate(v)
	if iter == nil {
		return
	}
	defer iter.Done()
	var x starlark.Value
	for iter.Next(&x) {
		fn(x)
	}
}

func makeProvider(_ *starlark.Thread, _ *starlark.Builtin, _ starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	c := &Constructor{}
	if findKey(kwargs, starlark.String("init")) >= 0 { // (provider, raw constructor)
		return starlark.Tuple{c, c}, nil
	}
	return c, nil
}

func makeRecord(_ *starlark.Thread, _ *starlark.Builtin, _ starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return &Constructor{fields: kwargs}, nil
}

// makeField is field(type, default): a record's field.
func makeField(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var t, fallback starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "type", &t, "default?", &fallback); err != nil {
		return nil, err
	}
	if fallback == nil {
		return &attribute{unknown("field")}, nil
	}
	return &attribute{fallback}, nil
}

func makeEnum(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	c := &Constructor{enum: true}
	for i, v := range args {
		c.values = append(c.values, newStruct(c, []starlark.Tuple{
			{starlark.String("value"), v}, {starlark.String("index"), starlark.MakeInt(i)},
		}))
	}
	return c, nil
}

func makeSelect(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var branches, message starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "x", &branches, "no_match_error?", &message); err != nil {
		return nil, err
	}
	dict, ok := branches.(*starlark.Dict)
	if !ok {
		if isOpaque(branches) {
			return unknown("select()"), nil
		}
		return nil, fmt.Errorf("select: want a dict, got %s", branches.Type())
	}
	s := &Select{buck: runOf(thread).engine.buck}
	for _, item := range dict.Items() {
		s.conditions = append(s.conditions, item[0])
		s.values = append(s.values, item[1])
	}
	return s, nil
}

// selectMap is Buck2's select_map: fn over each branch value, and over plain parts.
func selectMap(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v, fn, recurse starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "selector", &v, "function", &fn, "recurse?", &recurse); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case *Select:
		out := &Select{conditions: v.conditions, buck: v.buck}
		for _, branch := range v.values {
			mapped, err := selectMap(thread, b, starlark.Tuple{branch, fn}, nil)
			if err != nil {
				return nil, err
			}
			out.values = append(out.values, mapped)
		}
		return out, nil
	case *Concat:
		out := &Concat{buck: v.buck}
		for _, part := range v.parts {
			mapped, err := selectMap(thread, b, starlark.Tuple{part, fn}, nil)
			if err != nil {
				return nil, err
			}
			out.parts = append(out.parts, mapped)
		}
		return out, nil
	case *Stub:
		return v, nil
	}
	return starlark.Call(thread, fn, starlark.Tuple{v}, nil)
}

// selectTest is Buck2's select_test: whether fn holds for any branch value.
func selectTest(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v, fn, recurse starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "selector", &v, "function", &fn, "recurse?", &recurse); err != nil {
		return nil, err
	}
	var parts []starlark.Value
	switch v := v.(type) {
	case *Select:
		parts = v.values
	case *Concat:
		parts = v.parts
	case *Stub:
		return starlark.False, nil
	default:
		result, err := starlark.Call(thread, fn, starlark.Tuple{v}, nil)
		if err != nil {
			return nil, err
		}
		return result.Truth(), nil
	}
	for _, part := range parts {
		result, err := selectTest(thread, b, starlark.Tuple{part, fn}, nil)
		if err != nil || result == starlark.True {
			return result, err
		}
	}
	return starlark.False, nil
}

func selectEqual(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x, y starlark.Value
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 2, &x, &y); err != nil {
		return nil, err
	}
	same, err := starlark.Equal(x, y)
	return starlark.Bool(same), err
}
