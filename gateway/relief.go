package gateway

import (
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

// How many requests make one worth its while, and when it comes: most clients
// that are hit by an outage are hit within seconds.
const (
	reliefFrom  = 200
	reliefAfter = 5 * time.Second
)

// count is told of each request that begins to wait.
func (r *relief) count() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since++; r.since < reliefFrom || r.timer != nil {
		return
	}
	r.timer = time.AfterFunc(reliefAfter, func() {
		r.mu.Lock()
		r.since, r.timer = 0, nil
		r.mu.Unlock()
		debug.FreeOSMemory()
	})
}
