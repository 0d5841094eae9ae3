package gateway

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/preamble"
	"github.com/ridethrough/ridethrough/internal/route"
	"github.com/ridethrough/ridethrough/internal/spool"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/ratelimit"
	"github.com/ridethrough/ridethrough/transport"
	"github.com/ridethrough/ridethrough/turn"
)

// overall returns the last wait with the failed tries at all upstreams. mu is
// held, or the caller is the leader.
func (s *sharedRequest) overall() policy.Wait {
	w := s.last
	w.Run.Tries += s.triesBefore
	return w
}

// where returns where the request is.
func (s *sharedRequest) where() destination {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

// soFar is overall with the last wait, or what has passed of it, in Waited. mu is held.
func (s *sharedRequest) soFar() policy.Wait {
	w := s.overall()
	if s.state == stateWaiting {
		w.Waited += sinceWaitBegan(w)
	} else {
		w.Waited += s.slept
	}
	return w
}

// upstreamName returns the name of the upstream where the request is.
func (s *sharedRequest) upstreamName() string { return s.where().Name }

// name returns the model that is asked for there, as events have it.
func (s *sharedRequest) name() llm.Name {
	return llm.Name{Provider: s.leader.info.API, Model: s.where().model}
}

func (s *sharedRequest) setLast(w policy.Wait) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.slept = w, 0
}

// gaveUp reports whether the request has ended without an answer.
func (s *sharedRequest) gaveUp() bool { return s.last.Verdict.Stop != "" }

// sinceWaitBegan returns for how long a wait has lasted; 0: none has begun.
func sinceWaitBegan(w policy.Wait) time.Duration {
	if w.Due.IsZero() {
		return 0
	}
	return time.Since(w.Due.Add(-w.Verdict.Wait))
}

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
	setup  *setup
	leader *call
	body   *spool.Body
	ctx    context.Context // ends with the last client, and with Close
	cancel context.CancelCauseFunc
	entry  entry // of it in the table
	way          // of the goroutine of its leader

	mu       sync.Mutex
	party    // guarded by mu
	progress // guarded by mu
	door     // guarded by mu
}

// way is how the leader of a shared request sends it.
type way struct {
	failover failover
	tries    int                 // at all upstreams, early probes included
	maxWait  time.Duration       // the longest total wait that its client allows, with what an earlier request waited; 0: no limit
	early    bool                // the wait that it goes on in begins with a try, which does not count if it fails
	stranded bool                // another upstream would be asked, which does not know the token that the request has
	probed   bool                // the last wait was ended early by a try that does not count
	permit   quotePermit         // of the try in progress
	queuedAt time.Time           // when it began to wait for room; zero: it does not
	waitTold bool                // that was an event
	firstRun transport.Transport // of the first run, as most requests have no other
}

// progress is where a shared request is, and how far it has got.
type progress struct {
	at          destination
	last        policy.Wait       // after the latest failed try, with a Stop if it is the last
	before      *policy.Wait      // last, when another gateway has begun to hold the try in progress; nil: none does
	slept       time.Duration     // in the last wait, once that is over
	open        bool              // an answer has begun, without content so far
	triesBefore int               // failed tries at other upstreams
	silence     time.Duration     // of a try that its client did not wait for, here or in the request that this one repeats
	sent        time.Time         // when the try began that was answered; zero: none was
	used        ratelimit.Charged // what its answer has cost
}

// newShared returns the shared request that a call leads. Others may join it, unless it asks for the rest of a text.
func (c *call) newShared() *sharedRequest {
	s := &sharedRequest{Gateway: c.gateway, setup: c.setup, leader: c, body: c.body.Body, entry: c.newEntry()}
	s.entry.running, s.alone, s.silence = s, c.body.own, c.silence
	s.state, s.rooms = stateTrying, &s.headroom
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
	s.failover = newFailover(c)
	s.at = s.failover.origin
	s.calls = append(s.first[:0], member{call: c})
	s.enterBreaker()
	if s.outcomes.add(&s.entry); s.closing.Err() != nil { // Close may have missed it
		s.cancel(errClosing)
	}
	return s
}

// run sends the request to one upstream after the other until one has answered
// or none is left, and finishes it.
func (s *sharedRequest) run() {
	for more := true; more; {
		resp, err := s.send()
		more = s.goesFurther(resp, err)
	}
}

// goesFurther finishes the request after the run at its last upstream, or moves it to the next one.
func (s *sharedRequest) goesFurther(resp *http.Response, err error) bool {
	if err != nil && s.ctx.Err() != nil {
		err = context.Cause(s.ctx) // whatever the transport returns
	}
	next := s.next(err)
	if next != nil && s.leader.resumes() {
		s.stranded, next = true, nil
	}
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

// next returns where the request continues after a run, or nil if it ends.
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
	ctx, caller := s.announced(withResendObserver(s.ctx, s))
	req, err := s.leader.newOutgoing(ctx, s.at.upstream)
	if err == nil && s.at.model != s.failover.origin.model {
		var release func()
		release, err = s.leader.askForModel(req, s.at)
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

// sendTo sends the tries of a request.
func (s *sharedRequest) sendTo(req *http.Request, caller *preamble.Caller) (*http.Response, error) {
	defer s.caller.Close()
	return s.transport(caller).RoundTrip(req)
}

// transport returns what tries the request at its upstream.
func (s *sharedRequest) transport(caller *preamble.Caller) *transport.Transport {
	t := &s.firstRun
	if t.Base != nil { // the answer of an earlier run may be in use
		t = new(transport.Transport)
	}
	t.Base, t.Faults, t.Limits = s.at.transport, s.setup.faultsOf(s.at.upstream), s.limits()
	t.Learned, t.Model = s.learned(t.Limits), s.at.model
	t.Opened, t.Observer, t.NoErrorLine = s.opened, s, true
	t.Resent, t.OwnKey, t.Judges, t.Refusals = true, s.at.ownCredential(), s.failover.has(), s.failover.asksOthers()
	r := &t.Retry
	r.Policy, r.Start, r.Resume, r.Breaker = s.patience(), s.failover.Run, s.resumed(), (*requestBreaker)(s)
	r.OnTry, r.OnWait, r.Sleep, r.Sooner = s.onTry, s.onWait, s.sleep, s.sooner()
	if caller != nil {
		r.Held = caller.TakeWaited
	}
	return t
}

// recovered notes and reports that a try passed after others had failed.
func (s *sharedRequest) recovered(r policy.Run, waited time.Duration) {
	s.setLast(policy.Wait{Run: r, Waited: waited})
	all := s.overall()
	s.announce(turn.Recovered{Name: s.name(), Upstream: s.upstreamName(), Retries: all.Retries(), Waited: all.Waited})
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
