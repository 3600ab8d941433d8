// Package kept holds records of Python sources from one run to the next: what a scan said of a file is said again while
// the file is the same.
//
// A file is the same if the system says so (size, times of change and inode, none of them so young that the clock could
// not tell another change from it), or, where it does not, if its bytes are. A store that is torn, foreign or made with
// another key is an empty one.
package kept

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"os"
	"path/filepath"
	"sync"
)

// A Stamp is what the system says of a file; Changed is 0 where it does not say when a file last changed in any way.
type Stamp struct {
	Size, Modified, Changed int64
	Inode                   uint64
}

// A Sum is the hash of a file's bytes.
type Sum = [sha256.Size]byte

// An Entry is the record of one source, and what it was made of.
type Entry struct {
	Stamp   Stamp
	Settled bool // whether the stamp alone tells a changed file
	Sum     Sum
	Record  []byte
}

// A Store is the entries of one tree by path. The zero of a *Store keeps nothing.
type Store struct {
	file, key string
	old       map[string]Entry

	mu      sync.Mutex
	fresh   map[string]Entry
	changed bool
}

const magic = "buildfix sources 1\n"

// tick is how old, in nanoseconds, the newest change of a file must be for a later one to have another time; coarse where
// a file system keeps whole seconds.
const tick, coarse = 50_000_000, 2_100_000_000

// Open reads the store in a file; it is empty if there is none that was made with the key.
func Open(file, key string) *Store {
	if file == "" {
		return nil
	}
	s := &Store{file: file, key: key, old: map[string]Entry{}, fresh: map[string]Entry{}}
	if data, err := os.ReadFile(file); err == nil {
		s.old = decode(data, key)
	}
	return s
}

// ByStamp returns the record of a file that the system says is the same, or nil.
func (s *Store) ByStamp(path string, stamp Stamp) []byte {
	if s == nil {
		return nil
	}
	entry, ok := s.old[path]
	if !ok || !entry.Settled || entry.Stamp != stamp {
		return nil
	}
	s.put(path, entry, false)
	return entry.Record
}

// ByContent returns the record of a file with the same bytes, or nil.
func (s *Store) ByContent(path string, stamp Stamp, sum Sum) []byte {
	if s == nil {
		return nil
	}
	entry, ok := s.old[path]
	if !ok || entry.Sum != sum {
		return nil
	}
	entry.Stamp = stamp
	s.put(path, entry, true)
	return entry.Record
}

// Put adds a record that was made anew.
func (s *Store) Put(path string, stamp Stamp, sum Sum, record []byte) {
	if s != nil {
		s.put(path, Entry{Stamp: stamp, Sum: sum, Record: record}, true)
	}
}

func (s *Store) put(path string, entry Entry, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh[path] = entry
	s.changed = s.changed || changed
}

// Save writes the entries of this run, which began at `now`, if they are others than before. What keeps it from doing so
// costs the next run some time, and nothing else.
func (s *Store) Save(now int64) {
	if s == nil || (!s.changed && len(s.fresh) == len(s.old)) {
		return
	}
	_ = os.MkdirAll(filepath.Dir(s.file), 0o755)
	file, err := os.CreateTemp(filepath.Dir(s.file), ".sources-*")
	if err != nil {
		return
	}
	_, err = file.Write(encode(s.fresh, s.key, now))
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(file.Name(), s.file)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
}

func settled(stamp Stamp, now int64) bool {
	newest := max(stamp.Modified, stamp.Changed)
	wait := int64(tick)
	if newest%1_000_000_000 == 0 {
		wait = coarse
	}
	return stamp.Changed != 0 && newest < now-wait
}

func encode(entries map[string]Entry, key string, now int64) []byte {
	size := len(magic) + len(key) + 64
	for path, entry := range entries {
		size += len(path) + len(entry.Record) + 96
	}
	dst := make([]byte, 0, size)
	dst = append(dst, magic...)
	dst = appendText(dst, []byte(key))
	for path, entry := range entries {
		dst = appendText(dst, []byte(path))
		for _, number := range [...]int64{entry.Stamp.Size, entry.Stamp.Modified, entry.Stamp.Changed} {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(number))
		}
		dst = binary.LittleEndian.AppendUint64(dst, entry.Stamp.Inode)
		if settled(entry.Stamp, now) {
			dst = append(dst, 1)
		} else {
			dst = append(dst, 0)
		}
		dst = append(dst, entry.Sum[:]...)
		dst = appendText(dst, entry.Record)
	}
	sum := sha256.Sum256(dst)
	return append(dst, sum[:]...)
}

func appendText(dst, text []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(text)))
	return append(dst, text...)
}

// decode reads what encode wrote; the records are parts of data. Whatever else data is, it holds no entries.
func decode(data []byte, key string) map[string]Entry {
	found := map[string]Entry{}
	body := len(data) - sha256.Size
	if body < 0 || sha256.Sum256(data[:body]) != Sum(data[body:]) || !bytes.HasPrefix(data, []byte(magic)) {
		return found
	}
	r := reader{data: data[len(magic):body]}
	if string(r.text()) != key {
		return found
	}
	for len(r.data) > 0 && !r.failed {
		path := string(r.text())
		entry := Entry{Stamp: Stamp{int64(r.number()), int64(r.number()), int64(r.number()), r.number()}}
		entry.Settled = bytes.Equal(r.next(1), []byte{1})
		copy(entry.Sum[:], r.next(sha256.Size))
		entry.Record = r.text()
		found[path] = entry
	}
	if r.failed {
		return map[string]Entry{}
	}
	return found
}

type reader struct {
	data   []byte
	failed bool
}

func (r *reader) next(n int) []byte {
	if n < 0 || n > len(r.data) {
		r.failed = true
		return nil
	}
	part := r.data[:n:n]
	r.data = r.data[n:]
	return part
}

func (r *reader) number() uint64 {
	if part := r.next(8); part != nil {
		return binary.LittleEndian.Uint64(part)
	}
	return 0
}

func (r *reader) text() []byte {
	n, size := binary.Uvarint(r.data)
	if size <= 0 || n > uint64(len(r.data)) {
		r.failed = true
		return nil
	}
	r.data = r.data[size:]
	return r.next(int(n))
}
