package agent

import (
	"context"
	"time"

	"github.com/ridethrough/ridethrough/internal/preamble"
	"github.com/ridethrough/ridethrough/internal/route"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// A gateway of this project may hold the try of a model. It decides alone when it asks again; the agent shows the
// wait as its own, bounds it by its policy and its patience, and counts it.

// waitLeft returns the longest wait that the policy still allows; 0: it sets no limit.
func (a *attempt) waitLeft() time.Duration {
	most := a.TermsAt(a.model.Name()).Policy.MaxWait
	if most == 0 {
		return 0
	}
	return max(most-a.slept, time.Millisecond)
}

// onHold shows a gateway's notice about the try that it holds; nil: it no longer holds it.
func (a *attempt) onHold(e turn.Event, h *preamble.Hold) {
	if _, ticks := e.(turn.Waiting); !ticks && a.patienceEnd != nil {
		a.patienceEnd.Stop() // the wait is over
	}
	switch e := e.(type) {
	case nil:
		a.heldRetries += h.Retries
		a.metrics.RetryCount += h.Retries
		a.metrics.TotalRetryDelay += h.Waited
		a.tellHold(nil)
	case turn.Retry:
		w, leaves := a.boundHeldWait(e.Wait, h)
		if leaves {
			return
		}
		e.Name, e.Wait = a.model.Name(), w
		a.tellHold(h.RetryNow)
		a.reportActivity(Retrying)
		a.report(e)
		a.showHeld(e)
	case turn.Waiting:
		if left := a.lastTry.Load(); left != nil { // that try has failed; the gateway has not counted it
			h.Retries++
			a.cancel(left)
			return
		}
		e.Name = a.model.Name()
		a.showHeld(e)
	case turn.Recovered:
		e.Name = a.model.Name()
		a.reportActivity(Recovered)
		a.report(e)
		a.showHeld(e)
	}
}

// tellHold calls OnHold.
func (a *attempt) tellHold(retryNow func(context.Context) error) {
	if a.OnHold != nil {
		a.OnHold(retryNow)
	}
}

// showHeld yields an event. A reader that has left ends the try.
func (a *attempt) showHeld(e turn.Event) {
	if err := a.show(e); err != nil {
		a.err = err
		a.cancel(err)
	}
}

// boundHeldWait ends a wait when patience with the model does: the next one takes over, or one more try is made. It
// returns as much of the wait as patience allows, and whether the next one takes over now.
func (a *attempt) boundHeldWait(w policy.Wait, h *preamble.Hold) (bounded policy.Wait, now bool) {
	bounded, leaves := a.route.Bound(w, time.Now())
	left := &route.Left{End: route.End{Run: a.last.Run, Fault: w.Fault}}
	switch ctx := a.ctx; {
	case leaves && bounded.Verdict.Wait <= 0:
		a.cancel(left)
		return bounded, true
	case leaves:
		a.patienceEnd = time.AfterFunc(bounded.Verdict.Wait, func() { a.cancel(left) })
	case bounded.Verdict.Wait < w.Verdict.Wait:
		a.patienceEnd = time.AfterFunc(bounded.Verdict.Wait, func() {
			a.lastTry.Store(left)
			_ = h.RetryNow(ctx) // else the wait goes on
		})
	}
	return bounded, false
}
