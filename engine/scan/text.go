package scan

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// body is the text of the string token at i between its quotes, escapes as written.
func (s *scanner) body(i int) []byte {
	t := s.toks[i]
	text := s.buf[t.start:t.end]
	quotes := 1
	if t.sub&sTriple != 0 {
		quotes = 3
	}
	open := 0
	for text[open] != '"' && text[open] != '\'' {
		open++
	}
	return text[open+quotes : len(text)-quotes]
}

// value appends the value of the string token at i. It is not ok if that cannot be told here: a character by its name.
func (s *scanner) value(text []byte, i int) ([]byte, bool) {
	t := s.toks[i]
	if t.sub&sEscape == 0 || t.sub&sRaw != 0 {
		return append(text, s.body(i)...), true
	}
	return appendUnescaped(text, s.body(i))
}

// noteString takes down the constant at e if it spells a module or label, or mentions one in another way.
func (s *scanner) noteString(e expr) {
	single := int(e.b-e.a) == 1 && s.toks[e.a].kind == tString
	var text []byte
	if single && s.toks[e.a].sub&sEscape == 0 {
		text = s.body(int(e.a)) // by far the most
	} else {
		text = s.appendConstant(s.text[:0], e)
		s.text = text
	}
	if isDotted(text) || isLabel(text) {
		s.addString(e, text, "")
	} else {
		s.noteText(e, text)
	}
}

// notePrefix takes down the constant beginning of e if it spells that of a module or label.
func (s *scanner) notePrefix(e expr) {
	text := s.appendConstant(s.text[:0], e)
	s.text = text
	if n := prefixLength(text); n > 0 {
		s.addString(e, text[:n], flagPrefix)
	}
}

func (s *scanner) addString(e expr, text []byte, flag string) {
	line, col := s.position(s.start(int(e.a)))
	s.strings = append(s.strings, String{Text: string(text), Line: line, Col: col, Flag: flag})
}

// constant is what is known of the value of e.
func (s *scanner) constant(e expr) string {
	s.text = s.appendConstant(s.text[:0], e)
	return string(s.text)
}

// appendConstant appends the value of adjacent literals up to the first replacement field or placeholder.
func (s *scanner) appendConstant(text []byte, e expr) []byte {
	from := len(text)
	ok := true
	for i := int(e.a); i < int(e.b) && ok; i++ {
		switch t := s.toks[i]; t.kind {
		case tString:
			text, ok = s.value(text, i)
		case tFMiddle:
			text, ok = appendMiddle(text, s.bytes(i), t.sub)
		case tLBrace:
			ok = false
		}
	}
	if e.cut&cutPercent != 0 {
		if i := bytes.IndexByte(text[from:], '%'); i >= 0 {
			text = text[:from+i]
		}
	}
	if e.cut&cutBrace != 0 {
		if i := bytes.IndexByte(text[from:], '{'); i >= 0 {
			text = text[:from+i]
		}
	}
	return text
}

// appendMiddle appends the value of a piece of an f-string, in which braces are doubled.
func appendMiddle(text, piece []byte, s sub) ([]byte, bool) {
	ok := true
	from := len(text)
	if s&sEscape != 0 && s&sRaw == 0 {
		text, ok = appendUnescaped(text, piece)
	} else {
		text = append(text, piece...)
	}
	if bytes.ContainsAny(text[from:], "{}") {
		single := strings.NewReplacer("{{", "{", "}}", "}").Replace(string(text[from:]))
		text = append(text[:from], single...)
	}
	return text, ok
}

// plainEscapes holds pairs: what stands behind the backslash, and what it means.
const plainEscapes = "\\\\''\"\"a\ab\bf\fn\nr\rt\tv\v"

// escapeWidth is the number of hexadecimal digits that belong to an escape.
func escapeWidth(c byte) int {
	switch c {
	case 'x':
		return 2
	case 'u':
		return 4
	case 'U':
		return 8
	}
	return 0
}

