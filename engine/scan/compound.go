package scan

// block recognizes what follows the colon of a compound statement.
func (s *scanner) block() {
	if s.k != tNewline {
		s.simpleStatements()
		return
	}
	s.advance()
	if s.k != tIndent {
		s.object(s.i, "expected an indented block")
		return
	}
	s.advance()
	s.statements()
	s.accept(tDedent)
}

// clause recognizes the colon and block of a clause that starts at token `at`; its head is made of the spans from mark
// on. It returns the clause's index among the blocks of the result, or -1 if it holds no import.
func (s *scanner) clause(kind string, at, mark int) int {
	if !s.expect(tColon, "':'") {
		return -1
	}
	s.frames = append(s.frames, frame{kind, at, mark, len(s.spans), -1})
	s.block()
	top := len(s.frames) - 1
	index := s.frames[top].index
	s.frames = s.frames[:top]
	return index
}

// span takes down the tokens from first up to the one at hand, for the head of a clause.
func (s *scanner) span(first int) { s.spans = append(s.spans, span{first, s.i}) }

func (s *scanner) ifStatement() {
	mark := len(s.spans)
	for kind := "if"; ; kind = "elif" {
		at := s.i
		s.advance()
		s.asksForMain = false
		s.namedExpression()
		s.span(at + 1)
		if s.inModule() && !s.bad && s.asksForMain {
			s.main = true
		}
		s.clause(kind, at, len(s.spans)-1)
		if s.k != kElif {
			break
		}
	}
	if s.k == kElse {
		at := s.i
		s.advance()
		s.clause("else", at, mark)
	}
	s.spans = s.spans[:mark]
}

func (s *scanner) whileStatement() {
	at, mark := s.i, len(s.spans)
	s.advance()
	s.namedExpression()
	s.clause("while", at, mark)
	s.loopElse("while-else")
}

func (s *scanner) forStatement(at int) {
	mark := len(s.spans)
	s.advance()
	s.starTargets(true)
	if !s.expect(kIn, "'in'") {
		return
	}
	s.starExpressions()
	s.clause("for", at, mark)
	s.loopElse("for-else")
}

func (s *scanner) loopElse(kind string) {
	if s.k == kElse {
		at := s.i
		s.advance()
		s.clause(kind, at, len(s.spans))
	}
}

func (s *scanner) tryStatement() {
	at, mark := s.i, len(s.spans)
	s.advance()
	body := s.clause("try", at, mark)
	stars := [2]int{}
	for s.k == kExcept {
		at := s.i
		s.advance()
		if s.accept(tStar) {
			stars[1]++
			if s.k == tColon {
				s.object(s.i, "expected an exception type")
			}
		} else {
			stars[0]++
		}
		s.handlerHead()
		s.clause("except", at, len(s.spans)-1)
	}
	handlers := stars[0] + stars[1]
	if stars[0] > 0 && stars[1] > 0 {
		s.object(at, "cannot have both except and except*")
	}
	if body >= 0 {
		s.blocks[body].Head = s.head(mark, len(s.spans), ", ")
	}
	s.spans = s.spans[:mark]
	if handlers > 0 && s.k == kElse {
		at := s.i
		s.advance()
		s.clause("try-else", at, mark)
	}
	if s.k == kFinally {
		at := s.i
		s.advance()
		s.clause("finally", at, mark)
	} else if handlers == 0 {
		s.object(at, "try without except or finally")
	}
}

// handlerHead recognizes what stands between `except` and its colon.
func (s *scanner) handlerHead() {
	if s.k == tColon {
		s.spans = append(s.spans, bareExcept)
		return
	}
	first := s.i
	s.expression()
	end, count, last := s.i, 1, s.i
	for s.accept(tComma) {
		if s.k == tColon {
			count++ // a trailing comma: not what Python 2 wrote
			break
		}
		last = s.i
		s.expression()
		count++
	}
	if count == 2 && s.k == tColon && s.namesInstance(last, s.i) {
		// Python 3.14 would take it for two exception types; what is written so is Python 2.
		s.object(last, "except with a comma and a name is not Python 3")
		s.spans = append(s.spans, span{first, end})
		return
	}
	s.span(first)
	if s.k == kAs {
		if count > 1 {
			s.object(first, "multiple exception types must be parenthesized when using 'as'")
		}
		s.advance()
		if s.k == tName {
			s.bind(s.i)
		}
		s.expect(tName, "a name")
	}
}

