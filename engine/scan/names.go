package scan

import (
	"unicode"
	"unicode/utf8"
)

// word cuts a name, a keyword, or a string with a prefix.
func (l *lexer) word() {
	start := l.pos
	end := start
	var bits byte
	for isWord[l.buf[end]] {
		bits |= l.buf[end]
		end++
	}
	if next := l.buf[end]; (next == '"' || next == '\'') && end-start <= 2 && isPrefix(l.buf[start:end]) {
		l.lexString(start, end)
		return
	}
	if bits >= utf8.RuneSelf {
		if at := notIdentifier(l.buf[start:end]); at >= 0 {
			r, size := utf8.DecodeRune(l.buf[start+at:])
			if at > 0 {
				l.emit(tName, 0, start, start+at)
			}
			l.badToken(start+at, start+at+size, "invalid character '"+string(r)+"'")
			return
		}
		l.emit(tName, 0, start, end)
	} else {
		k, s := classify(l.buf[start:end])
		l.emit(k, s, start, end)
	}
	l.pos = end
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// notIdentifier returns the offset of the first character that cannot stand where it stands in an identifier, or -1.
func notIdentifier(word []byte) int {
	for at := 0; at < len(word); {
		r, size := utf8.DecodeRune(word[at:])
		if !(isStart(r) || at > 0 && isContinue(r)) {
			return at
		}
		at += size
	}
	return -1
}

func isStart(r rune) bool {
	if r < utf8.RuneSelf {
		return isWord[r] && !isDigit(byte(r))
	}
	return unicode.IsLetter(r) && r != 0x2E2F || unicode.In(r, unicode.Nl, unicode.Other_ID_Start)
}

func isContinue(r rune) bool {
	if r < utf8.RuneSelf {
		return isWord[r]
	}
	return isStart(r) || unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue)
}
