package scan

import "slices"

// file recognizes a whole source.
func (s *scanner) file() {
	s.wantDoc = true
	s.goTo(0)
	for s.k != tEOF {
		s.statements()
		s.accept(tDedent) // one too many, after an error
	}
}

// statements recognizes what stands at one level of indentation.
func (s *scanner) statements() {
	for s.k != tDedent && s.k != tEOF {
		s.statement()
		if s.bad {
			s.resume()
		}
	}
}

func (s *scanner) statement() {
	wantDoc := s.wantDoc
	s.wantDoc = false
	switch s.k {
	case kIf:
		s.ifStatement()
	case kDef:
		s.function(s.i)
	case kClass:
		s.class()
	case tAt:
		s.decorated()
	case kFor:
		s.forStatement(s.i)
	case kWhile:
		s.whileStatement()
	case kTry:
		s.tryStatement()
	case kWith:
		s.withStatement(s.i)
	case kAsync:
		s.asyncStatement()
	case tIndent:
		s.object(s.i, "unexpected indent")
		s.advance()
		s.statements()
		s.accept(tDedent)
	default:
		if s.k == tName && s.sub() == nMatch && s.startsMatch() {
			s.matchStatement()
			break
		}
		s.wantDoc = wantDoc
		s.simpleStatements()
	}
}

// simpleStatements recognizes one logical line of simple statements.
func (s *scanner) simpleStatements() {
	for {
		s.simpleStatement()
		s.wantDoc = false
		if s.k == tNewline {
			s.advance()
			return
		}
		if !s.accept(tSemi) {
			s.fail("invalid syntax")
			return
		}
		if s.accept(tNewline) {
			return
		}
	}
}

func (s *scanner) simpleStatement() {
	switch s.k {
	case kImport:
		s.importStatement()
	case kFrom:
		s.fromImport()
	case kReturn:
		s.advance()
		if !s.atEnd() {
			s.starExpressions()
		}
	case kRaise:
		s.raise()
	case kPass, kBreak, kContinue:
		s.advance()
	case kAssert:
		s.advance()
		s.expression()
		if s.accept(tComma) {
			s.expression()
		}
	case kDel:
		s.del()
	case kGlobal, kNonlocal:
		s.global()
	case tName:
		switch s.sub() {
		case nType:
			if s.peek() == tName {
				s.typeAlias()
				return
			}
		case nPrint:
			if s.startsOperand(s.i + 1) {
				s.object(s.i, "a statement of Python 2")
				s.advance()
			}
		}
		s.expressionStatement()
	default:
		s.expressionStatement()
	}
}

func (s *scanner) atEnd() bool { return s.k == tNewline || s.k == tSemi }

// startsOperand tells whether the token at i begins an expression and cannot go on with one.
func (s *scanner) startsOperand(i int) bool {
	switch s.toks[i].kind {
	case tName, tNumber, tString, tFStart, tLBrace, tTilde, tBacktick, kNone, kTrue, kFalse, kLambda, kAwait, tEllipsis:
		return true
	case kNot:
		return s.toks[i+1].kind != kIn
	}
	return false
}

func (s *scanner) raise() {
	s.advance()
	if s.atEnd() {
		return
	}
	s.expression()
	if s.accept(kFrom) {
		s.expression()
		return
	}
	if s.k == tComma {
		s.object(s.i, "raise with a comma is not Python 3")
		for s.accept(tComma) {
			s.expression()
		}
	}
}

func (s *scanner) del() {
	s.advance()
	for {
		at := s.i
		e := s.primary()
		if e.flags&fDel == 0 {
			s.object(at, "cannot delete this expression")
		}
		if s.toks[at].sub == nAll && s.toks[at].kind == tName && s.i == at+1 {
			s.touchAll()
		}
		if !s.accept(tComma) || s.atEnd() {
			return
		}
	}
}

func (s *scanner) global() {
	isGlobal := s.k == kGlobal
	for {
		s.advance()
		if s.k == tName && isGlobal {
			s.declareGlobal(s.i)
		}
		if !s.expect(tName, "a name") || s.k != tComma {
			return
		}
	}
}

func (s *scanner) declareGlobal(i int) {
	top := &s.scopes[len(s.scopes)-1]
	if top.globals == nil {
		top.globals = map[string]bool{}
	}
	top.globals[string(s.bytes(i))] = true
}

