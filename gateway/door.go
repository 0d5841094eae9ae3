package gateway

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/preamble"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/ratelimit"
	"github.com/ridethrough/ridethrough/transport"
	"github.com/ridethrough/ridethrough/turn"
)

// door is where a shared request waits, in one place at a time: between two tries, at the breaker, for room below a
// limit, at another gateway. Commands, Drain and its tenant reach it here wherever it is.
type door struct {
	caller     *breaker.Caller         // at the upstream's breaker
	rooms      *ratelimit.Table        // the limits of the upstreams
	room       ratelimit.Call          // its place at the limits of the upstream
	hold       *preamble.Hold          // by another gateway, of the try in progress; nil: it does not wait there
	state      string                  // of a Wait
	skipsTo    string                  // Wait.Next
	skip       context.CancelCauseFunc // ends the wait for that; nil: it is in none
	paused     bool                    // by command, at every upstream
	givenUp    bool                    // by command
	leavePlace func()                  // frees its place among those of its tenant that wait; nil: it has none
	stopDrain  func() bool             // stops Drain from ending the request; nil: it does not wait. It is the leader's
}

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
	Outage       breaker.Outage   `json:",omitzero"` // whose end it waits for, one of its upstream; zero: it waits for none
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

// Waits returns the requests that wait for their answer after a fault, the oldest first.
func (g *Gateway) Waits() []Wait {
	all := []Wait{}
	for _, s := range g.outcomes.running() {
		all = s.appendWaits(all)
	}
	slices.SortFunc(all, func(a, b Wait) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// appendWaits appends the calls that wait for the shared request.
func (s *sharedRequest) appendWaits(all []Wait) []Wait {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.calls {
		if m.waits {
			all = append(all, s.view(m.call))
		}
	}
	return all
}

// view returns a call as one that waits. mu is held.
func (s *sharedRequest) view(c *call) Wait {
	out := Wait{
		Call: c.info, Wait: s.soFar(), State: s.state, Next: s.skipsTo, Held: c.keepalive.isCommitted(),
		AfterContent: c.completion.afterContent.Load(), Cache: s.cached(), Outage: s.caller.Outage(), Place: s.place(),
	}
	out.Upstream, out.Model = s.at.Name, s.at.model
	if s.paused && s.state == stateWaiting { // its wait ends, but no try follows
		out.State = statePaused
	}
	if out.State != stateWaiting {
		out.Due = time.Time{}
	}
	return out
}

// waiting returns the shared request that a call waits for, and the call; nil: none of that ID waits.
func (g *Gateway) waiting(id int64) (*sharedRequest, *call) {
	for _, s := range g.outcomes.running() {
		if c := s.waitingCall(id); c != nil {
			return s, c
		}
	}
	return nil, nil
}

// waitingCall returns the call of an ID; nil: it does not wait.
func (s *sharedRequest) waitingCall(id int64) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.calls {
		if m.waits && m.info.ID == id {
			return m.call
		}
	}
	return nil
}

// Act executes a command on one request that waits; false: no request of that ID
// does, the command is unknown, or there is no fallback to skip to.
func (g *Gateway) Act(id int64, do Command) bool {
	s, _ := g.waiting(id)
	return s != nil && s.act(do)
}

// act executes a command; false: it is unknown, or there is no fallback to skip to.
func (s *sharedRequest) act(do Command) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if hold := s.hold; hold != nil && do == RetryNow {
		for _, c := range s.calls {
			c.keepalive.tries()
		}
		go func() { _ = hold.RetryNow(s.ctx) }() // ends in seconds; on an error the wait goes on
		return true
	}
	return s.door.act(do)
}

// act executes a command wherever the request waits; false: as above. The request's mu is held.
func (d *door) act(do Command) bool {
	switch do {
	case RetryNow:
		if !d.rooms.Now(&d.room) {
			d.caller.RetryNow()
		}
	case Pause:
		d.paused = true
		d.caller.Pause()
	case Resume:
		d.paused = false
		d.caller.Resume()
	case Skip:
		if d.skipsTo == "" {
			return false
		}
		d.skip(errSkipped)
	case GiveUp:
		d.givenUp = true
		d.caller.GiveUp()
		if d.hold != nil {
			d.hold.Leave()
		}
		d.rooms.Now(&d.room) // where that is the end
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
	default:
		return false
	}
	if do == RetryNow || do == GiveUp {
		g.reach(up, do)
	}
	return true
}

