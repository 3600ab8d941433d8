package scan

import "bytes"

// maxDepth bounds the recursion of the recognizer. Brackets and indentation have lower bounds of their own, in the
// lexer; this one is for what nests without them, such as lambdas.
const maxDepth = 1500

// parser walks over the tokens. There is no tree: each function recognizes a piece of the grammar and moves on.
//
// After an error, k is tBad until the enclosing statement list picks up again: no function takes tBad for anything, so
// all of them return without being asked to.
type parser struct {
	i         int  // the token at hand
	k         kind // its kind
	bad       bool
	badAt     int // the token at which the error was found
	restarted bool
	depth     int

	frames  []frame // the blocks around the token at hand
	spans   []span  // what the heads of those blocks are made of
	scopes  []scope
	lambdas int  // lambda bodies around the token at hand
	wantDoc bool // the next statement may be a docstring
}

// scope is a module, class or function around the token at hand.
type scope struct {
	kind    kind            // tBad for the module, kClass, kDef
	globals map[string]bool // names that it declares global; nil while there are none
}

func (p *parser) reset() {
	*p = parser{frames: p.frames[:0], spans: p.spans[:0], scopes: append(p.scopes[:0], scope{})}
}

func (s *scanner) advance() {
	if s.k == tBad {
		return
	}
	s.i++
	s.k = s.toks[s.i].kind
}

func (s *scanner) goTo(i int) {
	s.i, s.k = i, s.toks[i].kind
}

// peek is the kind of the token after the one at hand.
func (s *scanner) peek() kind {
	if s.k == tBad || s.k == tEOF {
		return tBad
	}
	return s.toks[s.i+1].kind
}

// sub says more about the token at hand.
func (s *scanner) sub() sub {
	if s.k == tBad {
		return 0
	}
	return s.toks[s.i].sub
}

func (s *scanner) start(i int) int { return int(s.toks[i].start) }
func (s *scanner) end(i int) int   { return int(s.toks[i].end) }

func (s *scanner) bytes(i int) []byte { return s.buf[s.toks[i].start:s.toks[i].end] }

func (s *scanner) accept(k kind) bool {
	if s.k != k {
		return false
	}
	s.advance()
	return true
}

func (s *scanner) expect(k kind, what string) bool {
	if s.k == k {
		s.advance()
		return true
	}
	s.fail("expected " + what)
	return false
}

// fail ends the statement at hand with an error at the token at hand.
func (s *scanner) fail(message string) {
	if s.bad {
		return
	}
	s.complain(s.start(s.i), message)
	s.bad, s.badAt, s.k = true, s.i, tBad
}

// object complains about a piece that is in its place by the grammar, but wrong in another way. Reading goes on.
func (s *scanner) object(i int, message string) {
	if !s.bad {
		s.complain(s.start(i), message)
	}
}

// enter counts a level of recursion; leave must follow, whatever it returns.
func (s *scanner) enter() bool {
	s.depth++
	if s.depth > maxDepth {
		s.fail("too deeply nested")
		return false
	}
	return true
}

func (s *scanner) leave() { s.depth-- }

// resume picks up at the next logical line after an error. A block that follows, because its header was in error, is
// read as part of the block at hand.
func (s *scanner) resume() {
	if s.broken && !s.restarted && !s.recovering {
		s.restart()
	}
	s.bad = false
	s.goTo(s.badAt)
	for s.k != tNewline && s.k != tEOF && s.k != tIndent && s.k != tDedent {
		s.advance()
	}
	s.accept(tNewline)
	if s.accept(tIndent) {
		s.statements()
		s.accept(tDedent)
	}
}

// restart cuts what follows the error anew, in the knowledge that some bracket or string is not closed.
func (s *scanner) restart() {
	s.restarted = true
	if s.toks[s.badAt].kind == tEOF {
		return
	}
	s.recovering = true
	lineStart := s.badAt
	for lineStart > 0 && s.toks[lineStart-1].kind > tDedent {
		lineStart--
	}
	from := s.openBrackets(lineStart, s.badAt)
	fresh := from == lineStart
	if fresh {
		for from > 0 && (s.toks[from-1].kind == tIndent || s.toks[from-1].kind == tDedent) {
			from--
		}
	} else {
		s.badAt = from
	}
	s.restoreIndents(from)
	at := s.start(from)
	line, col := s.position(at)
	s.toks = s.toks[:from]
	for k := len(s.markers); k > 0 && (s.markers[k-1].Line > line || s.markers[k-1].Line == line && s.markers[k-1].Col > col); k-- {
		s.markers = s.markers[:k-1]
	}
	s.pos = at - col
	switch {
	case fresh:
		s.startLine()
		at = s.pos
	case len(s.brackets) > 0 && s.startsStatement() && len(bytes.Trim(s.buf[at-col:at], " \t\f")) == 0:
		s.brackets = s.brackets[:0]
		s.emit(tNewline, 0, at, at)
		s.startLine()
		at = s.pos
	}
	s.run(at)
}

// openBrackets restores which brackets are open before the token at to, on the logical line that starts at from. It
// returns to, or the start of the f-string that to lies in: an f-string is cut as a whole.
func (s *scanner) openBrackets(from, to int) int {
	s.brackets, s.fstrings = s.brackets[:0], s.fstrings[:0]
	outermost, depth := to, 0
	for i := from; i < to; i++ {
		t := s.toks[i]
		switch {
		case t.kind == tFStart:
			if depth == 0 {
				outermost = i
			}
			depth++
		case t.kind == tFEnd:
			depth--
		case depth > 0:
		case t.kind == tLParen || t.kind == tLBracket || t.kind == tLBrace:
			s.brackets = append(s.brackets, bracket{t.start, t.kind, false})
		case t.kind == tRParen || t.kind == tRBracket || t.kind == tRBrace:
			s.brackets = s.brackets[:max(len(s.brackets)-1, 0)]
		}
	}
	if depth > 0 {
		return outermost
	}
	return to
}

// restoreIndents sets the lexer's levels of indentation to what they were before the token at from.
func (s *scanner) restoreIndents(from int) {
	s.indents = append(s.indents[:0], indent{})
	for i := range from {
		switch t := s.toks[i]; t.kind {
		case tIndent:
			_, col := s.position(int(t.start))
			level := indent{}
			for _, c := range s.buf[int(t.start)-col : t.start] {
				switch c {
				case '\t':
					level.col, level.alt = (level.col/tabSize+1)*tabSize, level.alt+1
				case '\f':
					level = indent{}
				default:
					level.col, level.alt = level.col+1, level.alt+1
				}
			}
			s.indents = append(s.indents, level)
		case tDedent:
			s.indents = s.indents[:max(len(s.indents)-1, 1)]
		}
	}
}
