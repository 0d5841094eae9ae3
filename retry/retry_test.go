package retry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

var (
	errOverloaded = &fault.Error{Kind: fault.Overloaded, Status: 529, Message: "Overloaded"}
	errDenied     = &fault.Error{Kind: fault.Auth, Status: 401, Message: "invalid x-api-key"}
)

// outage is a call that fails until the outage is over.
type outage struct {
	until time.Time
	err   error
	tries int
}

func newOutage(d time.Duration) *outage {
	return &outage{until: time.Now().Add(d), err: errOverloaded}
}

func (o *outage) call(context.Context, int) (string, error) {
	o.tries++
	if time.Now().Before(o.until) {
		return "", o.err
	}
	return "answer", nil
}

func TestDo_PatientOutlastsSevenHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(7 * time.Hour)
		begun := time.Now()
		got, err := retry.Do(t.Context(), retry.Retrier{Policy: policy.Patient()}, o.call)
		if got != "answer" || err != nil {
			t.Fatalf("got %q, %v", got, err)
		}
		if took := time.Since(begun); took < 7*time.Hour || took > 7*time.Hour+30*time.Minute {
			t.Errorf("recovered after %v", took)
		}
	})
}

func TestDo_PatientGivesUpAfterTwentyOneRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(48 * time.Hour)
		begun := time.Now()
		_, err := retry.Do(t.Context(), retry.Retrier{Policy: policy.Patient()}, o.call)
		if !errors.Is(err, errOverloaded) || o.tries != 22 || time.Since(begun) != 27105*time.Second {
			t.Errorf("%v after %d tries and %v; want 22 and 27105s", err, o.tries, time.Since(begun))
		}
	})
}

func TestDo_CancelDuringALongWaitReturnsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the bubble fails the test if a goroutine stays behind
		left := errors.New("the user pressed escape")
		ctx, cancel := context.WithCancelCause(t.Context())
		var waits []time.Duration
		e := retry.Retrier{Policy: policy.Patient(), OnWait: func(w policy.Wait) { waits = append(waits, w.Verdict.Wait) }}
		// the eighth wait, of 30 minutes, begins 1 905 s after the start
		abort := time.Now().Add(1905*time.Second + 10*time.Minute)
		time.AfterFunc(time.Until(abort), func() { cancel(left) })
		_, err := retry.Do(ctx, e, newOutage(8*time.Hour).call)
		if late := time.Since(abort); !errors.Is(err, left) || late > time.Millisecond {
			t.Errorf("%v, %v late", err, late)
		}
		if waits[len(waits)-1] != 30*time.Minute {
			t.Errorf("aborted a wait of %v", waits[len(waits)-1])
		}
	})
}

func TestRetrier_HooksSeeEachTryAndEachWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var got []string
		e := retry.Retrier{
			Policy: policy.Simple(),
			OnTry: func(t retry.Try) {
				got = append(got, fmt.Sprint(time.Since(begun), " try ", t.N, " ", t.Fault, " ", t.Run.Tries, " ", t.Recovered(), " ", t.Waited))
			},
			OnWait: func(w policy.Wait) {
				got = append(got, fmt.Sprint(time.Since(begun), " wait ", w.Fault, " ", w.Retry(), "/", w.Limit, " ", w.Verdict.Wait, " ", w.Due.Sub(begun), " ", w.Waited))
			},
		}
		if _, err := retry.Do(t.Context(), e, newOutage(3*time.Second).call); err != nil {
			t.Fatalf("Do: %v", err)
		}
		want := []string{
			"0s try 1 HTTP 529: Overloaded 1 false 0s",
			"0s wait HTTP 529: Overloaded 1/3 1s 1s 0s",
			"1s try 2 HTTP 529: Overloaded 2 false 1s",
			"1s wait HTTP 529: Overloaded 2/3 2s 3s 1s",
			"3s try 3 <nil> 2 true 3s",
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
}

