package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"buildfix/engine/proto"
)

// TestStream runs a whole request and checks which records come out, in which order.
func TestStream(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"b/BUCK": "lib(name = \"old\")\n", "a/BUCK": "", "a/m.py": "import os\n", "z.py": "", "a/big.py": strings.Repeat("#", 2000),
	} {
		full := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("nowhere", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	request, _ := json.Marshal(map[string]any{
		"version": proto.Version, "root": root, "dialect": "buck", "do": []string{"evaluate", "scan"},
		"cells":    []any{map[string]any{"name": "root", "path": "", "build_files": []string{"BUCK"}}},
		"overlay":  map[string]string{"b/BUCK": "lib(name = \"new\")\n", "c/BUCK": ""},
		"packages": []string{"b", "c", "missing"},
		"limits":   map[string]any{"file_bytes": 1000},
		"modes":    []any{map[string]any{"name": "two"}, map[string]any{"name": "one"}},
	})
	var out bytes.Buffer
	if err := run(bytes.NewReader(request), &out); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		var record struct {
			T, Mode, Path, Package, Name string
			Error                        struct{ Kind string }
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		fields := []string{record.T, record.Mode, record.Package, record.Path, record.Name, record.Error.Kind}
		got = append(got, strings.Join(strings.Fields(strings.Join(fields, " ")), " "))
	}
	want := []string{
		"walk link", "stat walk", "stat parse",
		"package one b", "call one b new", "package one c", "package one missing",
		"package two b", "call two b new", "package two c", "package two missing",
		"stat evaluate",
		"source a/big.py too-large", "source a/m.py", "source z.py", "stat scan", "done",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s", strings.Join(got, "\n"))
	}
}

func TestBadRequest(t *testing.T) {
	for _, request := range []string{"", "[]", `{"version":2}`, `{"version":3,"root":"/nonexistent"}`} {
		if err := run(strings.NewReader(request), &bytes.Buffer{}); err == nil {
			t.Errorf("%q is accepted", request)
		}
	}
}
