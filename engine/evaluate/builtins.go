package evaluate

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"go.starlark.net/lib/json"
	"go.starlark.net/lib/math"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// builtins are the names that every file knows beside starlark-go's own. All other names are rules of the build system.
var builtins = map[string]starlark.Value{}

type builtinFunc = func(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)

func init() {
	for name, fn := range map[string]builtinFunc{
		"aspect":                    makeRule,
		"dynamic_actions":           makeRule,
		"macro":                     makeMacro,
		"rule":                      makeRule,
		"repository_rule":           makeRule,
		"transition":                makeRule,
		"Label":                     makeLabel,
		"depset":                    makeDepset,
		"enum":                      makeEnum,
		"eval_type":                 evalType,
		"field":                     makeField,
		"fail":                      failNow,
		"getattr":                   getAttr,
		"hasattr":                   hasAttr,
		"isinstance":                isInstanceOf,
		"partial":                   makePartial,
		"provider":                  makeProvider,
		"record":                    makeRecord,
		"select":                    makeSelect,
		"select_map":                selectMap,
		"select_test":               selectTest,
		"select_equal_internal":     selectEqual,
		"struct":                    makeStruct,
		"glob":                      globFiles,
		"subpackages":               subpackages,
		"package_name":              packageName,
		"get_base_path":             packageName,
		"get_cell_name":             cellName,
		"repository_name":           repositoryName,
		"repo_name":                 cellName,
		"module_name":               nothing,
		"module_version":            nothing,
		"package_relative_label":    packageRelativeLabel,
		"existing_rule":             existingRule,
		"existing_rules":            existingRules,
		"rule_exists":               ruleExists,
		"host_info":                 hostInfo,
		"read_config":               readConfig,
		"read_root_config":          readConfig,
		"load_symbols":              loadSymbols,
		"implicit_package_symbol":   implicitSymbol,
		"read_package_value":        readPackageValue,
		"read_parent_package_value": readParentPackageValue,
		"write_package_value":       writePackageValue,
		"visibility":                nothing,
		"debug":                     nothing,
		"pprint":                    nothing,
		"soft_error":                nothing,
		"set_cfg_constructor":       nothing,
		"call_stack":                callStack,
		"call_stack_frame":          callStackFrame,
		"dedupe":                    dedupe,
		"filter":                    filterList,
		"map":                       mapList,
		"regex_match":               regexMatch,
		"sha256":                    sha256Text,
		"fail_no_stacktrace":        failNow,
		"warning":                   nothing,
	} {
		builtins[name] = starlark.NewBuiltin(name, fn)
	}
	for name, of := range map[string]string{
		"bool": "bool", "dict": "dict", "float": "float", "int": "int", "list": "list", "set": "set", "str": "string",
		"tuple": "tuple",
	} {
		builtins[name] = &typeFunc{starlark.Universe[name].(*starlark.Builtin), of}
	}
	builtins["attr"] = attrModule{nativeRule("attr")}
	builtins["json"] = json.Module
	builtins["math"] = math.Module
	builtins["native"] = nativeModule{}
	builtins["__buck2_builtins__"] = nativeModule{}
}

// nativeModule is `native`: its members are the same as the names of a build file.
type nativeModule struct{ prelude *Struct } // what the prelude calls `native`, or nil

func (nativeModule) String() string        { return "<native>" }
func (nativeModule) Type() string          { return "struct" }
func (nativeModule) Freeze()               {}
func (nativeModule) Truth() starlark.Bool  { return true }
func (nativeModule) Hash() (uint32, error) { return 0, nil }
func (nativeModule) AttrNames() []string   { return nil }
func (n nativeModule) Attr(name string) (starlark.Value, error) {
	if v := builtins[name]; v != nil {
		return v, nil
	}
	if n.prelude != nil {
		if v, ok := n.prelude.find(name); ok {
			return v, nil
		}
	}
	if v := starlark.Universe[name]; v != nil {
		return v, nil
	}
	return nativeRule(name), nil
}

// predeclared is the environment of the run's file: builtins, its own call and load functions, what the prelude
// defines, and native rules.
func (r *run) predeclared() starlark.StringDict {
	file, prelude := r.file, r.preludeSymbols()
	env := make(starlark.StringDict, len(builtins)+len(file.natives)+12)
	maps.Copy(env, builtins)
	native := nativeModule{}
	native.prelude, _ = prelude["native"].(*Struct)
	env["native"] = native
	for _, name := range file.natives {
		v := prelude[name]
		if v == nil && file.isBuild {
			v, _ = native.Attr(name)
		}
		if v == nil {
			v = nativeRule(name)
		}
		env[name] = v
	}
	for name, fn := range operators {
		env[name] = starlark.NewBuiltin(name[1:], fn)
	}
	env[nameCall] = starlark.NewBuiltin("call", func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return runOf(thread).callFunction(file, args, kwargs)
	})
	env[nameLoad] = starlark.NewBuiltin("load", func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		index, _ := starlark.AsInt32(args[0])
		return runOf(thread).load(file, index)
	})
	return env
}

