// Package watchdog notices loops of a server that have frozen: they began a step and do not end it, because a lock
// is never released or a call never returns. A loop that waits for its next step is not frozen.
//
// It counts its own ticks, not time. A machine that stalls, a process that is stopped and a clock that jumps hold
// the ticks up as well, so none of them looks like a frozen loop.
package watchdog

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Interval is the time between two ticks of a [Watchdog].
const Interval = 5 * time.Second

// limit is how many ticks a step may see. Every step that is watched takes milliseconds.
const limit = 6

// Watchdog watches loops. The zero value watches none. Its methods may be called concurrently.
type Watchdog struct {
	mu    sync.Mutex
	loops []*Loop
}

// Loop is a loop that is watched. Begin and End may be called on nil, which does nothing.
type Loop struct {
	name  string
	probe func()       // what the watchdog does as the loop's step; nil: the loop runs by itself
	moves atomic.Int64 // begins and ends of steps: odd within one
	seen  int64        // moves at the last tick
	ticks int          // that the step in progress has seen
}

// Loop adds a loop, whose name completes "… has not moved". Its steps are not concurrent.
func (w *Watchdog) Loop(name string) *Loop { return w.add(&Loop{name: name}) }

// Probe adds a function that is called at every tick, such as one that takes a lock and releases it. The watchdog
// never waits for it.
func (w *Watchdog) Probe(name string, f func()) { w.add(&Loop{name: name, probe: f}) }

func (w *Watchdog) add(l *Loop) *Loop {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loops = append(w.loops, l)
	return l
}

// Begin begins a step.
func (l *Loop) Begin() {
	if l != nil {
		l.moves.Add(1)
	}
}

// End ends the step.
func (l *Loop) End() {
	if l != nil {
		l.moves.Add(1)
	}
}

// Run watches at every tick until ctx ends.
func (w *Watchdog) Run(ctx context.Context, ticks <-chan time.Time) {
	for {
		select {
		case <-ticks:
			w.look()
		case <-ctx.Done():
			return
		}
	}
}

// look counts the steps that are still in progress, and begins those of the probes that are not.
func (w *Watchdog) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.loops {
		moves := l.moves.Load()
		switch inStep := moves%2 == 1; {
		case inStep && moves == l.seen:
			l.ticks++
		case !inStep && l.probe != nil:
			l.Begin()
			go func() { // a frozen one ends with the process
				defer l.End()
				l.probe()
			}()
			fallthrough
		default:
			l.ticks = 0
		}
		l.seen = l.moves.Load()
	}
}

// Frozen returns a sentence that names the loops that have frozen, or "".
func (w *Watchdog) Frozen() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for _, l := range w.loops {
		if l.ticks >= limit && l.moves.Load() == l.seen {
			names = append(names, l.name)
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%s has not moved for %v; restart the program", names[0], limit*Interval)
	}
	return fmt.Sprintf("%s have not moved for %v; restart the program", strings.Join(names, " and "), limit*Interval)
}
