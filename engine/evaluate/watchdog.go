package evaluate

import (
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// A watchdog cancels what runs when the heap has grown by more than one package may use.
type watchdog struct {
	limit   uint64
	mu      sync.Mutex
	held    int        // bytes of records that wait to be written
	room    *sync.Cond // signalled when held shrinks
	running map[*run]bool
	base    uint64
	alone   bool // only one package is evaluated, and base is what was used before it
	stop    chan struct{}
}

func newWatchdog(limitMB int) *watchdog {
	w := &watchdog{limit: uint64(limitMB) << 20, running: map[*run]bool{}, stop: make(chan struct{})}
	w.room = sync.NewCond(&w.mu)
	w.rebase()
	return w
}

// maxHeld is how many bytes of records may wait to be written before no further package is begun.
const maxHeld = 64 << 20

// hold notes that records of that many bytes wait to be written, or were.
func (w *watchdog) hold(bytes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held += bytes
	w.room.Broadcast()
}

func (w *watchdog) waitForRoom() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.held > maxHeld {
		w.room.Wait()
	}
}

// begin says that one package will be evaluated alone; it frees what it can and takes the rest for used before.
func (w *watchdog) begin() {
	runtime.GC()
	w.rebase()
	w.setAlone(true)
}

func (w *watchdog) setAlone(alone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.alone = alone
}

// rebase takes the present heap as what is used before any package.
func (w *watchdog) rebase() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.base = heap()
	debug.SetMemoryLimit(int64(w.base + w.limit)) // collect more often, the nearer to what is watched for
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc + stats.StackInuse
}

func (w *watchdog) watch() {
	ticker := time.NewTicker(10 * time.Millisecond)
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
		for r := range w.running {
			if !w.alone { // others, or files that were loaded before, may be what takes the memory
				r.shared.Store(true)
			}
			r.exceed("memory")
		}
		w.mu.Unlock()
	}
}

func (w *watchdog) over() bool {
	used := heap()
	w.mu.Lock()
	defer w.mu.Unlock()
	return used > w.base+w.limit+uint64(w.held)
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