// namesInstance tells whether the tokens from first to end are what Python 2 code binds an exception to, and not a
// type: a name in lower case, or several in brackets.
func (s *scanner) namesInstance(first, end int) bool {
	for i := first; i < end; i++ {
		switch s.toks[i].kind {
		case tLParen, tRParen, tComma:
		case tName:
			if c := s.bytes(i)[0]; c != '_' && (c < 'a' || c > 'z') {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func (s *scanner) withStatement(at int) {
	mark := len(s.spans)
	s.advance()
	first := s.i
	brackets := s.k == tLParen && s.bracketsWithItems()
	if brackets {
		s.advance()
	}
	for {
		s.withItem()
		if !s.accept(tComma) || brackets && s.k == tRParen {
			break
		}
	}
	if brackets {
		s.expect(tRParen, "')'")
	}
	s.span(first)
	s.clause("with", at, mark)
	s.spans = s.spans[:mark]
}

func (s *scanner) withItem() {
	s.expression()
	if s.accept(kAs) {
		at := s.i
		if e := s.starTarget(); e.flags&fTarget == 0 {
			s.object(at, "cannot assign to this expression")
		}
		s.bindTargets(at, s.i)
	}
}

// bracketsWithItems tells whether the bracket at hand encloses the items of a `with`: then, and only then, an `as`
// stands directly in it.
func (s *scanner) bracketsWithItems() bool {
	depth := 0
	for i := s.i; ; i++ {
		switch s.toks[i].kind {
		case tLParen, tLBracket, tLBrace:
			depth++
		case tRParen, tRBracket, tRBrace:
			depth--
			if depth == 0 {
				return false
			}
		case kAs:
			if depth == 1 {
				return true
			}
		case tNewline, tEOF:
			return false
		}
	}
}

func (s *scanner) asyncStatement() {
	at := s.i
	s.advance()
	switch s.k {
	case kDef:
		s.function(at)
	case kFor:
		s.forStatement(at)
	case kWith:
		s.withStatement(at)
	default:
		s.fail("invalid syntax")
	}
}

func (s *scanner) decorated() {
	for s.accept(tAt) {
		s.namedExpression()
		if !s.expect(tNewline, "a new line") {
			return
		}
	}
	switch {
	case s.k == kDef:
		s.function(s.i)
	case s.k == kClass:
		s.class()
	case s.k == kAsync && s.peek() == kDef:
		s.asyncStatement()
	default:
		s.object(s.i, "expected a class or function after the decorator")
	}
}

// function recognizes a function definition, the `def` of which is at hand; it starts at token at.
func (s *scanner) function(at int) {
	mark := len(s.spans)
	s.advance()
	name := s.i
	if !s.expect(tName, "a name") {
		return
	}
	s.span(name)
	s.bind(name)
	if s.k == tLBracket {
		s.typeParams()
	}
	if s.expect(tLParen, "'('") {
		s.params(tRParen)
		s.expect(tRParen, "')'")
	}
	if s.accept(tArrow) {
		s.expression()
	}
	s.inScope(kDef, "def", at, mark)
}

func (s *scanner) class() {
	at, mark := s.i, len(s.spans)
	s.advance()
	name := s.i
	if !s.expect(tName, "a name") {
		return
	}
	s.span(name)
	s.bind(name)
	if s.k == tLBracket {
		s.typeParams()
	}
	if s.accept(tLParen) {
		s.arguments(false)
	}
	s.inScope(kClass, "class", at, mark)
}

func (s *scanner) inScope(scopeKind kind, kind string, at, mark int) {
	s.scopes = append(s.scopes, scope{kind: scopeKind})
	s.wantDoc = true
	s.clause(kind, at, mark)
	s.wantDoc = false
	s.scopes = s.scopes[:len(s.scopes)-1]
	s.spans = s.spans[:mark]
}
