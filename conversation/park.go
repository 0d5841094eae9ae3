package conversation

import (
	"context"
	"time"

	"github.com/ridethrough/ridethrough/policy"
)

// believedFor is for how long a stated reset of a usage window is believed, as the breaker does. The try by which the
// turn then asks whether it is open costs no retry.
const believedFor = 15 * time.Minute

// park hands the turn back until it is due.
func (w *worker) park(ctx context.Context, n policy.Wait) error {
	due := n.Due
	if asks := time.Now().Add(believedFor); n.Verdict.Window && asks.Before(due) {
		due = asks
	}
	if err := w.runner.Store.Schedule(ctx, newJob(w.log.id, w.turn, payload{Woken: due.Before(n.Due)}), due); err != nil {
		return err
	}
	w.runner.parked.add(w.asked.Provider, w.log.id, w.turn)
	return errParked
}
