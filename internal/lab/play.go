package lab

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// stage is a scenario with one strategy.
type stage struct {
	config.Scenario
	strategy  Strategy
	world     *simulation
	upstream  *upstream
	breaker   *breaker.Breaker // nil: each caller is for itself
	tally     tally
	onRequest func(caller, n int) // of each call as it begins, n 0, and of its requests; nil: nobody
}

// tail is how long a play goes on after its calls have begun: nobody is
// waited for any longer.
const tail = 24 * time.Hour

// errLeft is a caller's patience at its end.
var errLeft = errors.New("the caller has no patience left")

func newStage(s config.Scenario, how Strategy) *stage {
	w := newWorld()
	st := &stage{Scenario: s, strategy: how, world: w, upstream: newUpstream(w, s), tally: newTally(s)}
	if how.SharesBreaker {
		st.breaker = breaker.New("lab")
		st.breaker.Clock = w
	}
	return st
}

// play plays the scenario once.
func (s *stage) play(ctx context.Context) (Result, error) {
	s.world.AfterFunc(s.Lasts+tail, func() { s.world.over = true })
	for i := range s.Callers.Number {
		s.world.start(func(a *actor) { s.calls(a, i) })
	}
	if err := s.world.run(ctx); err != nil {
		return Result{}, err
	}
	return s.tally.result(s.strategy), nil
}

// calls is the life of a caller: a pause, a call, a pause, as long as calls
// begin. How long its pauses are does not depend on what becomes of its calls.
func (s *stage) calls(a *actor, i int) {
	pauses := rand.New(rand.NewPCG(s.Seed, 2*uint64(i)+1))
	luck := rand.New(rand.NewPCG(s.Seed, 2*uint64(i)+2))
	for {
		pause := time.Duration(pauses.ExpFloat64() * float64(s.Callers.Every))
		if s.world.at+pause >= s.Lasts {
			return
		}
		if _, err := s.world.SleepOrWake(a.ctx, pause, nil); err != nil {
			return
		}
		s.call(a, i, luck)
		if a.ctx.Err() != nil {
			return
		}
	}
}

// call is one call of a caller, from its first try to its answer or its end.
func (s *stage) call(a *actor, caller int, luck *rand.Rand) {
	s.reportRequest(caller, 0)
	ctx, cancel := context.WithCancelCause(a.ctx)
	defer cancel(nil)
	if s.Callers.Patience > 0 {
		defer s.world.leaves(ctx, s.Callers.Patience, func() { cancel(errLeft) }).Stop()
	}
	e := retry.Retrier{Policy: s.strategy.Policy, Clock: s.world, Rand: luck.Float64}
	if s.breaker != nil {
		c := s.breaker.Caller(breaker.Scope{Model: "model", Credential: "key"})
		defer c.Close()
		e.Breaker = c
	}
	call := call{began: s.world.at}
	e.OnTry = func(t retry.Try) { call.hit = t.Run.Tries > 0 }
	_, err := retry.Do(ctx, e, func(ctx context.Context, n int) (struct{}, error) {
		s.reportRequest(caller, n)
		call.sent = s.world.at
		s.tally.request(call.sent)
		return struct{}{}, s.try(ctx, n, luck.Float64())
	})
	call.ended = s.world.at
	s.tally.count(call, err)
}

// reportRequest tells whoever follows the play.
func (s *stage) reportRequest(caller, n int) {
	if s.onRequest != nil {
		s.onRequest(caller, n)
	}
}

// try is one request of a call, as the strategy's program sees its outcome.
func (s *stage) try(ctx context.Context, n int, luck float64) error {
	if limit := s.strategy.Timeout; limit > 0 {
		bounded, cancel := s.world.WithDeadline(ctx, s.world.Now().Add(limit), &fault.Error{
			Kind: fault.Timeout, Message: "no answer within " + limit.String(),
		})
		defer cancel()
		ctx = bounded
	}
	err := s.upstream.ask(ctx, luck)
	f, refused := errors.AsType[*fault.Error](err)
	if !refused || s.strategy.ours() {
		return err
	}
	return s.strategy.sees(f, n)
}

// sees gives a fault as a program takes it that goes by statuses and has its
// own rule about stated waits. n is which failure of the call it is.
func (s *Strategy) sees(f *fault.Error, n int) *fault.Error {
	if f.Kind == fault.Timeout {
		return f // a limit of its own, which all of them try again
	}
	if !s.Retries(f.Status, n) {
		f.Final = true
		return f
	}
	f.Kind, f.Final = fault.Overloaded, false // one that its policy tries again
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

// ours tells whether the strategy is one of this project's, which sees faults
// as they are.
func (s *Strategy) ours() bool { return s.Source == "" }

// Strategy is a way of trying again.
type Strategy struct {
	config.Strategy
	SharesBreaker bool // callers share an outage
}

// OwnStrategy is a strategy of this project's: a policy, with or without the gate.
func OwnStrategy(name string, p policy.Policy, shared bool) Strategy {
	s := Strategy{Strategy: config.Strategy{Name: name, Title: "ridethrough, " + name, Policy: p}, SharesBreaker: shared}
	if shared {
		s.Name += withBreaker
		s.Title += ", shared"
	}
	return s
}

// withBreaker is the end of a strategy's name that has the gate.
const withBreaker = "+breaker"
