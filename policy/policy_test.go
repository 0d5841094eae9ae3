package policy_test

import (
	"math"
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

// spent is a quota that opens again that long after the start.
func spent(reset time.Duration) fault.Error {
	return fault.Error{Kind: fault.Quota, Status: 429, ResetAt: start.Add(reset)}
}

// waits returns the waits of a policy, a thousand at most, against an outage
// without end in which each try fails at once.
func waits(p policy.Policy, f fault.Error, random float64) ([]time.Duration, policy.Run, policy.Stop) {
	var all []time.Duration
	r, now := policy.Run{Started: start}, start
	for {
		var v policy.Verdict
		r, v = p.Next(r, &f, false, now, random)
		if v.Stop != "" || len(all) == 1000 {
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
		{"attended", 0.5, 28, (181 + 60 + 300 + 600 + 900 + 14*1800) * s, policy.OverBudget},
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

func TestPreset_OnlyTheLongOnesRetryUnknownFaults(t *testing.T) {
	for _, name := range policy.Presets() {
		p, _ := policy.Preset(name)
		_, v := p.Next(policy.Run{Started: start}, &unknown, false, start, 0)
		if again := v.Stop == ""; again != (name == "patient" || name == "attended") {
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

func TestPreset_BoundsTheProvidersWait(t *testing.T) {
	for name, longest := range map[string]time.Duration{
		"interactive": 5 * time.Minute, "worker": 15 * time.Minute, "simple": time.Minute,
		"council": 270*time.Second - 1,
	} {
		p, _ := policy.Preset(name)
		run(t, p, []failure{{0, limited(longest), longest, ""}})
		run(t, p, []failure{{0, limited(longest + 1), 0, policy.RetryAfterTooLong}})
	}
}

func TestSimple_DoublesToThirtySeconds(t *testing.T) {
	for k, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		if got := policy.Simple().Backoff.At(k+1, 0); got != want*time.Second {
			t.Errorf("wait %d is %v, want %v", k+1, got, want*time.Second)
		}
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

func TestNext_BoundsAreExact(t *testing.T) {
	s := time.Second
	fives := policy.Backoff{Steps: []time.Duration{5 * s}}
	run(t, policy.Policy{Retries: 9, MaxWait: 10 * s, Backoff: fives}, []failure{ // the second fits exactly
		{0, overloaded, 5 * s, ""}, {5 * s, overloaded, 5 * s, ""}, {10 * s, overloaded, 0, policy.OverBudget},
	})
	p := policy.Policy{Retries: 9, Backoff: fives}
	f := limited(5 * s)
	if _, v := p.Next(policy.Run{}, &f, false, start, 0); v.Wait != 5*s || v.Hinted {
		t.Errorf("a provider that asks for the scheduled wait: verdict %+v, want 5s that it has not asked for", v)
	}
	if r, _ := (policy.Policy{Retries: 1}).Next(policy.Run{}, &overloaded, false, start, 0); r.Slept != 0 {
		t.Errorf("a retry without a wait: slept %v, want 0", r.Slept)
	}
	r, v := p.Next(policy.Run{Tries: 1, Slept: math.MaxInt64 - 1}, &overloaded, false, start, 0)
	if r.Slept != math.MaxInt64 || v.Wait != 5*s {
		t.Errorf("a run that has slept for ever: run %+v, verdict %+v; want the longest duration and 5s", r, v)
	}
}

func TestLatestWait_AddsUpExactly(t *testing.T) {
	s := time.Second
	p := policy.Policy{Retries: 1000, MaxWait: 2 * time.Hour, Backoff: policy.Backoff{Steps: []time.Duration{s}}}
	if got := p.LatestWait(policy.Run{}, start).Sub(start); got != 1000*s {
		t.Errorf("a thousand waits of 1s last until %v, want 1000s", got)
	}
	p.Retries = 1001
	if got := p.LatestWait(policy.Run{}, start).Sub(start); got != 2*time.Hour {
		t.Errorf("more waits than are added up last until %v, want the budget", got)
	}
	p = policy.Policy{Retries: 9, MaxWait: 3 * s, Backoff: policy.Backoff{Steps: []time.Duration{s}}}
	if got := p.LatestWait(policy.Run{}, start).Sub(start); got != 3*s {
		t.Errorf("waits that fill the budget exactly last until %v, want 3s", got)
	}
	if got := p.LatestWait(policy.Run{Slept: 4 * s}, start).Sub(start); got != 0 {
		t.Errorf("a run over its budget waits for another %v, want 0", got)
	}
}

func TestBackoff_StaysInRange(t *testing.T) {
	s := time.Second
	tests := []struct {
		name    string
		backoff policy.Backoff
		k       int
		random  float64
		want    time.Duration
	}{
		{"no steps", policy.Backoff{Max: s}, 1, 0, 0},
		{"k below 1 is the first", policy.Backoff{Steps: []time.Duration{s, 2 * s}}, 0, 0, s},
		{"factor below 1 does not shrink", policy.Backoff{Steps: []time.Duration{s}, Factor: 0.5}, 4, 0, s},
		{"factor grows after the last step", policy.Backoff{Steps: []time.Duration{s, 2 * s}, Factor: 3}, 4, 0, 18 * s},
		{"exactly the longest duration", policy.Backoff{Steps: []time.Duration{1 << 62}, Factor: 2}, 2, 0, math.MaxInt64},
		{"jitter down", policy.Backoff{Steps: []time.Duration{10 * s}, Jitter: policy.Jitter{Down: 0.2, Up: 0.1}}, 1, 0, 8 * s},
		{"jitter up", policy.Backoff{Steps: []time.Duration{10 * s}, Jitter: policy.Jitter{Down: 0.2, Up: 0.1}}, 1, 1, 11 * s},
		{"jitter below zero", policy.Backoff{Steps: []time.Duration{10 * s}, Jitter: policy.Jitter{Down: 2}}, 1, 0, 0},
		{"limited after jitter", policy.Backoff{Steps: []time.Duration{10 * s}, Jitter: policy.Jitter{Up: 1}, Max: 12 * s}, 1, 1, 12 * s},
	}
	for _, tt := range tests {
		if got := tt.backoff.At(tt.k, tt.random); got != tt.want {
			t.Errorf("%s: wait is %v, want %v", tt.name, got, tt.want)
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

// A 409 is tried again as often as the vendors' SDKs do and not for hours, by a policy that retries unknown failures.
func TestNext_FaultWithRetriesOfItsOwn(t *testing.T) {
	conflict := fault.Error{Kind: fault.Unknown, Status: 409, Retries: 2}
	second := time.Second
	for name, tt := range map[string]struct {
		policy policy.Policy
		script []failure
	}{
		"patient": {policy.Patient(), []failure{
			{0, conflict, 5 * second, ""}, {0, conflict, 10 * second, ""}, {0, conflict, 0, policy.Exhausted},
		}},
		"patient, after an outage": {policy.Patient(), []failure{
			{0, overloaded, 5 * second, ""},
			{0, overloaded, 10 * second, ""},
			{0, overloaded, 30 * second, ""},
			{0, conflict, 60 * second, ""},
			{0, conflict, 300 * second, ""},
			{0, conflict, 0, policy.Exhausted},
		}},
		"attended": {policy.Attended(), []failure{
			{0, conflict, second, ""},
			{0, overloaded, 2 * second, ""},
			{0, conflict, 4 * second, ""},
			{0, conflict, 8 * second, ""},
			{0, conflict, 0, policy.Exhausted},
		}},
		"interactive":   {policy.Interactive(), []failure{{0, conflict, 0, policy.Final}}},
		"council":       {policy.Council(policy.CouncilBudget), []failure{{0, conflict, 0, policy.Final}}},
		"none":          {policy.Policy{}, []failure{{0, conflict, 0, policy.Final}}},
		"some kinds":    {policy.Policy{Retries: 5, RetryOn: fault.Set(0).With(fault.RateLimited)}, []failure{{0, conflict, 0, policy.Final}}},
		"it says never": {policy.Patient(), []failure{{0, fault.Error{Kind: fault.Unknown, Retries: 2, Final: true}, 0, policy.Final}}},
	} {
		t.Run(name, func(t *testing.T) { run(t, tt.policy, tt.script) })
	}
	r, _ := policy.Patient().Next(policy.Run{Tries: 3, Started: start}, &conflict, false, start, 0.5)
	if got := policy.Patient().Limit(r, &conflict); got != 5 {
		t.Errorf("limit of the fourth try's conflict: got %d retries, want 5", got)
	}
}

// An error that an SDK throws and that has no name is retried as each preset says: by patient and attended alone.
func TestNext_UnknownByPreset(t *testing.T) {
	for _, name := range policy.Presets() {
		p, _ := policy.Preset(name)
		_, v := p.Next(policy.Run{Started: start}, &unknown, false, start, 0.5)
		if retried := v.Stop == ""; retried != (name == "patient" || name == "attended") {
			t.Errorf("%s: stop %q after an unknown fault, want it retried by patient and attended alone", name, v.Stop)
		}
	}
}

// A try that another call has made costs time and no retry, for as long as all own waits and a minute.
func TestNextShared_CostsNoRetry(t *testing.T) {
	p := policy.Policy{Retries: 2, Backoff: policy.Backoff{Steps: []time.Duration{time.Second, 10 * time.Second}}}
	now := time.Unix(1000, 0)
	busy := &fault.Error{Kind: fault.Overloaded}
	var r policy.Run
	var v policy.Verdict
	var waits []time.Duration
	begun := now
	for v.Stop == "" {
		r, v = p.NextShared(r, busy, now, 0)
		waits, now = append(waits, v.Wait), now.Add(v.Wait)
	}
	if len(waits) != 9 || waits[0] != time.Second || waits[7] != 10*time.Second || v.Stop != policy.Exhausted || now.Sub(begun) != 71*time.Second {
		t.Errorf("shared faults alone: waits %v, %s after %v; want 1 s, 10 s each and exhausted after its 11 s and a minute", waits, v.Stop, now.Sub(begun))
	}
	r = policy.Run{}
	for i, shared := range []bool{true, false, true, true, false, true, false} {
		now = now.Add(time.Minute)
		if shared {
			r, v = p.NextShared(r, busy, now, 0)
		} else {
			r, v = p.Next(r, busy, false, now, 0)
		}
		if last := i == 6; (v.Stop == policy.Exhausted) != last {
			t.Errorf("fault %d: stop %q, want exhausted: %v, at the third own one", i, v.Stop, last)
		}
	}
}

// In an outage that lasts, a call ends when it would have ended alone, once as many tries have failed in a row.
func TestNextShared_EndsWithTheScheduleInAnOutage(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, tt := range []struct{ own, inRow, tries int }{{0, 4, 4}, {1, 4, 4}, {0, 3, 19}, {1, 3, 7}} {
		var r policy.Run
		var v policy.Verdict
		tries := 0
		for now := now; v.Stop == ""; now = now.Add(v.Wait) {
			busy := &fault.Error{Kind: fault.Overloaded, InRow: tt.inRow}
			if tries++; tt.own > 0 && tries > 3 {
				r, v = policy.Simple().Next(r, busy, false, now, 0)
			} else {
				r, v = policy.Simple().NextShared(r, busy, now, 0)
			}
		}
		if tries != tt.tries || v.Stop != policy.Exhausted {
			t.Errorf("%d in a row, the last its own %v: %s after %d tries, want exhausted after %d", tt.inRow, tt.own > 0, v.Stop, tries, tt.tries)
		}
	}
}

func TestPolicy_DoubtedRefusalIsTriedSoonOrFinal(t *testing.T) {
	doubted := func(k fault.Kind, n int) fault.Error { return fault.Error{Kind: k, Doubted: n} }
	const s = time.Second
	tight := policy.Patient()
	tight.MaxWait = 4 * s
	for _, tt := range []struct {
		name   string
		policy policy.Policy
		script []failure
	}{
		{"a key", policy.Patient(), []failure{
			{0, doubted(fault.Auth, 1), 3 * s, ""}, {3 * s, doubted(fault.Auth, 2), 3 * s, ""}, {6 * s, doubted(fault.Auth, 0), 0, policy.Final},
		}},
		{"a model", policy.Patient(), []failure{
			{0, doubted(fault.Invalid, 1), 5 * s, ""},
			{5 * s, doubted(fault.Invalid, 2), 8 * s, ""},
			{13 * s, doubted(fault.Invalid, 3), 8 * s, ""},
			{21 * s, doubted(fault.Invalid, 0), 0, policy.Final},
		}},
		{"after other faults", policy.Patient(), []failure{
			{0, overloaded, 5 * s, ""}, {5 * s, overloaded, 10 * s, ""}, {15 * s, doubted(fault.Auth, 1), 3 * s, ""},
		}},
		{"a policy that never tries again", policy.Policy{}, []failure{{0, doubted(fault.Auth, 1), 0, policy.Final}}},
		{"no budget left", tight, []failure{{0, doubted(fault.Auth, 1), 3 * s, ""}, {3 * s, doubted(fault.Auth, 2), 0, policy.Final}}},
	} {
		t.Run(tt.name, func(t *testing.T) { run(t, tt.policy, tt.script) })
	}
}

// A limit on all waits is used to its end: the waits of a policy without a number of retries become shorter with it.
func TestPolicy_CappedUsesItsLimit(t *testing.T) {
	busy := &fault.Error{Kind: fault.Overloaded}
	for _, tt := range []struct {
		limit, waited time.Duration
		tries         int
	}{
		{12 * time.Second, 10 * time.Second, 3},
		{30 * time.Second, 30 * time.Second, 7},
		{45 * time.Minute, 44*time.Minute + 15*time.Second, 11},
		{2 * time.Hour, 31*time.Minute + 45*time.Second + 80*time.Minute, 12},
		{8 * time.Hour, 27105 * time.Second, 22},
	} {
		p, run, tries := policy.Patient().Capped(tt.limit), policy.Run{}, 1
		for ; ; tries++ {
			next, v := p.Next(run, busy, false, time.Time{}, 0.5)
			if v.Stop != "" {
				break
			}
			run = next
		}
		if run.Slept != tt.waited || tries != tt.tries {
			t.Errorf("within %v: %d tries and %v of waiting, want %d and %v", tt.limit, tries, run.Slept, tt.tries, tt.waited)
		}
	}
}
