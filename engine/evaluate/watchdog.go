package evaluate

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// A watchdog cancels what runs when the heap has grown by more than one package may use.
type watchdog struct {
	limit   uint64
	held    atomic.Int64 // bytes of records that wait to be written
	mu      sync.Mutex
	running map[*run]bool
	base    uint64
	stop    chan struct{}
}

func newWatchdog(limitMB int) *watchdog {
	w := &watchdog{limit: uint64(limitMB) << 20, running: map[*run]bool{}, stop: make(chan struct{})}
	w.rebase()
	return w
}

// rebase takes the present heap as what is used before any package.
func (w *watchdog) rebase() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.base = heap()
	debug.SetMemoryLimit(int64(w.base + w.limit + w.limit/4)) // above what is watched for, lest collecting takes all the time
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc + stats.StackInuse
}

func (w *watchdog) watch() {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-ticker.C:
		}
		if !w.over() {
			continue
		}
		runtime.GC()
		if !w.over() {
			continue
		}
		w.mu.Lock()
		workers := map[*abandon]bool{}
		for r := range w.running {
			workers[r.gone] = true
		}
		for r := range w.running {
			if len(workers) > 1 {
				r.shared.Store(true)
			}
			r.exceed("memory")
		}
		w.mu.Unlock()
	}
}

func (w *watchdog) over() bool {
	return heap() > w.base+w.limit+uint64(max(w.held.Load(), 0))
}

func (w *watchdog) add(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[r] = true
}

func (w *watchdog) remove(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.running, r)
}

// forget drops the runs of a goroutine that was given up. What memory it holds is taken for used before.
func (w *watchdog) forget(gone *abandon) {
	w.mu.Lock()
	for r := range w.running {
		if r.gone == gone {
			delete(w.running, r)
		}
	}
	w.mu.Unlock()
	w.rebase()
}
