package evaluate

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

var fileOptions = &syntax.FileOptions{
	Set: true, TopLevelControl: true, GlobalReassign: true, LoadBindsGlobally: true, Recursion: true,
}

// A sourceFile is one build file or .bzl file, parsed and compiled once for all modes.
type sourceFile struct {
	path    string
	isBuild bool // a build file or PACKAGE file, not a loaded one
	prelude bool // part of the prelude
	program *starlark.Program
	sites   []site
	loads   []loadStmt
	targets []loadTarget // of the loads, filled in by the linker
	data    []byte       // of a JSON or TOML file; program is then nil
	natives []string     // names that neither the file nor the engine defines
	err     *Error       // instead of the above
	cycle   int          // files of one load cycle share a number; 0 outside cycles
}

// maxItems bounds the tokens of a file, each of which takes some 200 bytes once parsed, and a call, or a field of an
// f-string, callItems times as many.
const (
	maxItems  = 1 << 20
	callItems = 8
)

// parseFile prepares, parses, rewrites and compiles the text of a file.
func parseFile(path string, text []byte, isBuild bool) (file *sourceFile) {
	file = &sourceFile{path: path, isBuild: isBuild}
	defer func() {
		switch x := recover().(type) {
		case nil:
		case rewriteError:
			file.fail("syntax", x.msg, x.pos)
		default:
			file.fail("internal", fmt.Sprint("panic while parsing: ", x), syntax.Position{})
		}
	}()
	if at := invalidUTF8(text); at >= 0 {
		line, col := lineCol(text, at)
		file.err = &Error{Kind: "encoding", Message: "the file is not UTF-8", File: path, Line: line, Col: col}
		return file
	}
	if isData(path) && !isBuild {
		file.data = text
		return file
	}
	if at := bytes.IndexByte(text, 0); at >= 0 { // starlark-go would take it for the end of the file
		line, col := lineCol(text, at)
		file.err = &Error{Kind: "syntax", Message: "the file holds a NUL byte", File: path, Line: line, Col: col}
		return file
	}
	prepared := prepare(text)
	if prepared.items > maxItems {
		file.err = &Error{Kind: "memory", Message: "the file is too long to be parsed", File: path}
		return file
	}
	tree, err := fileOptions.Parse(path, prepared.text, 0)
	if err != nil {
		file.failWith(err)
		return file
	}
	r := &rewriter{file: file, isBuild: isBuild, prepared: prepared}
	r.stmts(tree.Stmts)
	file.sites, file.loads = r.sites, r.loads
	seen := map[string]bool{}
	program, err := starlark.FileProgram(tree, func(name string) bool {
		if builtins[name] != nil || name[0] == 0 {
			return true
		}
		if starlark.Universe.Has(name) {
			return false
		}
		if !seen[name] {
			seen[name] = true
			file.natives = append(file.natives, name)
		}
		return true
	})
	if err != nil {
		file.failWith(err)
		return file
	}
	file.program = program
	return file
}

func (f *sourceFile) fail(kind, message string, pos syntax.Position) {
	f.err = &Error{Kind: kind, Message: message, File: f.path, Line: int(pos.Line), Col: int(pos.Col)}
}

func (f *sourceFile) failWith(err error) {
	var syntaxErr syntax.Error
	var resolveErrs resolve.ErrorList
	switch {
	case errors.As(err, &syntaxErr):
		f.fail("syntax", syntaxErr.Msg, syntaxErr.Pos)
	case errors.As(err, &resolveErrs) && len(resolveErrs) > 0:
		f.fail("syntax", resolveErrs[0].Msg, resolveErrs[0].Pos)
	default:
		f.fail("syntax", err.Error(), syntax.Position{})
	}
}

func invalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

func lineCol(text []byte, at int) (line, col int) {
	line, col = 1, 1
	for _, r := range string(text[:at]) {
		if r == '\n' {
			line, col = line+1, 1
		} else {
			col++
		}
	}
	return line, col
}
