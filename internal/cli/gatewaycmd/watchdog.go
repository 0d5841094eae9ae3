package gatewaycmd

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// WatchdogInterval is the time between two ticks of a [Watchdog].
const WatchdogInterval = 5 * time.Second

// watchdogLimit is how many ticks a step may last. Every watched step takes milliseconds.
const watchdogLimit = 6

// Watchdog detects frozen loops of a server: they began a step and do not end it. It counts its own ticks, not
// time: a machine that stalls or a clock that jumps delays the ticks as well. The zero value watches nothing. Its
// methods may be called concurrently.
type Watchdog struct {
	mu    sync.Mutex
	loops []*Loop
}

// Loop is a watched loop. Begin and End do nothing on nil.
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

// Tick is called every [WatchdogInterval]. It counts the steps in progress, and starts the probes that are idle.
func (w *Watchdog) Tick() {
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
		if l.ticks >= watchdogLimit && l.moves.Load() == l.seen {
			names = append(names, l.name)
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%s has not moved for %v; restart the program", names[0], watchdogLimit*WatchdogInterval)
	}
	return fmt.Sprintf("%s have not moved for %v; restart the program", strings.Join(names, " and "), watchdogLimit*WatchdogInterval)
}
