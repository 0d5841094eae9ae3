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
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

// The causes that end a flight besides its faults.
var (
	errLeft   = errors.New("the client has left")
	errSwitch = errors.New("the call goes on at another upstream")
)

// givenUp ends a run because somebody said so.
const givenUp policy.Stop = "given up"

// flight is one logical request on its way to an answer, over all its tries and
// upstreams. The call that began it leads: it runs the flight. A call that is
// the same request, sent again, joins and waits for the outcome.
//
// A flight ends when the last of its clients leaves.
type flight struct {
	*Gateway
	setup   *setup
	lead    *call
	body    *body
	ctx     context.Context // ends with the last client and with the gateway
	cancel  context.CancelCauseFunc
	route   route
	drained func() bool // ends what a drained gateway does to a try that waits at the gate; nil: none does

	mu        sync.Mutex
	calls     []*call         // whose clients are there; the lead first, if it is
	at        *upstream       // where it is
	pass      *breaker.Caller // there
	state     string          // of waiting
	kept      bool            // somebody said Hold, wherever it goes
	over      bool            // somebody gave it up
	note      retry.Note      // the latest that the engine has told
	since     time.Time       // when it was told
	due       time.Time       // of the next try, here or elsewhere
	open      bool            // an answer has begun, and its content has not
	elsewhere int             // tries at other upstreams
	sent      int             // tries that went out or shared another's outcome
	begun     time.Time       // of the try under way; zero: none
	done      chan struct{}   // closed when it has landed; made when the first call joins
	landed    bool            // there will be no other try
	heir      *call           // who takes the response; nil: nobody, or it has not landed
	resp      *http.Response  // the outcome; nil: there is none
	err       error
}

// takeOff makes the flight of a call.
func (c *call) takeOff() *flight {
	f := &flight{Gateway: c.gateway, setup: c.setup, lead: c, body: c.body, at: c.upstream, state: Trying}
	f.ctx, f.cancel = context.WithCancelCause(f.closing)
	f.body.lost = f.cancel
	f.route = newRoute(c)
	f.calls = append(f.calls, c)
	f.enterGate()
	return f
}

// run takes the flight from upstream to upstream until one has answered or
// none is left, and hands the outcome to a client that is there.
func (f *flight) run() {
	for {
		resp, err := f.ask()
		if err != nil && f.ctx.Err() != nil {
			err = context.Cause(f.ctx) // whatever the transport calls it
		}
		f.conclude(err)
		next := f.route.next(&f.note, err)
		if next == nil {
			f.arrive(err)
			f.land(resp, err)
			return
		}
		if resp != nil {
			_ = resp.Body.Close() // it is an error's
		}
		f.switchTo(next)
	}
}

// conclude makes sure that a run that has ended without a response says why.
func (f *flight) conclude(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case errors.Is(err, errSwitch): // the rest of the wait is not slept
		f.note.Run.Slept -= max(0, f.note.Verdict.Wait-time.Since(f.since))
		return
	case errors.Is(err, breaker.ErrGivenUp):
		if !f.since.IsZero() {
			f.note.Waited += time.Since(f.since)
		}
		f.note.Verdict = policy.Verdict{Stop: givenUp}
	case err == nil, errors.Is(err, errClosing), errors.Is(err, errLeft):
		return
	case errors.Is(err, errLost):
		f.note.Fault = &fault.Error{Kind: fault.Unavailable, Message: err.Error(), Rule: "gateway/body"}
		f.note.Verdict = policy.Verdict{Stop: policy.Final}
	case f.note.Fault == nil: // a request that is sent once only
		f.note.Run.Tries, f.note.Verdict = 1, policy.Verdict{Stop: policy.Exhausted}
	}
	if f.note.Fault == nil {
		f.note.Fault = f.setup.faults.Of(err, time.Now())
	}
}

// ask sends the request to the upstream where the flight is, until that has
// answered or its policy says stop.
func (f *flight) ask() (*http.Response, error) {
	req, err := f.lead.outgoing(f.ctx, f.at)
	if err != nil {
		f.refuse(err)
		return nil, err
	}
	defer f.pass.Close()
	t := &transport.Transport{
		Base:   f.at.reach,
		Retry:  retry.Retrier{Policy: f.route.terms.policy, Start: f.route.start, Breaker: f, Watch: f.watch, Sleep: f.wait},
		Faults: f.setup.faults,
		Limits: transport.Limits{FirstByte: bound(f.route.terms.limits.FirstByte), Idle: bound(f.route.terms.limits.Idle)},
		Opened: f.opened,
		Resent: true,
	}
	return t.RoundTrip(req)
}

// refuse ends the run at an upstream that cannot even be asked.
func (f *flight) refuse(err error) {
	n := retry.Note{Run: f.route.start, Waited: f.route.start.Slept, Verdict: policy.Verdict{Stop: policy.Final}}
	n.Run.Tries++
	n.Fault = f.setup.faults.Of(err, time.Now())
	f.watch(n)
}

// opened is told that an answer has begun whose content is still to come.
func (f *flight) opened() {
	f.mu.Lock()
	f.open = true
	calls := slices.Clone(f.calls)
	f.mu.Unlock()
	for _, c := range calls {
		c.hold.opened()
	}
}

// arrive tells of an answer that came at once from an upstream where the flight
// had gone on: there the engine has nothing to tell.
func (f *flight) arrive(err error) {
	if err == nil && f.note.Fault != nil && f.note.Verdict.Stop == "" {
		f.watch(retry.Note{Run: f.route.start, Waited: f.route.start.Slept})
	}
}

// switchTo goes on at another upstream.
func (f *flight) switchTo(next *upstream) {
	f.mu.Lock()
	from := f.at
	f.elsewhere += f.note.Run.Tries - f.route.start.Tries
	f.at, f.note = next, retry.Note{Run: f.route.start, Waited: f.route.start.Slept, Fault: f.note.Fault}
	f.since = time.Time{}
	f.enterGate()
	f.mu.Unlock()
	f.lead.tell(Event{Type: Switched, From: from.Name})
}

// where names the upstream where the flight is.
func (f *flight) where() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at.Name
}

func (f *flight) set(state string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state = state
}

// gaveUp tells whether the flight has ended without an answer.
func (f *flight) gaveUp() bool { return f.note.Verdict.Stop != "" }
