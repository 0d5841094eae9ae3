package agent

import (
	"context"
	"errors"
	"time"

	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
)

// waitingEvery is the time between two turn.Waiting events.
const waitingEvery = 30 * time.Second

// retrier returns the agent's retrier for one run of the policy, with events and
// failover. leave has to be called after the run.
func (a *attempt) retrier() (e retry.Retrier, leave func()) {
	e, leave = a.Retry, func() {}
	e.Policy = a.TermsAt(a.model.Name()).Policy
	if a.Breaker != nil {
		e.Breaker, leave = a.Breaker(a.model.Name())
	}
	e.Start, a.route.Run = a.route.Run, policy.Run{} // a stored run continues once
	if e.Resume != nil {
		// A stored wait as well, which has been announced.
		e.Start, a.announced, a.counted = e.Resume.Run, e.Resume.Run.Tries, e.Resume.Run.Tries
		a.Retry.Resume = nil
	}
	a.slept = e.Start.Slept
	onTry := e.OnTry
	e.OnTry = func(t retry.Try) {
		if onTry != nil {
			onTry(t)
		}
		a.reportTry(t)
		a.onTry(t)
	}
	sleep := e.Sleep
	if b := e.Breaker; sleep == nil {
		sleep = func(ctx context.Context, w policy.Wait) error {
			if b != nil {
				return b.Wait(ctx, w.Verdict.Wait)
			}
			return retry.Sleep(ctx, w.Verdict.Wait)
		}
	}
	e.Sleep = func(ctx context.Context, w policy.Wait) error {
		return a.route.Sleep(ctx, w, func(ctx context.Context, w policy.Wait) error { return a.wait(ctx, w, sleep) })
	}
	return e, leave
}

// onTry notes a try, and reports recovery.
func (a *attempt) onTry(t retry.Try) {
	if t.Fault != nil && t.Run.Tries < t.N {
		return // an early probe, or the caller has left
	}
	a.last, a.slept = t, t.Run.Slept
	if t.Recovered() {
		a.reportActivity(Recovered)
		recovered := turn.Recovered{Name: a.model.Name(), Retries: t.Run.Tries, Waited: t.Waited}
		a.report(recovered)
		_ = a.show(recovered) // a reader that left is noticed later
	}
}

// wait announces a wait and sleeps.
func (a *attempt) wait(ctx context.Context, w policy.Wait, sleep func(context.Context, policy.Wait) error) error {
	if a.SpreadWait != nil && w.Run.Tries != a.announced {
		w.Verdict.Wait = a.SpreadWait(w.Verdict.Wait)
	}
	w.Due = time.Now().Add(w.Verdict.Wait)
	if err := a.announce(w); err != nil {
		return err
	}
	began := time.Now()
	err := a.sleepWithEvents(ctx, w, sleep)
	a.metrics.TotalRetryDelay += time.Since(began)
	if (err == nil || errors.Is(err, retry.ErrEarlyProbe)) && a.counted != w.Run.Tries {
		a.counted = w.Run.Tries
		a.metrics.RetryCount++
	}
	return err
}

// announce reports a wait. A wait that continues after the failure of an early probe has been announced.
func (a *attempt) announce(w policy.Wait) error {
	if w.Run.Tries == a.announced {
		return nil
	}
	a.announced = w.Run.Tries
	a.reportActivity(Retrying)
	e := turn.Retry{Name: a.model.Name(), Wait: w}
	a.report(e)
	return a.show(e)
}

// sleepWithEvents sleeps, with an event every 30 seconds.
func (a *attempt) sleepWithEvents(ctx context.Context, w policy.Wait, sleep func(context.Context, policy.Wait) error) error {
	if w.Verdict.Wait <= waitingEvery {
		return sleep(ctx, w)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over := make(chan error, 1)
	go func() { over <- sleep(ctx, w) }()
	tick := time.NewTicker(waitingEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-over:
			return err
		case <-tick.C:
		}
		err := a.show(turn.Waiting{Name: a.model.Name(), Retry: w.Retry(), Remaining: max(0, time.Until(w.Due))})
		if err != nil {
			cancel(err)
			<-over
			return err
		}
	}
}
