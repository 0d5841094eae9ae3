package gateway

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/http1"
	"github.com/ridethrough/ridethrough/internal/preamble"
	"github.com/ridethrough/ridethrough/internal/route"
	"github.com/ridethrough/ridethrough/internal/spool"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/ratelimit"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
	"github.com/ridethrough/ridethrough/turn"
)

// What ends a shared request besides its faults.
var (
	errLeft    = errors.New("the client has left")
	errSkipped = errors.New("skipped")
	errGivenUp = errors.New("given up") // not retry.ErrGivenUp, whose last fault package transport would answer with
)

// sharedRequest is one logical request on its way to an answer, over all its
// tries and upstreams. The call that began it is its leader, which runs it. A
// call that is the same request, sent again, joins and waits for the outcome.
//
// A shared request ends when the last of its clients disconnects.
type sharedRequest struct {
	*Gateway
	setup      *setup
	leader     *call
	body       *spool.Body
	ctx        context.Context // ends with the last client, and with Close
	cancel     context.CancelCauseFunc
	failover   failover
	background *background       // of the answer that the latest run asks for; nil: it is not in the background
	resumes    bool              // it asks for the rest of that
	stopDrain  func() bool       // stops Drain from ending the request while the breaker blocks it; nil: it is not blocked
	tries      int               // at all upstreams, early probes included
	before     *policy.Wait      // last, when another gateway has begun to hold the try in progress; nil: none does
	early      bool              // the wait that it goes on in begins with a try, which does not count if it fails
	permit     quotePermit       // of the try in progress
	maxWait    time.Duration     // the longest total wait that its client allows, with what an earlier request waited; 0: no limit
	room       ratelimit.Call    // its place at the limits of the upstream
	used       ratelimit.Charged // what its answer has cost
	queuedAt   time.Time         // when it began to wait for room; zero: it does not
	waitTold   bool              // that was an event
	probed     bool              // the last wait was ended early by a try that does not count
	toldAt     time.Time         // when the fleet was told that it waits; zero: it was not
	sent       time.Time         // when the try began that was answered; zero: none was

	firstRun  transport.Transport // of the first run, as most requests have no other: one allocation for all three
	firstCall [1]*call            // of calls, likewise

	alone          bool           // no other call joins it
	digest         uint64         // of its leader's key
	older, younger *sharedRequest // in progress, of the same digest; the coalescer's mu guards them

	mu          sync.Mutex
	calls       []*call                 // whose clients are connected; the leader first, if it is
	at          destination             // where it is
	caller      *breaker.Caller         // at the upstream's breaker
	state       string                  // of a Wait
	skipsTo     string                  // Wait.Next
	skip        context.CancelCauseFunc // ends the wait for that; nil: it is in none
	paused      bool                    // by command, at every upstream
	givenUp     bool                    // by command
	last        policy.Wait             // after the latest failed try, with a Stop if it is the last
	slept       time.Duration           // in the last wait, once that is over
	held        *failedRequest          // what the fleet was told last; nil: nothing, or it is finished
	hold        *preamble.Hold          // by another gateway, of the try in progress; nil: it does not wait there
	open        bool                    // an answer has begun, without content so far
	triesBefore int                     // failed tries at other upstreams
	silence     time.Duration           // of a try that its client did not wait for, here or in the request that this one repeats
	leavePlace  func()                  // frees its place among those of its tenant that wait; nil: it has none
	undetach    func()                  // ends the time for which it runs detached; nil: it does not
	done        chan struct{}           // closed when it is finished; nil: no call has joined
	finished    bool                    // there is no other try
	winner      *call                   // takes the response; nil: none, or it is not finished
	resp        *http.Response          // the outcome; nil: there is none
	err         error
}

// newShared returns the shared request that a call leads. Others may join it, unless it asks for the rest of a text.
func (c *call) newShared() *sharedRequest { return c.newSharedOn(newFailover(c), c.continuing()) }

