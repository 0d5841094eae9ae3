package gateway

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/ratelimit"
	"github.com/ridethrough/ridethrough/transport"
	"github.com/ridethrough/ridethrough/turn"
)

// Command is an action on a request that waits, or on an upstream.
type Command string

// The commands.
const (
	RetryNow Command = "now"     // try at once
	Pause    Command = "pause"   // wait until Resume, whatever the policy says
	Resume   Command = "resume"  // end Pause
	Skip     Command = "skip"    // go on at the fallback; only while it waits for its next try
	GiveUp   Command = "give-up" // end it with the last fault
)

// The states of a request that waits.
const (
	stateWaiting = "waiting" // for its next try
	stateTrying  = "trying"  // again
	stateQueued  = "queued"  // at the breaker: behind a probe, or behind earlier requests
	statePaused  = "paused"  // until Resume
)

// Wait is a request that waits for its answer.
type Wait struct {
	Call
	policy.Wait                   // the latest. Fault nil: no try has failed yet. Due zero: no try is scheduled
	State        string           // "waiting", "trying", "queued" or "paused"
	Next         string           // the fallback where Skip sends it: an upstream, with the model if that is another; "": none
	Held         bool             // the headers are out, and a keepalive is sent
	AfterContent bool             // part of its answer is out, which broke off
	Cache        turn.PromptCache // that its session has at the upstream; zero: none is known
	Outage       breaker.Outage   // whose end it waits for, one of its upstream; zero: it waits for none
	Place        *ratelimit.Place // where it waits for room below a limit that the upstream states; nil: it does not
}

// Health is the state of an upstream.
type Health struct {
	Name, API string
	Base      string // its base URL
	Breaker   breaker.State
	Learned   []transport.FirstByte // the limits on the first byte that are learned
	Limits    []ratelimit.Headroom  // what is left of the limits that it states, by credential and model; nil: it states none
}

// waitList holds the requests that wait.
type waitList struct {
	mu  sync.Mutex
	all map[int64]waitingCall
}

// waitingCall is a call and the shared request that it waits for. A call may wait for one after the other.
type waitingCall struct {
	*call
	shared *sharedRequest
}

func (w *waitList) add(c *call, s *sharedRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = make(map[int64]waitingCall)
	}
	w.all[c.info.ID] = waitingCall{c, s}
}

func (w *waitList) remove(c *call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, c.info.ID)
}

// list returns the requests that wait, the oldest first.
func (w *waitList) list() []waitingCall {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]waitingCall, 0, len(w.all))
	for _, id := range slices.Sorted(maps.Keys(w.all)) {
		all = append(all, w.all[id])
	}
	return all
}

// Waits returns the requests that wait for their answer after a fault, the oldest first.
func (g *Gateway) Waits() []Wait {
	all := g.waits.list()
	waits := make([]Wait, len(all))
	for i, w := range all {
		waits[i] = w.view()
	}
	return waits
}

// view returns the call as one that waits.
func (w waitingCall) view() Wait {
	held := w.keepalive.isCommitted()
	s := w.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	out := Wait{Call: w.info, Wait: s.soFar(), State: s.state, Next: s.skipsTo, Held: held, AfterContent: w.afterContent.Load(), Cache: s.cached(), Outage: s.caller.Outage(), Place: s.place()}
	out.Upstream, out.Model = s.at.Name, s.at.model
	if s.paused && s.state == stateWaiting { // its wait ends, but no try follows
		out.State = statePaused
	}
	if out.State != stateWaiting {
		out.Due = time.Time{}
	}
	return out
}

// Act executes a command on one request that waits; false: no request of that ID
// does, the command is unknown, or there is no fallback to skip to.
func (g *Gateway) Act(id int64, do Command) bool {
	g.waits.mu.Lock()
	w, ok := g.waits.all[id]
	g.waits.mu.Unlock()
	return ok && w.shared.act(do)
}

// act executes a command; false: it is unknown, or there is no fallback to skip to.
func (s *sharedRequest) act(do Command) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch hold := s.hold; do {
	case RetryNow:
		if hold != nil {
			for _, c := range s.calls {
				c.keepalive.tries()
			}
			go func() { _ = hold.RetryNow(s.ctx) }() // ends in seconds; on an error the wait goes on
			return true
		}
		if !s.headroom.Now(&s.room) {
			s.caller.RetryNow()
		}
	case Pause:
		s.paused = true
		s.caller.Pause()
	case Resume:
		s.paused = false
		s.caller.Resume()
	case Skip:
		if s.skipsTo == "" {
			return false
		}
		s.skip(errSkipped)
	case GiveUp:
		s.givenUp = true
		s.caller.GiveUp()
		if hold != nil {
			hold.Leave()
		}
		s.headroom.Now(&s.room) // where that is the end
	default:
		return false
	}
	return true
}

// ActOn executes a command on an upstream and all that wait for it; false: the
// upstream or the command is unknown.
func (g *Gateway) ActOn(upstream string, do Command) bool {
	up := g.setup.Load().upstream(upstream)
	if up == nil {
		return false
	}
	switch do {
	case RetryNow:
		up.breaker.RetryNow()
		g.headroom.NowAll(up.Name)
	case Pause:
		up.breaker.Pause("a command")
	case Resume:
		up.breaker.Resume()
	case GiveUp:
		up.breaker.GiveUp()
		g.giveUpQueued(up)
	default:
		return false
	}
	if do == RetryNow || do == GiveUp {
		g.actOnHeld(up, do)
	}
	return true
}

// actOnHeld executes a command on the requests to an upstream that another gateway holds.
func (g *Gateway) actOnHeld(up *upstream, do Command) {
	for _, w := range g.waits.list() {
		if w.shared.isHeldAt(up) {
			w.shared.act(do)
		}
	}
}

// Upstreams returns the state of the upstreams, in the order of the configuration.
func (g *Gateway) Upstreams() []Health {
	s, now := g.setup.Load(), time.Now()
	all := make([]Health, len(s.upstreams))
	for i, u := range s.upstreams {
		all[i] = Health{Name: u.Name, API: u.API, Base: u.baseURL.String(), Breaker: u.breaker.State(), Learned: u.learned.Show(), Limits: g.headroom.Show(u.Name, now)}
	}
	return all
}
