package retry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// probes is a breaker that has its only caller probe early after each second of a
// wait, a given number of times.
type probes struct{ left int }

func (g *probes) Acquire(context.Context) (retry.Permit, error) { return g, nil }
func (g *probes) Report(f *fault.Error) *fault.Error            { return f }

func (g *probes) Wait(ctx context.Context, d time.Duration) error {
	if g.left == 0 || d <= time.Second {
		return retry.Sleep(ctx, d)
	}
	g.left--
	if err := retry.Sleep(ctx, time.Second); err != nil {
		return err
	}
	return retry.ErrEarlyProbe
}

func TestDo_FailedEarlyProbeResumesItsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var got []string
		e := retry.Retrier{Policy: policy.Simple(), Breaker: &probes{left: 4}, OnWait: func(w policy.Wait) {
			got = append(got, fmt.Sprint(time.Since(begun), " ", w.Run.Tries, " ", w.Verdict.Wait, " ", w.Waited, " ", w.Run.Slept))
		}, OnTry: func(t retry.Try) {
			if t.Stop != "" {
				got = append(got, fmt.Sprint(time.Since(begun), " ", t.Run.Tries, " 0s ", t.Waited, " ", t.Run.Slept))
			}
		}}
		var numbers []int
		_, err := retry.Do(t.Context(), e, func(_ context.Context, n int) (int, error) {
			numbers = append(numbers, n)
			return 0, errOverloaded
		})
		// after 1, 2 and 4 s as without early probes, of which one goes in the second
		// wait and three in the third
		want := "[0s 1 1s 0s 1s 1s 2 2s 1s 3s 3s 3 4s 3s 7s 7s 4 0s 7s 7s]"
		if !errors.Is(err, errOverloaded) || fmt.Sprint(got) != want || fmt.Sprint(numbers) != "[1 2 3 3 4 4 4 4]" {
			t.Errorf("%v\ngot  %v\nwant %v\ntries %v", err, got, want, numbers)
		}
	})
}

func TestDo_SlowEarlyProbeWaitsForTheRestOnly(t *testing.T) {
	for _, tt := range []struct{ slow, want time.Duration }{{500 * time.Millisecond, 5 * time.Second}, {time.Minute, 61 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			begun, tries := time.Now(), 0
			p := policy.Policy{Retries: 1, Backoff: policy.Backoff{Steps: []time.Duration{5 * time.Second}}}
			var waited time.Duration
			e := retry.Retrier{Policy: p, Breaker: &probes{left: 1}, OnTry: func(t retry.Try) { waited = t.Waited }}
			_, err := retry.Do(t.Context(), e, func(ctx context.Context, _ int) (int, error) {
				switch tries++; tries {
				case 2:
					_ = retry.Sleep(ctx, tt.slow)
					return 0, errOverloaded
				case 3:
					return 1, nil
				}
				return 0, errOverloaded
			})
			if took := time.Since(begun); err != nil || took != tt.want || waited != min(took-tt.slow, 5*time.Second) && waited != time.Second {
				t.Errorf("%v after %v, waited %v", err, took, waited)
			}
		})
	}
}

func TestDo_WaitThatHasEndedIsNotResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy.Policy{Retries: 1, Backoff: policy.Backoff{Steps: []time.Duration{5 * time.Second}}}
		var waits []time.Duration
		sleep := func(ctx context.Context, w policy.Wait) error {
			waits = append(waits, w.Verdict.Wait)
			return retry.ErrEarlyProbe
		}
		_, err := retry.Do(t.Context(), retry.Retrier{Policy: p, Sleep: sleep}, func(ctx context.Context, _ int) (int, error) {
			_ = retry.Sleep(ctx, 5*time.Second) // an early probe lasts as long as the wait that it interrupts
			return 0, errOverloaded
		})
		if !errors.Is(err, errOverloaded) || len(waits) != 1 {
			t.Errorf("Do ended with %v after the waits %v, want overloaded after one of 5s", err, waits)
		}
	})
}

func TestDo_EarlyProbeThatPassesRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last retry.Try
		e := retry.Retrier{Policy: policy.Patient(), Breaker: &probes{left: 1}, OnTry: func(t retry.Try) { last = t }}
		got, err := retry.Do(t.Context(), e, newOutage(time.Second).call)
		if got != "answer" || err != nil || last.Fault != nil || last.Run.Tries != 1 || last.Waited != time.Second || last.Run.Slept != time.Second {
			t.Errorf("%q, %v, %+v", got, err, last)
		}
	})
}

func TestDo_FinalFaultOfAnEarlyProbeEndsTheRun(t *testing.T) {
	for _, tt := range []struct {
		fault *fault.Error
		tries int
	}{
		{errDenied, 2},
		{&fault.Error{Kind: fault.RateLimited, Wait: time.Hour}, 2}, // a stated wait beyond the budget
		{errOverloaded, 5}, // the last retry is not the early probe's
	} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			p := policy.Policy{Retries: 2, MaxRetryAfter: time.Minute, Backoff: policy.Backoff{Steps: []time.Duration{10 * time.Second}}}
			_, err := retry.Do(t.Context(), retry.Retrier{Policy: p, Breaker: &probes{left: 2}}, func(context.Context, int) (int, error) {
				if tries++; tries == 1 {
					return 0, errOverloaded
				}
				return 0, tt.fault
			})
			if !errors.Is(err, tt.fault) || tries != tt.tries {
				t.Errorf("%v after %d tries, want %d", err, tries, tt.tries)
			}
		})
	}
}

