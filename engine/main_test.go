package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"buildfix/engine/kept"
	"buildfix/engine/proto"
	"buildfix/engine/walk"
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

func TestRecordsAreTakenFromTheCache(t *testing.T) {
	root, file := t.TempDir(), filepath.Join(t.TempDir(), "sources")
	source := filepath.Join(root, "a.py")
	if err := os.WriteFile(source, []byte("import kit\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // a stamp is relied on only when it is old enough
	request, _ := json.Marshal(map[string]any{
		"version": proto.Version, "root": root, "dialect": "buck", "do": []string{"scan", "fingerprint"},
		"cells": []map[string]any{{"name": "root", "path": "", "build_files": []string{"BUCK"}}},
		"cache": map[string]string{"file": file, "key": "k"},
	})
	said := func() string {
		var out bytes.Buffer
		if err := run(bytes.NewReader(request), &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if !strings.Contains(said(), `"kit"`) {
		t.Fatal("the source was not scanned")
	}
	req, err := proto.ReadRequest(bytes.NewReader(request))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := walk.New(req)
	if err != nil {
		t.Fatal(err)
	}
	stamp, ok := tree.Stamp("a.py")
	if !ok {
		t.Fatal("the walk took down no stamp")
	}
	planted := kept.Open(file, cacheKey(req, tree.Names()))
	if planted.ByStamp("a.py", stamp) == nil {
		t.Fatal("no record was kept, or under another key")
	}
	planted.Put("a.py", stamp, sha256.Sum256([]byte("import kit\n")), []byte(`{"t":"source","path":"planted"}`+"\n"))
	planted.Save(time.Now().UnixNano())
	if !strings.Contains(said(), "planted") {
		t.Error("a source that has not changed was scanned again")
	}
	if err := os.Chtimes(source, time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said(), "planted") {
		t.Error("a source that was only touched was scanned again")
	}
	if err := os.WriteFile(source, []byte("import bit\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := said(); strings.Contains(out, "planted") || !strings.Contains(out, `"bit"`) {
		t.Error("a source that has changed was not scanned again")
	}
}
