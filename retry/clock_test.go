package retry_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/clock"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// leaping is a clock on which every wait is over at once.
type leaping struct {
	clock.Machine
	now  time.Time
	ends map[time.Time]context.CancelCauseFunc
	why  map[time.Time]error
}

func leap() *leaping {
	return &leaping{
		now:  time.Date(2026, time.November, 2, 21, 0, 0, 0, time.UTC),
		ends: map[time.Time]context.CancelCauseFunc{}, why: map[time.Time]error{},
	}
}

func (c *leaping) Now() time.Time { return c.now }

// pass lets time pass, and ends the contexts whose end has come.
func (c *leaping) pass(d time.Duration) {
	c.now = c.now.Add(d)
	for end, cancel := range c.ends {
		if !c.now.Before(end) {
			cancel(c.why[end])
		}
	}
}

func (c *leaping) SleepOrWake(ctx context.Context, d time.Duration, _ <-chan struct{}) (bool, error) {
	c.pass(d)
	return false, context.Cause(ctx)
}

func (c *leaping) WithDeadline(ctx context.Context, end time.Time, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	c.ends[end], c.why[end] = cancel, cause
	return ctx, func() { cancel(nil) }
}

func TestDo_GoesByItsClock(t *testing.T) {
	c := leap()
	start := c.now
	var last retry.Try
	e := retry.Retrier{Policy: policy.Patient(), Clock: c, OnTry: func(t retry.Try) { last = t }}
	tries := 0
	_, err := retry.Do(t.Context(), e, func(context.Context, int) (int, error) {
		tries++
		return 0, &fault.Error{Kind: fault.Overloaded, Status: 529}
	})
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Status != 529 {
		t.Errorf("the error is %v, want the last fault", err)
	}
	if took := c.now.Sub(start); tries != 22 || took != 27105*time.Second {
		t.Errorf("%d tries in %v, want 22 in 7h31m45s", tries, took)
	}
	if last.Waited != 27105*time.Second || !last.Run.Started.Equal(start) {
		t.Errorf("it tells of %v waited since %v", last.Waited, last.Run.Started)
	}
}

func TestDo_DeadlineGoesByItsClock(t *testing.T) {
	c := leap()
	e := retry.Retrier{Policy: policy.Council(policy.CouncilBudget), Clock: c}
	_, err := retry.Do(t.Context(), e, func(ctx context.Context, _ int) (int, error) {
		_, err := c.SleepOrWake(ctx, time.Hour, nil)
		return 0, err
	})
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Rule != "retry/deadline" {
		t.Errorf("the error is %v, want the wall's", err)
	}
}
