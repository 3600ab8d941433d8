package walk

import (
	"path"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzPattern checks that no glob of a build file crashes the engine, that a pattern without `**` matches what path.Match
// of Go's library says, and that `**` stands for any number of folders.
func FuzzPattern(f *testing.F) {
	for _, seed := range [][2]string{
		{"*.py", "a.py"}, {"**/*.py", "d/e/a.py"}, {"d/**/f", "d/f"}, {"a?c", "aéc"}, {"[a-c]x", "bx"}, {"[^a-c]x", "bx"},
		{"{a,b}.py", "b.py"}, {"[", "["}, {"a\\*", "a*"}, {"**", "a/b"}, {"a/./b//c", "a/b/c"}, {"*a*a*a*b", "aaaaaaaa"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, glob, name string) {
		elements := strings.Split(name, "/")
		if path.Clean(name) != name || name == "." || name == ".." || strings.HasPrefix(name, "/") || !utf8.ValidString(name) || len(glob) > 200 {
			t.Skip() // no name that the walk would list
		}
		for _, opts := range []Options{{}, {Hidden: true}, {FoldCase: true}, {Hidden: true, Braces: true}} {
			if patterns, err := Compile(glob, opts); err == nil {
				matchAny(patterns, elements)
			}
		}
		got := matches(t, glob, elements)
		if want, known := likeLibrary(glob, name); known && got != want {
			t.Fatalf("%q matches %q: %v, and path.Match says %v", glob, name, got, want)
		}
		if got && !matches(t, "**/"+glob, append([]string{"d", "e"}, elements...)) {
			t.Fatalf("%q matches %q, but not below d/e with **/ before it", glob, name)
		}
	})
}

func matches(t *testing.T, glob string, elements []string) bool {
	t.Helper()
	patterns, err := Compile(glob, Options{Hidden: true})
	if err != nil {
		t.Fatal(err)
	}
	return matchAny(patterns, elements)
}

// likeLibrary is what path.Match says, where a pattern means the same there.
func likeLibrary(glob, name string) (matched, known bool) {
	if path.Clean(glob) != glob || strings.HasPrefix(glob, "/") || strings.Contains(glob, "**") ||
		strings.ContainsAny(glob, "[]\\") || !utf8.ValidString(glob) {
		return false, false
	}
	matched, err := path.Match(glob, name)
	return matched, err == nil
}