func TestDo_FinalFaultEndsTheRun(t *testing.T) {
	o := &outage{until: time.Now().Add(time.Hour), err: errDenied}
	_, err := retry.Do(t.Context(), retry.Retrier{Policy: policy.Patient()}, o.call)
	if !errors.Is(err, errDenied) || o.tries != 1 {
		t.Errorf("%v after %d tries", err, o.tries)
	}
}

func TestDo_ZeroRetrierTriesOnceAndKeepsTheCause(t *testing.T) {
	cause := errors.New("boom")
	_, err := retry.Do(t.Context(), retry.Retrier{}, func(context.Context, int) (int, error) { return 1, cause })
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Kind != fault.Unknown || !errors.Is(err, cause) {
		t.Errorf("got %#v", err)
	}
}

func TestDo_RunInsideARunTriesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := retry.Retrier{Policy: policy.Simple()}
		o := newOutage(time.Hour)
		_, err := retry.Do(t.Context(), e, func(ctx context.Context, _ int) (string, error) {
			return retry.Do(ctx, e, func(ctx context.Context, n int) (string, error) {
				return retry.Do(ctx, e, o.call)
			})
		})
		if err == nil || o.tries != 4 {
			t.Errorf("%v after %d tries, want 4: retries were multiplied", err, o.tries)
		}
	})
}

func TestDo_DeadlineEndsATryWithATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		e := retry.Retrier{Policy: policy.Council(100 * time.Second)}
		_, err := retry.Do(t.Context(), e, func(ctx context.Context, _ int) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		f, _ := errors.AsType[*fault.Error](err)
		if f == nil || f.Kind != fault.Timeout || !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 100*time.Second {
			t.Errorf("%v after %v, want our timeout after 100s", err, time.Since(begun))
		}
	})
}

func TestDo_CallersDeadlineEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := retry.Do(ctx, retry.Retrier{Policy: policy.Patient()}, func(ctx context.Context, _ int) (string, error) {
			<-ctx.Done()
			return "", errors.New("cut off")
		})
		if err != context.DeadlineExceeded {
			t.Errorf("got %v, want the caller's own deadline", err)
		}
	})
}

func TestDo_WaitBeyondTheCallersDeadlineIsNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		begun := time.Now()
		var last retry.Try
		e := retry.Retrier{Policy: policy.Patient(), OnTry: func(t retry.Try) { last = t }}
		_, err := retry.Do(ctx, e, newOutage(time.Hour).call)
		if !errors.Is(err, errOverloaded) || last.Stop != policy.OverBudget {
			t.Errorf("got %v, %q; want the last fault, over budget", err, last.Stop)
		}
		// 5 + 10 + 30 + 60 + 300 s have passed; ten minutes more do not fit
		if took := time.Since(begun); took != 405*time.Second || last.Run.Slept != took {
			t.Errorf("gave up after %v, slept %v; want 6m45s", took, last.Run.Slept)
		}
	})
}

func TestDo_StoredRunContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var parked policy.Run
		e := retry.Retrier{Policy: policy.Patient(), Sleep: func(ctx context.Context, w policy.Wait) error {
			if w.Run.Tries < 8 {
				return retry.Sleep(ctx, w.Verdict.Wait)
			}
			parked = w.Run
			return retry.ErrParked
		}}
		o := newOutage(48 * time.Hour)
		if _, err := retry.Do(t.Context(), e, o.call); !errors.Is(err, retry.ErrParked) {
			t.Fatalf("got %v, want parked", err)
		}
		var last retry.Try
		var first int
		e = retry.Retrier{Policy: policy.Patient(), Start: parked, OnTry: func(t retry.Try) { last = t }}
		_, err := retry.Do(t.Context(), e, func(ctx context.Context, n int) (string, error) {
			if first == 0 {
				first = n
			}
			return o.call(ctx, n)
		})
		if err == nil || first != 9 || o.tries != 22 || last.Run.Slept != 27105*time.Second {
			t.Errorf("try %d first, %d in all, %v slept; want 9, 22, 27105s", first, o.tries, last.Run.Slept)
		}
	})
}

// onePass is a breaker that shares one failure, then lets tries go, and says
// "now" after a minute.
type onePass struct {
	shared   *fault.Error
	outcomes []string
}

