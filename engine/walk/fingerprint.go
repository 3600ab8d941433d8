package walk

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
)

// A digest is what a folder's entries are now: a hash of their names and of what the system says of each file, and when
// the newest of them changed.
type digest struct {
	entries [][]byte
	newest  int64
}

// add takes down one entry. A file that is changed, or replaced by another, is another entry: its size, its times or its
// inode differ, whatever was done to make it look the same.
func (d *digest) add(folder string, entry fs.DirEntry) {
	record := append([]byte(entry.Name()), 0, byte(entry.Type()>>24))
	if !entry.IsDir() {
		if info, err := entry.Info(); err == nil {
			record = d.stat(record, info)
		}
		if entry.Type()&fs.ModeSymlink != 0 {
			full := filepath.Join(folder, entry.Name())
			target, _ := os.Readlink(full)
			record = append(record, target...)
			if info, err := os.Stat(full); err == nil {
				record = d.stat(append(record, 0), info)
			}
		}
	}
	d.entries = append(d.entries, record)
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

// Fingerprint returns a text that changes with any file or folder of the tree, and the time, in nanoseconds since 1970,
// at which the newest of these changed.
func (t *Tree) Fingerprint() (value string, newest int64) {
	hash := sha256.New()
	for _, path := range t.paths {
		d := &t.dirs[path].digest
		sort.Slice(d.entries, func(i, j int) bool { return string(d.entries[i]) < string(d.entries[j]) })
		feed(hash, []byte(path))
		for _, entry := range d.entries {
			feed(hash, entry)
		}
		newest = max(newest, d.newest)
	}
	return hex.EncodeToString(hash.Sum(nil)), newest
}

// feed adds a text with its length, so that no two sequences of texts look the same.
func feed(hash interface{ Write([]byte) (int, error) }, text []byte) {
	_, _ = hash.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(text))))
	_, _ = hash.Write(text)
}
