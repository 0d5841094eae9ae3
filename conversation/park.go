package conversation

import (
	"context"
	"errors"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
)

// wait waits for the next try: here if the wait is short, else the turn is parked.
func (w *worker) wait(ctx context.Context, n policy.Wait) error {
	err := w.waitOrPark(ctx, n)
	w.urged = errors.Is(err, retry.ErrEarlyProbe) && w.retryAsked.Swap(false)
	if err == nil || w.urged {
		if tries, ok := w.runner.waits.try(w.log.id); ok {
			w.runner.announce(ctx, w.log.id, &tries)
		}
	}
	return err
}

// waitOrPark is wait. A try that a user asks for is an early probe: if it fails, this is called for the rest of the
// wait.
func (w *worker) waitOrPark(ctx context.Context, n policy.Wait) error {
	if w.rest != nil {
		w.rest = nil
		w.retryAsked.Store(true)
		return retry.ErrEarlyProbe
	}
	stays := n.Verdict.Wait <= w.runner.ParkAfter
	if !w.isParked(n) {
		if err := w.recordWait(ctx, n, stays); err != nil {
			return err
		}
		w.announceWait(ctx)
	}
	if w.urged {
		w.announceWait(ctx)
		w.publish(ctx, turn.Waiting{Name: w.asked, Retry: n.Retry(), Remaining: n.Verdict.Wait})
	}
	switch {
	case errors.Is(context.Cause(ctx), errAborted):
		return errAborted // no worker is to resume it
	case !stays:
		return w.park(context.WithoutCancel(ctx), n) // a request to retry meanwhile wakes the turn again
	}
	err := w.pausable(ctx, func(ctx context.Context) error { return w.caller.Wait(ctx, n.Verdict.Wait) })
	if err == nil && w.retryAsked.Load() {
		err = retry.ErrEarlyProbe
	}
	return err
}

// recordWait records and publishes a wait. stays: this worker waits.
func (w *worker) recordWait(ctx context.Context, n policy.Wait, stays bool) error {
	p, err := park{turn.Retry{Name: w.asked, Wait: n}, stays, w.shown}.redacted()
	if err == nil {
		err = w.appendNote(context.WithoutCancel(ctx), p)
	}
	w.flushDeferred(context.WithoutCancel(ctx))
	return err
}

// announceWait announces the wait that has just been recorded.
func (w *worker) announceWait(ctx context.Context) {
	w.mu.Lock()
	wait := w.log.wait()
	w.mu.Unlock()
	if wait != nil {
		w.runner.noteWait(ctx, *wait)
	}
}

// isParked reports whether a wait is recorded already and continues.
func (w *worker) isParked(n policy.Wait) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := w.log.now.waits
	return last != nil && last.Run.Tries == n.Run.Tries
}

// believedFor is for how long a stated reset of a usage window is believed, as the breaker does. The try by which the
// turn then asks whether it is open costs no retry.
const believedFor = 15 * time.Minute

// park hands the turn back until it is due.
func (w *worker) park(ctx context.Context, n policy.Wait) error {
	due := n.Due
	if asks := time.Now().Add(believedFor); n.Verdict.Window && asks.Before(due) {
		due = asks
	}
	if err := w.runner.Store.Schedule(ctx, w.newJob(payload{Woken: due.Before(n.Due)}), due); err != nil {
		return err
	}
	w.runner.parked.add(w.asked.Provider, w.log.id, w.turn)
	return errParked
}

// untilReset returns terms by which a spent usage window is waited for, however long that is.
func untilReset(at func(llm.Name) agent.Terms) func(llm.Name) agent.Terms {
	return func(name llm.Name) agent.Terms {
		terms := at(name)
		terms.Policy.Quota = policy.Quota{Wait: policy.QuotaUntilReset}
		terms.Policy.Retries = max(1, terms.Policy.Retries) // a policy without retries waits for nothing
		return terms
	}
}
