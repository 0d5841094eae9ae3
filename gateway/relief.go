package gateway

import (
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// relief gives memory back to the system when many requests have begun to wait,
// or to wait again. What that took is garbage by then, as much again as what
// they keep, and nothing collects it: a process that waits allocates nothing.
type relief struct {
	mu    sync.Mutex
	since int       // waits that have begun since the last one
	last  time.Time // when that was
	timer *time.Timer
}

// How many waits make one worth its while, how long they are given to begin,
// and how often it comes at the most: for half a gigabyte it takes a fifth of a
// second of one processor.
const (
	reliefFrom  = 200
	reliefAfter = 2 * time.Second
	reliefEvery = 10 * time.Second
)

// count is told of each wait that begins.
func (r *relief) count() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since++; r.since >= reliefFrom && r.timer == nil {
		r.timer = time.AfterFunc(max(reliefAfter, reliefEvery-time.Since(r.last)), r.come)
	}
}

// come gives back what is garbage by now.
func (r *relief) come() {
	r.mu.Lock()
	r.since, r.last, r.timer = 0, time.Now(), nil
	r.mu.Unlock()
	runtime.GC() // what pools hold goes with the second collection
	debug.FreeOSMemory()
}
