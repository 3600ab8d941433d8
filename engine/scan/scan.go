// Package scan states what a Python source says about imports: the imports themselves with the blocks they stand in,
// the names a module binds, strings that look like modules or labels, and markers in comments.
//
// It reads a source as CPython would: decode (encoding.go), cut into tokens (lexer.go), recognize the grammar of
// Python 3.8 to 3.14 by recursive descent (parser.go and the files after it), and take down facts on the way. No tree
// is built. A source that no supported Python compiles gets an error, and scanning goes on for what else there is.
package scan

import (
	"bytes"
	"sort"
	"sync"
)

// Options says what the request adds to the language itself.
type Options struct {
	// MarkerWords are the words that make a comment a marker.
	MarkerWords []string
	// Callees are the last names of calls to take down; Holders the names of what holds single names of modules.
	Callees, Holders Words
}

// Result holds the facts of one source; docs/protocol.md, record `source`, says what each of them means.
type Result struct {
	Imports    []Import
	Blocks     []Block
	Names      []string
	All        []string
	HasAll     bool
	AllDynamic bool
	Stars      bool
	Strings    []String
	Dynamic    []Dynamic
	Chains     []Chain
	Markers    []Marker
	Main       bool
	Error      *Error
}

// Import is one name that an import statement brings in.
type Import struct {
	Module            string
	Level             int
	Name, AsName      string
	Line, Col         int
	NameLine, NameCol int
	EndLine           int
	Block             int // index into Result.Blocks, or -1 at module level
}

// Block is a compound statement, or a clause of one, that holds an import.
type Block struct {
	Kind, Head string
	Parent     int
	Line       int
}

// String is what a string constant spells or mentions: a module or a label, or what Flag says.
type String struct {
	Text      string
	Line, Col int
	Flag      string

	held int // the calls and assignments that it was taken down for; 0 if it would have been without them
}

// Dynamic is a call of one of Options.Callees, or a place where one is not called but passed on.
type Dynamic struct {
	Callee string
	Line   int
	Text   string
	How    string // const, prefix, unknown, none or value
}

// Chain is an attribute chain that starts with an imported name.
type Chain struct {
	Text string
	Line int
}

// Marker is a comment that holds a marker word.
type Marker struct {
	Line, Col int
	Text      string
	Alone     bool
}

// Error says why a source must be taken as incomplete. Col counts UTF-8 bytes from 0.
type Error struct {
	Kind, Message string
	Line, Col     int
}

// scanner is everything that the scan of one source needs; it is reused from source to source.
type scanner struct {
	lexer
	parser
	facts
	text []byte // scratch for the values of string constants
}

const maxKept = 2 << 20

var scanners = sync.Pool{New: func() any { return new(scanner) }}

// Scan reads one Python source.
func Scan(src []byte, opts Options) Result {
	s := scanners.Get().(*scanner)
	result := s.scan(src, opts)
	if cap(s.buf) <= maxKept && cap(s.toks) <= maxKept { // a scanner that has grown too large is not kept
		scanners.Put(s)
	}
	return result
}

func (s *scanner) scan(src []byte, opts Options) Result {
	var problem *decodeError
	s.lexer.reset(opts.MarkerWords)
	s.buf, problem = decode(s.buf[:0], src)
	s.n = len(s.buf)
	s.buf = append(s.buf, '\n', 0, 0, 0, 0) // so that looking ahead needs no bounds check of our own
	s.lexer.run(0)
	s.parser.reset()
	s.facts.reset()
	s.opts = opts
	s.file()

	result := s.finish()
	switch {
	case s.tooLong:
		result.Error = &Error{Kind: "too-large", Message: "the source has too many tokens"}
	case problem != nil:
		result.Error = &Error{Kind: "encoding", Message: problem.message, Line: problem.line}
	case s.firstError.message != "":
		line, col := s.position(s.firstError.offset)
		result.Error = &Error{Kind: "syntax", Message: s.firstError.message, Line: line, Col: col}
	}
	return result
}

// syntaxError is an error at an offset of the decoded source; there is none while message is empty.
type syntaxError struct {
	offset  int
	message string
}

// complain keeps the error that comes first in the source: what follows it may only be its consequence.
func (l *lexer) complain(offset int, message string) {
	if l.firstError.message == "" || offset < l.firstError.offset {
		l.firstError = syntaxError{offset, message}
	}
}

// indexLines finds the start of each line; only sources that state a position need it.
func (l *lexer) indexLines() {
	l.lines = append(l.lines, 0)
	for at := 0; ; {
		i := bytes.IndexByte(l.buf[at:l.n+1], '\n')
		if i < 0 {
			return
		}
		at += i + 1
		l.lines = append(l.lines, uint32(at))
		if at > l.n {
			return
		}
	}
}

// position turns an offset into a line (from 1) and a column (from 0, in UTF-8 bytes).
func (l *lexer) position(offset int) (line, col int) {
	if offset < 0 {
		offset = 0
	}
	if len(l.lines) == 0 {
		l.indexLines()
	}
	i := sort.Search(len(l.lines), func(i int) bool { return int(l.lines[i]) > offset })
	return i, offset - int(l.lines[i-1])
}

func (l *lexer) line(offset int) int {
	line, _ := l.position(offset)
	return line
}
