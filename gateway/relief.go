package gateway

import (
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// relief gives memory back to the system when many requests have begun to wait.
// What they needed to come in is garbage by then, as much again as what they
// keep, and nothing collects it: a process that waits allocates nothing.
type relief struct {
	mu    sync.Mutex
	since int // requests that have begun to wait since the last one
	timer *time.Timer
}

// How many requests make one worth its while, and how long they are given to
// settle. While more come, it comes again.
const (
	reliefFrom  = 200
	reliefAfter = 2 * time.Second
)

// count is told of each request that begins to wait.
func (r *relief) count() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since++; r.since >= reliefFrom && r.timer == nil {
		r.timer = time.AfterFunc(reliefAfter, r.come)
	}
}

// come gives back what is garbage by now, and comes again if more have begun
// to wait meanwhile.
func (r *relief) come() {
	if r.again() {
		runtime.GC() // what pools hold goes with the second collection
		debug.FreeOSMemory()
	}
}

// again tells whether there is anything to give back, and sets the timer anew.
func (r *relief) again() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since == 0 {
		r.timer = nil
		return false
	}
	r.since = 0
	r.timer.Reset(reliefAfter)
	return true
}
