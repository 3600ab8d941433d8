package walk

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Pattern is a compiled glob: segments between slashes, where `**` stands for any number of segments.
type Pattern struct {
	segments []segment
	opts     Options
}

// Options says how a pattern is read.
type Options struct {
	Hidden   bool // wildcards match a leading dot
	FoldCase bool // ASCII case does not matter, except in a pattern without a star, as in Buck2
	Braces   bool // {a,b} is a choice
}

// A segment matches one path element: anyDepth is `**`; otherwise text, with wildcards unless literal.
type segment struct {
	text     string
	literal  bool
	anyDepth bool
}

const maxAlternatives = 256

// Compile compiles a glob with `*`, `?`, `[..]` and `**`. Alternatives in braces make several patterns.
func Compile(glob string, opts Options) ([]Pattern, error) {
	texts := []string{glob}
	if opts.Braces {
		var err error
		if texts, err = expandBraces(glob); err != nil {
			return nil, err
		}
	}
	wild := "*?[\\"
	if opts.FoldCase {
		if strings.Contains(glob, "*") {
			texts[0] = lower(texts[0])
		} else {
			opts.FoldCase, wild = false, ""
		}
	}
	patterns := make([]Pattern, 0, len(texts))
	for _, text := range texts {
		p := Pattern{opts: opts}
		for _, s := range strings.Split(text, "/") {
			switch {
			case s == "" || s == ".":
				continue
			case s == "**":
				if n := len(p.segments); n > 0 && p.segments[n-1].anyDepth {
					continue
				}
				p.segments = append(p.segments, segment{anyDepth: true})
			default:
				p.segments = append(p.segments, segment{text: s, literal: !strings.ContainsAny(s, wild)})
			}
		}
		patterns = append(patterns, p)
	}
	return patterns, nil
}

func expandBraces(glob string) ([]string, error) {
	open := strings.IndexByte(glob, '{')
	if open < 0 {
		return []string{glob}, nil
	}
	depth, start := 0, open+1
	var choices []string
	for i := open; i < len(glob); i++ {
		switch glob[i] {
		case '{':
			depth++
		case ',':
			if depth == 1 {
				choices = append(choices, glob[start:i])
				start = i + 1
			}
		case '}':
			depth--
			if depth > 0 {
				continue
			}
			choices = append(choices, glob[start:i])
			var out []string
			for _, choice := range choices {
				more, err := expandBraces(glob[:open] + choice + glob[i+1:])
				if err != nil {
					return nil, err
				}
				if out = append(out, more...); len(out) > maxAlternatives {
					return nil, fmt.Errorf("glob %q has more than %d alternatives", glob, maxAlternatives)
				}
			}
			return out, nil
		}
	}
	return []string{glob}, nil // an unclosed brace is a plain character
}

// Match reports whether the pattern matches the whole path, given as its elements.
func (p Pattern) Match(path []string) bool {
	// reach[j] says that the first i segments can match the first j elements.
	reach := make([]bool, len(path)+1)
	reach[0] = true
	for _, s := range p.segments {
		if s.anyDepth {
			for j := 1; j <= len(path); j++ {
				reach[j] = reach[j] || (reach[j-1] && (p.opts.Hidden || path[j-1][0] != '.'))
			}
			continue
		}
		for j := len(path); j > 0; j-- {
			reach[j] = reach[j-1] && p.matchSegment(s, path[j-1])
		}
		reach[0] = false
	}
	return reach[len(path)]
}

func (p Pattern) matchSegment(s segment, name string) bool {
	if p.opts.FoldCase {
		name = lower(name)
	}
	if s.literal {
		return s.text == name
	}
	if !p.opts.Hidden && name[0] == '.' && s.text[0] != '.' {
		return false
	}
	return matchWild(s.text, name)
}

// matchWild matches one segment with the usual backtracking to the last star only.
func matchWild(pattern, name string) bool {
	p, n := 0, 0
	star, mark := -1, 0
	for n < len(name) {
		if p < len(pattern) {
			if pattern[p] == '*' {
				star, mark = p, n
				p++
				continue
			}
			if size, next, ok := matchOne(pattern, p, name[n:]); ok {
				n += size
				p = next
				continue
			}
		}
		if star < 0 {
			return false
		}
		_, size := utf8.DecodeRuneInString(name[mark:])
		mark += size
		p, n = star+1, mark
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// matchOne matches the single-character item at pattern[p] with the start of name.
func matchOne(pattern string, p int, name string) (size, next int, ok bool) {
	r, size := utf8.DecodeRuneInString(name)
	switch pattern[p] {
	case '?':
		return size, p + 1, true
	case '\\':
		if p+1 < len(pattern) {
			p++
		}
	case '[':
		if in, next, ok := matchClass(pattern, p, r); ok {
			return size, next, in
		}
	}
	want, width := utf8.DecodeRuneInString(pattern[p:])
	return size, p + width, want == r
}

// matchClass reads the class at pattern[p]; ok is false if it is not closed.
func matchClass(pattern string, p int, r rune) (in bool, next int, ok bool) {
	p++
	negated := p < len(pattern) && (pattern[p] == '!' || pattern[p] == '^')
	if negated {
		p++
	}
	for first := true; p < len(pattern); first = false {
		if pattern[p] == ']' && !first {
			return in != negated, p + 1, true
		}
		low, width := utf8.DecodeRuneInString(pattern[p:])
		p += width
		high := low
		if p+1 < len(pattern) && pattern[p] == '-' && pattern[p+1] != ']' {
			high, width = utf8.DecodeRuneInString(pattern[p+1:])
			p += 1 + width
		}
		if low <= r && r <= high {
			in = true
		}
	}
	return false, 0, false
}

func lower(s string) string {
	for i := 0; i < len(s); i++ {
		if 'A' <= s[i] && s[i] <= 'Z' {
			return strings.Map(func(r rune) rune {
				if 'A' <= r && r <= 'Z' {
					return r + 'a' - 'A'
				}
				return r
			}, s)
		}
	}
	return s
}
