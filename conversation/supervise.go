package conversation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
)

// A worker that dies takes the other turns of its process with it, and a process may die of other reasons
// than its turns. So only a death soon after a claim counts against a turn, the next worker waits as the
// supervisor's policy says, and after a few deaths the turn has a trial.
const (
	soon     = 10 * time.Second // after its claim a worker that lives has proven that the turn does not kill it
	longLife = 10 * time.Minute // after its claim a worker that lives clears the turn of earlier failures

	suspicious = 3               // failures in a row after which a turn has a trial
	trialDelay = 5 * time.Second // until a turn asks again for its trial
)

// failed is the failure of a worker for a reason other than a provider.
type failed struct{ error }

// Unwrap returns the error.
func (f *failed) Unwrap() error { return f.error }

// errDied is the failure of a worker that has died with its process.
var errDied = errors.New("the worker died soon after it took the turn up")

// supervise decides what follows a worker's failure at an instant. The policy's waits are
// between workers; what the agent inside waits for its provider is its own.
func (w *worker) supervise(ctx context.Context, f *failed, at time.Time) error {
	ctx = context.WithoutCancel(ctx)
	run := w.log.now.failed
	if w.said || at.Sub(w.log.now.claimed) >= longLife {
		run = policy.Run{}
	}
	next, verdict := w.runner.Supervisor().Next(run, &fault.Error{Kind: fault.Unavailable, Message: f.Error()}, false, at, rand.Float64())
	w.runner.Log.Error("a worker failed", "turn", w.turn, "error", f.Error(), "failures", next.Tries, "wait", text.Exact(verdict.Wait), "stop", verdict.Stop)
	if verdict.Stop != "" {
		return w.giveUp(ctx, f, next.Tries)
	}
	c := crash{
		Run: next, WakeAt: at.Add(verdict.Wait), Message: fault.Scrub(f.Error()),
		Model: w.model(), Limit: w.runner.Supervisor().Retries,
	}
	if err := w.appendNote(ctx, c); err != nil {
		return err
	}
	restart := c.retry(at)
	w.report(ctx, agent.Report{Name: restart.Name, Event: restart})
	w.publish(ctx, restart)
	return w.runner.Store.Schedule(ctx, w.newJob(payload{}), c.WakeAt)
}

// giveUp ends a turn whose workers keep failing.
func (w *worker) giveUp(ctx context.Context, why error, failures int) error {
	message := fault.Scrub(why.Error())
	if errors.Is(why, errDied) {
		message = fmt.Sprintf("the process that worked on this turn died %d times in a row, each time within seconds of taking it up", failures)
	}
	return w.end(ctx, turn.Failed, turn.Error{Message: message, Kind: fault.Unknown.String(), Code: turn.WorkerFailed, Retries: failures - 1})
}

// proveLife notes that the worker of a turn lives, soon after its claim and much later, if workers of the
// turn have failed before. It ends with ctx.
func (w *worker) proveLife(ctx context.Context) {
	for _, wait := range []time.Duration{soon, longLife - soon} {
		if retry.Sleep(ctx, wait) != nil {
			return
		}
		w.runner.trials.end(w.log.id, true)
		_ = w.appendNote(ctx, survive{}) // that it lives is proven by others of its records, too
	}
}

// trials are the suspicious turns that a process tries, until they have proven that they do not kill it. There
// is one at a time in a process that has just started, and one more for each that has passed: a slow start.
type trials struct {
	mu     sync.Mutex
	now    map[string]bool // by conversation
	passed int
}

// begin begins the trial of a conversation's turn; false: others have to pass before.
func (t *trials) begin(conversation string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.now) > t.passed {
		return false
	}
	t.now[conversation] = true
	return true
}

// end ends the trial of a conversation's turn, if it has one.
func (t *trials) end(conversation string, passed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if passed && t.now[conversation] {
		t.passed++
	}
	delete(t.now, conversation)
}