func TestDo_EarlyProbesResponseIsClosedBeforeTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []*open
		_, _ = retry.Do(t.Context(), retry.Retrier{Policy: policy.Simple(), Breaker: &probes{left: 1}}, func(context.Context, int) (int, error) {
			for _, o := range all {
				if o.closed != 1 {
					t.Error("a try before is still open")
				}
			}
			all = append(all, &open{})
			return 0, &fault.Error{Kind: fault.Overloaded, Err: all[len(all)-1]}
		})
	})
}

// bar is a breaker that admits no call.
type bar struct{ err error }

func (g bar) Acquire(context.Context) (retry.Permit, error)   { return nil, g.err }
func (g bar) Wait(ctx context.Context, d time.Duration) error { return retry.Sleep(ctx, d) }

func TestDo_BreakersErrorEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := errors.New("given up")
		for _, err := range []error{own, fmt.Errorf("%w: %w", own, errOverloaded)} {
			told := 0
			e := retry.Retrier{Policy: policy.Patient(), Breaker: bar{err}, OnTry: func(retry.Try) { told++ }}
			if _, got := retry.Do(t.Context(), e, newOutage(0).call); got != err || told != 0 {
				t.Errorf("%v, told %d times", got, told)
			}
		}
	})
}

func TestDo_WaitCutShortReturnsItsRestToTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var last retry.Try
		g := &onePass{} // no wait of it is longer than a minute
		e := retry.Retrier{Policy: policy.Patient(), Breaker: g, OnTry: func(t retry.Try) { last = t }, OnWait: func(w policy.Wait) {
			if end := w.Deadline.Sub(begun); end <= 7*time.Hour || end > 8*time.Hour {
				t.Errorf("after %v it may last until %v", time.Since(begun), end)
			}
		}}
		_, err := retry.Do(t.Context(), e, newOutage(24*time.Hour).call)
		took := time.Since(begun)
		if !errors.Is(err, errOverloaded) || last.Stop != policy.OverBudget || took <= 7*time.Hour+30*time.Minute || took > 8*time.Hour {
			t.Errorf("%v, %q after %v", err, last.Stop, took)
		}
		if last.Run.Slept != took || last.Waited != took {
			t.Errorf("slept %v, waited %v in %v", last.Run.Slept, last.Waited, took)
		}
	})
}

func TestDo_EarlyProbeIsDecidedByWhatWasSlept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, tries := time.Now(), 0
		p := policy.Policy{Retries: 2, MaxWait: time.Minute, Backoff: policy.Backoff{Steps: []time.Duration{50 * time.Second}}}
		var last retry.Try
		e := retry.Retrier{Policy: p, Breaker: &probes{left: 1}, OnTry: func(t retry.Try) { last = t }}
		_, err := retry.Do(t.Context(), e, func(context.Context, int) (int, error) {
			switch tries++; tries {
			case 1:
				return 0, errOverloaded
			case 2: // 59 s of the budget are left at that moment, so it goes on
				return 0, &fault.Error{Kind: fault.RateLimited, Wait: 55 * time.Second}
			}
			return 1, nil
		})
		if took := time.Since(begun); err != nil || tries != 3 || took != 50*time.Second || last.Run.Slept != took {
			t.Errorf("%v after %d tries and %v, slept %v", err, tries, took, last.Run.Slept)
		}
	})
}

// A window that opens sooner than was stated first is waited for no longer.
func TestDo_WindowThatIsRestatedEndsSooner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		spent := func(in time.Duration) *fault.Error {
			return &fault.Error{Kind: fault.Quota, Window: true, Wait: in, ResetAt: time.Now().Add(in)}
		}
		answers := []*fault.Error{spent(4 * time.Hour), spent(30 * time.Minute), nil}
		p := policy.Patient()
		p.Quota = policy.Quota{Wait: policy.QuotaUntilReset}
		var got []string
		e := retry.Retrier{Policy: p, Breaker: &probes{left: 1}, OnWait: func(w policy.Wait) {
			got = append(got, fmt.Sprint(w.Due.Sub(begun), " ", w.Verdict.Wait, " ", w.Run.Tries, " ", w.Deadline.Sub(begun)))
		}}
		_, err := retry.Do(t.Context(), e, func(context.Context, int) (int, error) {
			f := answers[0]
			if answers = answers[1:]; f == nil {
				return 1, nil
			}
			return 0, f
		})
		want := "[4h0m0s 4h0m0s 1 11h31m45s 30m1s 30m0s 1 8h1m46s]"
		if took := time.Since(begun); err != nil || took != 30*time.Minute+time.Second || fmt.Sprint(got) != want {
			t.Errorf("%v after %v; waits %v, want %v", err, took, got, want)
		}
	})
}
