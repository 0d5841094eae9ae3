package policy_test

import (
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
)

// start is the moment at which every script of this file begins.
var start = time.Date(2026, time.November, 2, 21, 0, 0, 0, time.UTC)

// failure is one failed try of a script and the verdict that must follow.
type failure struct {
	at    time.Duration // when the try failed, since the start
	fault fault.Error
	wait  time.Duration // the wait that is due; meaningless with stop
	stop  policy.Stop
}

// run plays the failures against the policy, with a random number that moves nothing.
func run(t *testing.T, p policy.Policy, script []failure) policy.Run {
	t.Helper()
	r := policy.Run{Started: start}
	for i, f := range script {
		var v policy.Verdict
		r, v = p.Next(r, &f.fault, false, start.Add(f.at), 0.5)
		if v.Wait != f.wait || v.Stop != f.stop {
			t.Fatalf("failure %d: wait %v stop %q, want wait %v stop %q", i+1, v.Wait, v.Stop, f.wait, f.stop)
		}
	}
	return r
}

var (
	overloaded = fault.Error{Kind: fault.Overloaded, Status: 529}
	ours       = fault.Error{Kind: fault.Timeout}
	unknown    = fault.Error{Kind: fault.Unknown}
)

// limited is a rate limit that asks for a wait.
func limited(wait time.Duration) fault.Error {
	return fault.Error{Kind: fault.RateLimited, Status: 429, Wait: wait}
}

// spent is a quota that opens again so long after the start.
func spent(reset time.Duration) fault.Error {
	return fault.Error{Kind: fault.Quota, Status: 429, ResetAt: start.Add(reset)}
}

// waits returns all waits of a policy against an outage without end in which
// each try fails at once.
func waits(p policy.Policy, f fault.Error, random float64) ([]time.Duration, policy.Run, policy.Stop) {
	var all []time.Duration
	r, now := policy.Run{Started: start}, start
	for {
		var v policy.Verdict
		r, v = p.Next(r, &f, false, now, random)
		if v.Stop != "" {
			return all, r, v.Stop
		}
		all = append(all, v.Wait)
		now = now.Add(v.Wait)
	}
}

func TestPatient_WaitsTwentyOneTimesInEightHours(t *testing.T) {
	all, r, stop := waits(policy.Patient(), overloaded, 0.5)
	if len(all) != 21 || r.Slept != 27105*time.Second || stop != policy.OverBudget {
		t.Errorf("%d retries, %v slept, %q; want 21, 27105s, over budget", len(all), r.Slept, stop)
	}
	want := []time.Duration{5, 10, 30, 60, 300, 600, 900, 1800, 1800}
	for i, w := range want {
		if all[i] != w*time.Second {
			t.Errorf("wait %d is %v, want %v", i+1, all[i], w*time.Second)
		}
	}
}

func TestPreset_KeepsItsNumbers(t *testing.T) {
	s := time.Second
	tests := []struct {
		name    string
		random  float64
		retries int
		slept   time.Duration
		stop    policy.Stop
	}{
		{"patient", 0.0, 21, 27105 * s, policy.OverBudget},
		{"interactive", 0.5, 10, (1 + 2 + 4 + 8 + 16 + 5*30) * s, policy.Exhausted},
		{"interactive", 0.0, 10, (27900+28800)*time.Millisecond + 4*30*s, policy.Exhausted}, // the clamp comes last
		{"worker", 0.0, 10, (3 + 5 + 10 + 30 + 6*60) * s, policy.Exhausted},
		{"worker", 1.0, 10, (3 + 5 + 10 + 30 + 6*60) * s * 11 / 10, policy.Exhausted},
		{"simple", 0.5, 3, 7 * s, policy.Exhausted},
		{"council", 0.5, 1, 1500 * time.Millisecond, policy.Exhausted},
	}
	for _, tt := range tests {
		p, ok := policy.Preset(tt.name)
		if !ok {
			t.Fatalf("no preset %q", tt.name)
		}
		all, r, stop := waits(p, overloaded, tt.random)
		if len(all) != tt.retries || r.Slept != tt.slept || stop != tt.stop {
			t.Errorf("%s, random %v: %d retries, %v, %q; want %d, %v, %q",
				tt.name, tt.random, len(all), r.Slept, stop, tt.retries, tt.slept, tt.stop)
		}
	}
}

func TestPolicy_ZeroNeverRetries(t *testing.T) {
	run(t, policy.Policy{}, []failure{{0, overloaded, 0, policy.Exhausted}})
}

func TestNext_CommittedAnswerIsNotRetried(t *testing.T) {
	_, v := policy.Patient().Next(policy.Run{}, &overloaded, true, start, 0)
	if v.Stop != policy.Committed {
		t.Errorf("stop %q, want committed", v.Stop)
	}
}

func TestNext_RetryAfterReplacesAShorterWait(t *testing.T) {
	s := time.Second
	run(t, policy.Interactive(), []failure{
		{0 * s, limited(7 * s), 7 * s, ""},
		{7 * s, limited(time.Millisecond), 2 * s, ""},
		{9 * s, limited(5 * time.Minute), 5 * time.Minute, ""},
		{309 * s, limited(5*time.Minute + 1), 0, policy.RetryAfterTooLong},
	})
}

func TestNext_RetryAfterBeyondTheBudgetStops(t *testing.T) {
	p := policy.Policy{Retries: 9, MaxWait: time.Minute}
	run(t, p, []failure{
		{0, limited(40 * time.Second), 40 * time.Second, ""},
		{40 * time.Second, limited(21 * time.Second), 0, policy.RetryAfterTooLong},
	})
}

