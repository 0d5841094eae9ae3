package lab

import (
	"time"

	"github.com/ridethrough/ridethrough/internal/clock"
)

// event is a function to call at a simulated time.
type event struct {
	f     func()
	sim   *simulation
	index int // in the queue; -1: not scheduled
}

// AfterFunc calls f after d.
func (s *simulation) AfterFunc(d time.Duration, f func()) clock.Timer {
	e := &event{f: f, sim: s, index: -1}
	e.Reset(d)
	return e
}

// Stop cancels the event. It reports whether the event was scheduled.
func (e *event) Stop() bool {
	if e.index < 0 {
		return false
	}
	e.sim.events.remove(e.index)
	return true
}

// Reset schedules the event d from now, also if it has happened before. It
// reports whether the event was scheduled.
func (e *event) Reset(d time.Duration) bool {
	was := e.Stop()
	s := e.sim
	s.seq++
	s.events.push(slot{s.elapsed + min(max(d, 0), clock.Forever-s.elapsed), s.seq, e})
	return was
}

// slot is an event in the queue. Events of the same time keep the order in which they were scheduled.
type slot struct {
	at  time.Duration // since the simulation's start
	seq uint64
	*event
}

func (s slot) before(o slot) bool { return s.at < o.at || s.at == o.at && s.seq < o.seq }

// arity is the number of children of a slot. Four slots fit into one or two cache
// lines, which matters for tens of millions of events.
const arity = 4

// queue is a heap of the scheduled events, the next one first.
type queue []slot

func (q *queue) push(s slot) {
	*q = append(*q, s)
	q.up(len(*q)-1, s)
}

// pop removes the next event.
func (q *queue) pop() slot {
	first := (*q)[0]
	q.remove(0)
	return first
}

func (q *queue) remove(i int) {
	last := len(*q) - 1
	(*q)[i].index = -1
	moved := (*q)[last]
	(*q)[last] = slot{}
	*q = (*q)[:last]
	if i == last {
		return
	}
	if q.down(i, moved) == i {
		q.up(i, moved)
	}
}

// put stores a slot at an index.
func (q queue) put(i int, s slot) {
	q[i] = s
	s.index = i
}

// up moves a slot from i towards the root.
func (q queue) up(i int, s slot) {
	for i > 0 {
		parent := (i - 1) / arity
		if !s.before(q[parent]) {
			break
		}
		q.put(i, q[parent])
		i = parent
	}
	q.put(i, s)
}

// down moves a slot from i towards the leaves and returns its new index.
func (q queue) down(i int, s slot) int {
	for {
		first := arity*i + 1
		if first >= len(q) {
			break
		}
		least := first
		for k := first + 1; k < min(first+arity, len(q)); k++ {
			if q[k].before(q[least]) {
				least = k
			}
		}
		if !q[least].before(s) {
			break
		}
		q.put(i, q[least])
		i = least
	}
	q.put(i, s)
	return i
}
