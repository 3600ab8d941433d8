package evaluate

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/BurntSushi/toml"
	"go.starlark.net/lib/json"
	"go.starlark.net/starlark"
)

// Buck2 loads a data file as `value`.

// isData reports whether a file of that name is loaded as data.
func isData(name string) bool {
	return path.Ext(name) == ".json" || path.Ext(name) == ".toml"
}

var (
	errNesting = errors.New("the data are nested too deeply")
	errTooMany = errors.New("the data have too many elements")
)

// decodeData is the value of a JSON or TOML file.
func decodeData(thread *starlark.Thread, file string, text []byte) (starlark.Value, error) {
	nesting, items := extent(text)
	if nesting > maxNesting { // the decoders recurse
		return nil, errNesting
	}
	if items > maxElements/2 {
		return nil, errTooMany
	}
	if path.Ext(file) == ".json" {
		return starlark.Call(thread, json.Module.Members["decode"], starlark.Tuple{starlark.String(text)}, nil)
	}
	var table map[string]any
	if _, err := toml.Decode(string(text), &table); err != nil {
		return nil, fmt.Errorf("not valid TOML: %w", err)
	}
	return tomlValue(table), nil
}

// extent is how deep the brackets of a JSON or TOML text are nested, and about how many values there are, as far as
// the text is valid.
func extent(text []byte) (nesting, items int) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '[', '{':
			depth++
			items++
			nesting = max(nesting, depth)
		case ']', '}':
			depth--
		case ',', '=':
			items++
		case '#':
			i = skipTo(text, i, "\n")
		case '"', '\'':
			i = skipString(text, i)
		}
	}
	return nesting, items
}

// skipString returns the index of the last byte of the string that begins at i.
func skipString(text []byte, i int) int {
	quote := string(text[i])
	if triple := quote + quote + quote; bytes.HasPrefix(text[i:], []byte(triple)) {
		return skipTo(text, i+3, triple)
	}
	return skipTo(text, i+1, quote)
}

// skipTo returns the index of the last byte of the first mark at or after i that no backslash precedes, unless the mark
// is of single quotes, which know no escapes.
func skipTo(text []byte, i int, mark string) int {
	for ; i < len(text); i++ {
		if text[i] == '\\' && mark[0] == '"' {
			i++
		} else if bytes.HasPrefix(text[i:], []byte(mark)) {
			return i + len(mark) - 1
		}
	}
	return i
}

func tomlValue(v any) starlark.Value {
	switch v := v.(type) {
	case string:
		return starlark.String(v)
	case bool:
		return starlark.Bool(v)
	case int64:
		return starlark.MakeInt64(v)
	case float64:
		return starlark.Float(v)
	case time.Time:
		return starlark.String(v.Format(time.RFC3339Nano))
	case []any:
		list := make([]starlark.Value, len(v))
		for i, x := range v {
			list[i] = tomlValue(x)
		}
		return starlark.NewList(list)
	case []map[string]any: // [[table]]
		list := make([]starlark.Value, len(v))
		for i, x := range v {
			list[i] = tomlValue(x)
		}
		return starlark.NewList(list)
	case map[string]any:
		dict := starlark.NewDict(len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			_ = dict.SetKey(starlark.String(key), tomlValue(v[key]))
		}
		return dict
	}
	return unknown("a value of TOML")
}
