package agent

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
)

// waitingEvery is how often a wait is heard of.
const waitingEvery = 30 * time.Second

// errSwitch ends the run of a policy: the next model takes over.
var errSwitch = errors.New("the next model takes over")

// retrier gives the engine for one run of the policy: the world's, with events.
// leave is to be called when the run is over.
func (a *attempt) retrier() (e retry.Retrier, leave func()) {
	e, leave = a.Retry, func() {}
	if a.Breaker != nil {
		e.Breaker, leave = a.Breaker(a.model.Name())
	}
	e.Start, a.start = a.start, policy.Run{}
	onTry := e.OnTry
	e.OnTry = func(t retry.Try) {
		if onTry != nil {
			onTry(t)
		}
		a.onTry(t)
	}
	wait := e.Sleep
	if wait == nil {
		wait = patient(e.Breaker)
	}
	e.Sleep = func(ctx context.Context, n policy.Wait) error { return a.wait(ctx, n, wait) }
	return e, leave
}

// patient gives the wait of an engine that has none of its own.
func patient(g retry.Breaker) func(context.Context, policy.Wait) error {
	return func(ctx context.Context, n policy.Wait) error {
		if g != nil {
			return g.Wait(ctx, n.Verdict.Wait)
		}
		return retry.Sleep(ctx, n.Verdict.Wait)
	}
}

// onTry notes a try.
func (a *attempt) onTry(t retry.Try) {
	if t.Fault != nil && t.Run.Tries < t.N {
		return // an early probe, or the caller has left
	}
	a.last = t
	if t.Recovered() {
		name := a.model.Name()
		a.reportActivity(Recovered)
		a.log(slog.LevelInfo, "provider recovered", "provider", name.Provider, "model", name.Model,
			"retries", t.Run.Tries, "waited", t.Waited)
		_ = a.show(turn.Recovered{Name: name, Retries: t.Run.Tries, Waited: t.Waited}) // the reader who leaves is noticed
	}
	if t.Fault != nil && a.faulty.IsZero() {
		a.faulty = time.Now()
	}
}

// wait waits for the next try. Where there is a fallback, no wait goes beyond
// the end of patience: the try that follows is the model's last chance. One
// that asks to be left alone for longer has none.
func (a *attempt) wait(ctx context.Context, n policy.Wait, wait func(context.Context, policy.Wait) error) error {
	if a.next() != nil && switchable.Has(n.Fault.Kind) {
		left := a.Patience - time.Since(a.faulty)
		if left <= 0 || n.Verdict.Hinted && n.Verdict.Wait > left {
			return errSwitch
		}
		n.Verdict.Wait = min(n.Verdict.Wait, left)
	}
	if a.SpreadWait != nil && n.Run.Tries != a.announced {
		n.Verdict.Wait = a.SpreadWait(n.Verdict.Wait)
	}
	n.Due = time.Now().Add(n.Verdict.Wait)
	if err := a.announce(n); err != nil {
		return err
	}
	began := time.Now()
	err := a.waitVisibly(ctx, n, wait)
	a.metrics.TotalRetryDelay += time.Since(began)
	if err == nil {
		a.metrics.RetryCount++
	}
	return err
}

// announce tells of a wait that begins. One that goes on, after a scout has
// broken it off in vain, has been told of.
func (a *attempt) announce(n policy.Wait) error {
	if n.Run.Tries == a.announced {
		return nil
	}
	a.announced = n.Run.Tries
	a.reportActivity(Retrying)
	name := a.model.Name()
	a.log(slog.LevelWarn, "provider retry", "provider", name.Provider, "model", name.Model,
		"delay", n.Verdict.Wait, "attempt", n.Run.Tries-1, "kind", n.Fault.Kind.String())
	return a.show(turn.Retry{Name: name, Wait: n})
}

// waitVisibly waits, and is heard of meanwhile.
func (a *attempt) waitVisibly(ctx context.Context, n policy.Wait, wait func(context.Context, policy.Wait) error) error {
	if n.Verdict.Wait <= waitingEvery {
		return wait(ctx, n)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over := make(chan error, 1)
	go func() { over <- wait(ctx, n) }()
	tick := time.NewTicker(waitingEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-over:
			return err
		case <-tick.C:
		}
		err := a.show(turn.Waiting{Name: a.model.Name(), Retry: n.Run.Tries, Remaining: max(0, time.Until(n.Due))})
		if err != nil {
			cancel(err)
			<-over
			return err
		}
	}
}
