package walk

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
)

// A digest is what a folder's entries are now: a hash of their names and of what the system says of each file, and when
// the newest of them changed.
type digest struct {
	entries []entry
	newest  int64
}

// An entry is a name with what the system says of it. The first `shape` bytes, if there are any, are part of the tree's
// outline, and the same wherever the tree is copied to.
type entry struct {
	record []byte
	shape  int
}

// add takes down one entry. A file that is changed, or replaced by another, is another entry: its size, its times or its
// inode differ, whatever was done to make it look the same.
func (d *digest) add(folder string, found fs.DirEntry, info fs.FileInfo, buildFiles []string) {
	record := append([]byte(found.Name()), 0, byte(found.Type()>>24))
	if info != nil && found.Type().IsRegular() {
		record = binary.LittleEndian.AppendUint64(record, uint64(info.Size()))
	}
	full := filepath.Join(folder, found.Name())
	if found.Type()&fs.ModeSymlink != 0 {
		target, _ := os.Readlink(full)
		record = append(record, target...)
	}
	shape := 0
	if outlines(found.Name(), buildFiles) {
		shape = len(record)
	}
	if info != nil && !found.IsDir() {
		record = d.stat(record, info)
	}
	if found.Type()&fs.ModeSymlink != 0 {
		if info, err := os.Stat(full); err == nil {
			record = d.stat(append(record, 0), info)
		}
	}
	d.entries = append(d.entries, entry{record, shape})
}

func (d *digest) stat(record []byte, info fs.FileInfo) []byte {
	inode, changed := identity(info)
	modified := info.ModTime().UnixNano()
	for _, number := range [...]int64{info.Size(), int64(info.Mode()), modified, changed, int64(inode)} {
		record = binary.LittleEndian.AppendUint64(record, uint64(number))
	}
	d.newest = max(d.newest, modified, changed)
	return record
}

// outlines reports whether a file is one that is evaluated or scanned.
func outlines(name string, buildFiles []string) bool {
	switch filepath.Ext(name) {
	case ".py", ".pyi", ".bzl", ".scl":
		return true
	}
	return name == "PACKAGE" || name == "BUCK_TREE" || slices.Contains(buildFiles, name)
}

// Fingerprint returns a text that changes with any file or folder of the tree; one that changes with the names and sizes
// of Python and build files only, and is the same for a copy of it; and the time, in nanoseconds since 1970, at which the newest file changed.
func (t *Tree) Fingerprint() (value, shape string, newest int64) {
	all, outline := sha256.New(), sha256.New()
	for _, path := range t.paths {
		d := &t.dirs[path].digest
		sort.Slice(d.entries, func(i, j int) bool { return string(d.entries[i].record) < string(d.entries[j].record) })
		feed(all, []byte(path))
		feed(outline, []byte(path))
		for _, one := range d.entries {
			feed(all, one.record)
			if one.shape > 0 {
				feed(outline, one.record[:one.shape])
			}
		}
		newest = max(newest, d.newest)
	}
	return hex.EncodeToString(all.Sum(nil)), hex.EncodeToString(outline.Sum(nil)), newest
}

// feed adds a text with its length, so that no two sequences of texts look the same.
func feed(hash interface{ Write([]byte) (int, error) }, text []byte) {
	_, _ = hash.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(text))))
	_, _ = hash.Write(text)
}
