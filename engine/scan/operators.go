package scan

// operator cuts an operator or delimiter other than a bracket.
func (l *lexer) operator(c byte) {
	start := l.pos
	next, third := l.buf[start+1], l.buf[start+2]
	if top := len(l.brackets) - 1; top >= 0 && l.brackets[top].field {
		// At the top level of a replacement field, a colon ends the expression whatever follows it.
		switch {
		case c == ':':
			l.emit(tColon, 0, start, start+1)
			l.pos++
			if len(l.fstrings) > 0 {
				l.fMiddle()
			}
			return
		case c == '!' && next != '=':
			l.emit(tExclaim, 0, start, start+1)
			l.pos++
			return
		}
	}
	k, s, size := tErr, sub(0), 1
	switch c {
	case ',':
		k = tComma
	case ';':
		k = tSemi
	case '~':
		k = tTilde
	case '`':
		k = tBacktick
		l.complain(start, "backquotes are not Python 3")
	case '.':
		k = tDot
		if next == '.' && third == '.' {
			k, size = tEllipsis, 3
		}
	case ':':
		k = tColon
		if next == '=' {
			k, size = tWalrus, 2
		}
	case '=':
		k = tAssign
		if next == '=' {
			k, s, size = tCompare, cmpEqual, 2
		}
	case '!':
		if next == '=' {
			k, size = tCompare, 2
		}
	case '<', '>':
		k = tCompare
		switch {
		case next == c && third == '=':
			k, size = tAugAssign, 3
		case next == c:
			k, size = tShift, 2
		case next == '=':
			size = 2
		case c == '<' && next == '>':
			size = 2
			l.complain(start, "<> is not Python 3")
		}
	case '-':
		k = tMinus
		if next == '>' {
			k, size = tArrow, 2
		} else if next == '=' {
			k, size = tAugAssign, 2
		}
	case '*', '/':
		k = tStar
		if c == '/' {
			k = tSlash
		}
		if next == c {
			k++ // tDoubleStar, tDoubleSlash
			size = 2
			next = third
		}
		if next == '=' {
			k = tAugAssign
			size++
		}
	case '+', '%', '&', '|', '^', '@':
		k = simpleOperators[c]
		if next == '=' {
			k, size = tAugAssign, 2
		}
	}
	if k == tErr {
		l.badToken(start, start+1, "invalid character")
		return
	}
	l.emit(k, s, start, start+size)
	l.pos += size
}

var simpleOperators = [128]kind{'+': tPlus, '%': tPercent, '&': tAmper, '|': tBar, '^': tCaret, '@': tAt}
