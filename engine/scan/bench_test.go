package scan

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkScan scans the Python sources below the folder that BUILDFIX_BENCH_SOURCES names, on one core.
func BenchmarkScan(b *testing.B) {
	root := os.Getenv("BUILDFIX_BENCH_SOURCES")
	if root == "" {
		b.Skip("BUILDFIX_BENCH_SOURCES names no folder of Python sources")
	}
	var sources [][]byte
	size := int64(0)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".py") {
			return err
		}
		src, err := os.ReadFile(path)
		sources = append(sources, src)
		size += int64(len(src))
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	var line []byte
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for _, src := range sources {
			result := Scan(src, Options{MarkerWords: []string{"@manual", "@noautodeps"}})
			line = result.AppendJSON(line[:0], "a.py", nil)
		}
	}
}