func (g *onePass) Acquire(context.Context) (retry.Permit, error) {
	if f := g.shared; f != nil {
		g.shared = nil
		return nil, f
	}
	return g, nil
}

func (g *onePass) Report(f *fault.Error) *fault.Error {
	if f == nil {
		g.outcomes = append(g.outcomes, "ok")
		return nil
	}
	g.outcomes = append(g.outcomes, f.Kind.String())
	return f
}

func (g *onePass) Wait(ctx context.Context, d time.Duration) error {
	return retry.Sleep(ctx, min(d, time.Minute))
}

func TestDo_BreakerSharesFailuresAndWakesEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		g := &onePass{shared: errOverloaded}
		o := newOutage(6 * time.Minute)
		var last retry.Try
		e := retry.Retrier{Policy: policy.Patient(), Breaker: g, OnTry: func(t retry.Try) { last = t }}
		if _, err := retry.Do(t.Context(), e, o.call); err != nil {
			t.Fatalf("Do: %v", err)
		}
		// waits of 5, 10 and 30 s, then a minute each although longer ones were due
		if took := time.Since(begun); took != 405*time.Second || last.Waited != took || last.Run.Slept != took {
			t.Errorf("took %v, waited %v, slept %v", took, last.Waited, last.Run.Slept)
		}
		if o.tries != last.Run.Tries || len(g.outcomes) != o.tries || g.outcomes[len(g.outcomes)-1] != "ok" {
			t.Errorf("%d tries, run %d, outcomes %q", o.tries, last.Run.Tries, g.outcomes)
		}
	})
}

func TestDo_CancelIsReportedAsCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errOwn := errors.New("the window was closed") // a cause that cannot be classified
		ctx, cancel := context.WithCancelCause(t.Context())
		g := &onePass{}
		_, err := retry.Do(ctx, retry.Retrier{Policy: policy.Patient(), Breaker: g}, func(ctx context.Context, _ int) (string, error) {
			time.AfterFunc(time.Second, func() { cancel(errOwn) })
			<-ctx.Done()
			return "", classify.Of(context.Cause(ctx), time.Now()) // as a transport names it
		})
		if !errors.Is(err, errOwn) || strings.Join(g.outcomes, " ") != "canceled" {
			t.Errorf("%v, and the breaker got %v", err, g.outcomes)
		}
	})
}

func TestDo_NestedRunDoesNotUseTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := make(single, 1)
		e := retry.Retrier{Policy: policy.Simple(), Breaker: g}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := retry.Do(ctx, e, func(ctx context.Context, _ int) (int, error) {
			return retry.Do(ctx, e, func(context.Context, int) (int, error) { return 1, nil })
		})
		if err != nil {
			t.Errorf("Do: %v", err)
		}
	})
}

func TestDo_DeadlineBoundsTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := make(single, 1)
		g <- struct{}{} // another call probes for ever
		begun := time.Now()
		_, err := retry.Do(t.Context(), retry.Retrier{Policy: policy.Council(100 * time.Second), Breaker: g}, newOutage(0).call)
		f, _ := errors.AsType[*fault.Error](err)
		if f == nil || f.Kind != fault.Timeout || time.Since(begun) != 100*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

// single is a breaker that lets one try through at a time.
type single chan struct{}

