package scan

// expr is what the recognizer remembers of an expression: not what it means, but what may be done with it.
type expr struct {
	kind  exprKind
	flags exprFlags
	cut   cut
	a, b  int32 // tokens: of a chain the first and last name, of a string the first and the one behind the last
}

type exprKind uint8

const (
	xOther exprKind = iota
	xName
	xAttr
	xSubscript
	xSeq    // tuple or list
	xStar   // *a
	xStr    // a string constant
	xPrefix // an expression whose value starts with a known string
)

type exprFlags uint8

const (
	fTarget exprFlags = 1 << iota // may be assigned to
	fSingle                       // may be annotated, or assigned to with an operator
	fDel                          // may be deleted
	fChain                        // names joined by dots, and nothing else
)

// cut says what an operator does to the constant part of a string: what follows a placeholder is not known.
type cut uint8

const (
	cutPercent cut = 1 << iota
	cutBrace
)

// starExpressions recognizes `a, *b, c`, with or without commas.
func (s *scanner) starExpressions() expr {
	e := s.starExpression()
	if s.k != tComma {
		return e
	}
	seq := sequence(e)
	for s.accept(tComma) {
		if !s.startsExpression() {
			break
		}
		seq = seq.with(s.starExpression())
	}
	return seq
}

// startsExpression tells whether something follows a comma, or only the end of what the comma stands in.
func (s *scanner) startsExpression() bool {
	switch s.k {
	case tNewline, tSemi, tAssign, tAugAssign, tColon, tRParen, tRBracket, tRBrace, tExclaim, tBacktick, tBad, tEOF:
		return false
	}
	return true
}

// sequence starts a tuple or list with its first element.
func sequence(e expr) expr {
	seq := expr{kind: xSeq, flags: fTarget | fDel}
	return seq.with(e)
}

// with is what may be done with a sequence that holds e too.
func (seq expr) with(e expr) expr {
	seq.flags &= e.flags
	return seq
}

func (s *scanner) starExpression() expr {
	if s.k == tStar {
		return s.starred()
	}
	return s.expression()
}

func (s *scanner) starred() expr {
	s.advance()
	e := s.binary(precBar)
	target := e.flags & fTarget
	return expr{kind: xStar, flags: target}
}

// starNamed recognizes an element of a display: starred, or with a walrus.
func (s *scanner) starNamed() expr {
	if s.k == tStar {
		return s.starred()
	}
	return s.namedExpression()
}

func (s *scanner) namedExpression() expr {
	if s.k == tName && s.peek() == tWalrus {
		if s.lambdas == 0 {
			s.bind(s.i)
		}
		s.noteValue(s.i, expr{kind: xName, b: int32(s.i)})
		s.advance()
		s.advance()
		s.expression()
		return expr{}
	}
	return s.expression()
}

// expression recognizes a conditional expression or a lambda.
func (s *scanner) expression() expr {
	if s.k == kLambda {
		return s.lambda()
	}
	e := s.binary(precOr)
	for s.k == kIf {
		s.advance()
		s.binary(precOr)
		if !s.expect(kElse, "'else'") {
			return expr{}
		}
		e = expr{}
		if s.k == kLambda {
			return s.lambda()
		}
		s.binary(precOr)
	}
	return e
}

func (s *scanner) lambda() expr {
	if s.enter() {
		s.advance()
		s.params(tColon)
		if s.expect(tColon, "':'") {
			s.lambdas++
			s.expression()
			s.lambdas--
		}
	}
	s.leave()
	return expr{}
}

// binary recognizes operators that bind as tight as min or tighter.
func (s *scanner) binary(min uint8) expr {
	var left expr
	if s.k == kNot {
		if min > precNot {
			s.fail("invalid syntax")
			return expr{}
		}
		for s.accept(kNot) {
		}
		s.binary(precNot + 1)
	} else {
		left = s.unary()
	}
	operand := left // of the next comparison: in a chain of them, the right one of the last
	for {
		p := precedence[s.k]
		if p == 0 || p < min {
			return left
		}
		op, equal := s.k, s.toks[s.i].sub == cmpEqual
		switch op {
		case kNot:
			if s.peek() != kIn {
				return left
			}
			s.advance()
		case kIs:
			if s.peek() == kNot {
				s.advance()
			}
		}
		s.advance()
		right := s.binary(p + 1)
		if op == tCompare && equal && (s.isMain(operand, right) || s.isMain(right, operand)) {
			s.asksForMain = true
		}
		left = s.result(left, op)
		if operand = left; p == precCompare {
			operand = right
		}
	}
}

// isMain tells whether two operands are __name__ and "__main__".
func (s *scanner) isMain(name, text expr) bool {
	return name.kind == xName && s.toks[name.b].sub == nDunderName && text.kind == xStr && s.constant(text) == "__main__"
}

// result is what is known of `left op right`.
func (s *scanner) result(left expr, op kind) expr {
	if left.kind != xStr && left.kind != xPrefix || op != tPlus && op != tPercent {
		return expr{}
	}
	constant := left.kind == xStr
	left.kind = xPrefix
	left.flags = 0
	if op == tPercent {
		left.cut |= cutPercent
	}
	if constant {
		s.notePrefix(left)
	}
	return left
}

func (s *scanner) unary() expr {
	signs := false
	for s.k == tMinus || s.k == tPlus || s.k == tTilde {
		signs = true
		s.advance()
	}
	e := s.primary()
	if s.k == tDoubleStar {
		e = expr{}
		if s.enter() {
			s.advance()
			s.unary()
		}
		s.leave()
	}
	if signs {
		return expr{}
	}
	return e
}

