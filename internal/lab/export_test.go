package lab

import (
	"context"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/config"
)

// Trace has the times of a run, since its start.
type Trace struct {
	Calls [][]time.Duration // when each caller's calls began
	Sent  []time.Duration   // when requests were sent
	Tries []int             // of each caller
}

// Follow simulates a scenario with one strategy and returns its trace.
func Follow(ctx context.Context, s config.Scenario, strategy Strategy) (Trace, error) {
	t := Trace{Calls: make([][]time.Duration, s.Callers.Number), Tries: make([]int, s.Callers.Number)}
	r := newRun(s, strategy)
	r.onRequest = func(caller, n int) {
		if n == 0 {
			t.Calls[caller] = append(t.Calls[caller], r.sim.elapsed)
			return
		}
		t.Sent = append(t.Sent, r.sim.elapsed)
		t.Tries[caller]++
	}
	_, err := r.result(ctx)
	return t, err
}