func (g single) Acquire(ctx context.Context) (retry.Permit, error) {
	select {
	case g <- struct{}{}:
		return g, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (g single) Report(f *fault.Error) *fault.Error { <-g; return f }

func (g single) Wait(ctx context.Context, d time.Duration) error { return retry.Sleep(ctx, d) }

// open is an error that holds something open.
type open struct{ closed int }

func (o *open) Error() string { return "held" }
func (o *open) Close() error  { o.closed++; return nil }

func TestDo_ClosesWhatAFailedTryHolds(t *testing.T) {
	tests := []struct {
		name string
		e    retry.Retrier
		left bool
		want int // closed, of a try that fails twice
	}{
		{"before a wait, not at the end", retry.Retrier{Policy: policy.Policy{Retries: 1}}, false, 1},
		{"when the caller has left", retry.Retrier{Policy: policy.Policy{Retries: 1}}, true, 1},
		{"when the run is parked", retry.Retrier{Policy: policy.Policy{Retries: 1}, Sleep: func(context.Context, policy.Wait) error { return retry.ErrParked }}, false, 1},
		{"when OnTry panics", retry.Retrier{OnTry: func(retry.Try) { panic("boom") }}, false, 1},
		{"never", retry.Retrier{}, false, 0},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var all []*open
			func() {
				defer func() { _ = recover() }()
				_, _ = retry.Do(ctx, tt.e, func(context.Context, int) (int, error) {
					if tt.left {
						cancel()
					}
					o := &open{}
					all = append(all, o)
					return 0, &fault.Error{Kind: fault.Overloaded, Err: o}
				})
			}()
			closed := 0
			for _, o := range all {
				closed += o.closed
			}
			if closed != tt.want {
				t.Errorf("%s: closed %d times in %d tries, want %d", tt.name, closed, len(all), tt.want)
			}
		})
	}
}

func TestSleep_CanceledContextEndsItAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		if err := retry.Sleep(ctx, 0); err == nil {
			t.Fatal("slept although the caller had left")
		}
	}
}

func TestDo_PanickingTryReturnsItsPermit(t *testing.T) {
	g := &onePass{}
	defer func() {
		if recover() == nil || fmt.Sprint(g.outcomes) != "[unknown]" {
			t.Errorf("outcomes %q", g.outcomes)
		}
	}()
	_, _ = retry.Do(t.Context(), retry.Retrier{Breaker: g}, func(context.Context, int) (int, error) { panic("boom") })
}

func TestSleep_EndsToTheMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, d := range []time.Duration{-1, 0, time.Nanosecond, 15 * time.Second, 16 * time.Second, 30 * time.Minute} {
			begun := time.Now()
			if err := retry.Sleep(t.Context(), d); err != nil || time.Since(begun) != max(d, 0) {
				t.Errorf("Sleep(%v) took %v, %v", d, time.Since(begun), err)
			}
		}
	})
}

func TestDo_WaitThatEndsAtTheCallersDeadlineIsNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for d, wantTries := range map[time.Duration]int{5 * time.Second: 1, 5*time.Second + 1: 2} {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			o := newOutage(time.Hour)
			_, err := retry.Do(ctx, retry.Retrier{Policy: policy.Patient()}, o.call)
			cancel()
			if o.tries != wantTries || !errors.Is(err, errOverloaded) {
				t.Errorf("a wait of 5s before a deadline in %v: %d tries, error %v; want %d tries", d, o.tries, err, wantTries)
			}
		}
	})
}

func TestDo_TryHasItsTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var tries []retry.Try
		r := retry.Retrier{Policy: policy.Simple(), Breaker: &onePass{shared: errOverloaded}, OnTry: func(t retry.Try) { tries = append(tries, t) }}
		_, err := retry.Do(t.Context(), r, func(ctx context.Context, _ int) (int, error) {
			return 1, retry.Sleep(ctx, 3*time.Second)
		})
		if err != nil || len(tries) != 2 {
			t.Fatalf("Do: error %v, tries %+v; want a shared failure and a try that passes", err, tries)
		}
		if first := tries[0]; !first.Shared || first.N != 1 || first.Took != 0 || !first.Start.Equal(start) {
			t.Errorf("the shared failure is %+v, want try 1 at %v that took no time", first, start)
		}
		if second := tries[1]; second.Shared || second.N != 2 || second.Took != 3*time.Second || !second.Start.Equal(start.Add(time.Second)) {
			t.Errorf("the try that passes is %+v, want try 2 a second later that took 3s", second)
		}
	})
}

func TestDo_CanceledTryHasNoStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var last retry.Try
	r := retry.Retrier{Policy: policy.Patient(), OnTry: func(t retry.Try) { last = t }}
	_, err := retry.Do(ctx, r, func(context.Context, int) (int, error) { cancel(); return 0, errOverloaded })
	if err != context.Canceled || last.N != 1 || last.Stop != "" || last.Fault.Kind != fault.Canceled || last.Run.Tries != 0 {
		t.Errorf("error %v, try %+v; want a canceled try 1 that does not count", err, last)
	}
}

