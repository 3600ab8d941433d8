package scan

import (
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// importStatement recognizes `import a.b as c, d`.
func (s *scanner) importStatement() {
	statement, mark := s.i, len(s.imports)
	s.advance()
	for {
		at := s.i
		module := s.dottedName()
		as := s.asName()
		if s.bad {
			break
		}
		s.addImport(statement, at, Import{Module: module, AsName: as})
		if !s.accept(tComma) {
			break
		}
	}
	s.endImports(mark)
}

// fromImport recognizes `from ..a import b as c, d`, in brackets or not, and the star import.
func (s *scanner) fromImport() {
	statement, mark := s.i, len(s.imports)
	s.advance()
	m := Import{}
	for s.k == tDot || s.k == tEllipsis {
		if s.k == tDot {
			m.Level++
		} else {
			m.Level += 3
		}
		s.advance()
	}
	if s.k != kImport || m.Level == 0 {
		m.Module = s.dottedName()
	}
	if !s.expect(kImport, "'import'") {
		return
	}
	if s.k == tStar {
		m.Name = "*"
		s.addImport(statement, s.i, m)
		s.stars = true
		s.advance()
		s.endImports(mark)
		return
	}
	brackets := s.accept(tLParen)
	for {
		at := s.i
		if !s.expect(tName, "a name") {
			break
		}
		m.Name = s.identifier(at)
		m.AsName = s.asName()
		if !s.bad {
			s.addImport(statement, at, m)
		}
		if !s.accept(tComma) || brackets && s.k == tRParen {
			break
		}
	}
	if brackets {
		s.expect(tRParen, "')'")
	}
	s.endImports(mark)
}

func (s *scanner) asName() string {
	if !s.accept(kAs) {
		return ""
	}
	at := s.i
	if !s.expect(tName, "a name") {
		return ""
	}
	return s.identifier(at)
}

// dottedName recognizes `a.b.c` and returns it without what may stand between its tokens.
func (s *scanner) dottedName() string {
	first := s.i
	for s.expect(tName, "a name") && s.accept(tDot) {
	}
	if s.bad {
		return ""
	}
	if s.i == first+1 {
		return s.identifier(first)
	}
	return s.joined(first, s.i)
}

// joined is a dotted name: the names among the tokens from first up to, but not including, end.
func (s *scanner) joined(first, end int) string {
	text := s.text[:0]
	for i := first; i < end; i++ {
		if s.toks[i].kind == tName {
			if len(text) > 0 {
				text = append(text, '.')
			}
			text = append(text, s.bytes(i)...)
		}
	}
	s.text = text
	return normalized(string(text))
}

// identifier is the name at i as Python knows it.
func (s *scanner) identifier(i int) string { return normalized(string(s.bytes(i))) }

// normalized is what Python does to identifiers: two spellings of one name are one name.
func normalized(name string) string {
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return norm.NFKC.String(name)
		}
	}
	return name
}

func (s *scanner) addImport(statement, at int, m Import) {
	m.Line, m.Col = s.position(s.start(statement))
	m.NameLine, m.NameCol = s.position(s.start(at))
	m.Block = s.currentBlock()
	s.imports = append(s.imports, m)
	s.noteAlias(m)
	if m.AsName == "__all__" || m.AsName == "" && m.Name == "__all__" {
		s.touchAll()
	}
}

// endImports states the last line of the statement, which is known only now.
func (s *scanner) endImports(mark int) {
	if mark == len(s.imports) {
		return
	}
	last := s.i
	if s.bad {
		last = s.badAt
	}
	line := s.line(s.end(last - 1))
	for i := mark; i < len(s.imports); i++ {
		s.imports[i].EndLine = line
	}
}
