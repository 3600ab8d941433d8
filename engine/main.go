// Command buildfix-engine states facts about a repository: which calls its build files make, and what its Python
// sources import. It reads one JSON request on stdin and writes JSON Lines on stdout, as docs/protocol.md describes.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"buildfix/engine/evaluate"
	"buildfix/engine/proto"
	"buildfix/engine/walk"
)

func main() {
	debug.SetGCPercent(400)
	debug.SetMaxStack(4 << 30) // deep values of hostile files are walked recursively
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "buildfix-engine:", err)
		os.Exit(2)
	}
}

func run(in io.Reader, out io.Writer) error {
	req, err := proto.ReadRequest(in)
	if err != nil {
		return err
	}
	jobs := req.Jobs
	if jobs == 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	w := &writer{out: bufio.NewWriterSize(out, 1<<16)}

	start := time.Now()
	tree, err := walk.New(req)
	if err != nil {
		return err
	}
	for _, p := range tree.Problems {
		w.write(proto.Walk(p.Path, p.Kind, p.Message))
	}
	w.stat("walk", start, tree.Count())
	if req.Wants("fingerprint") {
		value, shape, newest := tree.Fingerprint()
		w.write(proto.Fingerprint(value, shape, newest, start.UnixNano()))
	}

	sources := startScan(req, tree, jobs)
	if req.Wants("evaluate") {
		start := time.Now()
		engine, err := evaluate.New(req, tree, jobs, logLine)
		if err != nil {
			return err
		}
		w.stat("parse", start, engine.Files())
		start = time.Now()
		count, err := engine.Run(w.write, progress("evaluate"))
		if err != nil {
			return err
		}
		w.stat("evaluate", start, count)
	}
	if err := sources.emit(w); err != nil {
		return err
	}
	w.write(proto.Done(peakMB()))
	return w.out.Flush()
}

// A writer writes records and keeps the first error.
type writer struct {
	out *bufio.Writer
	err error
}

func (w *writer) write(record []byte) error {
	if w.err == nil {
		_, w.err = w.out.Write(record)
	}
	return w.err
}

func (w *writer) stat(name string, start time.Time, count int) {
	_ = w.write(proto.Stat(name, time.Since(start).Milliseconds(), count))
}

var stderr sync.Mutex

func logLine(format string, args ...any) {
	stderr.Lock()
	defer stderr.Unlock()
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

// progress returns a function that tells stderr how far a stage is, at most every 100 ms.
func progress(stage string) func(done, total int) {
	var mu sync.Mutex
	last := time.Now()
	return func(done, total int) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(last) >= 100*time.Millisecond {
			last = time.Now()
			logLine("progress %s %d %d", stage, done, total)
		}
	}
}

// peakMB is the most memory that the process has had, where the system says so.
func peakMB() int64 {
	status, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(status), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			if kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64); err == nil {
				return (kb + 1023) / 1024
			}
		}
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.Sys >> 20)
}