func TestNext_QuotaIsRetriedOnlyAtItsReset(t *testing.T) {
	h := time.Hour
	run(t, policy.Patient(), []failure{{0, spent(5 * h), 5 * h, ""}, {5 * h, spent(9 * h), 0, policy.RetryAfterTooLong}})
	run(t, policy.Patient(), []failure{{0, fault.Error{Kind: fault.Quota}, 0, policy.Final}})
	run(t, policy.Patient(), []failure{{h, spent(h), 0, policy.Final}})
	run(t, policy.Interactive(), []failure{{0, spent(time.Minute), 0, policy.Final}})
}

func TestPreset_OnlyPatientRetriesUnknownFaults(t *testing.T) {
	for _, name := range policy.Presets() {
		p, _ := policy.Preset(name)
		_, v := p.Next(policy.Run{Started: start}, &unknown, false, start, 0)
		if again := v.Stop == ""; again != (name == "patient") {
			t.Errorf("%s tries an unknown failure again: %v", name, again)
		}
	}
}

func TestPreset_FinalFaultsAreNotRetried(t *testing.T) {
	for _, name := range policy.Presets() {
		p, _ := policy.Preset(name)
		for _, k := range []fault.Kind{fault.Auth, fault.Invalid, fault.Refused, fault.TooLong, fault.Canceled} {
			run(t, p, []failure{{0, fault.Error{Kind: k, Wait: time.Second}, 0, policy.Final}})
		}
		run(t, p, []failure{{0, fault.Error{Kind: fault.Overloaded, Final: true}, 0, policy.Final}})
	}
}

func TestCouncil_RetriesOnlyWhileMinRemainingIsLeft(t *testing.T) {
	p := policy.Council(270 * time.Second)
	w, late := 1500*time.Millisecond, 240*time.Second
	run(t, p, []failure{{late - 1, overloaded, w, ""}})
	run(t, p, []failure{{late, overloaded, 0, policy.OverBudget}})
	run(t, p, []failure{{0, ours, 0, policy.Final}})
	run(t, p, []failure{{0, overloaded, w, ""}, {time.Minute, overloaded, 0, policy.Exhausted}})
}

func TestNext_WaitEndsBeforeTheDeadline(t *testing.T) {
	p := policy.Policy{Retries: 9, Deadline: 10 * time.Second, Backoff: policy.Backoff{Steps: []time.Duration{4 * time.Second}}}
	run(t, p, []failure{
		{1 * time.Second, overloaded, 4 * time.Second, ""},
		{6 * time.Second, overloaded, 0, policy.OverBudget},
	})
}

func TestLatestWait_IsTheNearestBudget(t *testing.T) {
	r := policy.Run{Tries: 8, Started: start, Slept: 3705 * time.Second}
	now := start.Add(2 * time.Hour)
	tests := []struct {
		p    policy.Policy
		want time.Time
	}{
		{policy.Policy{}, time.Time{}},
		{policy.Patient(), now.Add(13 * 30 * time.Minute)}, // 27 105 s in all
		{policy.Policy{Deadline: 3 * time.Hour}, start.Add(3 * time.Hour)},
		{policy.Policy{Deadline: 3 * time.Hour, MaxWait: 90 * time.Minute, Retries: 9, Backoff: policy.Backoff{Steps: []time.Duration{7}}}, now.Add(7)},
		{policy.Policy{MaxWait: 90 * time.Minute, Retries: policy.Unlimited}, now.Add(1695 * time.Second)},
	}
	for i, tt := range tests {
		if got := tt.p.LatestWait(r, now); !got.Equal(tt.want) {
			t.Errorf("row %d: latest wait at %v, want %v", i, got, tt.want)
		}
	}
}

// FuzzNext looks for a backoff, a budget and a stated wait that make a wait negative
// or overrun the budget.
func FuzzNext(f *testing.F) {
	f.Add(int64(5e9), 2.0, 0.1, 0.1, int64(30e9), int64(60e9), int64(7e9), 0.5, 3)
	f.Add(int64(1<<62), 1e300, -5.0, 9.0, int64(0), int64(1), int64(-1), 1.0, 1<<40)
	f.Fuzz(func(t *testing.T, step int64, factor, down, up float64, most, sleep, hint int64, random float64, tries int) {
		sleep = max(sleep, 1)
		p := policy.Policy{
			Retries: policy.Unlimited,
			MaxWait: time.Duration(sleep),
			Backoff: policy.Backoff{
				Steps: []time.Duration{time.Duration(step)}, Factor: factor,
				Jitter: policy.Jitter{Down: down, Up: up}, Max: time.Duration(most),
			},
		}
		f := fault.Error{Kind: fault.RateLimited, Wait: time.Duration(hint)}
		r, v := p.Next(policy.Run{Started: start, Tries: min(max(tries, 0), 1<<50)}, &f, false, start, random)
		if v.Wait < 0 || r.Slept < 0 || r.Slept > p.MaxWait {
			t.Fatalf("policy %+v after %+v: run %+v, verdict %+v; want nothing negative or over the budget", p, f, r, v)
		}
	})
}

func BenchmarkNext(b *testing.B) {
	p := policy.Patient()
	b.ReportAllocs()
	for b.Loop() {
		p.Next(policy.Run{Started: start, Tries: 6}, &overloaded, false, start, 0.5)
	}
}
