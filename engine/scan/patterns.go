package scan

// startsMatch tells whether the name `match` at hand starts a match statement. Nothing else that starts with a name
// ends its line with a colon and has a line below that starts with `case`.
func (s *scanner) startsMatch() bool {
	i := s.i + 1
	switch s.toks[i].kind {
	case tNewline, tAssign, tAugAssign, tDot, tComma, tRParen, tSemi, tColon:
		return false
	}
	for s.toks[i].kind != tNewline && s.toks[i].kind != tEOF {
		i++
	}
	if s.toks[i-1].kind != tColon || s.toks[i].kind == tEOF || s.toks[i+1].kind != tIndent {
		return false
	}
	t := s.toks[i+2]
	return t.kind == tName && t.sub == nCase
}

func (s *scanner) matchStatement() {
	at, mark := s.i, len(s.spans)
	s.advance()
	first := s.i
	e := s.starNamed()
	if s.k == tComma {
		s.elements(e, tColon)
	} else if e.kind == xStar {
		s.object(first, "cannot use starred expression here")
	}
	s.span(first)
	if !s.expect(tColon, "':'") || !s.expect(tNewline, "a new line") || !s.expect(tIndent, "an indented block") {
		s.spans = s.spans[:mark]
		return
	}
	s.frames = append(s.frames, frame{"match", at, mark, len(s.spans), -1})
	for s.k != tDedent && s.k != tEOF {
		if s.k == tName && s.sub() == nCase {
			s.caseBlock()
		} else {
			s.fail("expected 'case'")
		}
		if s.bad {
			s.resume()
		}
	}
	s.accept(tDedent)
	s.frames = s.frames[:len(s.frames)-1]
	s.spans = s.spans[:mark]
}

func (s *scanner) caseBlock() {
	at, mark := s.i, len(s.spans)
	s.advance()
	first := s.i
	s.openSequence()
	s.span(first)
	if s.accept(kIf) {
		s.namedExpression()
	}
	s.clause("case", at, mark)
	s.spans = s.spans[:mark]
}

// openSequence recognizes the patterns of a `case`, which may be a sequence without brackets.
func (s *scanner) openSequence() {
	at, star := s.i, s.k == tStar
	s.starPattern()
	if s.k != tComma && star {
		s.object(at, "a starred pattern stands in a sequence")
	}
	for s.accept(tComma) && s.k != tColon && s.k != kIf {
		s.starPattern()
	}
}

func (s *scanner) starPattern() {
	if s.accept(tStar) {
		s.capture(true)
		return
	}
	s.pattern()
}

// capture recognizes a name that a pattern binds.
func (s *scanner) capture(wildcard bool) {
	if s.k == tName {
		if s.sub() != nUnderscore {
			s.bind(s.i)
		} else if !wildcard {
			s.object(s.i, "cannot use '_' as a target")
		}
	}
	s.expect(tName, "a name")
}

// pattern recognizes `a | b as c`.
func (s *scanner) pattern() {
	for {
		s.closedPattern()
		if !s.accept(tBar) {
			break
		}
	}
	if s.accept(kAs) {
		s.capture(false)
		if s.k == tDot || s.k == tLParen || s.k == tAssign {
			s.fail("invalid pattern target")
		}
	}
}

func (s *scanner) closedPattern() {
	switch s.k {
	case tNumber, tMinus:
		s.numberPattern()
	case tString, tFStart:
		s.constants()
	case kNone, kTrue, kFalse:
		s.advance()
	case tName:
		s.namePattern()
	case tLParen:
		s.sequencePattern(tRParen)
	case tLBracket:
		s.sequencePattern(tRBracket)
	case tLBrace:
		s.mappingPattern()
	default:
		s.fail("invalid pattern")
	}
}

// numberPattern recognizes `-1` and `1 + 2j`.
func (s *scanner) numberPattern() {
	at := s.i
	s.accept(tMinus)
	real := s.sub()&numImaginary == 0
	if !s.expect(tNumber, "a number") || s.k != tPlus && s.k != tMinus {
		return
	}
	s.advance()
	if s.k == tNumber && (!real || s.sub()&numImaginary == 0) {
		s.object(at, "a complex number is a real one and an imaginary one")
	}
	s.expect(tNumber, "a number")
}

// namePattern recognizes a capture, a value `a.b`, or a class pattern.
func (s *scanner) namePattern() {
	first := s.i
	if k := s.peek(); k != tDot && k != tLParen || s.sub() == nUnderscore {
		s.capture(true)
		return
	}
	s.advance()
	last := first
	for s.accept(tDot) {
		last = s.i
		if !s.expect(tName, "a name") {
			return
		}
	}
	value := expr{kind: xName, b: int32(last)}
	if last > first {
		s.chains = append(s.chains, span{first, last})
		value.kind = xAttr
	}
	s.noteValue(first, value)
	if s.accept(tLParen) {
		s.classPattern()
	}
}

func (s *scanner) classPattern() {
	keywords := false
	for s.k != tRParen {
		at := s.i
		if s.k == tName && s.peek() == tAssign {
			keywords = true
			s.advance()
			s.advance()
		} else if keywords {
			s.object(at, "positional patterns follow keyword patterns")
		}
		s.pattern()
		if !s.accept(tComma) {
			break
		}
	}
	s.expect(tRParen, "')'")
}

// sequencePattern recognizes patterns in brackets; a single one in round brackets is itself.
func (s *scanner) sequencePattern(end kind) {
	at := s.i
	s.advance()
	star, commas := s.k == tStar, false
	for s.k != end {
		s.starPattern()
		if !s.accept(tComma) {
			break
		}
		commas = true
	}
	if star && !commas && end == tRParen {
		s.object(at, "a starred pattern stands in a sequence")
	}
	s.expect(end, "the closing bracket")
}

func (s *scanner) mappingPattern() {
	s.advance()
	for s.k != tRBrace {
		if s.accept(tDoubleStar) {
			s.capture(false)
			s.accept(tComma)
			break
		}
		switch s.k {
		case tName:
			first := s.i
			s.advance()
			last := first
			for s.accept(tDot) {
				last = s.i
				if !s.expect(tName, "a name") {
					return
				}
			}
			if last == first {
				s.object(first, "a mapping pattern's key is a literal or an attribute")
			} else {
				s.chains = append(s.chains, span{first, last})
			}
		case tNumber, tMinus:
			s.numberPattern()
		case tString, tFStart:
			s.constants()
		case kNone, kTrue, kFalse:
			s.advance()
		default:
			s.fail("invalid pattern")
			return
		}
		if !s.expect(tColon, "':'") {
			return
		}
		s.pattern()
		if !s.accept(tComma) {
			break
		}
	}
	s.expect(tRBrace, "'}'")
}
