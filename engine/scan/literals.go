package scan

import (
	"bytes"
	"unicode/utf8"
)

// number cuts a number. What only Python 2 had is taken, with a complaint.
func (l *lexer) number() {
	start := l.pos
	at, s := start, sub(0)
	if base := l.buf[start+1] | 0x20; l.buf[start] == '0' && (base == 'x' || base == 'o' || base == 'b') {
		digit := isHex
		switch base {
		case 'o':
			digit = isOctal
		case 'b':
			digit = isBinary
		}
		at = start + 2
		for {
			if l.buf[at] == '_' {
				at++
			}
			if !digit(l.buf[at]) {
				l.badNumber(start, at)
				return
			}
			for digit(l.buf[at]) {
				at++
			}
			if l.buf[at] != '_' {
				break
			}
		}
		if isDigit(l.buf[at]) {
			l.badNumber(start, at)
			return
		}
	} else {
		at = l.digits(start)
		whole := at
		if l.buf[at] == '.' {
			at = l.digits(at + 1)
		}
		if l.buf[at] == 'e' || l.buf[at] == 'E' {
			exponent := at + 1
			if l.buf[exponent] == '+' || l.buf[exponent] == '-' {
				exponent++
			}
			if isDigit(l.buf[exponent]) {
				at = l.digits(exponent)
			}
		}
		if l.buf[at] == 'j' || l.buf[at] == 'J' {
			at++
			s = numImaginary
		}
		if at == whole && l.buf[start] == '0' && len(bytes.Trim(l.buf[start:at], "0_")) > 0 {
			l.complain(start, "leading zeros in a decimal number are not Python 3")
		}
		if l.buf[at-1] == '_' {
			l.badNumber(start, at)
			return
		}
	}
	if (l.buf[at] == 'l' || l.buf[at] == 'L') && !isWord[l.buf[at+1]] {
		l.complain(start, "long integers are not Python 3")
		at++
	}
	if isWord[l.buf[at]] && !startsOperator(l.buf[at:]) {
		l.badNumber(start, at)
		return
	}
	l.emit(tNumber, s, start, at)
	l.pos = at
}

// digits skips digits with single underscores between them. An underscore that no digit follows is skipped too, for
// the caller to find.
func (l *lexer) digits(at int) int {
	for isDigit(l.buf[at]) {
		at++
		if l.buf[at] == '_' {
			at++
		}
	}
	return at
}

func (l *lexer) badNumber(start, end int) {
	for isWord[l.buf[end]] {
		end++
	}
	l.badToken(start, max(end, start+1), "invalid number")
}

