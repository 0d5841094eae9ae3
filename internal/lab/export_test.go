package lab

import (
	"context"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/config"
)

// Trace is what happened in a play, since its start.
type Trace struct {
	Calls [][]time.Duration // when each caller's calls began
	Sent  []time.Duration   // when requests were sent
	Tries []int             // of each caller
}

// Follow plays a scenario once and gives what happened.
func Follow(ctx context.Context, s config.Scenario, how Strategy) (Trace, error) {
	t := Trace{Calls: make([][]time.Duration, s.Callers.Number), Tries: make([]int, s.Callers.Number)}
	st := newStage(s, how)
	st.onRequest = func(caller, n int) {
		if n == 0 {
			t.Calls[caller] = append(t.Calls[caller], st.world.at)
			return
		}
		t.Sent = append(t.Sent, st.world.at)
		t.Tries[caller]++
	}
	_, err := st.play(ctx)
	return t, err
}
