package lab

import (
	"time"

	"github.com/ridethrough/ridethrough/internal/clock"
)

// event is something that happens at a moment.
type event struct {
	f     func()
	world *simulation
	place int // in the queue; -1: it is not set
}

// AfterFunc has something happen after a time.
func (w *simulation) AfterFunc(d time.Duration, f func()) clock.Timer {
	e := &event{f: f, world: w, place: -1}
	e.Reset(d)
	return e
}

// Stop takes the event back.
func (e *event) Stop() bool {
	if e.place < 0 {
		return false
	}
	e.world.events.remove(e.place)
	return true
}

// Reset has the event happen at another moment, also once it has happened.
func (e *event) Reset(d time.Duration) bool {
	was := e.Stop()
	w := e.world
	w.seq++
	w.events.add(slot{w.at + min(max(d, 0), clock.Forever-w.at), w.seq, e})
	return was
}

// slot is an event in the queue. Of two at the same moment the one that was set
// first comes first.
type slot struct {
	at  time.Duration // since the beginning of the world
	seq uint64
	*event
}

func (s slot) before(o slot) bool { return s.at < o.at || s.at == o.at && s.seq < o.seq }

// arity is how many slots stand below each in the heap: four of them are in
// one or two lines of the processor's cache, and there are tens of millions of
// events.
const arity = 4

// queue holds what is to happen, as a heap with the next event first.
type queue []slot

func (q *queue) add(s slot) {
	*q = append(*q, s)
	q.up(len(*q)-1, s)
}

// next takes the next event out.
func (q *queue) next() slot {
	first := (*q)[0]
	q.remove(0)
	return first
}

func (q *queue) remove(i int) {
	last := len(*q) - 1
	(*q)[i].place = -1
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

// put stands a slot in a place.
func (q queue) put(i int, s slot) {
	q[i] = s
	s.place = i
}

// up finds the place of a slot from i towards the first.
func (q queue) up(i int, s slot) {
	for i > 0 {
		above := (i - 1) / arity
		if !s.before(q[above]) {
			break
		}
		q.put(i, q[above])
		i = above
	}
	q.put(i, s)
}

// down finds the place of a slot from i towards the last, and gives it.
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
