package evaluate

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"buildfix/engine/proto"
	"buildfix/engine/walk"
)

// FuzzEvaluate checks that no build file crashes the engine or makes it write something other than records, and that
// the same file gives the same records again.
func FuzzEvaluate(f *testing.F) {
	for _, seed := range evaluationSeeds(f) {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, source string, buck bool) {
		first, limited := evaluateOne(t, root, source, buck)
		if limited { // where a limit strikes may be a matter of chance
			return
		}
		if again, limited := evaluateOne(t, root, source, buck); !limited && !bytes.Equal(first, again) {
			t.Fatalf("first\n%s\nthen\n%s", first, again)
		}
	})
}

// evaluationSeeds are the build files of the test workspaces.
func evaluationSeeds(f *testing.F) []string {
	f.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatal("no testdata: ", err)
	}
	var seeds []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if name := filepath.Base(file); name == "hostile.txt" || name == "memory.txt" { // slow on purpose
			continue
		}
		for _, part := range strings.Split(string(text), "\n-- ")[1:] {
			_, body, _ := strings.Cut(part, "\n")
			seeds = append(seeds, body)
		}
	}
	return seeds
}

func evaluateOne(t *testing.T, root, source string, buck bool) (records []byte, limited bool) {
	t.Helper()
	dialect := "bazel"
	if buck {
		dialect = "buck"
	}
	request, _ := json.Marshal(map[string]any{
		"version": proto.Version, "root": root, "dialect": dialect, "do": []string{"evaluate"}, "load_suffix_fallback": true,
		"cells":   []any{map[string]any{"name": "root", "path": "", "build_files": []string{"BUCK"}}},
		"overlay": map[string]string{"BUCK": source, "defs.bzl": source, "data.toml": source, "data.json": source, "PACKAGE": source},
		"limits":  map[string]any{"steps": 100_000, "depth": 100, "memory_mb": 64, "package_seconds": 5},
	})
	req, err := proto.ReadRequest(bytes.NewReader(request))
	if err != nil {
		t.Skip() // not UTF-8
	}
	tree, err := walk.New(req)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := New(req, tree, 2, func(string, ...any) {})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := engine.Run(func(record []byte) error { out.Write(record); return nil }, func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	for _, line := range bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n")) {
		var record struct {
			Errors []struct{ Kind, Message string }
		}
		if err := json.Unmarshal(line, &record); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		for _, e := range record.Errors {
			switch e.Kind {
			case "internal":
				t.Fatal(e.Message)
			case "memory", "time", "steps":
				limited = true
			}
			limited = limited || strings.Contains(e.Message, "more than")
		}
	}
	return out.Bytes(), limited
}