// primary recognizes an atom and the attributes, calls and subscripts that follow it.
func (s *scanner) primary() expr {
	awaits := s.accept(kAwait)
	first := s.i
	e := s.atom()
	if s.k != tDot && s.k != tLParen && s.k != tLBracket {
		s.noteValue(first, e)
		if awaits {
			return expr{}
		}
		return e
	}
	noted := e.kind == xAttr // an atom in brackets, the chain of which has been noted
	format := expr{}
	for {
		switch s.k {
		case tDot:
			s.takeBack(e)
			s.advance()
			name := s.i
			if !s.expect(tName, "a name") {
				return expr{}
			}
			if e.kind == xStr && s.k == tLParen && string(s.bytes(name)) == "format" {
				format = e
			}
			next := expr{kind: xAttr, flags: fTarget | fSingle | fDel, a: e.a, b: int32(name)}
			if e.flags&fChain != 0 {
				next.flags |= fChain
				if noted {
					s.chains = s.chains[:len(s.chains)-1]
				}
			}
			noted = false
			e = next
			continue
		case tLParen:
			s.noteChain(e, noted)
			s.call(first, e)
			e = expr{}
			if format.kind == xStr {
				e = expr{kind: xPrefix, cut: cutBrace, a: format.a, b: format.b}
				s.notePrefix(e)
				format = expr{}
			}
		case tLBracket:
			s.noteChain(e, noted)
			s.noteValue(first, e)
			s.subscript()
			e = expr{kind: xSubscript, flags: fTarget | fSingle | fDel}
		default:
			s.noteChain(e, noted)
			s.noteValue(first, e)
			if awaits {
				return expr{}
			}
			return e
		}
		noted = false
	}
}

// noteChain takes down the chain that ends here, if it is one.
func (s *scanner) noteChain(e expr, noted bool) {
	if e.kind == xAttr && e.flags&fChain != 0 && !noted {
		s.chains = append(s.chains, span{int(e.a), int(e.b)})
	}
}

// call recognizes the arguments of a call, and takes it down if the request asks for calls of that name.
func (s *scanner) call(first int, callee expr) {
	dynamic, holding := -1, s.holding
	if named := callee.kind == xName || callee.kind == xAttr; named && s.isCallee(int(callee.b)) {
		s.takeBack(callee)
		dynamic = len(s.dynamic)
		s.addDynamic(first, int(callee.b))
		s.holding++
	} else if callee.kind == xAttr && s.isHolder(int(callee.b)-2) {
		s.holding++
	}
	if callee.kind == xAttr && callee.flags&fChain != 0 && s.startsWithAll(int(callee.a)) && s.startsWithAll(int(callee.b)-2) && mutates(s.bytes(int(callee.b))) {
		s.callsOnAll++
	}
	s.advance()
	argument, any := s.arguments(true)
	s.holding = holding
	if dynamic >= 0 {
		d := &s.dynamic[dynamic]
		switch {
		case !any:
			d.How = "none"
		case argument.kind == xStr:
			d.How, d.Text = "const", s.constant(argument)
		case argument.kind == xPrefix:
			d.How, d.Text = "prefix", s.constant(argument)
		}
		if d.How == "" || d.How == "prefix" && d.Text == "" {
			d.How = "unknown"
		}
	}
}

// arguments recognizes what stands between the brackets of a call or class, and the closing one. It returns the first
// argument, whether by position or by name.
func (s *scanner) arguments(generator bool) (first expr, any bool) {
	count, keywords, unpacked := 0, false, false
	for s.k != tRParen {
		e := expr{}
		at := s.i
		switch {
		case s.k == tStar:
			s.advance()
			s.expression()
			if unpacked {
				s.object(at, "iterable argument unpacking follows keyword argument unpacking")
			}
		case s.k == tDoubleStar:
			s.advance()
			s.expression()
			unpacked = true
		case s.k == tName && s.peek() == tAssign:
			holding := s.holding
			if s.isHolder(s.i) {
				s.holding++
			}
			s.advance()
			s.advance()
			e = s.expression()
			s.holding = holding
			keywords = true
		default:
			e = s.namedExpression()
			if s.startsComprehension() {
				s.comprehension()
				e = expr{}
				if count > 0 || s.k != tRParen || !generator {
					s.object(at, "generator expression must be parenthesized")
				}
			}
			if keywords || unpacked {
				s.object(at, "positional argument follows keyword argument")
			}
		}
		if count == 0 {
			first = e
		}
		count++
		if !s.accept(tComma) {
			break
		}
	}
	s.expect(tRParen, "')'")
	return first, count > 0
}

// subscript recognizes `[a, b:c, *d]`.
func (s *scanner) subscript() {
	s.advance()
	for {
		s.slice()
		if !s.accept(tComma) || s.k == tRBracket {
			break
		}
	}
	s.expect(tRBracket, "']'")
}

func (s *scanner) slice() {
	if s.k == tStar {
		s.starred()
		return
	}
	if s.k != tColon {
		walrus := s.k == tName && s.peek() == tWalrus
		s.namedExpression()
		if walrus && s.k == tColon {
			s.fail("invalid syntax")
		}
	}
	for range 2 {
		if s.k != tColon {
			return
		}
		s.advance()
		if s.k != tColon && s.k != tComma && s.k != tRBracket {
			s.expression()
		}
	}
}