// operators are what the rewritten tree calls in place of syntax.
var operators = map[string]builtinFunc{
	nameLoop: func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		n, _ := starlark.AsInt32(args[1])
		switch v := args[0].(type) {
		case *Stub:
			runOf(thread).addOpaque("for "+v.text, v.module)
			return starlark.Tuple(nil), nil
		case *Concat:
			if !v.hasSelect() {
				return unpackable(starlark.NewList(v.elements()), n), nil
			}
		}
		return unpackable(args[0], n), nil
	},
	nameEach: func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		n, _ := starlark.AsInt32(args[1])
		switch v := args[0].(type) {
		case *Stub: // one element, so that what is made of it is not taken for empty
			return starlark.Tuple{v.parts(n)}, nil
		case *Concat:
			if !v.hasSelect() {
				return unpackable(starlark.NewList(v.elements()), n), nil
			}
		}
		return unpackable(args[0], n), nil
	},
	nameList: func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		var elements []starlark.Value
		iter := starlark.Iterate(args[0])
		if iter == nil {
			return nil, fmt.Errorf("argument after * must be iterable, not %s", args[0].Type())
		}
		defer iter.Done()
		var x starlark.Value
		for iter.Next(&x) {
			elements = append(elements, x)
		}
		return starlark.NewList(elements), nil
	},
	nameStar: func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		if isOpaque(args[0]) {
			return starlark.NewDict(0), nil
		}
		return args[0], nil
	},
	nameUnpack: func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		s, ok := args[1].(*Stub)
		if !ok {
			return args[1], nil
		}
		n, _ := starlark.AsInt32(args[0])
		return s.parts(n), nil
	},
	namePlus: func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return runOf(thread).plus(args[0], args[1])
	},
	nameTimes: func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return runOf(thread).times(args[0], args[1])
	},
	nameFormat: func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return runOf(thread).format(args[0], args[1])
	},
	nameIndex: func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return runOf(thread).index(args[0], args[1])
	},
	nameIn: func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		if _, ok := args[1].(*Stub); ok { // as a mapping it would hold everything
			return starlark.False, nil
		}
		return starlark.Binary(syntax.IN, args[0], args[1])
	},
	nameOr: func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		result, err := starlark.Binary(syntax.PIPE, args[0], args[1])
		if err != nil && isType(args[0]) && isType(args[1]) {
			return starlark.NewList([]starlark.Value{args[0], args[1]}), nil
		}
		return result, err
	},
	nameFactor: func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return runOf(thread).factor(args[0])
	},
	nameAddend: func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return runOf(thread).addend(args[0])
	},
}

func nothing(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	return starlark.None, nil
}

// fails reports whether fn is fail(), whose error passes the call that it stands in.
func fails(fn starlark.Value) bool {
	return fn == builtins["fail"] || fn == builtins["fail_no_stacktrace"]
}

func failNow(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var words []string
	for _, arg := range args {
		if s, ok := starlark.AsString(arg); ok {
			words = append(words, s)
		} else {
			words = append(words, arg.String())
		}
	}
	if i := findKey(kwargs, starlark.String("msg")); i >= 0 {
		words = append(words, kwargs[i][1].String())
	}
	return nil, errors.New("fail: " + strings.Join(words, " "))
}

func hasAttr(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	var name string
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 2, &v, &name); err != nil {
		return nil, err
	}
	found, _ := knownAttr(v, name)
	return starlark.Bool(found != nil), nil
}

func getAttr(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v, fallback starlark.Value
	var name string
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 2, &v, &name, &fallback); err != nil {
		return nil, err
	}
	if found, err := knownAttr(v, name); found != nil || err != nil {
		return found, err
	}
	if fallback != nil {
		return fallback, nil
	}
	if s, ok := v.(*Struct); ok {
		return s.Attr(name)
	}
	if s, ok := v.(*Stub); ok {
		return s.Attr(name)
	}
	return nil, fmt.Errorf("%s has no .%s field or method", v.Type(), name)
}

// knownAttr is the attribute if the value really has it, else nil.
func knownAttr(v starlark.Value, name string) (starlark.Value, error) {
	switch v := v.(type) {
	case *Stub:
		return nil, nil
	case *Struct:
		found, _ := v.find(name)
		return found, nil
	case starlark.HasAttrs:
		found, err := v.Attr(name)
		var missing starlark.NoSuchAttrError
		if errors.As(err, &missing) {
			return nil, nil
		}
		return found, err
	}
	return nil, nil
}

func makeStruct(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) > 0 {
		return nil, fmt.Errorf("%s: unexpected positional arguments", b.Name())
	}
	return newStruct(nil, kwargs), nil
}

func makePartial(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) == 0 {
		return nil, errors.New("partial: missing function")
	}
	return &Partial{args[0], args[1:], kwargs}, nil
}

func isInstanceOf(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v, t starlark.Value
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 2, &v, &t); err != nil {
		return nil, err
	}
	return starlark.Bool(isInstance(v, t)), nil
}

func evalType(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return unknown("eval_type()"), nil
}
