package scan

import "bytes"

const (
	maxBrackets = 200 // as CPython
	maxIndents  = 100
	maxFStrings = 150
	maxTokens   = 2 << 20
	tabSize     = 8
)

// lexer cuts buf[:n] into tokens as CPython's tokenizer does. The whole source is cut at once: then the recognizer
// can look ahead as far as it likes, and facts can name a piece of the source by its first and last token.
type lexer struct {
	buf        []byte
	n          int
	pos        int
	toks       []token
	lines      []uint32
	indents    []indent
	brackets   []bracket
	fstrings   []fstring
	markers    []Marker
	words      []string
	firstError syntaxError
	tooLong    bool // there are more tokens than maxTokens, and the rest was not read

	// broken says that a bracket or string is not closed where it should be, so that the end of the logical line
	// cannot be trusted. After a restart the lexer is recovering: a keyword that can only start a statement, at the
	// start of a line, then starts a statement whatever brackets are open.
	broken, recovering bool
	noTriple           [2]bool // there is no ''' (or """) further on: looking once is enough
}

// indent is a level of indentation, measured with tabs of eight columns and of one: if the two disagree about which
// line is deeper, the indentation is ambiguous.
type indent struct{ col, alt int }

type bracket struct {
	at    uint32
	kind  kind
	field bool // opens the replacement field of an f-string
}

// fstring is one that is open. fields counts its open replacement fields: one, or more where a format specification
// holds fields of its own.
type fstring struct {
	at          uint32
	quote       byte
	triple, raw bool
	fields      int
	depth       int // brackets open before it
}

func (l *lexer) reset(words []string) {
	l.toks, l.lines, l.markers = l.toks[:0], l.lines[:0], nil
	l.indents = append(l.indents[:0], indent{})
	l.brackets, l.fstrings = l.brackets[:0], l.fstrings[:0]
	l.words = words
	l.firstError = syntaxError{}
	l.broken, l.recovering, l.tooLong = false, false, false
	l.noTriple = [2]bool{}
}

func (l *lexer) emit(k kind, s sub, start, end int) {
	l.toks = append(l.toks, token{uint32(start), uint32(end), k, s})
}

// run cuts everything from offset at on, which must be the start of a line or of a token, and ends the tokens with
// tEOF.
func (l *lexer) run(at int) {
	l.pos = at
	if len(l.toks) == 0 {
		l.startLine()
	}
	for l.pos < l.n && !l.tooLong {
		l.next()
		l.tooLong = len(l.toks) > maxTokens
	}
	l.pos = l.n
	l.finish()
}

func (l *lexer) finish() {
	for _, f := range l.fstrings {
		l.complain(int(f.at), "unterminated f-string literal")
		l.broken = true
	}
	if len(l.brackets) > 0 {
		open := l.brackets[len(l.brackets)-1]
		l.complain(int(open.at), "'"+string(l.buf[open.at])+"' was never closed")
		l.broken = true
	}
	if k := len(l.toks); k > 0 && l.toks[k-1].kind > tDedent {
		l.emit(tNewline, 0, l.n, l.n)
	}
	for range len(l.indents) - 1 {
		l.emit(tDedent, 0, l.n, l.n)
	}
	l.emit(tEOF, 0, l.n, l.n)
}

// next cuts one token, or skips white space.
func (l *lexer) next() {
	start := l.pos
	c := l.buf[start]
	switch c {
	case ' ', '\t', '\f':
		l.pos++
	case '\n':
		l.newline()
	case '#':
		l.comment()
	case '\\':
		l.lineJoin()
	case '"', '\'':
		l.lexString(start, start)
	case '(', '[', '{':
		l.open(c)
	case ')', ']', '}':
		l.close(c)
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		l.number()
	default:
		switch {
		case isWord[c]:
			l.word()
		case c == '.' && isDigit(l.buf[start+1]):
			l.number()
		default:
			l.operator(c)
		}
	}
}

func (l *lexer) newline() {
	at := l.pos
	l.pos++
	if len(l.brackets) > 0 {
		if !l.recovering || !l.startsStatement() {
			return
		}
		l.brackets, l.fstrings = l.brackets[:0], l.fstrings[:0]
	}
	if k := len(l.toks); k > 0 && l.toks[k-1].kind > tDedent {
		l.emit(tNewline, 0, at, at+1)
	}
	l.startLine()
}

// startsStatement tells whether the line at pos starts with a keyword that cannot stand inside brackets.
func (l *lexer) startsStatement() bool {
	at := l.pos
	for l.buf[at] == ' ' || l.buf[at] == '\t' {
		at++
	}
	end := at
	for isWord[l.buf[end]] {
		end++
	}
	switch string(l.buf[at:end]) {
	case "import", "from", "def", "class", "return", "try", "while", "with", "raise", "del", "global", "assert", "pass":
		return true
	}
	return false
}