func isHex(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
func isOctal(c byte) bool  { return c >= '0' && c <= '7' }
func isBinary(c byte) bool { return c == '0' || c == '1' }

// startsOperator tells whether text starts like a keyword that Python takes right behind a number, as in `1if x else 2`.
func startsOperator(text []byte) bool {
	for _, word := range [...]string{"and", "else", "for", "if", "in", "is", "or", "not"} {
		if len(text) >= len(word) && string(text[:len(word)]) == word {
			return true
		}
	}
	return false
}

// isPrefix tells whether a word before a quote is a string prefix. `ur` was one in Python 2.
func isPrefix(word []byte) bool {
	_, ok := stringFlags(word)
	return ok
}

// stringFlags turns a string prefix into what the token is like, but for `f` and `t`.
func stringFlags(prefix []byte) (s sub, ok bool) {
	for _, c := range prefix {
		switch c |= 0x20; c {
		case 'r':
			s |= sRaw
		case 'b':
			s |= sBytes
		case 't':
			s |= sTemplate
		case 'u', 'f':
		default:
			return 0, false
		}
	}
	switch len(prefix) {
	case 0, 1:
		return s, true
	}
	// Of two letters one is an r, and the other is not.
	a, b := prefix[0]|0x20, prefix[1]|0x20
	return s, (a == 'r') != (b == 'r') && (b != 'u')
}

// lexString cuts the string whose prefix starts at start and whose quote is at open.
func (l *lexer) lexString(start, open int) {
	prefix := l.buf[start:open]
	s, _ := stringFlags(prefix)
	quote := l.buf[open]
	body := open + 1
	if l.buf[body] == quote && l.buf[body+1] == quote {
		s |= sTriple
		body += 2
	}
	formatted := s&sTemplate != 0
	for _, c := range prefix {
		formatted = formatted || c|0x20 == 'f'
	}
	if len(prefix) == 2 && prefix[0]|0x20 == 'u' {
		l.complain(start, "the string prefix ur is not Python 3")
	}
	if s&sTriple != 0 && l.noTriple[tripleIndex(quote)] {
		l.badToken(start, body, "unterminated triple-quoted string literal")
		return
	}
	if formatted {
		l.openFString(start, body, s)
		return
	}

	end, escapes := body, false
	if s&sTriple != 0 {
		end = closingTriple(l.buf[:l.n], body, quote)
		if end < 0 {
			// Nothing after it can be trusted, yet it may be code: go on as if the quotes were not there.
			l.noTriple[tripleIndex(quote)] = true
			l.recovering = true
			l.badToken(start, body, "unterminated triple-quoted string literal")
			return
		}
		escapes = bytes.IndexByte(l.buf[body:end], '\\') >= 0
		l.pos = end + 3
	} else {
		for l.buf[end] != quote {
			switch l.buf[end] {
			case '\n':
				l.unterminated(start, end)
				return
			case '\\':
				escapes = true
				end++
				if end >= l.n {
					l.unterminated(start, l.n)
					return
				}
			}
			end++
		}
		l.pos = end + 1
	}
	if escapes {
		s |= sEscape
		if s&sRaw == 0 {
			l.checkEscapes(body, end, s&sBytes != 0)
		}
	}
	if s&sBytes != 0 {
		for i, c := range l.buf[body:end] {
			if c >= utf8.RuneSelf {
				l.complain(body+i, "bytes can only contain ASCII literal characters")
				break
			}
		}
	}
	l.emit(tString, s, start, l.pos)
}

func (l *lexer) unterminated(start, end int) {
	if l.recovering {
		l.brackets, l.fstrings = l.brackets[:0], l.fstrings[:0]
	}
	l.badToken(start, end, "unterminated string literal")
}

func tripleIndex(quote byte) int {
	if quote == '"' {
		return 1
	}
	return 0
}

// closingTriple finds the three quotes that close a string whose body starts at body, or returns -1.
func closingTriple(buf []byte, body int, quote byte) int {
	for at := body; ; {
		i := bytes.IndexByte(buf[at:], quote)
		if i < 0 || at+i+3 > len(buf) {
			return -1
		}
		at += i
		escapes := 0
		for k := at - 1; k >= body && buf[k] == '\\'; k-- {
			escapes++
		}
		if escapes%2 == 0 && buf[at+1] == quote && buf[at+2] == quote {
			return at
		}
		at++
	}
}

// checkEscapes complains about escapes that CPython refuses to decode.
func (l *lexer) checkEscapes(at, end int, isBytes bool) {
	for {
		i := bytes.IndexByte(l.buf[at:end], '\\')
		if i < 0 || at+i+1 >= end {
			return
		}
		at += i + 2
		c := l.buf[at-1]
		width := escapeWidth(c)
		switch {
		case isBytes && c != 'x':
			width = 0
		case c == 'N':
			closing := bytes.IndexByte(l.buf[at:end], '}')
			if l.buf[at] != '{' || closing < 2 {
				l.complain(at-2, "malformed \\N character escape")
			}
		}
		value := 0
		for k := range width {
			if at+k >= end || !isHex(l.buf[at+k]) {
				l.complain(at-2, "truncated \\"+string(rune(l.buf[at-1]))+" escape")
				return
			}
			value = value<<4 | hexValue(l.buf[at+k])
		}
		if value > utf8.MaxRune {
			l.complain(at-2, "illegal Unicode character")
		}
	}
}

func hexValue(c byte) int {
	if isDigit(c) {
		return int(c - '0')
	}
	return int(c|0x20-'a') + 10
}
