package evaluate

import (
	"unicode/utf8"
)

// Starlark as Buck2 writes it has things that starlark-go's parser does not know: type annotations, f-strings, `...`,
// positional-only marks, escapes that it rejects. prepare replaces each of them by other text of the same width, so
// that every position stays what it was, and notes what the tree must be told afterwards.

// prepared is source text that starlark-go can parse.
type prepared struct {
	text     []byte
	fstrings map[position]bool // where a bytes literal stands for an f-string
	escapes  bool              // the text holds keptBackslash
	items    int               // about how many tokens there are
}

type position struct{ line, col int }

// keptBackslash stands for a backslash that does not begin an escape which starlark-go knows.
const keptBackslash = '\uE05C'

// prepare never fails: what it cannot make sense of is left for the parser to complain about.
func prepare(src []byte) *prepared {
	if len(src) >= 3 && src[0] == 0xEF && src[1] == 0xBB && src[2] == 0xBF {
		src = src[3:]
	}
	p := &preparer{src: src, out: make([]byte, 0, len(src)+16), line: 1, col: 1, fstrings: map[position]bool{}}
	p.file()
	return &prepared{text: p.out, fstrings: p.fstrings, escapes: p.escapes, items: p.items}
}

type preparer struct {
	src       []byte
	pos       int
	out       []byte
	line, col int
	depth     int // of brackets
	fstrings  map[position]bool
	escapes   bool
	items     int
}

func (p *preparer) peek(n int) byte {
	if p.pos+n < len(p.src) {
		return p.src[p.pos+n]
	}
	return 0
}

// copy moves one rune to the output.
func (p *preparer) copy() { p.replace(0) }

// replace moves on by one rune and writes b in its place, or the rune itself if b is 0.
func (p *preparer) replace(b byte) {
	c := p.src[p.pos]
	size := 1
	if c >= utf8.RuneSelf {
		_, size = utf8.DecodeRune(p.src[p.pos:])
	}
	if b != 0 {
		p.out = append(p.out, b)
	} else {
		p.out = append(p.out, p.src[p.pos:p.pos+size]...)
	}
	p.pos += size
	if c == '\n' {
		p.line++
		p.col = 1
	} else {
		p.col++
	}
}

func isIdentStart(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf
}

func isIdent(c byte) bool { return isIdentStart(c) || '0' <= c && c <= '9' }

// word copies an identifier and returns it.
func (p *preparer) word() string {
	start := p.pos
	for p.pos < len(p.src) && isIdent(p.src[p.pos]) {
		p.copy()
	}
	return string(p.src[start:p.pos])
}

// wordAhead returns the identifier at the position without moving.
func (p *preparer) wordAhead() string {
	end := p.pos
	for end < len(p.src) && isIdent(p.src[end]) {
		end++
	}
	return string(p.src[p.pos:end])
}

func (p *preparer) file() {
	statement := true // at the start of a statement
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		switch {
		case c == '\n':
			p.copy()
			statement = statement || p.depth == 0
			continue
		case c == ' ' || c == '\t' || c == '\r':
			p.copy()
			continue
		case c == '\\' && p.peek(1) == '\n':
			p.copy()
			p.copy()
			continue
		case c == ';' && p.depth == 0:
			p.copy()
			statement = true
			continue
		case statement && isIdentStart(c) && !p.atString():
			p.statement()
		default:
			p.item()
		}
		statement = false
	}
}

// statement handles the first word of a statement: `def` and annotated variables.
func (p *preparer) statement() {
	word := p.word()
	if word == "def" {
		p.def()
		return
	}
	if word == "else" {
		return
	}
	for p.peek(0) == ' ' || p.peek(0) == '\t' {
		p.copy()
	}
	if p.peek(0) == ':' {
		p.blank(true, func(c byte) bool { return c == '=' || c == '\n' || c == ';' || c == '#' })
	}
}

// def handles a function's header up to its colon.
func (p *preparer) def() {
	p.spaces()
	p.word()
	p.spaces()
	if p.peek(0) != '(' {
		return
	}
	p.copy()
	p.depth++
	p.parameters()
	p.spaces()
	if p.peek(0) == '-' && p.peek(1) == '>' {
		p.replace(' ')
		p.replace(' ')
		p.blank(true, func(c byte) bool { return c == ':' || c == '\n' })
	}
}

// parameters handles the parameters and the closing parenthesis.
func (p *preparer) parameters() {
	depth := p.depth
	first := true // at the start of a parameter
	lambdas := 0  // in a default, whose own parameters have not ended
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		switch {
		case lambdas > 0 && c == ':' && p.depth == depth:
			p.copy()
			lambdas--
		case lambdas > 0 && c == ',' && p.depth == depth:
			p.copy()
		case !first && c == 'l' && p.depth == depth && p.wordAhead() == "lambda":
			p.word()
			lambdas++
		case c == ')' && p.depth == depth:
			p.copy()
			p.depth--
			return
		case c == ',' && p.depth == depth:
			p.copy()
			first = true
		case first && c == '*':
			p.copy()
		case first && c == '/':
			p.replace(' ')
			if p.spaces(); p.peek(0) == ',' {
				p.replace(' ')
			}
		case first && isIdentStart(c):
			first = false
			p.word()
			if p.spaces(); p.peek(0) == ':' {
				p.blank(false, func(c byte) bool { return c == '=' || c == ',' || c == ')' })
			}
		default:
			p.item()
		}
	}
}

