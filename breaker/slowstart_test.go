package breaker_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
)

func TestBreaker_SlowStartDoublesItsBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b breaker.Breaker
		var batches []int
		left, start := 12, time.Now()
		b.SlowStart(t.Context(), func(n int) int {
			n = min(n, left)
			batches, left = append(batches, n), left-n
			b.SlowStart(t.Context(), func(int) int { t.Error("a second slow start goes beside the first"); return 0 })
			return n
		})
		if want := []int{1, 2, 4, 5}; !slices.Equal(batches, want) || time.Since(start) != 3*time.Second {
			t.Errorf("batches are %v in %v, want %v in 3s", batches, time.Since(start), want)
		}
		again := 0
		b.SlowStart(t.Context(), func(int) int { again++; return 0 })
		if again != 1 {
			t.Errorf("a slow start after another called start %d times, want once", again)
		}
	})
}

func TestBreaker_SlowStartEndsAtAFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b breaker.Breaker
		fail(t, &b, opus, errBusy)
		batches := 0
		b.SlowStart(t.Context(), func(n int) int {
			if batches++; batches == 3 {
				fail(t, &b, opus, errBusy)
			}
			return n
		})
		if batches != 3 {
			t.Errorf("a slow start with a fault in its third batch made %d", batches)
		}
		ctx, cancel := context.WithCancel(t.Context())
		batches = 0
		b.SlowStart(ctx, func(n int) int {
			if batches++; batches == 2 {
				cancel()
			}
			return n
		})
		if batches != 2 {
			t.Errorf("a slow start that was canceled in its second batch made %d", batches)
		}
	})
}