// reach executes a command on the requests at an upstream that wait where its breaker does not reach them: for room
// below a limit, or at another gateway.
func (g *Gateway) reach(up *upstream, do Command) {
	for _, s := range g.outcomes.running() {
		if s.isHeldAt(up) || do == GiveUp && s.where().upstream == up && s.place() != nil {
			s.act(do)
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

// place returns where the request waits for room below a limit; nil: it does not.
func (d *door) place() *ratelimit.Place {
	if p, ok := d.rooms.Place(&d.room); ok {
		return &p
	}
	return nil
}

// beginHeldWait notes a wait of another gateway.
func (s *sharedRequest) beginHeldWait(w policy.Wait, h *preamble.Hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hold == nil {
		before := s.last
		s.before = &before
	}
	s.hold, s.last, s.slept = h, w, 0
	s.state, s.open = stateWaiting, true // the try is not silent
}

// endHold notes that another gateway no longer holds the try in progress.
func (s *sharedRequest) endHold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hold != nil {
		s.hold, s.last, s.before, s.state = nil, *s.before, nil, stateTrying
	}
}

// isHeldAt reports whether another gateway, which is this upstream, holds the try in progress.
func (s *sharedRequest) isHeldAt(up *upstream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hold != nil && s.at.upstream == up
}

// serveCommand executes the command of a client for its request, which waits.
func (g *Gateway) serveCommand(w http.ResponseWriter, r *http.Request, up *upstream) {
	number, secret, _ := strings.Cut(r.Header.Get(preamble.Call), "-")
	id, err := strconv.ParseInt(number, 10, 64)
	s, c := g.waiting(id)
	if err != nil || r.Header.Get(preamble.Command) != preamble.RetryNow || s == nil || c.preamble == nil || !c.keepalive.permits(secret) || !s.act(RetryNow) {
		up.refuse(w, r, http.StatusNotFound, &fault.Error{Kind: fault.Invalid}, "no request waits for this command")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *sharedRequest) setState(state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = state
}

// waitEnded notes the end of a wait, which a try follows.
func (s *sharedRequest) waitEnded() {
	s.endWait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skipsTo, s.skip, s.slept = "", nil, sinceWaitBegan(s.last)
	for _, c := range s.calls {
		c.keepalive.tries()
	}
}

// enterBreaker gets a caller at the upstream's breaker, where earlier commands
// hold as well. No other goroutine knows the request yet, or mu is held.
func (s *sharedRequest) enterBreaker() {
	s.caller = s.at.breaker.Caller(breaker.Scope{Model: s.at.model, Credential: s.leader.credentialFor(s.at.upstream)})
	s.caller.OnBlock, s.caller.ModelOnly = s.blocked, s.at.again
	s.enterQueue()
	if s.paused {
		s.caller.Pause()
	}
	if s.givenUp {
		s.caller.GiveUp()
	}
}

// blocked notes that the breaker blocks a try. There is no try in progress, so
// that Drain may end the whole request.
func (s *sharedRequest) blocked(why breaker.BlockReason) {
	state := stateQueued
	if why == breaker.Paused {
		state = statePaused
	}
	s.block(state)
}

// block notes that a try waits to be admitted.
func (s *sharedRequest) block(state string) {
	if err := s.mayWait(); err != nil {
		s.cancel(err)
	}
	s.beginWait(state)
	s.caller.OnUnblock = s.endWait
	for _, c := range s.callsWaiting() {
		c.keepalive.waiting()
	}
}

// mayWait takes a place for the request among those of its tenant that wait, and returns why it ends instead; nil: it
// may wait.
func (s *sharedRequest) mayWait() error {
	switch {
	case s.draining.Err() != nil:
		return errClosing
	case s.isDetached():
		return errLeft
	case !s.takePlace():
		return errNoPlace
	}
	return nil
}

// beginWait notes that the request waits, where Drain ends it.
func (s *sharedRequest) beginWait(state string) {
	s.setState(state)
	if s.stopDrain == nil {
		s.stopDrain = context.AfterFunc(s.draining, func() { s.cancel(errClosing) })
	}
}

// endWait notes that the try has been admitted, or has ended.
func (s *sharedRequest) endWait() {
	if s.stopDrain != nil {
		s.stopDrain()
		s.stopDrain = nil
	}
	s.setState(stateTrying)
}

// isPaused reports whether an operator has paused the request.
func (s *sharedRequest) isPaused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paused
}

// waitBegins notes the begin of a wait, which skip ends for one at the fallback, if there is one.
func (s *sharedRequest) waitBegins(skip context.CancelCauseFunc) {
	s.beginWait(stateWaiting)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.skip = skip; !s.failover.Last() {
		s.skipsTo = s.failover.others[s.failover.At].label(s.failover.origin.model)
	}
}

// errNoPlace ends a request that would have to wait while as many of its tenant do as may.
var errNoPlace = errors.New("as many requests wait for their provider as the token permits")

// takePlace takes a place for the request among those of its tenant that wait, unless it has one; false: all are
// taken.
func (s *sharedRequest) takePlace() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leavePlace == nil && s.leader.tenant != nil && !s.finished {
		s.leavePlace = s.leader.tenant.Hold()
		return s.leavePlace != nil
	}
	return true
}

// endPlace frees the place. The request's mu is held.
func (d *door) endPlace() {
	if d.leavePlace != nil {
		d.leavePlace()
		d.leavePlace = nil
	}
}