// spaces copies white space, comments and, inside brackets, line ends.
func (p *preparer) spaces() {
	for p.pos < len(p.src) {
		switch c := p.src[p.pos]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n' && p.depth > 0:
			p.copy()
		case c == '\\' && p.peek(1) == '\n':
			p.copy()
			p.copy()
		case c == '#' && p.depth > 0:
			p.comment()
		default:
			return
		}
	}
}

// blank overwrites an annotation with spaces, up to a byte outside the annotation's own brackets for which end holds.
// Where line ends matter, one inside the annotation becomes a continuation.
func (p *preparer) blank(lines bool, end func(byte) bool) {
	if p.peek(0) == ':' {
		p.replace(' ')
	}
	depth := 0
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		switch {
		case depth == 0 && end(c):
			return
		case c == '[' || c == '(' || c == '{':
			depth++
			p.replace(' ')
		case c == ']' || c == ')' || c == '}':
			depth--
			p.replace(' ')
		case c == '\n':
			if lines {
				p.out = append(p.out, '\\')
			}
			p.copy()
		case c == '\\' && p.peek(1) == '\n':
			p.copy()
			p.copy()
		case c == '\r':
			p.copy()
		case c == '#':
			for p.pos < len(p.src) && p.src[p.pos] != '\n' {
				p.replace(' ')
			}
		case p.atString():
			mark := len(p.out)
			line, start := p.line, p.pos
			p.str()
			if p.line == line {
				p.out = p.out[:mark]
				for i := utf8.RuneCount(p.src[start:p.pos]); i > 0; i-- {
					p.out = append(p.out, ' ')
				}
			}
		default:
			p.replace(' ')
		}
	}
}

// item copies one token or rune of an expression.
func (p *preparer) item() {
	p.items++
	c := p.src[p.pos]
	switch {
	case p.atString():
		p.str()
	case c == '#':
		p.comment()
	case isIdent(c):
		p.word()
	case c == '(' || c == '[' || c == '{':
		if c == '(' {
			p.items += callItems
		}
		p.depth++
		p.copy()
	case c == ')' || c == ']' || c == '}':
		if p.depth > 0 {
			p.depth--
		}
		p.copy()
	case c == '.' && p.peek(1) == '.' && p.peek(2) == '.':
		p.replace('"')
		p.copy()
		p.replace('"')
	default:
		p.copy()
	}
}

func (p *preparer) comment() {
	for p.pos < len(p.src) && p.src[p.pos] != '\n' {
		p.copy()
	}
}

// atString reports whether a string literal starts at the position.
func (p *preparer) atString() bool {
	c := p.peek(0)
	if c == '"' || c == '\'' {
		return true
	}
	if c != 'r' && c != 'b' && c != 'f' {
		return false
	}
	if next := p.peek(1); next == 'r' || next == 'b' || next == 'f' {
		return next != c && (p.peek(2) == '"' || p.peek(2) == '\'')
	}
	return p.peek(1) == '"' || p.peek(1) == '\''
}

// str copies a string literal. An f-string becomes a bytes literal.
func (p *preparer) str() {
	raw, isFormat := false, false
	if word := p.wordAhead(); word != "" {
		raw = word[0] == 'r' || len(word) > 1 && word[1] == 'r'
		isFormat = word[0] == 'f' || len(word) > 1 && word[1] == 'f'
		switch {
		case isFormat && len(word) == 2:
			p.fstrings[position{p.line, p.col}] = true
			p.replace('r')
			p.replace('b')
		case isFormat:
			p.fstrings[position{p.line, p.col}] = true
			p.replace('b')
		default:
			p.word()
		}
	}
	quote := p.src[p.pos]
	triple := p.peek(1) == quote && p.peek(2) == quote
	p.copy()
	if triple {
		p.copy()
		p.copy()
	}
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		if isFormat && c == '{' {
			p.items += callItems
		}
		switch {
		case c == '\\' && raw:
			p.copy()
			if p.pos < len(p.src) {
				p.copy()
			}
		case c == '\\':
			p.escape()
		case c == '\n' && !triple:
			return
		case c == quote && !triple:
			p.copy()
			return
		case c == quote && p.peek(1) == quote && p.peek(2) == quote:
			p.copy()
			p.copy()
			p.copy()
			return
		default:
			p.copy()
		}
	}
}

// escape copies an escape sequence, or marks its backslash as one to keep.
func (p *preparer) escape() {
	switch c := p.peek(1); c {
	case '\n', '\r', '\\', '\'', '"', 'a', 'b', 'f', 'n', 'r', 't', 'v', 'x', 'u', 'U',
		'0', '1', '2', '3', '4', '5', '6', '7', 0:
		p.copy()
		if p.pos < len(p.src) {
			p.copy()
		}
	default:
		p.escapes = true
		p.pos++
		p.col++
		p.out = utf8.AppendRune(p.out, keptBackslash)
	}
}
