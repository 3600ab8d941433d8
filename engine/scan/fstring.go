package scan

import "bytes"

// maxFields is how deep replacement fields may lie in the format specifications of others.
const maxFields = 3

// openFString starts an f-string or t-string whose text starts at body.
func (l *lexer) openFString(start, body int, s sub) {
	if len(l.fstrings) >= maxFStrings {
		l.broken = true
		l.badToken(start, body, "too many nested f-strings")
		return
	}
	l.fstrings = append(l.fstrings, fstring{
		at: uint32(start), quote: l.buf[body-1], triple: s&sTriple != 0, raw: s&sRaw != 0, depth: len(l.brackets),
	})
	l.emit(tFStart, s, start, body)
	l.pos = body
	l.fMiddle()
}

// fMiddle cuts the text of the innermost f-string, or of a format specification in it, up to the next replacement
// field, or to the end of the string or field.
func (l *lexer) fMiddle() {
	f := &l.fstrings[len(l.fstrings)-1]
	start, at := l.pos, l.pos
	inSpec := f.fields > 0
	for {
		if at >= l.n {
			l.abandonFString(l.n)
			return
		}
		switch c := l.buf[at]; c {
		case f.quote:
			if f.triple && (l.buf[at+1] != c || l.buf[at+2] != c) {
				at++
				continue
			}
			l.middle(f, start, at)
			end := at + 1
			if f.triple {
				end = at + 3
			}
			if inSpec {
				l.complain(at, "f-string: expecting '}'")
			}
			l.brackets = l.brackets[:min(f.depth, len(l.brackets))]
			l.fstrings = l.fstrings[:len(l.fstrings)-1]
			l.emit(tFEnd, 0, at, end)
			l.pos = end
			return
		case '\n':
			if f.triple {
				at++
				continue
			}
			if inSpec {
				// The specification ends here; a brace must follow.
				l.middle(f, start, at)
				l.pos = at
				return
			}
			l.abandonFString(at)
			return
		case '{':
			if l.buf[at+1] == '{' && !inSpec {
				at += 2
				continue
			}
			l.middle(f, start, at)
			l.pos = at
			f.fields++
			l.open('{')
			if f.fields > maxFields {
				l.complain(at, "f-string: expressions nested too deeply")
			}
			if top := len(l.brackets) - 1; int(l.brackets[top].at) == at {
				l.brackets[top].field = true
			}
			return
		case '}':
			if inSpec {
				l.middle(f, start, at)
				l.pos = at
				l.close('}') // comes back here for what follows
				return
			}
			if l.buf[at+1] != '}' {
				l.complain(at, "f-string: single '}' is not allowed")
				at--
			}
			at += 2
		case '\\':
			next := l.buf[at+1]
			switch {
			case next == '{' || next == '}':
				at++
			case next == 'N' && !f.raw && l.buf[at+2] == '{':
				at += 3
				for l.buf[at] != '}' && l.buf[at] != f.quote && l.buf[at] != '\n' {
					at++
				}
				if l.buf[at] == '}' {
					at++
				}
			default:
				at += 2
			}
		default:
			at++
		}
	}
}

// middle emits the text of an f-string, unless it is empty.
func (l *lexer) middle(f *fstring, start, end int) {
	if start == end {
		return
	}
	s := sub(0)
	if bytes.IndexByte(l.buf[start:end], '\\') >= 0 {
		s = sEscape
		if f.raw {
			s |= sRaw
		} else {
			l.checkEscapes(start, end, false)
		}
	}
	l.emit(tFMiddle, s, start, end)
}

// abandonFString gives up the innermost f-string, which is not closed before end.
func (l *lexer) abandonFString(end int) {
	f := l.fstrings[len(l.fstrings)-1]
	l.complain(int(f.at), "unterminated f-string literal")
	if f.triple {
		l.noTriple[tripleIndex(f.quote)] = true
		l.broken = true
	}
	l.brackets = l.brackets[:min(f.depth, len(l.brackets))]
	l.fstrings = l.fstrings[:len(l.fstrings)-1]
	l.emit(tErr, 0, end, end)
	l.pos = end
}
