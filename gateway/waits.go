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

// waits holds the requests that wait.
type waitList struct {
	mu        sync.Mutex
	all       map[int64]waitingCall
	reclaimer memoryReclaimer
}

// waitingCall is a call and the flight that it waits for. A call may wait for one
// after the other.
type waitingCall struct {
	*call
	shared *sharedRequest
}

// add and remove keep the list.
func (w *waitList) add(c *call, f *sharedRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = make(map[int64]waitingCall)
	}
	w.all[c.info.ID] = waitingCall{c, f}
	w.reclaimer.waitStarted()
}

func (w *waitList) remove(c *call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, c.info.ID)
}

// list gives the requests that wait, the oldest first.
func (w *waitList) list() []waitingCall {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]waitingCall, 0, len(w.all))
	for _, c := range w.all {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b waitingCall) int { return cmp.Compare(a.info.ID, b.info.ID) })
	return all
}

// Waits lists the requests that wait for their answer after something has
// failed, the oldest first.
func (g *Gateway) Waits() []Wait {
	all := g.waits.list()
	waits := make([]Wait, len(all))
	for i, w := range all {
		waits[i] = w.view()
	}
	return waits
}

// view gives the call as one that waits.
func (w waitingCall) view() Wait {
	held := w.keepalive.isCommitted()
	f := w.shared
	f.mu.Lock()
	defer f.mu.Unlock()
	out := Wait{
		Call: w.info, State: f.state, Fault: f.note.Fault,
		Limit: f.note.Limit, Deadline: f.note.Deadline, Waited: f.note.Waited,
		Held: held,
	}
	out.Upstream = f.upstream.Name
	if f.note.Fault != nil {
		out.Retries = max(0, f.withAllTries(f.note).Retries())
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
	g.waits.mu.Lock()
	w, ok := g.waits.all[id]
	g.waits.mu.Unlock()
	return ok && w.shared.act(do)
}

// act does something about the flight; false: there is no such command.
func (s *sharedRequest) act(do Command) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch do {
	case RetryNow:
		s.caller.RetryNow()
	case Pause:
		s.paused = true
		s.caller.Pause()
	case Resume:
		s.paused = false
		s.caller.Resume()
	case GiveUp:
		s.givenUp = true
		s.caller.GiveUp()
	default:
		return false
	}
	return true
}

// ActOn does something about an upstream and all that wait for it; false: none
// has that name, or there is no such command.
func (g *Gateway) ActOn(upstream string, do Command) bool {
	up := g.setup.Load().upstream(upstream)
	if up == nil {
		return false
	}
	switch do {
	case RetryNow:
		up.breaker.RetryNow()
	case Pause:
		up.breaker.Pause("a command")
	case Resume:
		up.breaker.Resume()
	case GiveUp:
		up.breaker.GiveUp()
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
		all[i] = Health{Name: u.Name, API: u.API, Base: u.baseURL.String(), Breaker: u.breaker.State()}
	}
	return all
}
