package scan

// isAll tells whether e is the name __all__ at module level.
func (s *scanner) isAll(e expr) bool {
	return e.kind == xName && s.toks[e.a].sub == nAll && s.inModule()
}

func (s *scanner) startsWithAll(i int) bool { return s.toks[i].kind == tName && s.toks[i].sub == nAll }

// touchAll takes down that __all__ is what only running the source can tell.
func (s *scanner) touchAll() { s.allDynamic = true }

// extendAll adds the strings of a literal list, which is all that the tokens from first to end may be.
func (s *scanner) extendAll(first, end int) {
	if s.bad {
		return
	}
	s.hasAll = true
	texts, at, ok := s.literalList(s.all, first)
	if !ok || at != end {
		s.touchAll()
		return
	}
	s.all = texts
}

// literalList reads lists and tuples of strings joined by `+`, and returns the token behind them.
func (s *scanner) literalList(texts []string, i int) (_ []string, at int, ok bool) {
	for {
		texts, i, ok = s.literalTerm(texts, i)
		if !ok || s.toks[i].kind != tPlus {
			return texts, i, ok
		}
		i++
	}
}

func (s *scanner) literalTerm(texts []string, i int) (_ []string, at int, ok bool) {
	switch s.toks[i].kind {
	case tString:
		// A tuple without brackets.
		texts, at, commas := s.literalStrings(texts, i)
		return texts, at, commas > 0
	case tLBracket:
		texts, at, _ = s.literalStrings(texts, i+1)
		return texts, at + 1, s.toks[at].kind == tRBracket
	case tLParen:
		if next := s.toks[i+1].kind; next == tLParen || next == tLBracket {
			texts, at, ok = s.literalList(texts, i+1)
			return texts, at + 1, ok && s.toks[at].kind == tRParen
		}
		texts, at, commas := s.literalStrings(texts, i+1)
		return texts, at + 1, s.toks[at].kind == tRParen && (commas > 0 || at == i+1)
	}
	return texts, i, false
}

// literalStrings reads strings with commas between them, and returns the token behind them and the number of commas.
func (s *scanner) literalStrings(texts []string, i int) (_ []string, at, commas int) {
	for s.toks[i].kind == tString {
		var text []byte
		for s.toks[i].kind == tString {
			if s.toks[i].sub&sBytes != 0 {
				return texts, i, commas
			}
			var ok bool
			if text, ok = s.value(text, i); !ok {
				return texts, i, commas
			}
			i++
		}
		texts = append(texts, string(text))
		if s.toks[i].kind != tComma {
			break
		}
		commas++
		i++
	}
	return texts, i, commas
}

// mutates tells whether a call of the method of that name changes what __all__ holds.
func mutates(method []byte) bool {
	switch string(method) {
	case "append", "extend", "insert", "remove", "pop", "clear":
		return true
	}
	return false
}

// callOnAll reads the statement `__all__.append("a")` or `__all__.extend(["a"])`, and tells whether it is one.
func (s *scanner) callOnAll(first, end int) bool {
	if end < first+5 || s.toks[first+1].kind != tDot || s.toks[first+3].kind != tLParen || s.toks[end-1].kind != tRParen {
		return false
	}
	texts, at, ok := s.all, first+4, false
	switch string(s.bytes(first + 2)) {
	case "extend":
		texts, at, ok = s.literalList(texts, at)
	case "append":
		var commas int
		texts, at, commas = s.literalStrings(texts, at)
		ok = commas == 0 && at > first+4
	}
	if !ok || at != end-1 {
		return false
	}
	s.hasAll = true
	s.all = texts
	return true
}
