package lab

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

type run struct {
	config.Scenario
	strategy  Strategy
	sim       *simulation
	upstream  *upstream
	replicas  []*replica
	tally     tally
	calling   int                 // callers that have not ended
	onRequest func(caller, n int) // called before each call, with n = 0, and each request; nil: none
}

// drain is how long calls may still run after the last one has begun.
const drain = 24 * time.Hour

var errLeft = errors.New("the caller has run out of patience")

func newRun(s config.Scenario, strategy Strategy) *run {
	sim := newSimulation()
	r := &run{Scenario: s, strategy: strategy, sim: sim, upstream: newUpstream(sim, s), tally: newTally(s, strategy)}
	r.startReplicas()
	return r
}

func (r *run) result(ctx context.Context) (*Result, error) {
	r.sim.AfterFunc(r.Lasts+drain, func() { r.sim.stopped = true })
	for i := range r.Callers.Number + r.Others.Number {
		c := caller{id: i, Callers: r.Callers}
		if i >= r.Callers.Number {
			c.Callers, c.other = r.Others, true
		}
		r.calling++
		r.sim.spawn(func(t *task) {
			r.caller(t, &c)
			if r.calling--; r.calling == 0 {
				r.closeReplicas()
			}
		})
	}
	if err := r.sim.run(ctx); err != nil {
		return nil, err
	}
	result := r.tally.sum()
	result.Used = r.upstream.used()
	return result, nil
}

type caller struct {
	config.Callers
	id    int
	other bool          // it is of the second group
	asked time.Duration // when its latest request was accepted; 0: none was
	grown float64       // tokens by which its conversation has grown: those that no cache had
	luck  *rand.Rand
}

// cacheTime is how long a provider's cache keeps a request's prompt.
const cacheTime = 5 * time.Minute

func (c *caller) request(now time.Duration) request {
	q := request{luck: c.luck.Float64(), tokens: float64(c.Tokens)}
	if c.asked > 0 && now-c.asked <= cacheTime {
		q.cached = c.Cached * q.tokens
	}
	return q
}

// accepted records an answer to the latest request. A conversation grows by what its next request does not read
// from the cache. Calls without a cache are independent of one another.
func (c *caller) accepted(sent time.Duration) {
	c.asked = sent
	if c.Cached > 0 {
		c.grown += (1 - c.Cached) * float64(c.Tokens)
	}
}

// caller makes calls with pauses between them until the scenario ends. The pauses do not depend on the calls'
// outcomes.
func (r *run) caller(t *task, c *caller) {
	pauses := rand.New(rand.NewPCG(r.Seed, 2*uint64(c.id)+1))
	c.luck = rand.New(rand.NewPCG(r.Seed, 2*uint64(c.id)+2))
	for {
		pause := time.Duration(pauses.ExpFloat64() * float64(c.Every))
		if r.sim.elapsed+pause >= r.Lasts {
			return
		}
		if _, err := r.sim.SleepOrWake(t.ctx, pause, nil); err != nil {
			return
		}
		r.call(t, c)
		if t.ctx.Err() != nil {
			return
		}
	}
}

func (r *run) call(t *task, from *caller) {
	r.reportRequest(from.id, 0)
	ctx, cancel := context.WithCancelCause(t.ctx)
	defer cancel(nil)
	if from.Patience > 0 {
		defer r.sim.cancelAfter(ctx, from.Patience, func() { cancel(errLeft) }).Stop()
	}
	at := r.replicas[from.id%len(r.replicas)]
	retrier := retry.Retrier{Policy: r.strategy.Policy, Clock: at.clock, Rand: from.luck.Float64}
	if at.breaker != nil {
		c := at.breaker.Caller(breaker.Scope{Model: "model", Credential: "key"})
		defer c.Close()
		retrier.Breaker = c
	}
	var room *admitted
	if at.limits != nil {
		room = r.admit(from, at.limits, retrier.Breaker)
		defer room.close()
		retrier.Breaker = room
	}
	call := call{began: r.sim.elapsed, other: from.other, replica: from.id % len(r.replicas)}
	r.tally.begin()
	retrier.OnTry = func(t retry.Try) { call.hit = t.Run.Tries > 0 }
	_, err := retry.Do(ctx, retrier, func(ctx context.Context, n int) (struct{}, error) {
		r.reportRequest(from.id, n)
		call.sent = r.sim.elapsed
		r.tally.request(call.sent)
		q := from.request(call.sent)
		q.taken = func() { call.sent = r.sim.elapsed }
		h, err := r.try(ctx, n, q)
		if room != nil {
			room.answered(h, q, err)
		}
		if err == nil {
			from.accepted(call.sent)
		} else {
			r.tally.refuse(call.sent)
		}
		return struct{}{}, err
	})
	call.ended = r.sim.elapsed
	r.tally.count(call, err)
}

