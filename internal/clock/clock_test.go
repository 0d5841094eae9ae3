package clock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/clock"
)

func TestMachine_SleepEndsByTimeOrWakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wake := make(chan struct{}, 1)
		sleep := clock.Machine{}.SleepOrWake
		for _, d := range []time.Duration{time.Hour, clock.Forever} {
			start := time.Now()
			time.AfterFunc(20*time.Second, func() { wake <- struct{}{} })
			if woken, err := sleep(t.Context(), d, wake); !woken || err != nil || time.Since(start) != 20*time.Second {
				t.Errorf("sleep of %v: woken %v, error %v, after %v; want woken after 20s", d, woken, err, time.Since(start))
			}
		}
		start := time.Now()
		if woken, err := sleep(t.Context(), time.Hour, wake); woken || err != nil || time.Since(start) != time.Hour {
			t.Errorf("sleep of 1h: woken %v, error %v, after %v; want not woken after 1h", woken, err, time.Since(start))
		}
	})
}

func TestMachine_SleepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("the caller has left")
		for _, d := range []time.Duration{time.Hour, clock.Forever} {
			ctx, cancel := context.WithCancelCause(t.Context())
			start := time.Now()
			time.AfterFunc(time.Minute, func() { cancel(cause) })
			if _, err := (clock.Machine{}).SleepOrWake(ctx, d, nil); err != cause || time.Since(start) != time.Minute {
				t.Errorf("sleep of %v: error %v after %v, want the cause after 1m", d, err, time.Since(start))
			}
			if _, err := (clock.Machine{}).SleepOrWake(ctx, d, nil); err != cause {
				t.Errorf("sleep of %v in a context that is over: error %v, want the cause", d, err)
			}
		}
	})
}

func TestLeft_CountsByTheClockThatHasGoneFurther(t *testing.T) {
	start := time.Now()
	wall := start.Round(0)
	tests := []struct {
		now  time.Time
		want time.Duration
	}{
		{start.Add(20 * time.Second), 40 * time.Second},
		{wall.Add(50 * time.Second), 10 * time.Second}, // the monotonic clock stood still
		{start.Add(time.Minute), 0},
	}
	for _, tt := range tests {
		if got := clock.Left(start, time.Minute, tt.now); got != tt.want {
			t.Errorf("Left of 1m at %v is %v, want %v", tt.now.Sub(start), got, tt.want)
		}
	}
}