// appendUnescaped appends the value of a string body that has escapes, and stops at a character given by its name.
func appendUnescaped(text, body []byte) ([]byte, bool) {
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' || i+1 == len(body) {
			text = append(text, body[i])
			continue
		}
		i++
		c := body[i]
		if k := strings.IndexByte(plainEscapes, c); k >= 0 && k%2 == 0 {
			text = append(text, plainEscapes[k+1])
			continue
		}
		switch width := escapeWidth(c); {
		case c == '\n':
		case c == 'N':
			return text, false
		case width > 0:
			var value rune
			for k := 0; k < width && i+1 < len(body) && isHex(body[i+1]); k++ {
				i++
				value = value<<4 | rune(hexValue(body[i]))
			}
			text = utf8.AppendRune(text, value)
		case isOctal(c):
			value := rune(c - '0')
			for k := 0; k < 2 && i+1 < len(body) && isOctal(body[i+1]); k++ {
				i++
				value = value<<3 | rune(body[i]-'0')
			}
			text = utf8.AppendRune(text, value)
		default:
			text = append(text, '\\', c)
		}
	}
	return text, true
}

// name returns the length of the identifier that text starts with.
func name(text []byte) int {
	i := 0
	for i < len(text) {
		c := text[i]
		if c < utf8.RuneSelf {
			if !isWord[c] || i == 0 && isDigit(c) {
				return i
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError || !(isStart(r) || i > 0 && isContinue(r)) {
			return i
		}
		i += size
	}
	return i
}

// isDotted tells whether text is `a.b`, `a.b.c` and so on, also with `:attribute` behind it.
func isDotted(text []byte) bool {
	i := name(text)
	if i == 0 || i == len(text) || text[i] != '.' {
		return false
	}
	colon := false
	for i < len(text) {
		if text[i] != '.' && (text[i] != ':' || colon) {
			return false
		}
		colon = colon || text[i] == ':'
		n := name(text[i+1:])
		if n == 0 {
			return false
		}
		i += 1 + n
	}
	return true
}

// labelStart returns the length of `//`, `cell//` or `@cell//` at the start of text, or 0.
func labelStart(text []byte) int {
	i := 0
	for i < len(text) && text[i] == '@' && i < 2 {
		i++
	}
	for i < len(text) && text[i] < utf8.RuneSelf && (isWord[text[i]] || text[i] == '-' || text[i] == '.' || text[i] == '+' || text[i] == '~') {
		i++
	}
	if i+2 > len(text) || text[i] != '/' || text[i+1] != '/' {
		return 0
	}
	return i + 2
}

// labelLength returns how much of text could be a label, or the beginning of one.
func labelLength(text []byte) int {
	start := labelStart(text)
	if start == 0 {
		return 0
	}
	colon := false
	i := start
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case c <= ' ' || c == 0x7f || c == '\\' || c == '"' || c == '\'' || c == '<' || c == '>':
			return i
		case c == '/' && i == start:
			return i
		case c == ':':
			if colon {
				return i
			}
			colon = true
		}
	}
	return i
}

// isLabel tells whether text is `//a/b:c`, `//a/b`, or one of these behind a cell's name.
func isLabel(text []byte) bool {
	n := labelLength(text)
	return n > 0 && n == len(text) && n > labelStart(text) && text[n-1] != ':'
}

// prefixLength returns how much of the beginning of a text spells whole names of a module, with the last dot, or the
// whole folders of a label, with the last slash or colon.
func prefixLength(text []byte) int {
	if start := labelStart(text); start > 0 {
		if labelLength(text) < len(text) {
			return 0
		}
		n := bytes.LastIndexAny(text, "/:") + 1
		if n <= start {
			return 0
		}
		return n
	}
	last := 0
	for i := 0; ; {
		n := name(text[i:])
		i += n
		switch {
		case i == len(text):
			return last
		case n > 0 && text[i] == '.':
			i++
			last = i
		case n > 0 && text[i] == ':' && isAttribute(text[i+1:]):
			return last
		default:
			return 0
		}
	}
}

// isAttribute tells whether text could be the beginning of what follows the colon in `a.b:c.d`.
func isAttribute(text []byte) bool {
	for _, c := range text {
		if !isWord[c] && c != '.' {
			return false
		}
	}
	return true
}
