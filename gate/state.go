package gate

import (
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// State is what people want to know of a gate.
type State struct {
	Name        string    // of the upstream
	Outages     []Outage  // those that are open, the widest first
	Waiting     int       // calls that stand still, for whatever reason
	Paused      time.Time // since when; zero: it is not
	By          string    // who said hold
	LastSuccess time.Time // zero: none yet
	Usual       float64   // calls per second, outside of outages
}

// Outage is one that is open, or over and letting its callers go.
type Outage struct {
	Level      string // "host", "model" or "credential": what fails
	Scope      Scope  // the model and the credential, where it is theirs
	Since      time.Time
	Fault      *fault.Error // the latest; nil in a ramp that only follows a pause
	Probes     int          // that have failed
	Waiting    int          // calls that wait for its end
	Probing    bool         // a probe is under way
	Next       time.Time    // the next probe that the gate itself sends; zero: the next call whose wait ends
	Until      time.Time    // the upstream has asked for quiet until then; zero: it has not
	Recovering bool         // it is over, and who waited is on the way out
}

// State gives the gate's state. The faults must not be changed.
func (g *Gate) State() State {
	g.mu.Lock()
	defer g.mu.Unlock()
	st := State{Paused: g.paused, By: g.by, LastSuccess: g.success, Name: g.name, Usual: g.traffic.usual()}
	for _, l := range g.lists() {
		st.Waiting += l.n
	}
	now := time.Now()
	for _, s := range g.all() {
		if s.open || s.pace.on {
			st.Outages = append(st.Outages, s.state(now))
		}
	}
	return st
}

func (s *scope) state(now time.Time) Outage {
	o := Outage{
		Level: [...]string{"host", "model", "credential"}[s.level], Scope: s.Scope,
		Since: s.since, Fault: s.fault, Probes: s.probes, Waiting: s.sleepers.n + s.queue.n + s.ramp.n,
		Probing: s.probing(now), Recovering: s.pace.on,
	}
	if s.open && now.Round(0).Before(s.until) {
		o.Until = s.until
	}
	if s.open && !o.Probing {
		o.Next = s.coming(now)
	}
	return o
}
