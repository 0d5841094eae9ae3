// Package collector keeps the garbage collector from taking a large share of a busy program's time.
//
// A collection costs about as much as what is live, and by default the next one begins when as much has been
// allocated again. What a request allocates so costs the same over and over, however small the program is. While
// collections are frequent, this package has the next one begin only when the heap has a certain size. A program at
// rest, and one with more live than that, are collected as Go does by default.
package collector

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	usual = 100       // per cent of what is live: Go's own
	roomy = 32 << 20  // to which the heap may grow while collections are frequent
	wide  = 64 << 20  // and to which while much is allocated: else there are ten in a second
	much  = 128 << 20 // in a second
	step  = 20        // per cent points that are worth a change
)

// When collections are frequent: so many in a row are so close to each other. A program that starts has fewer. Then
// they become rarer, and are frequent up to a longer time: requests come in bursts.
const (
	frequent = time.Second
	inARow   = 4
	still    = 10 * time.Second
)

// Collector sets when collections begin, until Stop.
type Collector struct {
	mu      sync.Mutex
	stopped bool
	percent int
	last    time.Time // of a collection
	total   uint64    // bytes allocated up to it
	rush    time.Time // much was allocated up to then
	row     int       // frequent ones up to it
}

// Start begins to set when collections begin; nil: the user has set it in GOGC. There must be one Collector at most.
func Start() *Collector {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	c := &Collector{percent: usual, last: time.Now()}
	c.watch()
	return c
}

// sentinel is an object that each collection finds unused.
type sentinel struct{ _ *sentinel }

// watch calls collected after the next collection.
func (c *Collector) watch() {
	runtime.AddCleanup(new(sentinel), (*Collector).collected, c)
}

// collected notes a collection.
func (c *Collector) collected() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return
	}
	now, s := time.Now(), scanned()
	since := now.Sub(c.last)
	c.row = rowAfter(c.row, since)
	if rushed(s.total-c.total, since) {
		c.rush = now
	}
	c.set(percentFor(s, c.row, roomFor(now.Sub(c.rush))))
	c.last, c.total = now, s.total
	c.watch()
}

// set sets the percentage, where it differs enough to be worth stopping the program for a moment.
func (c *Collector) set(percent int) {
	if d := percent - c.percent; d == 0 || percent != usual && -step < d && d < step {
		return
	}
	c.percent = percent
	debug.SetGCPercent(percent)
}

// Stop sets Go's own percentage again.
func (c *Collector) Stop() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.set(usual)
}

// sizes are of what a collection has to look at, and keeps, and of all that was ever allocated.
type sizes struct{ live, stacks, globals, total uint64 }

// scanned returns the sizes of the latest collection.
func scanned() sizes {
	all := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(all)
	return sizes{all[0].Value.Uint64(), all[1].Value.Uint64(), all[2].Value.Uint64(), all[3].Value.Uint64()}
}

// rowAfter returns how many collections in a row have been frequent with one that comes some time after the last.
func rowAfter(row int, since time.Duration) int {
	if since < frequent || row >= inARow && since < still {
		return row + 1
	}
	return 0
}

// rushed reports whether so much, allocated between two collections, is much.
func rushed(allocated uint64, since time.Duration) bool {
	return float64(allocated) >= much*since.Seconds()
}

// roomFor returns to what the heap may grow so long after much was allocated.
func roomFor(since time.Duration) uint64 {
	if since < still {
		return wide
	}
	return roomy
}

// percentFor returns by how much of what it has to look at the heap may grow until the next collection.
func percentFor(s sizes, row int, room uint64) int {
	if row < inARow || s.live >= room/2 {
		return usual
	}
	return max(usual, int(100*(room-s.live)/(s.live+s.stacks+s.globals+1)))
}
