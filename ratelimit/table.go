package ratelimit

import (
	"cmp"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/clock"
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

// Crossing is that a share used has reached one of the levels. It is reported once, until the share has been
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

// Table keeps the limits that were stated last, of the latest 1024 keys, and holds requests back that would exceed
// them. The zero Table is ready. It may be used by many goroutines at the same time and must not be copied.
type Table struct {
	Clock clock.Clock // by which requests wait; nil: the machine's

	mu      sync.Mutex
	links   map[string]*link // by upstream
	entries map[Key]*entry
	answers uint64 // with limits, to find the oldest entry
}

// entry has the limits of a key.
type entry struct {
	queue
	common
	limits    [maxLimits]known
	known     int
	latest    uint64    // of the answers, of those with limits
	uncounted amount    // let go while nothing was known
	went      minute    // requests that were let go
	refused   bool      // a limit is learned from refusals, since no answer states any
	refusal   refusal   // the latest
	paces     bool      // one of the limits holds requests back
	countsMax bool      // the longest answer that a request asks for counts, not the one that it gets
	cheap     int       // answers in a row that were charged less than half of what was expected
	gone      time.Time // when a request went last, or began to wait while none did
	read      time.Time // when an answer was read last
	timer     clock.Timer
	perByte   float64 // tokens of a request
	output    float64 // tokens of an answer
}

// known is a limit, which levels its share has reached, and what is left of it.
type known struct {
	Limit
	level int // so many of levels
	bucket
	own credit // of what is left, where others have a part
}

// Observe notes the limits that the answer to a call states, and returns which are nearly used up since. An answer
// without any costs nothing but a look at the names of its headers.
func (t *Table) Observe(c *Call, status int, h http.Header) (crossed []Crossing) {
	if c.entry != nil && status < http.StatusBadRequest && t.isCalm(c, t.now()) {
		return nil
	}
	found := find(h)
	if found == 0 {
		t.answered(c, status)
		return nil
	}
	return t.note(c, status, h, found)
}

// note is Observe for an answer that states limits.
func (t *Table) note(c *Call, status int, h http.Header, found int) (crossed []Crossing) {
	now := t.now()
	limits := read(make([]Limit, 0, maxLimits), h, found, now)
	if len(limits) == 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answers++
	for _, l := range limits {
		of := c.Key
		if l.Account {
			of.Model = ""
		}
		e := t.entry(of)
		place := e.place(l.Name)
		k := &e.limits[place]
		if c.entry == e && l.Unit == Tokens && status < http.StatusBadRequest {
			e.compare(c, k, &l, place, now)
		}
		k.pace(c, c.entry == e, e.uncounted, status, &l, place, now)
		if level := k.set(l); level > 0 {
			crossed = append(crossed, Crossing{of, level, l})
		}
	}
	if c.entry != nil {
		c.entry.land(c)
	}
	if status == http.StatusTooManyRequests && c.roomy {
		c.entry.cheap = 0
	}
	if e := t.entries[c.Key]; e != nil {
		e.read = now
		e.review()
		t.dispatch(e, now)
	}
	return crossed
}

// calmTime is how long what was stated last is good enough while much is left of each limit: reading all that an
// answer states takes a hundredth of what else a request costs.
const calmTime = 50 * time.Millisecond

// isCalm reports whether what the answer to a call states need not be read.
func (t *Table) isCalm(c *Call, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := c.entry
	if now.Sub(e.read) >= calmTime {
		return false
	}
	for i := range e.limits[:e.known] {
		if k := &e.limits[i]; k.Used > 0.5 || k.rate > 0 && k.leftAt(now) < k.limit/2 {
			return false
		}
	}
	e.land(c)
	return true
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
		e = &entry{common: common{key: k}, perByte: tokensPerByte, output: firstOutput}
		t.entries[k] = e
	}
	e.latest = t.answers
	return e
}

// evict drops the oldest entry. mu is held.
func (t *Table) evict() {
	var oldest Key
	first := true
	for k, e := range t.entries {
		if e.n == 0 && (first || e.latest < t.entries[oldest].latest) {
			oldest, first = k, false
		}
	}
	if !first {
		delete(t.entries, oldest)
	}
}

// set replaces the limit, and returns the level that its share has reached; 0: none, or it had before.
func (k *known) set(l Limit) (reached float64) {
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

// place returns the place of the limit of a name. A new one has that of the oldest where there are too many.
func (e *entry) place(name string) (oldest int) {
	for i := range e.limits[:e.known] {
		if e.limits[i].Name == name {
			return i
		}
		if e.limits[i].Seen.Before(e.limits[oldest].Seen) {
			oldest = i
		}
	}
	if e.known < len(e.limits) {
		oldest = e.known
		e.known++
	}
	e.limits[oldest] = known{}
	return oldest
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
		for _, l := range e.limits[:e.known] {
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
