package ratelimit

import (
	"cmp"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Key is whose limits they are.
type Key struct {
	Upstream   string // its name or host
	Credential string // a digest, never the credential
	Model      string // "": the limits are those of all models together
}

// Headroom is what is left of the limits of one key.
type Headroom struct {
	Key
	Limits []Limit // by their names
}

// Crossing is that a share used has reached one of the levels. It is told of once, until the share has been
// clearly below the level again.
type Crossing struct {
	Key
	Level float64 // 0.8 or 0.95
	Limit Limit
}

// The levels of a Crossing, and how far below it a share must fall before the next.
var levels = [...]float64{0.8, 0.95}

const rearm = 0.1

// maxKeys is how many keys a Table keeps.
const maxKeys = 1024

// Table keeps the limits that were stated last, of the latest 1024 keys. The zero Table is ready. It may be used by
// many goroutines at the same time and must not be copied.
type Table struct {
	mu      sync.Mutex
	entries map[Key]*entry
	clock   uint64 // counts answers with limits, to find the oldest entry
}

// entry has the limits of a key.
type entry struct {
	limits [maxLimits]known
	n      int
	latest uint64 // of the answers, on the table's clock
}

// known is a limit, and which levels its share has reached.
type known struct {
	Limit
	level int // so many of levels
}

// Observe notes the limits that an answer states, and returns which are nearly used up since. An answer without
// any costs nothing but a look at the names of its headers.
func (t *Table) Observe(k Key, h http.Header, now time.Time) (crossed []Crossing) {
	found := find(h)
	if found == 0 {
		return nil
	}
	limits := read(make([]Limit, 0, maxLimits), h, found, now)
	if len(limits) == 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clock++
	for _, l := range limits {
		of := k
		if l.Account {
			of.Model = ""
		}
		if level := t.entry(of).set(l); level > 0 {
			crossed = append(crossed, Crossing{of, level, l})
		}
	}
	return crossed
}

// entry returns that of a key, or a new one in the place of the oldest. mu is held.
func (t *Table) entry(k Key) *entry {
	e := t.entries[k]
	if e == nil {
		if t.entries == nil {
			t.entries = map[Key]*entry{}
		}
		if len(t.entries) >= maxKeys {
			t.evict()
		}
		e = &entry{}
		t.entries[k] = e
	}
	e.latest = t.clock
	return e
}

// evict drops the oldest entry. mu is held.
func (t *Table) evict() {
	var oldest Key
	first := true
	for k, e := range t.entries {
		if first || e.latest < t.entries[oldest].latest {
			oldest, first = k, false
		}
	}
	delete(t.entries, oldest)
}

// set keeps a limit in the place of the one of the same name, or of the oldest. It returns the level that its share
// has reached; 0: none, or it had before.
func (e *entry) set(l Limit) (reached float64) {
	k := e.place(l.Name)
	if k.Name != l.Name {
		k.level = 0
	}
	k.Limit = l
	for k.level > 0 && l.Used < levels[k.level-1]-rearm {
		k.level--
	}
	for k.level < len(levels) && l.Used >= levels[k.level] {
		reached = levels[k.level]
		k.level++
	}
	return reached
}

// place returns where the limit of a name is kept.
func (e *entry) place(name string) *known {
	oldest := &e.limits[0]
	for i := range e.limits[:e.n] {
		k := &e.limits[i]
		if k.Name == name {
			return k
		}
		if k.Seen.Before(oldest.Seen) {
			oldest = k
		}
	}
	if e.n == len(e.limits) {
		return oldest
	}
	e.n++
	return &e.limits[e.n-1]
}

// Show returns what is left of the limits at a time, of one upstream, by credential and model. A limit that has
// not been stated for a day longer than its window is left out.
func (t *Table) Show(upstream string, now time.Time) (all []Headroom) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, e := range t.entries {
		if k.Upstream != upstream {
			continue
		}
		h := Headroom{Key: k}
		for _, l := range e.limits[:e.n] {
			if now.Sub(l.Seen) <= l.Window+day {
				h.Limits = append(h.Limits, l.At(now))
			}
		}
		slices.SortFunc(h.Limits, func(a, b Limit) int { return cmp.Compare(a.Name, b.Name) })
		if len(h.Limits) > 0 {
			all = append(all, h)
		}
	}
	slices.SortFunc(all, func(a, b Headroom) int {
		return cmp.Or(cmp.Compare(a.Credential, b.Credential), cmp.Compare(a.Model, b.Model))
	})
	return all
}
