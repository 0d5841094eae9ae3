package gateway

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
)

// Command is what can be done about a request that waits, or about all of an
// upstream.
type Command string

// The commands.
const (
	RetryNow Command = "now"     // try at once
	Pause    Command = "hold"    // wait until Resume, whatever the policy says
	Resume   Command = "resume"  // end the Hold
	GiveUp   Command = "give-up" // end it with the last fault
)

// The states of a request that waits.
const (
	Waiting = "waiting" // for its next try
	Trying  = "trying"  // again
	Queued  = "queued"  // behind another request that finds out whether the upstream is back, or behind those that were here before
	Paused  = "paused"  // until somebody resumes it
)

// Wait is a request that waits for its answer, for people.
type Wait struct {
	Call
	State    string       // Waiting, Trying, Queued or Paused
	Fault    *fault.Error // the latest; nil: none yet
	Retries  int          // made so far
	Limit    int          // how many the policy allows; policy.Unlimited for no limit
	Due      time.Time    // the next try; zero: it is not known
	Deadline time.Time    // the latest end of waiting; zero: no budget bounds it
	Waited   time.Duration
	Held     bool // its client is being kept alive: the headers are out
}

// Health is an upstream, for people.
type Health struct {
	Name, API string
	Base      string // its base URL
	Breaker   breaker.State
}

// waiting holds the requests that wait.
type waiting struct {
	mu     sync.Mutex
	all    map[int64]waiter
	relief relief
}

// waiter is a call and the flight that it waits for. A call may wait for one
// after the other.
type waiter struct {
	*call
	flight *flight
}

// add and remove keep the list.
func (w *waiting) add(c *call, f *flight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = make(map[int64]waiter)
	}
	w.all[c.who.ID] = waiter{c, f}
	w.relief.count()
}

func (w *waiting) remove(c *call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, c.who.ID)
}

// list gives the requests that wait, the oldest first.
func (w *waiting) list() []waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]waiter, 0, len(w.all))
	for _, c := range w.all {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b waiter) int { return cmp.Compare(a.who.ID, b.who.ID) })
	return all
}

// Waits lists the requests that wait for their answer after something has
// failed, the oldest first.
func (g *Gateway) Waits() []Wait {
	all := g.waiting.list()
	waits := make([]Wait, len(all))
	for i, w := range all {
		waits[i] = w.wait()
	}
	return waits
}

// wait gives the call as one that waits.
func (w waiter) wait() Wait {
	held := w.hold.isCommitted()
	f := w.flight
	f.mu.Lock()
	defer f.mu.Unlock()
	out := Wait{
		Call: w.who, State: f.state, Fault: f.note.Fault,
		Limit: f.note.Limit, Deadline: f.note.Deadline, Waited: f.note.Waited,
		Held: held,
	}
	out.Upstream = f.at.Name
	if f.note.Fault != nil {
		out.Retries = max(0, f.inAll(f.note).Retries())
	}
	if f.state == Waiting {
		out.Due = f.due
		out.Waited += time.Since(f.since)
	}
	return out
}

// Act does something about one request that waits; false: none of that number
// does, or there is no such command.
func (g *Gateway) Act(id int64, do Command) bool {
	g.waiting.mu.Lock()
	w, ok := g.waiting.all[id]
	g.waiting.mu.Unlock()
	return ok && w.flight.act(do)
}

// act does something about the flight; false: there is no such command.
func (f *flight) act(do Command) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch do {
	case RetryNow:
		f.pass.RetryNow()
	case Pause:
		f.kept = true
		f.pass.Pause()
	case Resume:
		f.kept = false
		f.pass.Resume()
	case GiveUp:
		f.over = true
		f.pass.GiveUp()
	default:
		return false
	}
	return true
}

// ActOn does something about an upstream and all that wait for it; false: none
// has that name, or there is no such command.
func (g *Gateway) ActOn(upstream string, do Command) bool {
	up := g.setup.Load().named(upstream)
	if up == nil {
		return false
	}
	switch do {
	case RetryNow:
		up.gate.RetryNow()
	case Pause:
		up.gate.Pause("a command")
	case Resume:
		up.gate.Resume()
	case GiveUp:
		up.gate.GiveUp()
	default:
		return false
	}
	return true
}

// Upstreams lists the upstreams in the order of the configuration.
func (g *Gateway) Upstreams() []Health {
	s := g.setup.Load()
	all := make([]Health, len(s.upstreams))
	for i, u := range s.upstreams {
		all[i] = Health{Name: u.Name, API: u.API, Base: u.target.String(), Breaker: u.gate.State()}
	}
	return all
}
