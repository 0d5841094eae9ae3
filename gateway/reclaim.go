package gateway

import (
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// reclaimer gives memory back to the system when many requests have begun to wait,
// or to wait again. What that took is garbage by then, as much again as what
// they keep, and nothing collects it: a process that waits allocates nothing.
type memoryReclaimer struct {
	mu    sync.Mutex
	since int       // waits that have begun since the last one
	last  time.Time // when that was
	timer *time.Timer
}

// How many waits make one worth its while, how long they are given to begin,
// and how often it comes at the most: for half a gigabyte it takes a fifth of a
// second of one processor.
const (
	reclaimFrom  = 200
	reclaimAfter = 2 * time.Second
	reclaimEvery = 10 * time.Second
)

// waitStarted is told of each wait that begins.
func (m *memoryReclaimer) waitStarted() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.since++; m.since >= reclaimFrom && m.timer == nil {
		m.timer = time.AfterFunc(max(reclaimAfter, reclaimEvery-time.Since(m.last)), m.reclaim)
	}
}

// reclaim gives back what is garbage by now.
func (m *memoryReclaimer) reclaim() {
	m.mu.Lock()
	m.since, m.last, m.timer = 0, time.Now(), nil
	m.mu.Unlock()
	runtime.GC() // what pools hold goes with the second collection
	debug.FreeOSMemory()
}
