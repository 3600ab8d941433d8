// Package proto is the engine's side of the protocol that docs/protocol.md describes: it decodes and checks the
// request, and appends JSON to byte slices for the records.
package proto

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"unicode/utf8"
)

// Version is the protocol version that this engine speaks.
const Version = 3

// Request is what one run of the engine is asked to do.
type Request struct {
	Version            int               `json:"version"`
	Root               string            `json:"root"`
	Dialect            string            `json:"dialect"`
	Cells              []Cell            `json:"cells"`
	Aliases            map[string]string `json:"aliases"`
	LoadSuffixFallback bool              `json:"load_suffix_fallback"`
	Modes              []Mode            `json:"modes"`
	Symbols            []Symbols         `json:"symbols"`
	Overlay            map[string]string `json:"overlay"`
	Do                 []string          `json:"do"`
	Packages           []string          `json:"packages"`
	Shard              Shard             `json:"shard"`
	Cache              Cache             `json:"cache"`
	Ignore             []string          `json:"ignore"`
	MarkerWords        []string          `json:"marker_words"`
	CalleeWords        []string          `json:"callee_words"`
	HolderWords        []string          `json:"holder_words"`
	Limits             Limits            `json:"limits"`
	Jobs               int               `json:"jobs"`
}

// Cell is a Buck cell or a Bazel repository that lies in the tree.
type Cell struct {
	Name       string   `json:"name"`
	Path       string   `json:"path"`
	BuildFiles []string `json:"build_files"`
	Ignore     []string `json:"ignore"`
}

// Mode is one named way to evaluate the build files.
type Mode struct {
	Name    string            `json:"name"`
	Config  map[string]string `json:"config"`
	Symbols map[string]string `json:"symbols"`
}

// Symbols is Starlark text that defines well-known symbols for loads that cannot be resolved.
type Symbols struct {
	Path    string   `json:"path"`
	Text    string   `json:"text"`
	Modules []string `json:"modules"`
}

// Cache names a file, anywhere, in which records of sources are kept between runs; Key says what else they depend on.
type Cache struct {
	File string `json:"file"`
	Key  string `json:"key"`
}

// Shard is one of several parts of a tree: of its folders every Count-th, beginning with Index. Count 0 is all of it.
type Shard struct {
	Index int `json:"index"`
	Count int `json:"count"`
}

// Has reports whether a folder belongs to the part.
func (s Shard) Has(folder string) bool {
	if s.Count == 0 {
		return true
	}
	hash := fnv.New32a()
	_, _ = io.WriteString(hash, folder)
	return int(hash.Sum32()%uint32(s.Count)) == s.Index
}

// Limits is what one package may cost.
type Limits struct {
	Steps          uint64 `json:"steps"`
	Depth          int    `json:"depth"`
	MemoryMB       int    `json:"memory_mb"`
	PackageSeconds int    `json:"package_seconds"`
	FileBytes      int64  `json:"file_bytes"`
}

// ReadRequest decodes one request and checks it. Its errors are for the person who wrote the caller.
func ReadRequest(r io.Reader) (*Request, error) {
	decoder := json.NewDecoder(r)
	decoder.DisallowUnknownFields()
	req := &Request{}
	if err := decoder.Decode(req); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("request: text after the JSON object")
	}
	if err := req.check(); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	req.fillDefaults()
	return req, nil
}

func (req *Request) check() error {
	if req.Version != Version {
		return fmt.Errorf("version %d is not supported, want %d", req.Version, Version)
	}
	if !filepath.IsAbs(req.Root) {
		return fmt.Errorf("root %q is not an absolute path", req.Root)
	}
	if info, err := os.Stat(req.Root); err != nil {
		return fmt.Errorf("root: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("root %s is not a folder", req.Root)
	}
	if req.Dialect != "buck" && req.Dialect != "bazel" {
		return fmt.Errorf("dialect %q is neither \"buck\" nor \"bazel\"", req.Dialect)
	}
	if len(req.Cells) == 0 {
		return errors.New("cells is empty")
	}
	names := map[string]bool{}
	for _, cell := range req.Cells {
		if names[cell.Name] {
			return fmt.Errorf("cells: %q occurs twice", cell.Name)
		}
		names[cell.Name] = true
		if err := checkPath("cells", cell.Path, true); err != nil {
			return err
		}
		for _, name := range cell.BuildFiles {
			if name == "" || strings.Contains(name, "/") {
				return fmt.Errorf("cells: %q is not a file name", name)
			}
		}
	}
	for alias, target := range req.Aliases {
		if !names[target] {
			return fmt.Errorf("aliases: %q stands for %q, which is no cell", alias, target)
		}
	}
	modes := map[string]bool{}
	for _, mode := range req.Modes {
		if modes[mode.Name] {
			return fmt.Errorf("modes: %q occurs twice", mode.Name)
		}
		modes[mode.Name] = true
	}
	for path := range req.Overlay {
		if err := checkPath("overlay", path, false); err != nil {
			return err
		}
	}
	for _, path := range req.Packages {
		if err := checkPath("packages", path, true); err != nil {
			return err
		}
	}
	if s := req.Shard; s.Count < 0 || s.Index < 0 || (s.Count > 0 && s.Index >= s.Count) || (s.Count == 0 && s.Index > 0) {
		return fmt.Errorf("shard: %d of %d is no part", s.Index, s.Count)
	}
	for _, symbols := range req.Symbols {
		if symbols.Path == "" {
			return errors.New("symbols: a text has no path")
		}
	}
	for _, word := range req.Do {
		if word != "evaluate" && word != "scan" && word != "fingerprint" {
			return fmt.Errorf("do: %q is neither \"evaluate\", \"scan\" nor \"fingerprint\"", word)
		}
	}
	if l := req.Limits; l.Depth < 0 || l.MemoryMB < 0 || l.PackageSeconds < 0 || l.FileBytes < 0 || req.Jobs < 0 {
		return errors.New("limits and jobs must not be negative")
	}
	return nil
}

func checkPath(field, path string, mayBeRoot bool) error {
	if path == "" && mayBeRoot {
		return nil
	}
	if !utf8.ValidString(path) || filepath.ToSlash(filepath.Clean(path)) != path || path == "." ||
		path == ".." || strings.HasPrefix(path, "/") || strings.HasPrefix(path, "../") {
		return fmt.Errorf("%s: %q is not a plain path below the root", field, path)
	}
	return nil
}

func (req *Request) fillDefaults() {
	if len(req.Modes) == 0 {
		req.Modes = []Mode{{}}
	}
	sort.Slice(req.Modes, func(i, j int) bool { return req.Modes[i].Name < req.Modes[j].Name })
	defaults := Limits{Steps: 50_000_000, Depth: 1000, MemoryMB: 256, PackageSeconds: 20, FileBytes: 16 << 20}
	l := &req.Limits
	if l.Steps == 0 {
		l.Steps = defaults.Steps
	}
	if l.Depth == 0 {
		l.Depth = defaults.Depth
	}
	if l.MemoryMB == 0 {
		l.MemoryMB = defaults.MemoryMB
	}
	if l.PackageSeconds == 0 {
		l.PackageSeconds = defaults.PackageSeconds
	}
	if l.FileBytes == 0 {
		l.FileBytes = defaults.FileBytes
	}
}

// Wants reports whether the request asks for the given piece of work ("evaluate", "scan" or "fingerprint").
func (req *Request) Wants(what string) bool {
	for _, word := range req.Do {
		if word == what {
			return true
		}
	}
	return false
}
