package scan

import "sort"

// facts is what the recognizer takes down on its way; finish turns it into a Result.
type facts struct {
	imports     []Import
	blocks      []Block
	bound       []int32 // names that module level binds
	all         []string
	hasAll      bool
	allDynamic  bool
	callsOnAll  int // calls that change __all__ in a way that is not understood
	stars       bool
	strings     []String
	dynamic     []Dynamic
	chains      []span // first and last name
	main        bool
	asksForMain bool // the condition at hand compares __name__ with "__main__"

	opts    Options
	aliases Words // what imports call Options.Callees
	holding int   // the calls and assignments around the token at hand in which single names are taken down
	valueAt int   // the token of the value that was taken down last
}

// span is tokens from first up to, but not including, end.
type span struct{ first, end int }

// bareExcept stands for the missing expression of a bare `except:`.
var bareExcept = span{-1, -1}

// frame is a clause around the token at hand. Its head is made of parser.spans[from:to]; index is its place among the
// blocks of the result, or -1 while it has held no import.
type frame struct {
	kind     string
	at       int
	from, to int
	index    int
}

// reset forgets all; what a Result has taken over is left to it.
func (f *facts) reset() {
	*f = facts{bound: f.bound[:0], chains: f.chains[:0], valueAt: noValue}
}

// currentBlock puts the blocks around the token at hand into the result, and returns the index of the innermost.
func (s *scanner) currentBlock() int {
	parent := -1
	for i := range s.frames {
		f := &s.frames[i]
		if f.index < 0 {
			f.index = len(s.blocks)
			b := Block{Kind: f.kind, Parent: parent, Line: s.line(s.start(f.at))}
			switch f.kind {
			case "else":
				b.Head = s.head(f.from, f.to, " || ")
			case "try-else", "finally", "for", "for-else", "while", "while-else":
			default:
				b.Head = s.head(f.from, f.to, ", ")
			}
			s.blocks = append(s.blocks, b)
		}
		parent = f.index
	}
	return parent
}

// head joins the text of the spans from..to.
func (s *scanner) head(from, to int, separator string) string {
	text := s.text[:0]
	for i, part := range s.spans[from:to] {
		if i > 0 {
			text = append(text, separator...)
		}
		if part == bareExcept {
			text = append(text, "BaseException"...)
		} else {
			text = s.appendFolded(text, part.first, part.end)
		}
	}
	s.text = text
	return string(text)
}

func (s *scanner) folded(first, end int) string {
	s.text = s.appendFolded(s.text[:0], first, end)
	return string(s.text)
}

// appendFolded appends the text of tokens as written, with a single space for whatever stands between two of them.
func (s *scanner) appendFolded(text []byte, first, end int) []byte {
	for i := first; i < end; i++ {
		if i > first && s.start(i) > s.end(i-1) {
			text = append(text, ' ')
		}
		text = append(text, s.bytes(i)...)
	}
	return text
}

func (s *scanner) inModule() bool { return len(s.scopes) == 1 }

// bind takes down that the name at i is bound by the scope at hand.
func (s *scanner) bind(i int) {
	if s.bad {
		return
	}
	top := &s.scopes[len(s.scopes)-1]
	if top.kind != tBad && !top.globals[string(s.bytes(i))] {
		return
	}
	if s.toks[i].sub == nAll {
		s.touchAll()
	}
	s.bound = append(s.bound, int32(i))
}

// bindTargets binds the names among assignment targets, which have been found valid.
func (s *scanner) bindTargets(first, end int) {
	if s.bad || !s.inModule() && len(s.scopes[len(s.scopes)-1].globals) == 0 {
		return
	}
	for i := first; i < end; i++ {
		switch s.toks[i].kind {
		case tName:
			if next := s.toks[i+1].kind; i+1 == end || next != tDot && next != tLParen && next != tLBracket {
				s.bind(i)
				continue
			}
			i = s.skipTarget(i, end)
		case tLParen, tLBracket:
			// Either brackets around targets, or the start of something with an attribute or subscript.
			if closing := s.matching(i, end); closing+1 < end && isTrailer(s.toks[closing+1].kind) {
				i = s.skipTarget(i, end)
			}
		case tComma, tStar, tRParen, tRBracket:
		default:
			i = s.skipTarget(i, end)
		}
	}
}

func isTrailer(k kind) bool { return k == tDot || k == tLParen || k == tLBracket }

// skipTarget returns the last token of the target that starts at i.
func (s *scanner) skipTarget(i, end int) int {
	for ; i < end; i++ {
		switch s.toks[i].kind {
		case tLParen, tLBracket, tLBrace:
			i = s.matching(i, end)
		case tComma, tRParen, tRBracket:
			return i - 1
		}
	}
	return end
}

// matching returns the bracket that closes the one at i.
func (s *scanner) matching(i, end int) int {
	for depth := 0; i < end; i++ {
		switch s.toks[i].kind {
		case tLParen, tLBracket, tLBrace:
			depth++
		case tRParen, tRBracket, tRBrace:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return end
}

// finish turns what was taken down into a Result.
func (s *scanner) finish() Result {
	r := Result{
		Imports: s.imports, Blocks: s.blocks, Stars: s.stars, Strings: s.strings, Dynamic: s.dynamic,
		Markers: s.markers, Main: s.main, AllDynamic: s.allDynamic || s.callsOnAll > 0, HasAll: s.hasAll, All: s.all,
	}
	r.Names = s.names()
	r.Chains = s.importedChains()
	return r
}

// names lists what module level binds, each name once, in order of appearance.
func (s *scanner) names() []string {
	if len(s.bound) == 0 {
		return nil
	}
	sort.Slice(s.bound, func(i, j int) bool { return s.bound[i] < s.bound[j] })
	seen := make(map[string]bool, len(s.bound))
	names := make([]string, 0, len(s.bound))
	for _, i := range s.bound {
		if seen[string(s.bytes(int(i)))] {
			continue
		}
		name := s.identifier(int(i))
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// importedChains lists the chains that start with a name that an import binds, each once.
func (s *scanner) importedChains() []Chain {
	if len(s.imports) == 0 || len(s.chains) == 0 {
		return nil
	}
	imported := make(map[string]bool, len(s.imports))
	for i := range s.imports {
		imported[s.imports[i].binds()] = true
	}
	var chains []Chain
	seen := map[string]bool{}
	for _, c := range s.chains {
		first := s.bytes(c.first)
		if !imported[string(first)] && (first[0] < 0x80 || !imported[s.identifier(c.first)]) {
			continue
		}
		text := s.joined(c.first, c.end+1)
		if !seen[text] {
			seen[text] = true
			chains = append(chains, Chain{text, s.line(s.start(c.first))})
		}
	}
	return chains
}

// binds is the name that an import binds, "*" for a star.
func (m *Import) binds() string {
	switch {
	case m.AsName != "":
		return m.AsName
	case m.Name != "":
		return m.Name
	}
	for i := range len(m.Module) {
		if m.Module[i] == '.' {
			return m.Module[:i]
		}
	}
	return m.Module
}
