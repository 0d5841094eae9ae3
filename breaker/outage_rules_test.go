package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/retry"
)

var opus = breaker.Scope{Model: "opus", Credential: "a"}

// enter acquires a permit for a new call.
func enter(t *testing.T, g *breaker.Breaker, s breaker.Scope) (*breaker.Caller, retry.Permit, error) {
	t.Helper()
	c := g.Caller(s)
	t.Cleanup(c.Close)
	pass, err := c.Acquire(t.Context())
	return c, pass, err
}

// meet has new calls report these outcomes.
func meet(t *testing.T, g *breaker.Breaker, s breaker.Scope, outcomes ...*fault.Error) {
	t.Helper()
	var passes []retry.Permit
	for range outcomes {
		_, pass, err := enter(t, g, s)
		if err != nil {
			t.Fatal("kept back: ", err)
		}
		passes = append(passes, pass)
	}
	for i, f := range outcomes {
		passes[i].Report(f)
	}
}

// fail opens an outage.
func fail(t *testing.T, g *breaker.Breaker, s breaker.Scope, f *fault.Error) {
	t.Helper()
	meet(t, g, s, f, f, f, f, f)
}

// says returns what happens to a new call: "goes", a fault's kind, or
// "blocks" if it would wait.
func says(t *testing.T, g *breaker.Breaker, s breaker.Scope) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := g.Caller(s)
	defer c.Close()
	c.OnBlock = func(breaker.BlockReason) { cancel() }
	_, err := c.Acquire(ctx)
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Kind.String()
	}
	if err != nil {
		return "blocks"
	}
	return "goes"
}

func TestBreaker_OutageConcernsItsScopeOnly(t *testing.T) {
	sonnet, other := breaker.Scope{Model: "sonnet", Credential: "a"}, breaker.Scope{Model: "opus", Credential: "b"}
	tests := []struct {
		kind                fault.Kind
		self, model, others bool // who is kept: the same scope, another credential, another model
	}{
		{fault.Unavailable, true, true, true},
		{fault.UpstreamTimeout, true, true, true},
		{fault.Overloaded, true, true, false},
		{fault.Truncated, true, true, false},
		{fault.Unknown, true, true, false},
		{fault.RateLimited, true, false, false},
		{fault.Quota, true, false, false},
		{fault.Auth, false, false, false},
		{fault.Invalid, false, false, false},
		{fault.Refused, false, false, false},
		{fault.TooLong, false, false, false},
		{fault.Timeout, false, false, false},
		{fault.Canceled, false, false, false},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			var g breaker.Breaker
			fail(t, &g, opus, &fault.Error{Kind: tt.kind})
			kept := map[bool]string{true: tt.kind.String(), false: "goes"}
			if a, b, c := says(t, &g, opus), says(t, &g, other), says(t, &g, sonnet); a != kept[tt.self] || b != kept[tt.model] || c != kept[tt.others] {
				t.Errorf("%v: same %s, other credential %s, other model %s", tt.kind, a, b, c)
			}
		})
	}
}

