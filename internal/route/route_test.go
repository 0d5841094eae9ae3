package route_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/route"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

var (
	ofGateway = route.Rules{OneBudget: true, Return: true}
	ofAgent   = route.Rules{On: fault.Transient.With(fault.Quota), FromFault: true, LastTry: true}
)

// waitOf is a wait after a fault of a kind.
func waitOf(k fault.Kind, d time.Duration, hinted bool) policy.Wait {
	return policy.Wait{Fault: &fault.Error{Kind: k}, Verdict: policy.Verdict{Wait: d, Hinted: hinted}}
}

func TestRoute_BoundEndsWithPatience(t *testing.T) {
	const s = time.Second
	atOnce := fault.Set(0).With(fault.Quota)
	tests := []struct {
		name   string
		rules  route.Rules
		hop    route.Hop
		stayed time.Duration // so far
		wait   policy.Wait
		want   time.Duration
		leaves bool
	}{
		{"gateway, wait within patience", ofGateway, route.Hop{After: 60 * s}, 10 * s, waitOf(fault.Overloaded, 30*s, false), 30 * s, false},
		{"gateway, wait that ends with patience", ofGateway, route.Hop{After: 60 * s}, 30 * s, waitOf(fault.Overloaded, 30*s, false), 30 * s, true},
		{"gateway, wait beyond patience", ofGateway, route.Hop{After: 60 * s}, 50 * s, waitOf(fault.Overloaded, 30*s, true), 10 * s, true},
		{"gateway, patience is over", ofGateway, route.Hop{After: 60 * s}, 70 * s, waitOf(fault.Overloaded, 30*s, false), 0, true},
		{"gateway, patience without end", ofGateway, route.Hop{After: route.Unlimited}, time.Hour, waitOf(fault.Overloaded, 30*s, false), 30 * s, false},
		{"gateway, at once", ofGateway, route.Hop{After: route.Unlimited, AtOnce: atOnce}, 0, waitOf(fault.Quota, 30*s, false), 0, true},
		{"agent, wait beyond patience", ofAgent, route.Hop{After: 60 * s}, 50 * s, waitOf(fault.Overloaded, 30*s, false), 10 * s, false},
		{"agent, hint beyond patience", ofAgent, route.Hop{After: 60 * s}, 50 * s, waitOf(fault.Overloaded, 30*s, true), 0, true},
		{"agent, no patience", ofAgent, route.Hop{}, 0, waitOf(fault.Overloaded, 30*s, false), 0, true},
		{"agent, fault of another kind", ofAgent, route.Hop{}, 0, waitOf(fault.Unknown, 30*s, false), 30 * s, false},
	}
	for _, tt := range tests {
		now := time.Now()
		r := route.Route{Rules: tt.rules, Hops: []route.Hop{tt.hop}, Since: now.Add(-tt.stayed)}
		got, leaves := r.Bound(tt.wait, now)
		if got.Verdict.Wait != tt.want || leaves != tt.leaves {
			t.Errorf("%s: wait %v, leaves %v; want %v, %v", tt.name, got.Verdict.Wait, leaves, tt.want, tt.leaves)
		}
		r.At = 1
		if got, leaves := r.Bound(tt.wait, now); got.Verdict.Wait != tt.wait.Verdict.Wait || leaves {
			t.Errorf("%s, at the last one: wait %v, leaves %v; want %v, false", tt.name, got.Verdict.Wait, leaves, tt.wait.Verdict.Wait)
		}
	}
}

func TestRoute_PatienceOfAnAgentBeginsWithTheFirstFault(t *testing.T) {
	now := time.Now()
	r := route.Route{Rules: ofAgent, Hops: []route.Hop{{After: time.Minute}}}
	for _, tt := range []struct{ at, want time.Duration }{{0, 40 * time.Second}, {30 * time.Second, 30 * time.Second}} {
		got, _ := r.Bound(waitOf(fault.Overloaded, 40*time.Second, false), now.Add(tt.at))
		if got.Verdict.Wait != tt.want {
			t.Errorf("%v after the first fault the wait is %v, want %v", tt.at, got.Verdict.Wait, tt.want)
		}
	}
}

func TestRoute_SleepLeavesWhenPatienceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := func(ctx context.Context, w policy.Wait) error { return retry.Sleep(ctx, w.Verdict.Wait) }
		woken := func(ctx context.Context, w policy.Wait) error { return retry.Sleep(ctx, w.Verdict.Wait/2) }
		for _, tt := range []struct {
			name  string
			sleep func(context.Context, policy.Wait) error
			left  bool
		}{{"slept to its end", full, true}, {"woken early", woken, false}} {
			r := route.Route{Rules: ofGateway, Hops: []route.Hop{{After: 10 * time.Second}}, Since: time.Now()}
			w := waitOf(fault.Overloaded, 30*time.Second, false)
			w.Run = policy.Run{Tries: 1, Slept: 30 * time.Second}
			err := r.Sleep(t.Context(), w, tt.sleep)
			left, ok := errors.AsType[*route.Left](err)
			if ok != tt.left || !ok && err != nil {
				t.Fatalf("%s: Sleep returned %v, want a *Left: %v", tt.name, err, tt.left)
			}
			if ok && (left.Run.Slept != 10*time.Second || left.Fault != w.Fault || left.Stop != "") {
				t.Errorf("%s: left with %+v, want 10s slept and the wait's fault", tt.name, left.End)
			}
		}
	})
}

func TestRoute_GoAfterTheEndOfARun(t *testing.T) {
	atOnce := fault.Set(0).With(fault.Auth)
	tests := []struct {
		name  string
		rules route.Rules
		kind  fault.Kind
		stop  policy.Stop
		goes  bool
	}{
		{"gateway, patience over", ofGateway, fault.Overloaded, "", true},
		{"gateway, exhausted", ofGateway, fault.Overloaded, policy.Exhausted, true},
		{"gateway, final", ofGateway, fault.Invalid, policy.Final, false},
		{"gateway, final and at once", ofGateway, fault.Auth, policy.Final, true},
		{"gateway, given up", ofGateway, fault.Overloaded, policy.GivenUp, false},
		{"agent, exhausted", ofAgent, fault.Overloaded, policy.Exhausted, true},
		{"agent, final quota", ofAgent, fault.Quota, policy.Final, true},
		{"agent, invalid", ofAgent, fault.Invalid, policy.Final, false},
		{"agent, unknown", ofAgent, fault.Unknown, policy.Exhausted, false},
	}
	for _, tt := range tests {
		r := route.Route{Rules: tt.rules, Hops: []route.Hop{{After: time.Minute, AtOnce: atOnce}}}
		e := route.End{Run: policy.Run{Tries: 3, Slept: time.Minute}, Fault: &fault.Error{Kind: tt.kind}, Stop: tt.stop}
		if goes := r.Go(e); goes != tt.goes || r.At > 0 != tt.goes {
			t.Errorf("%s: goes on %v, at %d; want %v", tt.name, goes, r.At, tt.goes)
		}
		want := policy.Run{}
		if tt.goes && tt.rules.OneBudget {
			want.Slept = time.Minute
		}
		if tt.goes && r.Run != want {
			t.Errorf("%s: the next run begins as %+v, want %+v", tt.name, r.Run, want)
		}
		if tt.goes && r.Since.IsZero() != tt.rules.FromFault {
			t.Errorf("%s: patience counts from %v", tt.name, r.Since)
		}
	}
}

func TestRoute_ReturnsToTheFirstAfterAFinalFault(t *testing.T) {
	r := route.Route{Rules: ofGateway, Hops: []route.Hop{{}, {}}}
	r.Go(route.End{Run: policy.Run{Tries: 4, Slept: time.Minute}, Fault: &fault.Error{Kind: fault.Overloaded}})
	final := route.End{Run: policy.Run{Tries: 1, Slept: 2 * time.Minute}, Fault: &fault.Error{Kind: fault.Auth}, Stop: policy.Final}
	if !r.Go(final) || r.At != 2 {
		t.Errorf("after a final fault of a later one: at %d, want 2, the one behind it", r.At)
	}
	if !r.Go(final) || r.At != 0 || r.Run != (policy.Run{Tries: 4, Slept: 2 * time.Minute}) {
		t.Errorf("after a final fault of the last one: at %d with %+v, want the first with 4 tries and 2m slept", r.At, r.Run)
	}
	if r.Go(final) || !r.Last() {
		t.Errorf("another final fault goes on to %d, want an end", r.At)
	}
}

func TestRoute_DoesNotReturnToWhatHasFailedForGood(t *testing.T) {
	tooLong := fault.Set(0).With(fault.TooLong)
	r := route.Route{Rules: ofGateway, Hops: []route.Hop{{AtOnce: tooLong}}}
	final := route.End{Run: policy.Run{Tries: 1}, Fault: &fault.Error{Kind: fault.TooLong}, Stop: policy.Final}
	if !r.Go(final) || r.At != 1 {
		t.Fatalf("after the first one's fault: at %d, want 1", r.At)
	}
	if r.Go(final) {
		t.Errorf("after the last one's fault: at %d, want an end", r.At)
	}
}
