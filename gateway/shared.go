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
	"github.com/ridethrough/ridethrough/internal/spool"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

// The causes that end a flight besides its faults.
var (
	errLeft    = errors.New("the client has left")
	errSwitch  = errors.New("the call goes on at another upstream")
	errGivenUp = errors.New("given up") // not retry.ErrGivenUp: the transport is to return it as it is
)

// sharedRequest is one logical request on its way to an answer, over all its tries and
// upstreams. The call that began it leads: it runs the flight. A call that is
// the same request, sent again, joins and waits for the outcome.
//
// A flight ends when the last of its clients leaves.
type sharedRequest struct {
	*Gateway
	setup     *setup
	leader    *call
	body      *spool.Body
	ctx       context.Context // ends with the last client and with the gateway
	cancel    context.CancelCauseFunc
	failover  failover
	stopDrain func() bool // ends what a drained gateway does to a try that waits at the gate; nil: none does

	mu          sync.Mutex
	calls       []*call         // whose clients are there; the lead first, if it is
	upstream    *upstream       // where it is
	caller      *breaker.Caller // there
	state       string          // of waiting
	paused      bool            // somebody said Hold, wherever it goes
	givenUp     bool            // somebody gave it up
	note        Note            // the latest that the engine has told
	since       time.Time       // when it was told
	due         time.Time       // of the next try, here or elsewhere
	open        bool            // an answer has begun, and its content has not
	triesBefore int             // tries at other upstreams
	tries       int             // tries that went out or shared another's outcome
	tryStarted  time.Time       // of the try under way; zero: none
	done        chan struct{}   // closed when it has landed; made when the first call joins
	finished    bool            // there will be no other try
	winner      *call           // who takes the response; nil: nobody, or it has not landed
	resp        *http.Response  // the outcome; nil: there is none
	err         error
}

// newShared makes the flight of a call.
func (c *call) newShared() *sharedRequest {
	f := &sharedRequest{Gateway: c.gateway, setup: c.setup, leader: c, body: c.body, upstream: c.upstream, state: Trying}
	f.ctx, f.cancel = context.WithCancelCause(f.closing)
	f.body.OnLost = f.cancel
	f.failover = newFailover(c)
	f.calls = append(f.calls, c)
	f.enterBreaker()
	return f
}

// run takes the flight from upstream to upstream until one has answered or
// none is left, and hands the outcome to a client that is there.
func (s *sharedRequest) run() {
	for {
		resp, err := s.send()
		if err != nil && s.ctx.Err() != nil {
			err = context.Cause(s.ctx) // whatever the transport calls it
		}
		s.conclude(err)
		next := s.failover.next(&s.note, err)
		if next == nil {
			s.arrive(err)
			s.finish(resp, err)
			return
		}
		if resp != nil {
			_ = resp.Body.Close() // it is an error's
		}
		s.switchTo(next)
	}
}

// conclude makes sure that a run that has ended without a response says why.
func (s *sharedRequest) conclude(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case errors.Is(err, errSwitch): // the rest of the wait is not slept
		s.note.Run.Slept -= max(0, s.note.Verdict.Wait-time.Since(s.since))
		return
	case errors.Is(err, errGivenUp):
		if !s.since.IsZero() {
			s.note.Waited += time.Since(s.since)
		}
		s.note.Verdict = policy.Verdict{Stop: policy.GivenUp}
	case err == nil, errors.Is(err, errClosing), errors.Is(err, errLeft):
		return
	case errors.Is(err, spool.ErrLost):
		s.note.Fault = &fault.Error{Kind: fault.Unavailable, Message: err.Error(), Rule: "gateway/body"}
		s.note.Verdict = policy.Verdict{Stop: policy.Final}
	case s.note.Fault == nil: // a request that is sent once only
		s.note.Run.Tries, s.note.Verdict = 1, policy.Verdict{Stop: policy.Exhausted}
	}
	if s.note.Fault == nil {
		s.note.Fault = s.setup.faults.Of(err, time.Now())
	}
}

// send sends the request to the upstream where the flight is, until that has
// answered or its policy says stop.
func (s *sharedRequest) send() (*http.Response, error) {
	req, err := s.leader.newOutgoing(s.ctx, s.upstream)
	if err != nil {
		s.refuse(err)
		return nil, err
	}
	defer s.caller.Close()
	t := &transport.Transport{
		Base:   s.upstream.transport,
		Retry:  retry.Retrier{Policy: s.failover.settings.policy, Start: s.failover.start, Breaker: s, OnTry: s.onTry, OnWait: s.onWait, Sleep: s.wait},
		Faults: s.setup.faults,
		Limits: s.failover.settings.limits.perTry(),
		Opened: s.opened,
		Resent: true,
	}
	return t.RoundTrip(req)
}

// refuse ends the run at an upstream that cannot even be asked.
func (s *sharedRequest) refuse(err error) {
	n := Note{Run: s.failover.start, Waited: s.failover.start.Slept, Verdict: policy.Verdict{Stop: policy.Final}}
	n.Run.Tries++
	n.Fault = s.setup.faults.Of(err, time.Now())
	s.watch(n)
}

// opened is told that an answer has begun whose content is still to come.
func (s *sharedRequest) opened() {
	s.mu.Lock()
	s.open = true
	calls := slices.Clone(s.calls)
	s.mu.Unlock()
	for _, c := range calls {
		c.keepalive.opened()
	}
}

// arrive tells of an answer that came at once from an upstream where the flight
// had gone on: there the engine has nothing to tell.
func (s *sharedRequest) arrive(err error) {
	if err == nil && s.note.Fault != nil && s.note.Verdict.Stop == "" {
		s.watch(Note{Run: s.failover.start, Waited: s.failover.start.Slept})
	}
}

// switchTo goes on at another upstream.
func (s *sharedRequest) switchTo(next *upstream) {
	s.mu.Lock()
	from := s.upstream
	s.triesBefore += s.note.Run.Tries - s.failover.start.Tries
	s.upstream, s.note = next, Note{Run: s.failover.start, Waited: s.failover.start.Slept, Fault: s.note.Fault}
	s.since = time.Time{}
	s.enterBreaker()
	s.mu.Unlock()
	s.leader.tell(Event{Type: Switched, From: from.Name})
}

// upstreamName names the upstream where the flight is.
func (s *sharedRequest) upstreamName() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.upstream.Name
}

func (s *sharedRequest) setState(state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = state
}

// gaveUp tells whether the flight has ended without an answer.
func (s *sharedRequest) gaveUp() bool { return s.note.Verdict.Stop != "" }
