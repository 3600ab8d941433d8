package evaluate

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
