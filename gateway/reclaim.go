package gateway

import (
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// memoryReclaimer returns memory to the system when many requests have begun to
// wait. That leaves as much garbage as they keep, and nothing would collect it: a
// process that waits allocates nothing.
type memoryReclaimer struct {
	mu    sync.Mutex
	since int       // waits that have begun since the last collection
	last  time.Time // when that was
	timer *time.Timer
}

// After how many waits a collection is worth its cost, how long these have to
// begin, and the least time between two: for half a gigabyte one takes a fifth of
// a second of one processor.
const (
	reclaimFrom  = 200
	reclaimAfter = 2 * time.Second
	reclaimEvery = 10 * time.Second
)

// waitStarted counts a wait.
func (m *memoryReclaimer) waitStarted() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.since++; m.since >= reclaimFrom && m.timer == nil {
		m.timer = time.AfterFunc(max(reclaimAfter, reclaimEvery-time.Since(m.last)), m.reclaim)
	}
}

// reclaim collects the garbage.
func (m *memoryReclaimer) reclaim() {
	m.mu.Lock()
	m.since, m.last, m.timer = 0, time.Now(), nil
	m.mu.Unlock()
	runtime.GC() // the pools are emptied by the second collection
	debug.FreeOSMemory()
}
