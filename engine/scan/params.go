package scan

// params recognizes the parameters of a function, or of a lambda, up to end.
func (s *scanner) params(end kind) {
	annotated := end == tRParen
	var slash, star, defaults bool
	for count := 0; s.k != end; count++ {
		at := s.i
		switch s.k {
		case tName:
			s.param(annotated)
			if s.accept(tAssign) {
				defaults = true
				s.expression()
			} else if defaults && !star {
				s.object(at, "parameter without a default follows parameter with a default")
			}
		case tSlash:
			if slash || star || count == 0 {
				s.object(at, "/ is out of place")
			}
			slash = true
			s.advance()
		case tStar:
			if star {
				s.object(at, "* argument may appear only once")
			}
			star = true
			s.advance()
			if s.k == tName {
				s.starParam(annotated)
			} else if s.k != tComma || s.peek() != tName {
				s.object(at, "named arguments must follow bare *")
			}
		case tDoubleStar:
			s.advance()
			if s.k != tName {
				s.fail("expected a name")
				return
			}
			s.param(annotated)
			s.accept(tComma)
			if s.k != end {
				s.fail("arguments cannot follow var-keyword argument")
			}
			return
		default:
			s.fail("invalid syntax")
			return
		}
		if !s.accept(tComma) {
			return
		}
	}
}

func (s *scanner) param(annotated bool) {
	s.advance()
	if annotated && s.accept(tColon) {
		s.expression()
	}
}

// starParam recognizes `args: *Ts`, the one annotation that may be starred.
func (s *scanner) starParam(annotated bool) {
	s.advance()
	if annotated && s.accept(tColon) {
		s.starExpression()
	}
}

// typeParams recognizes `[T: bound = default, *Ts, **P]`.
func (s *scanner) typeParams() {
	s.advance()
	for {
		starred := s.accept(tStar)
		if starred || s.accept(tDoubleStar) {
			s.expect(tName, "a name")
		} else {
			s.expect(tName, "a name")
			if s.accept(tColon) {
				s.expression()
			}
		}
		if s.accept(tAssign) {
			if starred {
				s.starExpression()
			} else {
				s.expression()
			}
		}
		if !s.accept(tComma) || s.k == tRBracket {
			break
		}
	}
	s.expect(tRBracket, "']'")
}