func TestTry_RecoversOnlyAfterAFailure(t *testing.T) {
	tests := []struct {
		try  retry.Try
		want bool
	}{
		{retry.Try{N: 1}, false},
		{retry.Try{N: 2, Run: policy.Run{Tries: 1}}, true},
		{retry.Try{N: 2, Run: policy.Run{Tries: 2}, Fault: errOverloaded}, false},
	}
	for _, tt := range tests {
		if got := tt.try.Recovered(); got != tt.want {
			t.Errorf("Recovered of %+v is %v, want %v", tt.try, got, tt.want)
		}
	}
}

func TestDo_WithoutADeadlineTheRunStartsAtItsFirstFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := time.Now().Add(3 * time.Second)
		var last retry.Try
		_, err := retry.Do(t.Context(), retry.Retrier{OnTry: func(t retry.Try) { last = t }}, func(ctx context.Context, _ int) (int, error) {
			return 0, errors.Join(retry.Sleep(ctx, 3*time.Second), errOverloaded)
		})
		if err == nil || !last.Run.Started.Equal(failed) {
			t.Errorf("error %v, the run started at %v, want %v", err, last.Run.Started, failed)
		}
	})
}

func TestDo_ResumesAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var waits []policy.Wait
		tries := 0
		r := retry.Retrier{
			Policy: policy.Patient(),
			Resume: &policy.Wait{
				Run: policy.Run{Tries: 3, Slept: 45 * time.Second, Started: start.Add(-20 * time.Second)}, Fault: &fault.Error{Kind: fault.Overloaded},
				Verdict: policy.Verdict{Wait: 30 * time.Second}, Due: start.Add(12 * time.Second),
			},
			OnWait: func(w policy.Wait) { waits = append(waits, w) },
		}
		_, err := retry.Do(t.Context(), r, func(context.Context, int) (int, error) {
			if tries++; tries == 1 {
				if got := time.Since(start); got != 12*time.Second {
					t.Errorf("first try after %v, want when the wait was due, 12 s", got)
				}
				return 0, &fault.Error{Kind: fault.Overloaded}
			}
			return 1, nil
		})
		if err != nil || len(waits) != 2 {
			t.Fatalf("error %v, %d waits; want none and two", err, len(waits))
		}
		if w := waits[0]; w.Verdict.Wait != 12*time.Second || w.Waited != 33*time.Second || w.Run.Tries != 3 {
			t.Errorf("resumed %+v, want 12 s left after 33 s of waiting and three tries", w)
		}
		if w := waits[1]; w.Verdict.Wait != time.Minute || w.Waited != 45*time.Second || w.Run.Slept != 105*time.Second {
			t.Errorf("then %+v, want the next step of 60 s after 45 s of waiting", w)
		}
	})
}

// sharing is a breaker that shares another's fault some times before each try.
type sharing struct{ times, left int }

func (b *sharing) Report(f *fault.Error) *fault.Error { b.left = b.times; return f }

func (b *sharing) Wait(ctx context.Context, d time.Duration) error { return retry.Sleep(ctx, d) }

func (b *sharing) Acquire(context.Context) (retry.Permit, error) {
	if b.left--; b.left >= 0 {
		return nil, errOverloaded
	}
	return b, nil
}

func TestDo_GivesUpByItsOwnTries(t *testing.T) {
	for _, passes := range []int{4, 5} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			r := retry.Retrier{Policy: policy.Simple(), Breaker: &sharing{times: 5, left: 5}}
			_, err := retry.Do(t.Context(), r, func(context.Context, int) (int, error) {
				if tries++; tries < passes {
					return 0, errOverloaded
				}
				return 1, nil
			})
			if (err == nil) != (passes == 4) || tries != 4 {
				t.Errorf("a call with three retries that passes at try %d: %v after %d own tries, want 4 of them", passes, err, tries)
			}
		})
	}
}
