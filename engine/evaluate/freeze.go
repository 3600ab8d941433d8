package evaluate

import (
	"errors"

	"go.starlark.net/starlark"
)

// freeze makes a module's globals immutable, unless they are nested so that this would not end.
func freeze(globals starlark.StringDict) error {
	f := freezer{tuples: map[*starlark.Value]float64{}, seen: map[starlark.Value]bool{}}
	for _, v := range globals {
		if f.cost(v, 0) > maxBytes {
			return errors.New("the file's values are nested too deeply")
		}
	}
	globals.Freeze()
	return nil
}

// A freezer counts the steps that Freeze takes: lists and dicts stop at the second visit, tuples do not.
type freezer struct {
	tuples map[*starlark.Value]float64
	seen   map[starlark.Value]bool
}

func (f *freezer) cost(v starlark.Value, depth int) float64 {
	if depth > 10*maxNesting {
		return 2 * maxBytes
	}
	total := 1.0
	switch v := v.(type) {
	case starlark.Tuple:
		if len(v) == 0 {
			return 1
		}
		if known, ok := f.tuples[&v[0]]; ok {
			return known
		}
		for _, x := range v {
			total += f.cost(x, depth+1)
		}
		f.tuples[&v[0]] = total
	case *starlark.List:
		if f.seen[v] {
			return 1
		}
		f.seen[v] = true
		for i := 0; i < v.Len(); i++ {
			total += f.cost(v.Index(i), depth+1)
		}
	case *starlark.Dict:
		if f.seen[v] {
			return 1
		}
		f.seen[v] = true
		for _, item := range v.Items() {
			total += f.cost(item[1], depth+1)
		}
	}
	return total
}
