package main

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"buildfix/engine/proto"
	"buildfix/engine/scan"
	"buildfix/engine/walk"
)

// sources scans the Python files in the background and hands out their records in order.
type sources struct {
	start   time.Time
	records []chan []byte
}

// startScan starts to scan, if the request asks for it.
func startScan(req *proto.Request, tree *walk.Tree, jobs int) *sources {
	if !req.Wants("scan") {
		return nil
	}
	paths := tree.Sources()
	s := &sources{start: time.Now(), records: make([]chan []byte, len(paths))}
	for i := range s.records {
		s.records[i] = make(chan []byte, 1)
	}
	names := tree.Names()
	keep := func(name string) bool { return names[name] }
	opts := scan.Options{MarkerWords: req.MarkerWords}
	report := progress("scan")
	var mu sync.Mutex
	next := 0
	for range jobs {
		go func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= len(paths) {
					return
				}
				s.records[i] <- scanFile(tree, paths[i], opts, keep)
				report(i+1, len(paths))
			}
		}()
	}
	return s
}

// scanFile makes the record of one source.
func scanFile(tree *walk.Tree, path string, opts scan.Options, keep func(string) bool) (record []byte) {
	defer func() {
		if x := recover(); x != nil {
			record = failedSource(path, "internal", fmt.Sprint("panic: ", x))
		}
	}()
	text, err := tree.Read(path)
	if errors.Is(err, walk.ErrTooLarge) {
		return failedSource(path, "too-large", err.Error())
	}
	if err != nil {
		return failedSource(path, "read", err.Error())
	}
	result := scan.Scan(text, opts)
	return append(result.AppendJSON(nil, path, keep), '\n')
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
	for _, record := range s.records {
		if err := w.write(<-record); err != nil {
			return err
		}
	}
	w.stat("scan", s.start, len(s.records))
	return nil
}
