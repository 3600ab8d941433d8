package scan

import (
	"bytes"
	"regexp"
	"strings"
)

// What a String is, besides the constant that spells a module or a label.
const (
	flagPrefix = "f" // the beginning of one
	flagWord   = "w" // a single name, where the request asks for these
	flagPath   = "p" // the path of a Python file
	flagCode   = "c" // what code in the constant imports
)

// Words is a set of names.
type Words map[string]bool

// NewWords makes a set of the names in a list.
func NewWords(list []string) Words {
	words := make(Words, len(list))
	for _, word := range list {
		words[word] = true
	}
	return words
}

// isCallee tells whether the name at i is a word for calls, or what an import calls one of these.
func (s *scanner) isCallee(i int) bool {
	return s.toks[i].kind == tName && (s.opts.Callees[string(s.bytes(i))] || s.aliases[string(s.bytes(i))])
}

func (s *scanner) isHolder(i int) bool {
	return s.toks[i].kind == tName && s.opts.Holders[string(s.bytes(i))]
}

// holds tells whether e is a name, or the attribute of one, that holds modules.
func (s *scanner) holds(e expr) bool {
	return (e.kind == xName || e.kind == xAttr) && s.isHolder(int(e.b))
}

// noteAlias takes down that an import gives another name to one of the words for calls.
func (s *scanner) noteAlias(m Import) {
	if m.AsName != "" && s.opts.Callees[m.Name] {
		if s.aliases == nil {
			s.aliases = Words{}
		}
		s.aliases[m.AsName] = true
	}
}

// noteValue takes down that e, which starts at token first, is a word for calls and is not called here.
func (s *scanner) noteValue(first int, e expr) {
	if e.kind != xName && e.kind != xAttr || s.valueAt == int(e.b) || !s.isCallee(int(e.b)) {
		return
	}
	s.addDynamic(first, int(e.b))
	s.dynamic[len(s.dynamic)-1].How = "value"
	s.valueAt = int(e.b)
}

// takeBack forgets the value that was taken down last if it is e, in brackets, and e goes on.
func (s *scanner) takeBack(e expr) {
	if (e.kind == xName || e.kind == xAttr) && s.valueAt == int(e.b) {
		s.dynamic = s.dynamic[:len(s.dynamic)-1]
		s.valueAt = noValue
	}
}

const noValue = -1

// maxCallee is the number of tokens up to which a callee is given as written; of a longer one, only the last name is.
const maxCallee = 64

func (s *scanner) addDynamic(first, last int) {
	line := s.line(s.start(first))
	if s.i-first > maxCallee {
		first = last // a chain of calls, each of which would repeat all those before it
	}
	s.dynamic = append(s.dynamic, Dynamic{Callee: s.folded(first, s.i), Line: line})
}

// noteText takes down what a constant that spells neither a module nor a label mentions.
func (s *scanner) noteText(e expr, text []byte) {
	switch {
	case isPath(text):
		s.addString(e, text, flagPath)
	case s.holding > 0 && name(text) == len(text) && len(text) > 0:
		s.addHeld(e, text, flagWord)
	case s.holding > 0 && len(entryPoint(text)) > 0:
		s.addHeld(e, entryPoint(text), "")
	default:
		s.noteCode(e, text)
	}
}

func (s *scanner) addHeld(e expr, text []byte, flag string) {
	s.addString(e, text, flag)
	s.strings[len(s.strings)-1].held = s.holding
}

// isPath tells whether text is the path of a Python file.
func isPath(text []byte) bool {
	return (bytes.HasSuffix(text, []byte(".py")) || bytes.HasSuffix(text, []byte(".pyi"))) &&
		!bytes.ContainsAny(text, " \t\n\r\\\"'<>*?{}:")
}

// entryPoint is the `module:attribute` of text that is `name = module:attribute`.
func entryPoint(text []byte) []byte {
	_, value, found := bytes.Cut(text, []byte("="))
	value = bytes.Trim(value, " \t")
	n := name(value)
	if !found || n == 0 || n == len(value) || !isDotted(value) && (value[n] != ':' || name(value[n+1:]) == 0) {
		return nil
	}
	return value
}

// maxModule is how long a module may be whose name is repeated for each thing that code in a text takes from it.
const maxModule = 200

const (
	oneName = `[A-Za-z_][A-Za-z_0-9]*`
	dotted  = oneName + `(?:\.` + oneName + `)*`
	oneItem = dotted + `(?:[ \t]+as[ \t]+` + oneName + `)?`
	items   = oneItem + `(?:[ \t\n]*,[ \t\n]*` + oneItem + `)*`
)

var importInText = regexp.MustCompile(
	`(?m)(?:^|;)[ \t]*(?:from[ \t]+(` + dotted + `)[ \t]+import[ \t]*(?:\([ \t\n]*)?(\*|` + items + `)|import[ \t]+(` + items + `))`)

// noteCode takes down what import statements in a text import, each at the start of a line or behind a semicolon.
func (s *scanner) noteCode(e expr, text []byte) {
	if !bytes.Contains(text, []byte("import ")) && !bytes.Contains(text, []byte("import(")) {
		return
	}
	for _, m := range importInText.FindAllSubmatchIndex(text, -1) {
		rest := bytes.TrimLeft(text[m[1]:], " \t")
		if len(rest) > 0 && !bytes.ContainsRune([]byte("\n\r;#),\\"), rune(rest[0])) || m[3]-m[2] > maxModule {
			continue // prose
		}
		module, list := "", ""
		if m[2] >= 0 {
			module, list = string(text[m[2]:m[3]]), string(text[m[4]:m[5]])
		} else {
			list = string(text[m[6]:m[7]])
		}
		for _, item := range strings.Split(list, ",") {
			item = strings.Fields(item)[0]
			switch {
			case module == "":
			case item == "*":
				item = module
			default:
				item = module + "." + item
			}
			s.addString(e, []byte(item), flagCode)
		}
	}
}
