package scan

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// AppendJSON appends the `source` record of the file at path to dst, without a newline. keep tells whether a name is
// that of a folder or Python file in the tree, and chains whose second name is not are left out; nil keeps them all.
func (r *Result) AppendJSON(dst []byte, path string, keep func(name string) bool) []byte {
	dst = append(dst, `{"t":"source","path":`...)
	dst = appendString(dst, path)
	if len(r.Imports) > 0 {
		dst = append(dst, `,"imports":[`...)
		for i := range r.Imports {
			dst = r.Imports[i].appendJSON(comma(dst, i))
		}
		dst = append(dst, ']')
	}
	if len(r.Blocks) > 0 {
		dst = append(dst, `,"blocks":[`...)
		for i, b := range r.Blocks {
			dst = appendString(append(comma(dst, i), '['), b.Kind)
			dst = appendString(append(dst, ','), b.Head)
			dst = append(appendInts(dst, b.Parent, b.Line), ']')
		}
		dst = append(dst, ']')
	}
	if len(r.Names) > 0 {
		dst = appendStrings(append(dst, `,"names":`...), r.Names)
	}
	if r.AllDynamic {
		dst = append(dst, `,"all_dynamic":true`...)
	} else if r.HasAll {
		dst = appendStrings(append(dst, `,"all":`...), r.All)
	}
	if r.Stars {
		dst = append(dst, `,"stars":true`...)
	}
	if len(r.Strings) > 0 {
		dst = append(dst, `,"strings":[`...)
		for i, s := range r.Strings {
			dst = appendString(append(comma(dst, i), '['), s.Text)
			dst = appendInts(dst, s.Line, s.Col)
			dst = append(appendString(append(dst, ','), s.Flag), ']')
		}
		dst = append(dst, ']')
	}
	if len(r.Dynamic) > 0 {
		dst = append(dst, `,"dynamic":[`...)
		for i, d := range r.Dynamic {
			dst = appendString(append(comma(dst, i), '['), d.Callee)
			dst = appendInts(dst, d.Line)
			dst = appendString(append(dst, ','), d.Text)
			dst = append(appendString(append(dst, ','), d.How), ']')
		}
		dst = append(dst, ']')
	}
	dst = r.appendChains(dst, keep)
	if len(r.Markers) > 0 {
		dst = append(dst, `,"markers":[`...)
		for i, m := range r.Markers {
			dst = append(comma(dst, i), '[')
			dst = strconv.AppendInt(dst, int64(m.Line), 10)
			dst = appendInts(dst, m.Col)
			dst = appendString(append(dst, ','), m.Text)
			dst = append(strconv.AppendBool(append(dst, ','), m.Alone), ']')
		}
		dst = append(dst, ']')
	}
	if r.Main {
		dst = append(dst, `,"main":true`...)
	}
	if e := r.Error; e != nil {
		dst = appendString(append(dst, `,"error":{"kind":`...), e.Kind)
		dst = appendString(append(dst, `,"message":`...), e.Message)
		dst = strconv.AppendInt(append(dst, `,"line":`...), int64(e.Line), 10)
		dst = strconv.AppendInt(append(dst, `,"col":`...), int64(e.Col), 10)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

func (m *Import) appendJSON(dst []byte) []byte {
	dst = appendString(append(dst, '['), m.Module)
	dst = appendInts(dst, m.Level)
	dst = appendString(append(dst, ','), m.Name)
	dst = appendString(append(dst, ','), m.AsName)
	return append(appendInts(dst, m.Line, m.Col, m.NameLine, m.NameCol, m.EndLine, m.Block), ']')
}

func (r *Result) appendChains(dst []byte, keep func(name string) bool) []byte {
	written := 0
	for _, c := range r.Chains {
		if keep != nil {
			_, rest, _ := strings.Cut(c.Text, ".")
			second, _, _ := strings.Cut(rest, ".")
			if !keep(second) {
				continue
			}
		}
		if written == 0 {
			dst = append(dst, `,"chains":[`...)
		}
		dst = appendString(append(comma(dst, written), '['), c.Text)
		dst = append(appendInts(dst, c.Line), ']')
		written++
	}
	if written > 0 {
		dst = append(dst, ']')
	}
	return dst
}

func comma(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, ',')
	}
	return dst
}

// appendInts appends each number with a comma before it.
func appendInts(dst []byte, numbers ...int) []byte {
	for _, n := range numbers {
		dst = strconv.AppendInt(append(dst, ','), int64(n), 10)
	}
	return dst
}

func appendStrings(dst []byte, texts []string) []byte {
	dst = append(dst, '[')
	for i, s := range texts {
		dst = appendString(comma(dst, i), s)
	}
	return append(dst, ']')
}

const hex = "0123456789abcdef"

// appendString appends s as a JSON string; bytes that are not UTF-8 become U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		dst = append(dst, s[from:i]...)
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c < 0x20:
			dst = append(dst, `\u00`...)
			dst = append(dst, hex[c>>4], hex[c&15])
		default:
			dst = append(dst, `\ufffd`...)
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}
