package breaker

import (
	"cmp"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// State is what people want to know of a gate.
type State struct {
	Name        string    // of the upstream
	Outages     []Outage  // those that are open, the widest first
	Waiting     int       // calls that stand still, for whatever reason
	Paused      time.Time // since when; zero: it is not
	PausedBy    string    // who said hold
	LastSuccess time.Time // zero: none yet
	UsualRate   float64   // calls per second, outside of outages
}

// Outage is one that is open, or over and letting its callers go.
type Outage struct {
	Level      string // "host", "model" or "credential": what fails
	Scope      Scope  // the model and the credential, where it is theirs
	Since      time.Time
	Fault      *fault.Error // the latest, without its cause; nil while it lets its callers go
	Probes     int          // that have failed
	Waiting    int          // calls that wait for its end
	Probing    bool         // a probe is under way
	Next       time.Time    // the next probe that the gate itself sends; zero: the next call whose wait ends
	Until      time.Time    // the upstream has asked for quiet until then; zero: it has not
	Recovering bool         // it is over, and who waited is on the way out
}

// State gives the gate's state. The faults must not be changed.
func (g *Breaker) State() State {
	st := g.state()
	st.Outages = ordered(st.Outages)
	return st
}

// Degraded tells whether a call may have to wait at the gate: an outage is
// open or its callers are still on their way out, or somebody said hold.
func (g *Breaker) Degraded() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.troubled > 0 || !g.paused.IsZero()
}

// LastSuccess gives when the upstream has answered last; zero: not yet.
func (g *Breaker) LastSuccess() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.success
}

func (g *Breaker) state() State {
	g.mu.Lock()
	defer g.mu.Unlock()
	st := State{Paused: g.paused, PausedBy: g.by, LastSuccess: g.success, Name: g.name, UsualRate: g.traffic.usual()}
	for _, l := range g.lists() {
		st.Waiting += l.n
	}
	now := g.now()
	for _, s := range g.scopes {
		if s.open || s.pace.on {
			st.Outages = append(st.Outages, s.state(now))
		}
	}
	return st
}

// ordered is State's outages in order, which is made when nobody waits for it.
func ordered(all []Outage) []Outage {
	slices.SortFunc(all, func(a, b Outage) int {
		return cmp.Or(
			cmp.Compare(slices.Index(names[:], a.Level), slices.Index(names[:], b.Level)),
			cmp.Compare(a.Scope.Model, b.Scope.Model), cmp.Compare(a.Scope.Credential, b.Scope.Credential),
		)
	})
	return all
}

func (s *scope) state(now time.Time) Outage {
	o := Outage{
		Level: names[s.level], Scope: s.Scope,
		Since: s.since, Fault: s.fault, Probes: s.probes, Waiting: s.sleepers.n + s.queue.n + s.ramp.n,
		Probing: s.probing(now), Recovering: s.pace.on,
	}
	if s.open && now.Round(0).Before(s.until) {
		o.Until = s.until
	}
	if s.open && !o.Probing {
		o.Next = s.coming(now)
	}
	if s.pace.on {
		o.Fault = nil
	}
	return o
}
