package walk

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"buildfix/engine/proto"
)

func TestPatternMatch(t *testing.T) {
	hidden, buck := Options{Hidden: true, Braces: true}, Options{FoldCase: true}
	for _, test := range []struct {
		glob, path string
		opts       Options
		want       bool
	}{
		{"*.py", "a.py", hidden, true},
		{"*.py", "d/a.py", hidden, false},
		{"*.py", ".a.py", hidden, true},
		{"*.py", ".a.py", Options{}, false},
		{".*.py", ".a.py", Options{}, true},
		{"**/*.py", "a.py", hidden, true},
		{"**/*.py", "d/e/a.py", hidden, true},
		{"**", "d/e/a.py", hidden, true},
		{"**/*.py", ".d/a.py", Options{}, false},
		{"d/**", "d/e/f", hidden, true},
		{"d/**", "e/d/f", hidden, false},
		{"d/**/f", "d/f", hidden, true},
		{"a?c", "abc", hidden, true},
		{"a?c", "aéc", hidden, true},
		{"[a-c]x", "bx", hidden, true},
		{"[!a-c]x", "bx", hidden, false},
		{"[", "[", hidden, true},
		{"{a,b}.py", "b.py", hidden, true},
		{"{a,b}.py", "{a,b}.py", Options{}, true},
		{"*.PY", "a.py", buck, true},
		{"A.py", "a.py", buck, false},
		{"[a]", "[a]", buck, true},
		{"*a*a*a*a*a*a*a*b", strings.Repeat("a", 200), hidden, false},
		{strings.Repeat("**/", 50) + "x", strings.Repeat("a/", 50) + "y", hidden, false},
	} {
		patterns, err := Compile(test.glob, test.opts)
		if err != nil {
			t.Fatal(err)
		}
		if got := matchAny(patterns, strings.Split(test.path, "/")); got != test.want {
			t.Errorf("%q matches %q: %v", test.glob, test.path, got)
		}
	}
}

func TestIgnore(t *testing.T) {
	for _, test := range []struct {
		pattern, path string
		anchorPlain   bool
		want          bool
	}{
		{".git", "a/.git", false, true},
		{".git", "a/.git", true, false},
		{".git", ".git", true, true},
		{"bazel-*", "a/bazel-out", true, true},
		{"/out", "out", false, true},
		{"/out", "a/out", false, false},
		{"a/b", "a/b", false, true},
		{"a/b", "c/a/b", false, false},
		{"**/.git", "a/b/.git", true, true},
		{"third-party/", "third-party", true, true},
		{"", "a", false, false},
	} {
		var ig ignores
		if err := ig.add(test.pattern, test.anchorPlain); err != nil {
			t.Fatal(err)
		}
		if got := ig.match(strings.Split(test.path, "/")); got != test.want {
			t.Errorf("%q ignores %q: %v", test.pattern, test.path, got)
		}
	}
}

func TestTree(t *testing.T) {
	outside := t.TempDir()
	root := t.TempDir()
	write(t, outside, "secret.py", "")
	for _, file := range []string{
		"BUCK", "a.py", "lib/b.py", "lib/deep/c.pyi", "pkg/TARGETS", "pkg/BUCK", "pkg/d.py", "skip/e.py", "cell/BUILD",
		"cell/vendor/f.py", "cell/x/vendor/g.py",
	} {
		write(t, root, file, "text")
	}
	for link, target := range map[string]string{
		"link.py": "a.py", "out.py": outside + "/secret.py", "dangling.py": "nothing", "loop": ".", "escape": outside,
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := New(&proto.Request{
		Root:   root,
		Ignore: []string{"skip"},
		Cells: []proto.Cell{
			{Name: "root", BuildFiles: []string{"TARGETS", "BUCK"}},
			{Name: "cell", Path: "cell", BuildFiles: []string{"BUILD"}, Ignore: []string{"vendor"}},
		},
		Overlay: map[string]string{"new/BUCK": "overlaid", "a.py": "overlaid"},
		Limits:  proto.Limits{FileBytes: 100},
	})
	if err != nil {
		t.Fatal(err)
	}
	var packages []string
	for _, dir := range tree.Packages() {
		packages = append(packages, dir.Cell.Name+" "+dir.Path+" "+dir.BuildFile)
	}
	equal(t, packages, []string{"root  BUCK", "cell cell BUILD", "root new BUCK", "root pkg TARGETS"})
	equal(t, tree.Sources(proto.Shard{}), []string{"a.py", "cell/x/vendor/g.py", "lib/b.py", "lib/deep/c.pyi", "link.py", "pkg/d.py"})
	var problems []string
	for _, p := range tree.Problems {
		problems = append(problems, p.Path+" "+p.Kind)
	}
	equal(t, problems, []string{"dangling.py symlink", "escape symlink", "loop symlink", "out.py symlink"})
	files, err := tree.Glob("", []string{"**"}, []string{"*.py"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, files, []string{"BUCK", "lib/b.py", "lib/deep/c.pyi"})
	if text, err := tree.Read("a.py"); string(text) != "overlaid" {
		t.Error(string(text), err)
	}
	for _, file := range []string{"out.py", "escape/secret.py", "../x", "nothing"} {
		if _, err := tree.Read(file); err == nil || tree.Exists(file) {
			t.Errorf("%s can be read", file)
		}
	}
	if !tree.Exists("skip/e.py") || tree.Exists("lib") {
		t.Error("Exists is wrong about what the walk did not list")
	}
}

func write(t *testing.T, root, file, text string) {
	t.Helper()
	full := filepath.Join(root, file)
	if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, got, want []string) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}
