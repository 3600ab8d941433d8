package evaluate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"testing"

	"buildfix/engine/proto"
	"buildfix/engine/walk"
)

// Each file of testdata is a small workspace: `-- path --` begins a file, and `key: value` lines before the first one
// change the request. Comments in the files say what must come out:
//
//	### kind: regexp             an error of that kind at this line; no other errors may occur
//	### kind-file: regexp        the same, without a line
//	# -> how kind {"name": ..}   a call at this line, with exactly these arguments (or just its name)
//	# ?? callee                  an opaque call at this line; no others may occur
func TestWorkspaces(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no testdata: ", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			w := readWorkspace(t, file)
			first := w.evaluate(t, 1)
			w.check(t, first)
			if t.Name() == "TestWorkspaces/memory" {
				return // at which statement the watchdog sees it is a matter of chance
			}
			if again := w.evaluate(t, 3); !bytes.Equal(first, again) {
				t.Error("three workers give other records than one")
			}
		})
	}
}

type workspace struct {
	root    string
	request map[string]any
	files   map[string]string
}

func readWorkspace(t *testing.T, file string) *workspace {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w := &workspace{root: t.TempDir(), files: map[string]string{}}
	w.request = map[string]any{
		"version": proto.Version, "root": w.root, "dialect": "buck", "do": []string{"evaluate"}, "aliases": map[string]string{},
		"cells": []any{map[string]any{"name": "root", "path": "", "build_files": []string{"TARGETS", "BUCK", "BUILD.bazel", "BUILD"}}},
	}
	name := ""
	for _, line := range strings.SplitAfter(string(text), "\n") {
		if head, ok := strings.CutPrefix(line, "-- "); ok {
			name = strings.TrimSuffix(strings.TrimSpace(head), " --")
			w.files[name] = ""
		} else if name != "" {
			w.files[name] += line
		} else if key, value, ok := strings.Cut(line, ": "); ok {
			var decoded any
			if err := json.Unmarshal([]byte(value), &decoded); err != nil {
				t.Fatalf("%s: %s: %v", file, key, err)
			}
			w.request[key] = decoded
		}
	}
	for name, text := range w.files {
		full := filepath.Join(w.root, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(text, "symlink "); ok {
			err = os.Symlink(strings.Fields(target)[0], full)
		} else {
			err = os.WriteFile(full, []byte(text), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *workspace) evaluate(t *testing.T, jobs int) []byte {
	t.Helper()
	text, err := json.Marshal(w.request)
	if err != nil {
		t.Fatal(err)
	}
	req, err := proto.ReadRequest(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := walk.New(req)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := New(req, tree, jobs, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	emit := func(record []byte) error { out.Write(record); return nil }
	if _, err := engine.Run(emit, func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A fact is a call or an error at a line.
type fact struct {
	at   string
	text string
	args any
}

var wantError = regexp.MustCompile(`### ([a-z-]+): ([^#]*[^# ])`)
var wantOpaque = regexp.MustCompile(`# \?\? (.*)`)
var wantCall = regexp.MustCompile(`# -> ([a-z]+) (\S+) (.*?)(?: *###.*)?$`)

func (w *workspace) check(t *testing.T, records []byte) {
	t.Helper()
	var gotErrors, gotCalls []fact
	gotOpaque := map[string]bool{}
	for _, line := range bytes.Split(bytes.TrimSpace(records), []byte("\n")) {
		var record struct {
			T, Mode, Package, Path, Kind, How, Name string
			Complete                                bool
			Args                                    map[string]any
			Stack                                   [][]any
			Opaque                                  [][]any
			Errors                                  []struct {
				Kind, Message, File string
				Line                int
			}
		}
		if err := json.Unmarshal(line, &record); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if record.T == "call" {
			last := record.Stack[len(record.Stack)-1]
			gotCalls = append(gotCalls, fact{
				fmt.Sprintf("%v:%v", last[0], last[1]), record.How + " " + record.Kind, record.Args})
			continue
		}
		for _, o := range record.Opaque {
			gotOpaque[fmt.Sprintf("%v:%v %v", o[3], o[2], o[0])] = true
		}
		if record.T == "file" {
			continue
		}
		complete := true
		for _, e := range record.Errors {
			gotErrors = append(gotErrors, fact{at: fmt.Sprintf("%s:%d", e.File, e.Line), text: e.Kind + ": " + e.Message})
			complete = complete && e.Kind == "call"
		}
		if record.Complete != complete {
			t.Errorf("%s: complete is %v", record.Path, record.Complete)
		}
	}
	names := make([]string, 0, len(w.files))
	for name := range w.files {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		for i, line := range strings.Split(w.files[name], "\n") {
			at := fmt.Sprintf("%s:%d", name, i+1)
			for _, m := range wantError.FindAllStringSubmatch(line, -1) {
				if strings.HasSuffix(m[1], "-file") { // the file as a whole
					at, m[1] = name+":0", strings.TrimSuffix(m[1], "-file")
				}
				gotErrors = checkError(t, gotErrors, at, m[1], m[2])
			}
			if m := wantOpaque.FindStringSubmatch(line); m != nil {
				if want := at + " " + m[1]; !gotOpaque[want] {
					t.Errorf("%s is not opaque", want)
				} else {
					delete(gotOpaque, want)
				}
			}
			if m := wantCall.FindStringSubmatch(line); m != nil {
				gotCalls = checkCall(t, gotCalls, at, m[1]+" "+m[2], m[3])
			}
		}
	}
	for _, f := range gotErrors {
		t.Errorf("unexpected error: %s: %s", f.at, f.text)
	}
	for o := range gotOpaque {
		t.Errorf("unexpected opaque call: %s", o)
	}
}

func checkError(t *testing.T, got []fact, at, kind, pattern string) []fact {
	t.Helper()
	var rest []fact
	found := false
	want := regexp.MustCompile("^" + kind + ": .*" + pattern)
	for _, f := range got {
		if f.at == at && want.MatchString(f.text) {
			found = true // several packages may report a loaded file's error
		} else {
			rest = append(rest, f)
		}
	}
	if !found {
		t.Errorf("%s: no error %s: %s", at, kind, pattern)
	}
	return rest
}

func checkCall(t *testing.T, got []fact, at, text, args string) []fact {
	t.Helper()
	var want any = args
	if strings.HasPrefix(args, "{") {
		if err := json.Unmarshal([]byte(args), &want); err != nil {
			t.Fatalf("%s: %v", at, err)
		}
	}
	var seen []string
	for i, f := range got {
		if f.at != at {
			continue
		}
		if f.text == text && (reflect.DeepEqual(f.args, want) || f.args.(map[string]any)["name"] == want) {
			return append(got[:i:i], got[i+1:]...)
		}
		encoded, _ := json.Marshal(f.args)
		seen = append(seen, f.text+" "+string(encoded))
	}
	t.Errorf("%s: no call %s %s; there are:\n%s", at, text, args, strings.Join(seen, "\n"))
	return got
}
