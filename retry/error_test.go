package retry_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

func TestDo_GivesUpWithTheOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := retry.Do(t.Context(), retry.Retrier{Policy: policy.Simple()}, newOutage(time.Hour).call)
		got, ok := errors.AsType[*retry.Error](err)
		if !ok || got.Tries != 4 || got.Waited != 7*time.Second || got.Stop != policy.Exhausted || got.Last != errOverloaded {
			t.Errorf("Do ended with %#v, want 4 tries in 7s, exhausted", err)
		}
		if want := "gave up after 4 tries in 7s: HTTP 529: Overloaded"; err.Error() != want {
			t.Errorf("the error reads %q, want %q", err, want)
		}
	})
	_, err := retry.Do(t.Context(), retry.Retrier{}, newOutage(time.Hour).call)
	if want := "HTTP 529: Overloaded"; err.Error() != want {
		t.Errorf("after one try the error reads %q, want %q", err, want)
	}
}

func TestTransientAndPermanent_Decide(t *testing.T) {
	busy := &fault.Error{Kind: fault.Overloaded, Final: true, Wait: time.Second}
	tests := []struct {
		name  string
		err   error
		kind  fault.Kind
		tries int
	}{
		{"plain", errors.New("boom"), fault.Unknown, 1},
		{"transient", retry.Transient(io.ErrNoProgress), fault.Unavailable, 4},
		{"transient fault keeps its kind", retry.Transient(busy), fault.Overloaded, 4},
		{"permanent", retry.Permanent(&fault.Error{Kind: fault.Overloaded}), fault.Overloaded, 1},
		{"permanent plain", retry.Permanent(io.ErrNoProgress), fault.Unknown, 1},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			_, err := retry.Do(t.Context(), retry.Retrier{Policy: policy.Simple()}, func(context.Context, int) (int, error) {
				tries++
				return 0, tt.err
			})
			f, _ := errors.AsType[*fault.Error](err)
			if f == nil || f.Kind != tt.kind || tries != tt.tries || !errors.Is(err, tt.err) {
				t.Errorf("%s: %v after %d tries, want kind %v after %d", tt.name, err, tries, tt.kind, tt.tries)
			}
		})
	}
	if !busy.Final || busy.Wait != time.Second {
		t.Errorf("the fault has been changed: %+v", busy)
	}
	if retry.Transient(nil) != nil || retry.Permanent(nil) != nil {
		t.Error("nil does not stay nil")
	}
}

func TestDo_GivenUpOnCommand(t *testing.T) {
	first := &fault.Error{Kind: fault.Overloaded, Status: 529, Message: "Overloaded"}
	sleep := func(context.Context, policy.Wait) error { return retry.ErrGivenUp }
	try := func(context.Context, int) (int, error) { return 0, first }
	_, err := retry.Do(t.Context(), retry.Retrier{Policy: policy.Simple(), Sleep: sleep}, try)
	end, _ := errors.AsType[*retry.Error](err)
	if end == nil || end.Stop != policy.GivenUp || end.Tries != 1 || end.Last != first {
		t.Fatalf("Do ended with %#v, want given up after a try", err)
	}
	if !errors.Is(err, retry.ErrGivenUp) || errors.Is(err, retry.ErrParked) || !errors.Is(err, first) {
		t.Errorf("%v is given up %v, parked %v, the fault %v; want true, false, true", err,
			errors.Is(err, retry.ErrGivenUp), errors.Is(err, retry.ErrParked), errors.Is(err, first))
	}
	if want := "given up: HTTP 529: Overloaded"; err.Error() != want {
		t.Errorf("the error reads %q, want %q", err, want)
	}

	_, err = retry.Do(t.Context(), retry.Retrier{Breaker: bar{retry.ErrGivenUp}}, try)
	end, _ = errors.AsType[*retry.Error](err)
	if end == nil || end.Stop != policy.GivenUp || end.Tries != 0 || end.Last != nil || err.Error() != "given up" {
		t.Errorf("given up before the first try, Do ended with %#v", err)
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		t.Error("a run without a failed try has a fault")
	}

	_, err = retry.Do(t.Context(), retry.Retrier{}, try)
	if errors.Is(err, retry.ErrGivenUp) {
		t.Errorf("%v counts as given up on command", err)
	}
}