func TestBreaker_AnswersWithAFaultAreTheModelsUntilAnotherMeetsOne(t *testing.T) {
	sonnet, haiku := breaker.Scope{Model: "sonnet"}, breaker.Scope{Model: "haiku"}
	five := func(t *testing.T, g *breaker.Breaker) {
		meet(t, g, opus, errBroken, errBroken, errBroken, errBroken, errBroken)
	}
	for name, tt := range map[string]struct {
		meets               func(*testing.T, *breaker.Breaker)
		opus, sonnet, haiku string
	}{
		"one model": {five, "unavailable", "goes", "goes"},
		"while others pass": {func(t *testing.T, g *breaker.Breaker) {
			for range 5 {
				meet(t, g, opus, errBroken)
				meet(t, g, sonnet, nil)
			}
		}, "unavailable", "goes", "goes"},
		"then another one": {func(t *testing.T, g *breaker.Breaker) {
			five(t, g)
			meet(t, g, sonnet, errBroken)
		}, "unavailable", "unavailable", "unavailable"},
		"in turn with another one": {func(t *testing.T, g *breaker.Breaker) {
			for _, scope := range []breaker.Scope{opus, sonnet, opus, sonnet, opus} {
				meet(t, g, scope, errBroken)
			}
		}, "unavailable", "unavailable", "unavailable"},
		"then another one, that had passed": {func(t *testing.T, g *breaker.Breaker) {
			five(t, g)
			meet(t, g, sonnet, nil, errBroken)
		}, "unavailable", "goes", "goes"},
		"without an answer": {func(t *testing.T, g *breaker.Breaker) {
			meet(t, g, opus, errRefused, errRefused, errRefused, errRefused, errRefused)
		}, "unavailable", "unavailable", "unavailable"},
		"and then a refusal": {func(t *testing.T, g *breaker.Breaker) {
			c := g.Caller(opus)
			defer c.Close()
			pass, err := c.Acquire(t.Context())
			if err != nil {
				t.Fatalf("acquire: %v", err)
			}
			five(t, g)
			pass.Report(errDenied)
		}, "goes", "goes", "goes"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var g breaker.Breaker
				tt.meets(t, &g)
				if a, b, c := says(t, &g, opus), says(t, &g, sonnet), says(t, &g, haiku); a != tt.opus || b != tt.sonnet || c != tt.haiku {
					t.Errorf("opus %s, sonnet %s, haiku %s; want %s, %s, %s", a, b, c, tt.opus, tt.sonnet, tt.haiku)
				}
			})
		})
	}
}

func TestBreaker_FiveFaultsInARowOpenTheCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		for range 20 { // one answer in five is enough to keep going
			meet(t, &g, opus, errBusy, errBusy, errBusy, errBusy, nil)
		}
		meet(t, &g, opus, errBusy, errBusy, errBusy, errBusy)
		if got := says(t, &g, opus); got != "goes" {
			t.Errorf("after four: %s", got)
		}
		meet(t, &g, opus, errBusy)
		if got := says(t, &g, opus); got != "overloaded" {
			t.Errorf("after five: %s", got)
		}
	})
}

func TestBreaker_FaultOfACallerWithFewRetriesOpensTheCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for fewRetries, want := range map[bool]string{false: "goes", true: "overloaded"} {
			g := breaker.New("")
			c, pass, err := enter(t, g, opus)
			if err != nil {
				t.Fatalf("acquire: %v", err)
			}
			c.FewRetries = fewRetries
			pass.Report(errBusy)
			if got := says(t, g, opus); got != want {
				t.Errorf("fewRetries %v: the next one %s", fewRetries, got)
			}
		}
	})
}

func TestBreaker_FirstTryOfACallerWithFewRetriesGoesInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		fail(t, &g, opus, errBroken)
		for range 3 { // also beside a probe
			c := g.Caller(breaker.Scope{Model: "sonnet"})
			defer c.Close()
			c.FewRetries = true
			pass, err := c.Acquire(t.Context())
			if err != nil {
				t.Fatalf("acquire: %v", err)
			}
			defer pass.Report(errBroken)
		}
		var quiet breaker.Breaker
		meet(t, &quiet, opus, limited(time.Minute))
		c := quiet.Caller(opus)
		defer c.Close()
		c.FewRetries = true
		if _, err := c.Acquire(t.Context()); err == nil {
			t.Error("it goes although the upstream has asked for quiet")
		}
	})
}

func TestBreaker_LaterTriesOfACallerWithFewRetriesAreOrdinary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		c := g.Caller(opus)
		defer c.Close()
		c.FewRetries = true
		pass, err := c.Acquire(t.Context())
		if err != nil {
			t.Fatalf("acquire: %v", err)
		}
		pass.Report(errBusy)
		if _, err := c.Acquire(t.Context()); err == nil {
			t.Error("it goes, soon after the failure that has opened the outage")
		}
	})
}

func TestBreaker_FinalFaultClosesTheHostsCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, f := range []*fault.Error{errDenied, {Kind: fault.Invalid}, {Kind: fault.TooLong}, limited(0)} {
			var g breaker.Breaker
			fail(t, &g, opus, errBroken)
			time.Sleep(time.Second)
			meet(t, &g, opus, f)
			if o := outages(&g); o != "" {
				t.Errorf("%v: %s is open", f, o)
			}
		}
	})
}

// outages names the levels of the outages that are open.
func outages(g *breaker.Breaker) (levels string) {
	for _, o := range g.State().Outages {
		if !o.Recovering {
			levels += o.Level + " "
		}
	}
	return levels
}

func TestBreaker_StatedWaitOpensTheCircuitUntilItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		meet(t, &g, opus, limited(time.Minute))
		time.Sleep(10 * time.Second)
		_, _, err := enter(t, &g, opus)
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Wait != 50*time.Second {
			t.Errorf("after 10s: %v", err)
		}
		time.Sleep(50 * time.Second)
		_, pass, err := enter(t, &g, opus)
		if err != nil {
			t.Fatalf("at its end: %v", err)
		}
		if got := says(t, &g, opus); got != "blocks" {
			t.Errorf("beside the first at its end: %s", got)
		}
		pass.Report(nil)
		if got := says(t, &g, opus); got != "goes" {
			t.Errorf("after its answer: %s", got)
		}
	})
}

// TestBreaker_SlowAnswerAfterAStatedWaitClosesTheCircuit: a refusal comes at once, so the
// first call's silence is as good as its answer.
func TestBreaker_SlowAnswerAfterAStatedWaitClosesTheCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		meet(t, &g, opus, limited(time.Minute))
		time.Sleep(time.Minute)
		_, slow, _ := enter(t, &g, opus)
		begun := time.Now()
		if _, _, err := enter(t, &g, opus); err != nil || time.Since(begun) != time.Second {
			t.Errorf("the second: %v after %v", err, time.Since(begun))
		}
		slow.Report(limited(time.Minute))
		if got := says(t, &g, opus); got != "rate-limited" {
			t.Errorf("after a late refusal: %s", got)
		}
	})
}

func TestBreaker_EarlierAnswerDoesNotEndAStatedWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		for range 2 {
			_, early, _ := enter(t, &g, opus)
			time.Sleep(time.Second)
			meet(t, &g, opus, limited(time.Minute))
			early.Report(nil)
			if got := says(t, &g, opus); got != "rate-limited" {
				t.Errorf("after an answer to an earlier call, the next gets %s, want rate-limited", got)
			}
			time.Sleep(2 * time.Minute)
			meet(t, &g, opus, nil)
		}
	})
}

func TestBreaker_LongStatedWaitIsProbedEveryQuarterOfAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		for range 4 {
			meet(t, &g, opus, &fault.Error{Kind: fault.Quota, ResetAt: time.Now().Add(24 * time.Hour)})
			time.Sleep(15*time.Minute - 1)
			_, _, err := enter(t, &g, opus)
			if f, ok := errors.AsType[*fault.Error](err); !ok || f.Wait < 23*time.Hour {
				t.Fatalf("got %v", err)
			}
			time.Sleep(time.Nanosecond)
		}
	})
}

func TestBreaker_HalfOpenAdmitsOneProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		fail(t, &g, opus, errBusy)
		time.Sleep(time.Minute)
		_, probe, err := enter(t, &g, opus)
		if err != nil {
			t.Fatalf("acquire: %v", err)
		}
		shared := make(chan error, 3)
		for range 3 {
			go func() {
				_, _, err := enter(t, &g, opus)
				shared <- err
			}()
		}
		synctest.Wait()
		if st := g.State(); st.Waiting != 3 || !st.Outages[0].Probing {
			t.Errorf("State: got %+v, want three that wait for a probe", st)
		}
		held := &fault.Error{Kind: fault.Overloaded, Message: "still", Err: errors.New("a response that is open")}
		probe.Report(held)
		for range 3 {
			f, ok := errors.AsType[*fault.Error](<-shared)
			if !ok || f == held || f.Message != "still" || f.Err != nil {
				t.Errorf("shared %#v", f)
			}
		}
		if got := says(t, &g, opus); got != "overloaded" {
			t.Errorf("soon after it: %s", got)
		}
	})
}

func TestBreaker_CanceledProbeIsFollowedByTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		fail(t, &g, opus, errBusy)
		for _, f := range []*fault.Error{errExpired, {Kind: fault.Canceled}, errDenied} {
			time.Sleep(time.Minute)
			meet(t, &g, opus, f)
			if got, begun := says(t, &g, opus), time.Now(); got != "blocks" { // until probes are far enough apart
				t.Errorf("caller after %v: got %s, want it blocked", f.Kind, got)
			} else if _, pass, err := enter(t, &g, opus); err != nil || time.Since(begun) > 30*time.Second {
				t.Errorf("%v: the next: %v after %v", f.Kind, err, time.Since(begun))
			} else {
				pass.Report(&fault.Error{Kind: fault.Canceled})
			}
		}
	})
}

func TestBreaker_ProbeIsWaitedForHalfAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		fail(t, &g, opus, errBusy)
		time.Sleep(time.Second)
		_, slow, _ := enter(t, &g, opus)
		begun := time.Now()
		_, second, err := enter(t, &g, opus)
		if err != nil || time.Since(begun) != 30*time.Second {
			t.Errorf("the second probe: %v after %v", err, time.Since(begun))
		}
		slow.Report(nil) // late, but true
		second.Report(nil)
		if got := says(t, &g, opus); got != "goes" {
			t.Errorf("after that: %s", got)
		}
	})
}

func TestBreaker_ProbesOfAnOlderOutageAreFurtherApart(t *testing.T) {
	tests := []struct{ age, apart time.Duration }{
		{time.Second, 250 * time.Millisecond},
		{5 * time.Second, 320 * time.Millisecond},
		{30 * time.Second, 2750 * time.Millisecond},
		{60 * time.Second, 10250 * time.Millisecond},
		{105 * time.Second, 30 * time.Second},
		{5 * time.Hour, 30 * time.Second},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			var g breaker.Breaker
			fail(t, &g, opus, errBusy)
			time.Sleep(tt.age)
			meet(t, &g, opus, errBusy)
			begun := time.Now()
			for says(t, &g, opus) == "overloaded" {
				time.Sleep(10 * time.Millisecond)
			}
			if got := time.Since(begun); got < tt.apart || got > tt.apart+10*time.Millisecond {
				t.Errorf("at %v: %v apart, want %v", tt.age, got, tt.apart)
			}
		})
	}
}

func TestBreaker_SuccessClosesAllCircuitsOfItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		fail(t, &g, opus, errBusy)
		for range 5 {
			time.Sleep(time.Minute)
			meet(t, &g, opus, errRefused)
		}
		if got := outages(&g); got != "host model " {
			t.Fatalf("open: %s", got)
		}
		time.Sleep(time.Minute)
		meet(t, &g, opus, nil)
		if got := outages(&g); got != "" || !g.State().LastSuccess.Equal(time.Now()) {
			t.Errorf("open: %s", got)
		}
	})
}

func TestBreaker_CircuitsWithoutCallersAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		for i := range 3000 {
			meet(t, &g, breaker.Scope{Model: "m", Credential: fmt.Sprint(i)}, limited(time.Hour))
		}
		if n := len(g.State().Outages); n != 1024 {
			t.Errorf("%d outages are remembered", n)
		}
		if got := says(t, &g, breaker.Scope{Model: "m", Credential: "2999"}); got != "rate-limited" {
			t.Errorf("the latest: %s", got)
		}
	})
}
