package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"buildfix/engine/kept"
	"buildfix/engine/proto"
	"buildfix/engine/scan"
	"buildfix/engine/walk"
)

// sources scans the Python files in the background and hands out their records in order.
type sources struct {
	start   time.Time
	records []chan []byte
	store   *kept.Store

	mu   sync.Mutex
	room *sync.Cond // signalled when held shrinks
	next int        // the first file that nobody has begun
	held int        // bytes of records that wait to be written
}

// maxHeld is how many bytes of records may wait to be written before no further file is begun.
const maxHeld = 64 << 20

// startScan starts to scan, if the request asks for it.
func startScan(req *proto.Request, tree *walk.Tree, jobs int) *sources {
	if !req.Wants("scan") {
		return nil
	}
	paths := tree.Sources(req.Shard)
	s := &sources{start: time.Now(), records: make([]chan []byte, len(paths))}
	s.room = sync.NewCond(&s.mu)
	for i := range s.records {
		s.records[i] = make(chan []byte, 1)
	}
	names := tree.Names()
	keep := func(name string) bool { return names[name] }
	opts := scan.Options{
		MarkerWords: req.MarkerWords, Callees: scan.NewWords(req.CalleeWords), Holders: scan.NewWords(req.HolderWords),
	}
	s.store = kept.Open(req.Cache.File, cacheKey(req, names))
	report := progress("scan")
	for range jobs {
		go func() {
			for {
				i := s.take()
				if i < 0 {
					return
				}
				record := s.scanFile(tree, paths[i], opts, keep)
				s.hold(len(record))
				s.records[i] <- record
				report(i+1, len(paths))
			}
		}()
	}
	return s
}

// take returns the next file to scan, or -1. What was begun before will end, so the record that emit waits for comes.
func (s *sources) take() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.held > maxHeld {
		s.room.Wait()
	}
	if s.next == len(s.records) {
		return -1
	}
	s.next++
	return s.next - 1
}

func (s *sources) hold(bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held += bytes
	s.room.Broadcast()
}

// scanFile makes the record of one source, or takes the one that was kept.
func (s *sources) scanFile(tree *walk.Tree, path string, opts scan.Options, keep func(string) bool) (record []byte) {
	defer func() {
		if x := recover(); x != nil {
			record = failedSource(path, "internal", fmt.Sprint("panic: ", x))
		}
	}()
	stamp, stamped := tree.Stamp(path)
	if stamped {
		if record := s.store.ByStamp(path, stamp); record != nil {
			return record
		}
	}
	text, err := tree.Read(path)
	if errors.Is(err, walk.ErrTooLarge) {
		return failedSource(path, "too-large", err.Error())
	}
	if err != nil {
		return failedSource(path, "read", err.Error())
	}
	var sum kept.Sum
	if s.store != nil {
		sum = sha256.Sum256(text)
		if record := s.store.ByContent(path, stamp, sum); record != nil {
			return record
		}
	}
	result := scan.Scan(text, opts)
	record = append(result.AppendJSON(nil, path, keep), '\n')
	s.store.Put(path, stamp, sum, record)
	return record
}

// cacheKey is all that a record depends on besides the source's path and bytes: what the request adds to the language, and
// which names the tree has, for a source's record tells only of those.
func cacheKey(req *proto.Request, names map[string]bool) string {
	hash := sha256.New()
	sorted := slices.Sorted(maps.Keys(names))
	for _, words := range [][]string{{req.Cache.Key}, req.MarkerWords, req.CalleeWords, req.HolderWords, sorted} {
		fmt.Fprintf(hash, "%d\n", len(words))
		for _, word := range words {
			fmt.Fprintf(hash, "%q\n", word)
		}
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// failedSource is the record of a source of which nothing could be read.
func failedSource(path, kind, message string) []byte {
	dst := append([]byte(nil), `{"t":"source"`...)
	dst = proto.AppendField(dst, "path", path)
	dst = append(dst, `,"imports":[],"blocks":[],"names":[],"stars":false,"strings":[],"dynamic":[],"chains":[],`...)
	dst = append(dst, `"markers":[],"main":false,"error":{"kind":`...)
	dst = proto.AppendString(dst, kind)
	dst = proto.AppendField(dst, "message", message)
	return append(dst, "}}\n"...)
}

// emit writes the records in the order of their paths.
func (s *sources) emit(w *writer) error {
	if s == nil {
		return nil
	}
	for _, waiting := range s.records {
		record := <-waiting
		err := w.write(record)
		s.hold(-len(record))
		if err != nil {
			return err
		}
	}
	w.stat("scan", s.start, len(s.records))
	s.store.Save(s.start.UnixNano())
	return nil
}
