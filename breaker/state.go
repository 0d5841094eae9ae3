package breaker

import (
	"cmp"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// State is a snapshot of a breaker, to be shown.
type State struct {
	Name        string    // of the upstream
	Outages     []Outage  // the circuits that are not closed, the widest first
	Waiting     int       // calls that wait, for whatever reason
	Paused      time.Time // since when; zero: it is not
	PausedBy    string    // the operator that has paused it
	LastSuccess time.Time // zero: none yet
	UsualRate   float64   // calls per second, outside of outages
}

// Outage is a circuit that is open, half-open or in slow start.
type Outage struct {
	Level      string // "host", "model" or "credential": what fails
	Scope      Scope  // the model and the credential, where it is theirs
	Since      time.Time
	Latest     time.Time    // when a try has told something about it last
	Fault      *fault.Error // the latest, without its cause; nil in slow start
	Probes     int          // that have failed
	Waiting    int          // calls that wait for its end
	Probing    bool         // half-open: a probe is in progress
	Next       time.Time    // the next early probe; zero: the next call whose wait ends is the probe
	Until      time.Time    // the end of the cooldown that the upstream has asked for; zero: there is none
	Recovering bool         // in slow start
}

// Whole reports whether it is of the whole upstream, and not of a model or a credential.
func (o Outage) Whole() bool { return o.Level == levelNames[host] && o.Scope.Model == "" }

// State returns the breaker's state. The faults must not be changed.
func (b *Breaker) State() State {
	st := b.state()
	slices.SortFunc(st.Outages, func(x, y Outage) int {
		return cmp.Or(
			cmp.Compare(slices.Index(levelNames[:], x.Level), slices.Index(levelNames[:], y.Level)),
			cmp.Compare(x.Scope.Model, y.Scope.Model), cmp.Compare(x.Scope.Credential, y.Scope.Credential),
		)
	})
	return st
}

// Degraded reports whether a call may have to wait: a circuit is open or in slow
// start, or the breaker is paused.
func (b *Breaker) Degraded() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.degraded > 0 || !b.pausedAt.IsZero()
}

// Waits reports whether a call waits, or probes whether an outage is over.
func (b *Breaker) Waits() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queued() || slices.ContainsFunc(b.all(), func(ci *circuit) bool { return ci.probe != nil })
}

func (b *Breaker) state() State {
	b.mu.Lock()
	defer b.mu.Unlock()
	st := State{
		Name: b.name, Paused: b.pausedAt, PausedBy: b.pausedBy, LastSuccess: b.answered, UsualRate: b.traffic.usual(),
	}
	for _, q := range b.queues() {
		st.Waiting += q.n
	}
	now := b.now()
	for _, ci := range b.circuits {
		if ci.open || ci.slowStart.on {
			st.Outages = append(st.Outages, ci.state(now))
		}
	}
	return st
}

// Outage returns the outage whose end the call waits for; the zero Outage: it waits for none.
func (c *Caller) Outage() Outage {
	b := c.breaker
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.in == nil || c.in.circuit == nil || !c.in.circuit.open && !c.in.circuit.slowStart.on {
		return Outage{}
	}
	return c.in.circuit.state(b.now())
}

func (ci *circuit) state(now time.Time) Outage {
	o := Outage{
		Level: levelNames[ci.level], Scope: ci.Scope,
		Since: ci.firstFault, Latest: ci.changed, Fault: ci.latest, Probes: ci.failedProbes,
		Waiting: ci.waiting(),
		Probing: ci.probing(now), Recovering: ci.slowStart.on,
	}
	if ci.open && ci.coolsDown(now) {
		o.Until = ci.cooldown
	}
	if ci.open && !o.Probing {
		o.Next = ci.next(now)
	}
	if ci.slowStart.on {
		o.Fault = nil
	}
	return o
}