func (s *scanner) typeAlias() {
	s.advance()
	s.bind(s.i)
	s.advance()
	if s.k == tLBracket {
		s.typeParams()
	}
	if s.expect(tAssign, "'='") {
		s.expression()
	}
}

// expressionStatement recognizes an expression that stands alone, and every kind of assignment.
func (s *scanner) expressionStatement() {
	first, wantDoc, strings, calls := s.i, s.wantDoc, len(s.strings), s.callsOnAll
	e := s.yieldOrStar()
	switch s.k {
	case tAssign:
		s.assignment(first, e)
	case tAugAssign:
		if e.flags&fSingle == 0 {
			s.object(first, "this expression cannot be the target of an augmented assignment")
		}
		op := s.i
		s.advance()
		value := s.i
		s.valueOf(e)
		if e.kind == xName {
			if s.isAll(e) {
				s.bound = append(s.bound, e.a)
				if string(s.bytes(op)) == "+=" {
					s.extendAll(value, s.i)
				} else {
					s.touchAll()
				}
			} else {
				s.bind(int(e.a))
			}
		}
	case tColon:
		s.annotated(first, e)
	default:
		if wantDoc && e.kind == xStr && s.atEnd() && !s.isFormatted(e) {
			s.strings = s.strings[:strings]
		}
		if s.callsOnAll == calls+1 && s.inModule() && !s.bad && s.startsWithAll(first) && s.callOnAll(first, s.i) {
			s.callsOnAll = calls
		}
	}
}

// isFormatted tells whether a constant has a part that is an f-string, if one without fields; such is no docstring.
func (s *scanner) isFormatted(e expr) bool {
	return slices.ContainsFunc(s.toks[e.a:e.b], func(t token) bool { return t.kind == tFStart })
}

// assignment recognizes the rest of `target = ... = value`.
func (s *scanner) assignment(first int, e expr) {
	all, strings := false, len(s.strings)
	for s.k == tAssign {
		s.letGo(strings) // what stands between two signs is a target, not the value
		if e.flags&fTarget == 0 {
			s.object(first, "cannot assign to this expression")
		} else if s.isAll(e) {
			all = true
			s.bound = append(s.bound, e.a)
		} else {
			s.bindTargets(first, s.i)
			if e.kind == xSubscript && s.startsWithAll(first) {
				s.touchAll()
			}
		}
		if s.holds(e) {
			s.holding++
		}
		s.advance()
		first, strings = s.i, len(s.strings)
		e = s.yieldOrStar()
	}
	s.holding = 0
	if all {
		s.extendAll(first, s.i)
	}
}

// letGo forgets the strings from an index on that were taken down for nothing but the assignment around them.
func (s *scanner) letGo(from int) {
	if s.holding > 0 {
		kept := slices.DeleteFunc(s.strings[from:], func(found String) bool { return found.held == s.holding })
		s.strings = s.strings[:from+len(kept)]
	}
}

// annotated recognizes the rest of `target: annotation = value`. Without a value nothing is bound.
func (s *scanner) annotated(first int, e expr) {
	if e.flags&fSingle == 0 {
		s.fail("this expression cannot be annotated")
		return
	}
	s.advance()
	s.expression()
	if !s.accept(tAssign) {
		return
	}
	value := s.i
	s.valueOf(e)
	if s.isAll(e) {
		s.bound = append(s.bound, e.a)
		s.extendAll(value, s.i)
	} else if e.kind == xName {
		s.bind(int(e.a))
	}
}

// valueOf recognizes what is assigned to e.
func (s *scanner) valueOf(e expr) {
	if s.holds(e) {
		s.holding++
	}
	s.yieldOrStar()
	s.holding = 0
}

func (s *scanner) yieldOrStar() expr {
	if s.k == kYield {
		return s.yield()
	}
	return s.starExpressions()
}

func (s *scanner) yield() expr {
	s.advance()
	if s.accept(kFrom) {
		s.expression()
		return expr{}
	}
	switch s.k {
	case tNewline, tSemi, tRParen, tRBrace, tRBracket, tAssign, tExclaim, tColon:
	default:
		s.starExpressions()
	}
	return expr{}
}
