package evaluate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"

	"go.starlark.net/starlark"
)

// These builtins are Buck2's own additions to the language.

// loadSymbols adds the entries of a dict to what the file defines for those that load it.
func loadSymbols(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var symbols *starlark.Dict
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &symbols); err != nil {
		return nil, err
	}
	r := runOf(thread)
	if r.symbols == nil {
		r.symbols = starlark.StringDict{}
	}
	for _, item := range symbols.Items() {
		if name, ok := starlark.AsString(item[0]); ok {
			r.symbols[name] = item[1]
		}
	}
	return starlark.None, nil
}

// dedupe is the list without what occurred before.
func dedupe(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var list starlark.Iterable
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &list); err != nil {
		return nil, err
	}
	seen := starlark.NewSet(0)
	var kept []starlark.Value
	each(list, func(v starlark.Value) {
		if found, err := seen.Has(v); err != nil || !found { // what cannot be hashed stays
			_ = seen.Insert(v)
			kept = append(kept, v)
		}
	})
	return starlark.NewList(kept), nil
}

func mapList(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var fn starlark.Value
	var list starlark.Iterable
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 2, &fn, &list); err != nil {
		return nil, err
	}
	var mapped []starlark.Value
	err := eachWithError(list, func(v starlark.Value) error {
		result, err := starlark.Call(thread, fn, starlark.Tuple{v}, nil)
		mapped = append(mapped, result)
		return err
	})
	return starlark.NewList(mapped), err
}

func filterList(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var fn starlark.Value
	var list starlark.Iterable
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 2, &fn, &list); err != nil {
		return nil, err
	}
	var kept []starlark.Value
	err := eachWithError(list, func(v starlark.Value) error {
		keep := v != starlark.None
		if fn != starlark.None {
			result, err := starlark.Call(thread, fn, starlark.Tuple{v}, nil)
			if err != nil {
				return err
			}
			keep = bool(result.Truth())
		}
		if keep {
			kept = append(kept, v)
		}
		return nil
	})
	return starlark.NewList(kept), err
}

func eachWithError(list starlark.Iterable, fn func(starlark.Value) error) error {
	iter := list.Iterate()
	defer iter.Done()
	var v starlark.Value
	for iter.Next(&v) {
		if err := fn(v); err != nil {
			return err
		}
	}
	return nil
}

func regexMatch(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var pattern, text string
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 2, &pattern, &text); err != nil {
		return nil, err
	}
	if len(pattern) > maxNesting {
		return nil, fmt.Errorf("%s: the pattern is too long", b.Name())
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	return starlark.Bool(re.MatchString(text)), nil
}

func sha256Text(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var text string
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &text); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(text))
	return starlark.String(hex.EncodeToString(sum[:])), nil
}

// callStackFrame is Buck2's call_stack_frame: what is active n levels up, and the file that called it.
func callStackFrame(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var n int
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &n); err != nil {
		return nil, err
	}
	name := b.Name()
	for i := 0; i < thread.CallStackDepth(); i++ {
		frame := thread.DebugFrame(i)
		fn, ok := frame.Callable().(*starlark.Function)
		if !ok {
			continue
		}
		if n == 0 {
			return newStruct(nil, []starlark.Tuple{
				{starlark.String("func_name"), starlark.String(name)},
				{starlark.String("module_path"), starlark.String(frame.Position().Filename())},
			}), nil
		}
		name = fn.Name()
		n--
	}
	return starlark.None, nil
}

// callStack is Buck2's call_stack, whose text is only ever printed.
func callStack(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	return starlark.String(""), nil
}