// startLine measures the indentation of a logical line and emits what changes with it. Lines without code are skipped.
func (l *lexer) startLine() {
	joined, col, alt := -1, 0, 0
	for {
		switch l.buf[l.pos] {
		case ' ':
			col, alt = col+1, alt+1
		case '\t':
			col, alt = (col/tabSize+1)*tabSize, alt+1
		case '\f':
			col, alt = 0, 0
		case '\n':
			if l.pos >= l.n {
				return
			}
			if joined >= 0 {
				return // an empty line after a line join: the tokens of it are no business of the indentation
			}
			col, alt = 0, 0
		case '#':
			l.comment()
			continue
		case '\\':
			// Indentation counts from the first physical line.
			if l.buf[l.pos+1] != '\n' || l.pos+1 >= l.n {
				l.indent(col, alt)
				return
			}
			if joined < 0 {
				joined = col
			}
			l.pos++
		default:
			if l.pos >= l.n {
				return
			}
			if joined >= 0 {
				col = joined
				alt = joined
			}
			l.indent(col, alt)
			return
		}
		l.pos++
	}
}

func (l *lexer) indent(col, alt int) {
	top := l.indents[len(l.indents)-1]
	switch {
	case col == top.col:
		if alt != top.alt {
			l.complain(l.pos, "inconsistent use of tabs and spaces in indentation")
		}
	case col > top.col:
		if alt <= top.alt {
			l.complain(l.pos, "inconsistent use of tabs and spaces in indentation")
		}
		if len(l.indents) >= maxIndents {
			l.complain(l.pos, "too many levels of indentation")
			return
		}
		l.indents = append(l.indents, indent{col, alt})
		l.emit(tIndent, 0, l.pos, l.pos)
	default:
		for col < l.indents[len(l.indents)-1].col {
			l.indents = l.indents[:len(l.indents)-1]
			l.emit(tDedent, 0, l.pos, l.pos)
		}
		switch top := l.indents[len(l.indents)-1]; {
		case col != top.col:
			l.complain(l.pos, "unindent does not match any outer indentation level")
		case alt != top.alt:
			l.complain(l.pos, "inconsistent use of tabs and spaces in indentation")
		}
	}
}

// comment skips a comment, up to its newline, and keeps it if it is a marker.
func (l *lexer) comment() {
	start := l.pos
	end := start + bytes.IndexByte(l.buf[start:], '\n')
	l.pos = end
	text := l.buf[start:end]
	for _, word := range l.words {
		if bytes.Contains(text, []byte(word)) {
			line, col := l.position(start)
			alone := len(bytes.Trim(l.buf[start-col:start], " \t\f")) == 0
			l.markers = append(l.markers, Marker{line, col, string(bytes.TrimRight(text, " \t\f")), alone})
			return
		}
	}
}

func (l *lexer) lineJoin() {
	start := l.pos
	switch {
	case l.buf[start+1] != '\n':
		l.badToken(start, start+1, "unexpected character after line continuation character")
	case start+2 >= l.n:
		l.badToken(start, start+1, "unexpected end of file after line continuation character")
	default:
		l.pos += 2
	}
}

// badToken emits a piece that is no token, with the reason.
func (l *lexer) badToken(start, end int, message string) {
	l.complain(start, message)
	l.emit(tErr, 0, start, end)
	l.pos = end
}

func (l *lexer) open(c byte) {
	k := tLParen
	switch c {
	case '[':
		k = tLBracket
	case '{':
		k = tLBrace
	}
	if len(l.brackets) >= maxBrackets {
		l.broken = true
		l.badToken(l.pos, l.pos+1, "too many nested parentheses")
		return
	}
	l.brackets = append(l.brackets, bracket{uint32(l.pos), k, false})
	l.emit(k, 0, l.pos, l.pos+1)
	l.pos++
}

func (l *lexer) close(c byte) {
	k := tRParen
	switch c {
	case ']':
		k = tRBracket
	case '}':
		k = tRBrace
	}
	top := len(l.brackets) - 1
	switch {
	case top < 0:
		l.complain(l.pos, "unmatched '"+string(rune(c))+"'")
	case l.brackets[top].field:
		if k != tRBrace {
			l.complain(l.pos, "f-string: unmatched '"+string(rune(c))+"'")
			l.broken = true
			break // the field stays open
		}
		l.brackets = l.brackets[:top]
		l.emit(k, 0, l.pos, l.pos+1)
		l.pos++
		if inner := len(l.fstrings) - 1; inner >= 0 {
			l.fstrings[inner].fields--
			l.fMiddle()
		}
		return
	default:
		if l.brackets[top].kind+1 != k {
			l.complain(l.pos, "closing parenthesis '"+string(rune(c))+"' does not match opening parenthesis")
			l.broken = true
		}
		l.brackets = l.brackets[:top]
	}
	l.emit(k, 0, l.pos, l.pos+1)
	l.pos++
}
