package evaluate

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestParseTree parses every Starlark file below $BUILDFIX_PARSE_TREE, such as a checkout of facebook/buck2.
func TestParseTree(t *testing.T) {
	root := os.Getenv("BUILDFIX_PARSE_TREE")
	if root == "" {
		t.Skip("BUILDFIX_PARSE_TREE is not set")
	}
	count := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !isStarlark(entry.Name()) {
			return err
		}
		count++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if file := parseFile(path, text, true); file.err != nil {
			t.Errorf("%s:%d:%d: %s: %s", path, file.err.Line, file.err.Col, file.err.Kind, file.err.Message)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files", count)
}

func isStarlark(name string) bool {
	switch strings.SplitN(name, ".", 2)[0] {
	case "BUCK", "TARGETS", "BUILD", "PACKAGE":
		return true
	}
	return strings.HasSuffix(name, ".bzl") || strings.HasSuffix(name, ".bxl")
}

// TestPrepareKeepsPositions checks that what prepare writes is as wide as what it replaces.
func TestPrepareKeepsPositions(t *testing.T) {
	for _, test := range []struct{ source, want string }{
		{"def f(a: int, b: list[str] = [1], *c: str) -> None: pass", "def f(a     , b            = [1], *c     )        : pass"},
		{"x: int = 1", "x      = 1"},
		{"x: list[\n  str] = 1", "x       \\\n       = 1"},
		{"def f(a, /, b): pass", "def f(a,    b): pass"},
		{"def f(a = lambda x, y: x, b: int = 1): pass", "def f(a = lambda x, y: x, b      = 1): pass"},
		{"def f(é: \"é\" = 1): pass", "def f(é      = 1): pass"},
		{"f(f\"{x}\", rf'a', fr'b')", "f(b\"{x}\", rb'a', rb'b')"},
		{"t = tuple[str, ...]", "t = tuple[str, \".\"]"},
		{"d = {a: b}; y: int = {1: 2}[1:2]", "d = {a: b}; y      = {1: 2}[1:2]"},
		{"'''x: int = 1'''", "'''x: int = 1'''"},
		{"# x: int\nelse: y", "# x: int\nelse: y"},
		{"\ufeffx = 1", "x = 1"},
	} {
		if got := string(prepare([]byte(test.source)).text); got != test.want {
			t.Errorf("prepare(%q)\n got %q\nwant %q", test.source, got, test.want)
		}
	}
}

// FuzzParse checks that no text crashes the parser, and that prepare moves nothing.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"x: int = f\"{a}{{\"\n", "def f(a: list[\n  str], /, *, b: \"x\" = 1) -> int:\n  return a\n", "\\\n", "load(':a', 'b')",
		"[f(x) for x in y if not x]", "x = '''", "f(**a, *b)", "x[0] *= 2", "a, b = c", "lambda x: (yield)", "...", "f'{a!r}'", "'\\d'",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		file := parseFile("BUCK", source, true)
		if file.err != nil && file.err.Kind == "internal" {
			t.Fatal(file.err.Message)
		}
		if !utf8.Valid(source) {
			return
		}
		got := strings.Split(string(prepare(source).text), "\n")
		want := strings.Split(strings.TrimPrefix(string(source), "\ufeff"), "\n")
		if len(got) != len(want) {
			t.Fatalf("%d lines became %d", len(want), len(got))
		}
		for i := range want {
			extra := utf8.RuneCountInString(got[i]) - utf8.RuneCountInString(want[i])
			if extra != 0 && !(extra == 1 && strings.HasSuffix(got[i], "\\")) {
				t.Fatalf("line %d: %q became %q", i+1, want[i], got[i])
			}
		}
	})
}
