package scan

// atom recognizes a name, a literal, or something in brackets.
func (s *scanner) atom() expr {
	at := s.i
	switch s.k {
	case tName:
		s.advance()
		return expr{kind: xName, flags: fTarget | fSingle | fDel | fChain, a: int32(at), b: int32(at)}
	case tString, tFStart:
		return s.constants()
	case tNumber, kNone, kTrue, kFalse, tEllipsis:
		s.advance()
		return expr{}
	case tLParen:
		return s.group()
	case tLBracket:
		return s.list()
	case tLBrace:
		return s.braces()
	case tBacktick:
		s.advance()
		s.starExpressions()
		s.expect(tBacktick, "'`'")
		return expr{}
	case tErr:
		s.fail("invalid syntax")
		return expr{}
	}
	s.fail("invalid syntax")
	return expr{}
}

// group recognizes a tuple, a generator expression, or an expression in brackets.
func (s *scanner) group() expr {
	at := s.i
	s.advance()
	if s.accept(tRParen) {
		return expr{kind: xSeq, flags: fTarget | fDel}
	}
	if s.k == kYield {
		s.yield()
		s.expect(tRParen, "')'")
		return expr{}
	}
	e := s.starNamed()
	switch {
	case s.startsComprehension():
		if e.kind == xStar {
			s.object(at, "iterable unpacking cannot be used in comprehension")
		}
		s.comprehension()
		e = expr{}
	case s.k == tComma:
		e = s.elements(e, tRParen)
	case e.kind == xStar:
		s.object(at, "cannot use starred expression here")
	}
	s.expect(tRParen, "')'")
	return e
}

func (s *scanner) list() expr {
	at := s.i
	s.advance()
	e := expr{kind: xSeq, flags: fTarget | fDel}
	if s.k != tRBracket {
		first := s.starNamed()
		if s.startsComprehension() {
			if first.kind == xStar {
				s.object(at, "iterable unpacking cannot be used in comprehension")
			}
			s.comprehension()
			e = expr{}
		} else {
			e = s.elements(first, tRBracket)
		}
	}
	s.expect(tRBracket, "']'")
	return e
}

// elements recognizes the rest of a display after its first element.
func (s *scanner) elements(first expr, end kind) expr {
	seq := sequence(first)
	for s.accept(tComma) && s.k != end {
		seq = seq.with(s.starNamed())
	}
	return seq
}

// braces recognizes a dict or set.
func (s *scanner) braces() expr {
	at := s.i
	s.advance()
	switch {
	case s.accept(tRBrace):
		return expr{}
	case s.k == tDoubleStar:
		s.dictItem()
		s.dictItems()
		return expr{}
	}
	named := s.k == tName && s.peek() == tWalrus
	e := s.starNamed()
	if s.k == tColon && e.kind != xStar && !named {
		s.advance()
		s.expression()
		if s.startsComprehension() {
			s.comprehension()
			s.expect(tRBrace, "'}'")
			return expr{}
		}
		s.dictItems()
		return expr{}
	}
	if s.startsComprehension() {
		if e.kind == xStar {
			s.object(at, "iterable unpacking cannot be used in comprehension")
		}
		s.comprehension()
	} else {
		s.elements(e, tRBrace)
	}
	s.expect(tRBrace, "'}'")
	return expr{}
}

func (s *scanner) dictItems() {
	for s.accept(tComma) && s.k != tRBrace {
		s.dictItem()
	}
	s.expect(tRBrace, "'}'")
}

func (s *scanner) dictItem() {
	if s.accept(tDoubleStar) {
		s.binary(precBar)
		return
	}
	s.expression()
	if s.expect(tColon, "':'") {
		s.expression()
	}
}

func (s *scanner) startsComprehension() bool {
	return s.k == kFor || s.k == kAsync && s.peek() == kFor
}

// comprehension recognizes `for a in b if c for ...`.
func (s *scanner) comprehension() {
	for s.startsComprehension() {
		s.accept(kAsync)
		s.advance()
		s.starTargets(false)
		if !s.expect(kIn, "'in'") {
			return
		}
		s.binary(precOr)
		for s.accept(kIf) {
			s.binary(precOr)
		}
	}
}

// starTargets recognizes the targets of a `for`. Those of a comprehension bind nothing outside it.
func (s *scanner) starTargets(binds bool) {
	first := s.i
	for {
		at := s.i
		if e := s.starTarget(); e.flags&fTarget == 0 {
			s.object(at, "cannot assign to this expression")
		}
		if !s.accept(tComma) || s.k == kIn {
			break
		}
	}
	if binds && !s.bad {
		s.bindTargets(first, s.i)
	}
}

// starTarget recognizes one target. Targets have no operators, so an `in` behind one is not taken for one.
func (s *scanner) starTarget() expr {
	s.accept(tStar)
	return s.primary()
}

// constants recognizes adjacent string literals, which are one constant.
func (s *scanner) constants() expr {
	e := expr{kind: xStr, a: int32(s.i)}
	isBytes, isText, isTemplate, isString, fields := false, false, false, false, false
	for {
		switch s.k {
		case tString:
			if s.sub()&sBytes != 0 {
				isBytes = true
			} else {
				isText, isString = true, true
			}
			s.advance()
			continue
		case tFStart:
			isText = true
			if s.sub()&sTemplate != 0 {
				isTemplate = true
			} else {
				isString = true
			}
			if s.fString() {
				fields = true
			}
			continue
		}
		break
	}
	e.b = int32(s.i)
	switch {
	case s.bad:
		return expr{}
	case isBytes && isText:
		s.object(int(e.a), "cannot mix bytes and nonbytes literals")
		return expr{}
	case isTemplate && isString:
		s.object(int(e.a), "cannot mix t-strings with other strings")
		return expr{}
	case isBytes:
		return expr{}
	case fields:
		e.kind = xPrefix
		s.notePrefix(e)
		s.noteCode(e, s.appendConstant(s.text[:0], e))
		return e
	}
	s.noteString(e)
	return e
}

// fString recognizes an f-string or t-string, and tells whether it has replacement fields.
func (s *scanner) fString() (fields bool) {
	s.advance()
	for {
		switch s.k {
		case tFMiddle:
			s.advance()
		case tLBrace:
			fields = true
			s.field()
		default:
			s.expect(tFEnd, "the end of the f-string")
			return fields
		}
	}
}

// field recognizes a replacement field.
func (s *scanner) field() {
	s.advance()
	s.yieldOrStar()
	s.accept(tAssign)
	if s.k == tExclaim {
		mark := s.i
		s.advance()
		if s.k == tName && s.start(s.i) == s.end(mark) {
			switch string(s.bytes(s.i)) {
			case "s", "r", "a":
			default:
				s.object(s.i, "f-string: invalid conversion character")
			}
			s.advance()
		} else {
			s.fail("f-string: invalid conversion character")
		}
	}
	if s.accept(tColon) {
		for s.k == tFMiddle || s.k == tLBrace {
			if s.k == tFMiddle {
				s.advance()
			} else {
				s.field()
			}
		}
	}
	s.expect(tRBrace, "'}'")
}