// newSharedOn returns one that goes another way, and that others may join unless it is to be alone.
func (c *call) newSharedOn(f failover, alone bool) *sharedRequest {
	s := &sharedRequest{
		Gateway: c.gateway, setup: c.setup, leader: c, body: c.body, state: stateTrying, silence: c.silence,
		digest: c.keyDigest(), alone: alone,
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.body.OnLost = s.cancel
	if c.maxWait > 0 {
		s.maxWait = c.maxWait
		if w := c.carried; w != nil {
			s.maxWait += w.Run.Slept
			if time.Until(w.Due) > c.maxWait {
				w.Due = time.Time{} // a try in its place
			}
		}
	}
	s.failover = f
	s.at = s.failover.origin
	s.calls = append(s.firstCall[:0], c)
	s.enterBreaker()
	s.coalescer.begin(s)
	return s
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

// run sends the request to one upstream after the other until one has answered
// or none is left, and finishes it.
func (s *sharedRequest) run() {
	for more := true; more; {
		resp, err := s.send()
		more = s.goesFurther(resp, err)
	}
}

// goesFurther finishes the request after the run at its last upstream, or moves it to the next one. It is no part of
// run, whose stack is that of every request that waits.
func (s *sharedRequest) goesFurther(resp *http.Response, err error) bool {
	if err != nil && s.ctx.Err() != nil {
		err = context.Cause(s.ctx) // whatever the transport returns
	}
	next := s.next(err)
	if next == nil {
		s.end(resp, err)
		return false
	}
	s.failover.keep(resp, err, s.last)
	s.switchTo(next)
	return true
}

// end finishes the request with the outcome of its last run.
func (s *sharedRequest) end(resp *http.Response, err error) {
	if err == nil && s.last.Fault != nil && s.last.Verdict.Stop == "" { // by the first try at another upstream
		s.recovered(s.failover.Run, s.failover.Run.Slept)
	}
	out, first := s.failover.outcome(resp, err, s.last)
	if first {
		s.switchTo(&s.failover.origin)
		s.setLast(out.last)
	}
	s.finish(out.resp, out.err)
}

// next returns where the request goes on after a run; nil: it ends.
func (s *sharedRequest) next(err error) *destination {
	if left, ok := errors.AsType[*route.Left](err); ok {
		s.last.Run = left.Run // what was not slept does not count
		return s.failover.next(left.End)
	}
	if s.conclude(err); s.last.Verdict.Stop == "" {
		return nil
	}
	return s.failover.next(route.End{Run: s.last.Run, Fault: s.last.Fault, Stop: s.stop()})
}

// conclude makes sure that a run without an answer has a fault and a Stop.
func (s *sharedRequest) conclude(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := &s.last
	switch {
	case errors.Is(err, errGivenUp):
		last.Waited += s.slept
		last.Verdict = policy.Verdict{Stop: policy.GivenUp}
	case err == nil, endingOf(err) != nil, errors.Is(err, errLeft):
		return
	case errors.Is(err, spool.ErrLost):
		last.Fault = &fault.Error{Kind: fault.Unavailable, Message: err.Error(), Rule: "gateway/body", Err: errLocal}
		last.Verdict = policy.Verdict{Stop: policy.Final}
	case last.Fault == nil: // a request that is sent once only
		last.Run.Tries, last.Verdict = 1, policy.Verdict{Stop: policy.Exhausted}
	}
	if last.Fault == nil {
		last.Fault = s.setup.faults.Of(err, time.Now())
	}
}

// send sends the request to its upstream until that has answered or its policy gives up.
func (s *sharedRequest) send() (*http.Response, error) {
	ctx, caller := s.announced(http1.WithObserver(s.ctx, s))
	req, err := s.leader.newOutgoing(ctx, s.at.upstream)
	if err == nil && s.at.model != s.failover.origin.model {
		var release func()
		release, err = s.leader.askForModel(req, s.at.model)
		defer release()
	}
	if err != nil {
		s.cannotSend(err)
		return nil, err
	}
	if caller != nil {
		caller.Announce(req.Header) // no other goroutine has it yet
	}
	return s.sendTo(req, caller)
}

// cannotSend notes that the upstream cannot even be asked.
func (s *sharedRequest) cannotSend(err error) {
	run := s.failover.Run
	run.Tries++
	s.setLast(policy.Wait{
		Run: run, Fault: s.setup.faults.Of(err, time.Now()),
		Verdict: policy.Verdict{Stop: policy.Final}, Waited: run.Slept,
	})
}

// sendTo sends the tries of a request. It is on the stack of every request that waits.
func (s *sharedRequest) sendTo(req *http.Request, caller *preamble.Caller) (*http.Response, error) {
	defer s.caller.Close()
	base, release := s.base(req)
	defer release()
	return s.transport(base, caller).RoundTrip(req)
}

// transport returns what tries the request at its upstream.
//
//go:noinline its frame would be on the stack of every request that waits
func (s *sharedRequest) transport(base http.RoundTripper, caller *preamble.Caller) *transport.Transport {
	t := &s.firstRun
	if t.Base != nil { // the answer of an earlier run may be in use
		t = new(transport.Transport)
	}
	t.Base, t.Faults, t.Limits = base, s.setup.faultsOf(s.at.upstream), s.limits()
	t.Opened, t.Observer, t.NoErrorLine = s.opened, s, true
	t.Resent, t.Judges, t.Refusals = true, s.failover.has(), s.failover.asksOthers()
	r := &t.Retry
	r.Policy, r.Start, r.Resume, r.Breaker = s.patience(), s.failover.Run, s.resumed(), (*requestBreaker)(s)
	r.OnTry, r.OnWait, r.Sleep, r.Sooner = s.onTry, s.onWait, s.sleep, s.sooner()
	if caller != nil {
		r.Held = caller.TakeWaited
	}
	return t
}

// requestBreaker is the upstream's breaker as the tries of a shared request know it.
type requestBreaker sharedRequest

// Acquire implements retry.Breaker.
func (b *requestBreaker) Acquire(ctx context.Context) (retry.Permit, error) {
	p, err := (*sharedRequest)(b).acquire(ctx)
	b.permit = quotePermit{Permit: p, call: b.leader}
	if err != nil {
		return nil, bare(err)
	}
	return &b.permit, nil
}

// Wait implements retry.Breaker.
func (b *requestBreaker) Wait(ctx context.Context, d time.Duration) error {
	return b.caller.Wait(ctx, d)
}

// bare returns errGivenUp for the end of a run by command.
func bare(err error) error {
	if errors.Is(err, retry.ErrGivenUp) {
		return errGivenUp
	}
	return err
}

// onTry reports a try, and notes one that no other follows.
func (s *sharedRequest) onTry(t retry.Try) {
	s.tries++
	if t.Shared {
		s.headroom.Yield(&s.room)
	} else {
		s.headroom.Tried(&s.room, roomOutcome(t.Fault), t.Took)
	}
	s.mu.Lock()
	silent := t.Fault != nil && t.Fault.Kind == fault.Canceled && !s.open
	s.open = false
	if t.Fault == nil {
		s.sent = t.Start
	}
	s.mu.Unlock()
	if silent {
		s.silence += t.Took
	} else {
		s.silence = 0
	}
	if s.setup.onEvent != nil {
		numbered := t
		numbered.N = s.tries
		s.leader.emit(Event{Try: numbered})
	}
	if t.Stop == policy.Final && t.Fault.GivenUp {
		t.Stop = policy.Exhausted // by another gateway, which has retried it
	}
	switch {
	case t.Stop != "":
		s.setLast(policy.Wait{Run: t.Run, Fault: t.Fault, Verdict: policy.Verdict{Stop: t.Stop}, Waited: t.Waited})
	case t.Recovered():
		s.recovered(t.Run, t.Waited)
	}
}

// recovered notes and reports that a try passed after others had failed.
func (s *sharedRequest) recovered(r policy.Run, waited time.Duration) {
	s.setLast(policy.Wait{Run: r, Waited: waited})
	all := s.overall()
	s.announce(turn.Recovered{Name: s.name(), Upstream: s.upstreamName(), Retries: all.Retries(), Waited: all.Waited})
}

// opened notes that an answer has begun without content so far.
func (s *sharedRequest) opened() {
	s.mu.Lock()
	s.open = true
	calls := slices.Clone(s.calls)
	s.mu.Unlock()
	for _, c := range calls {
		c.keepalive.waiting()
	}
}

// switchTo moves the request to another destination.
func (s *sharedRequest) switchTo(next *destination) {
	s.mu.Lock()
	from, asked := s.at, s.failover.origin.model
	s.triesBefore += s.last.Run.Tries - s.failover.Run.Tries
	s.at, s.slept = *next, 0
	s.last = policy.Wait{Run: s.failover.Run, Fault: s.last.Fault, Waited: s.failover.Run.Slept}
	s.enterBreaker()
	s.mu.Unlock()
	s.announce(turn.Switched{
		Name: s.name(), Upstream: next.Name, From: from.label(asked), To: next.label(asked), Why: s.last.Fault.Redacted(),
	})
}

// announce reports an event of the request, which is its leader's, and tells its clients.
func (s *sharedRequest) announce(e turn.Event) {
	s.leader.emit(Event{Event: e})
	s.tell(e)
}

// callsWaiting lists the connected calls among the waiting ones, and returns them.
func (s *sharedRequest) callsWaiting() []*call {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		s.waits.add(c, s)
	}
	return slices.Clone(s.calls)
}