func (r *run) reportRequest(caller, n int) {
	if r.onRequest != nil {
		r.onRequest(caller, n)
	}
}

// try sends one request and returns its outcome as the strategy's program sees it.
func (r *run) try(ctx context.Context, n int, q request) (http.Header, error) {
	if limit := r.strategy.Timeout; limit > 0 {
		bounded, cancel := r.sim.WithDeadline(ctx, r.sim.Now().Add(limit), &fault.Error{
			Kind: fault.Timeout, Message: "no answer within " + limit.String(),
		})
		defer cancel()
		ctx = bounded
	}
	h, err := r.upstream.ask(ctx, q)
	f, refused := errors.AsType[*fault.Error](err)
	if !refused || r.strategy.Source == "" { // a strategy of this project sees faults as they are
		return h, err
	}
	return h, r.strategy.classify(f, n)
}

// classify returns the fault of failure n of a call, as a program sees it that decides by status and has its own
// rule for Retry-After.
func (s *Strategy) classify(f *fault.Error, n int) *fault.Error {
	if f.Kind == fault.Timeout {
		return f // the program's own timeout, which every strategy retries
	}
	if !s.Retries(f.Status, n) {
		f.Final = true
		return f
	}
	f.Kind, f.Final = fault.Overloaded, false // a kind that the policy retries
	if f.Wait > s.MaxRetryAfter {
		switch s.Beyond {
		case config.BeyondEnds:
			f.Final = true
		case config.BeyondShortens:
			f.Wait = s.MaxRetryAfter
		default:
			f.Wait = 0
		}
	}
	return f
}

// Strategy is a retry policy, and what a program does besides retrying.
type Strategy struct {
	config.Strategy
	SharesBreaker bool // all callers share a circuit breaker
	Fleet         bool // and the breakers of several gateways act as one
	Admission     bool // and wait for room below the limits that the provider states
}

// OwnStrategy returns a strategy of this project: a policy, with or without a shared circuit breaker. With one it
// has the quota of `ridethrough serve`, unless the policy sets another.
func OwnStrategy(name string, p policy.Policy, shared bool) Strategy {
	s := Strategy{Strategy: config.Strategy{Name: name, Title: "ridethrough, " + name, Policy: p}, SharesBreaker: shared}
	if shared {
		if s.Policy.Quota == (policy.Quota{}) {
			s.Policy.Quota = config.DefaultQuota()
		}
		s.Name += withBreaker
		s.Title += ", shared"
	}
	return s
}

// InFleet returns the strategy with gateways whose circuit breakers act as one.
func (s Strategy) InFleet() Strategy {
	s.Fleet = true
	s.Name += withFleet
	s.Title += ", fleet"
	return s
}

// WithAdmission returns the strategy with admission by the limits that the provider states.
func (s Strategy) WithAdmission() Strategy {
	s.Admission = true
	s.Name += withAdmission
	s.Title += ", admission"
	return s
}

// ForAWeek returns the strategy with a quota that permits waiting for the window of a week.
func (s Strategy) ForAWeek() Strategy {
	s.Policy.Quota.Max = 7 * 24 * time.Hour
	s.Name += withWeek
	s.Title += ", quota: {max: 7d}"
	return s
}

// The suffixes of strategies. Callers share a circuit breaker, one per gateway; they also wait for room below the
// limits that the provider states; they also wait for the window of a week; the breakers of several gateways act as
// one.
const (
	withBreaker   = "+breaker"
	withAdmission = "+admission"
	withWeek      = "+7d"
	withFleet     = "+fleet"
)
