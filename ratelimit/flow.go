package ratelimit

import (
	"iter"
	"slices"
	"time"
)

// flow is what requests of one session or agent have in common: their order, and what the latest has cost.
type flow struct {
	name     string
	calls    []*Call // that wait, first in first out
	fresh    bool    // they go before those of busy flows
	inFlight int
	idle     time.Time // since when none is in flight; zero: there has been none

	bytes float64 // of the latest request whose usage is known
	usage Charged
}

// The rules of the order.
const (
	freshAfter = 3 * time.Second // a session that has paused for so long is a person's: its next request goes first
	freshRun   = 4               // so many of those go before one of the others
	maxPassed  = 8               // so many small requests go before a large one that there is no room for
	scanned    = 32              // of so many flows, one whose request fits is looked for
	maxFlows   = 1024
)

// queue is the order of the requests that wait: of each flow one in turn.
type queue struct {
	fresh, busy []*flow // with calls that wait
	n           int     // calls that wait
	run         int     // of fresh flows, since one of the others has gone
	flows       map[string]*flow
}

// flow returns the flow of a name.
func (q *queue) flow(name string) *flow {
	f := q.flows[name]
	if f == nil {
		if q.flows == nil {
			q.flows = map[string]*flow{}
		}
		if len(q.flows) >= maxFlows {
			q.evict()
		}
		f = &flow{name: name}
		q.flows[name] = f
	}
	return f
}

// evict forgets the flow that has been idle for longest, if there is one.
func (q *queue) evict() {
	var oldest *flow
	for _, f := range q.flows {
		if f.inFlight == 0 && len(f.calls) == 0 && (oldest == nil || f.idle.Before(oldest.idle)) {
			oldest = f
		}
	}
	if oldest != nil {
		delete(q.flows, oldest.name)
	}
}

// push puts a call at the end of its flow.
func (q *queue) push(c *Call, now time.Time) {
	f := c.flow
	if len(f.calls) == 0 {
		if f.fresh = f.isFresh(c, now); f.fresh {
			q.fresh = append(q.fresh, f)
		} else {
			q.busy = append(q.busy, f)
		}
	}
	f.calls = append(f.calls, c)
	q.n++
}

// isFresh reports whether the flow is a person's: it has paused, and is not an agent's.
func (f *flow) isFresh(c *Call, now time.Time) bool {
	return !c.agent && f.inFlight == 0 && (f.idle.IsZero() || now.Sub(f.idle) >= freshAfter)
}

// order ranges over the flows in the order of their turns.
func (q *queue) order() iter.Seq[*flow] {
	first, second := q.fresh, q.busy
	if q.run >= freshRun {
		first, second = q.busy, q.fresh
	}
	return func(yield func(*flow) bool) {
		for _, flows := range [...][]*flow{first, second} {
			for _, f := range flows {
				if !yield(f) {
					return
				}
			}
		}
	}
}

// remove takes a call out. The next of its flow has its turn behind those of the other busy flows, and continues
// there as if it had paused if none of it has gone.
func (q *queue) remove(c *Call, goes bool) {
	f := c.flow
	at := slices.Index(f.calls, c)
	if at < 0 {
		return
	}
	f.calls = slices.Delete(f.calls, at, at+1)
	q.n--
	if goes {
		if f.fresh {
			q.run++
		} else {
			q.run = 0
		}
	}
	if !goes && len(f.calls) > 0 {
		return
	}
	of := &q.busy
	if f.fresh {
		of = &q.fresh
	}
	*of = slices.DeleteFunc(*of, func(x *flow) bool { return x == f })
	if f.fresh = false; len(f.calls) > 0 {
		q.busy = append(q.busy, f)
	}
}

// counted is how many calls are counted that go before another. Each of very many would have to count all others.
const counted = 1000

// ahead calls f with the calls that go before another, if each costs the same.
func (q *queue) ahead(c *Call, f func(*Call)) {
	position, behind, left := slices.Index(c.flow.calls, c), false, counted
	for other := range q.order() {
		turns := position + 1
		if behind || other == c.flow {
			turns = position
		}
		behind = behind || other == c.flow
		turns = min(turns, len(other.calls), left)
		for _, before := range other.calls[:turns] {
			f(before)
		}
		if left -= turns; left == 0 {
			return
		}
	}
}
