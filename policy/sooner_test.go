package policy_test

import (
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
)

func TestPolicy_SoonerKeepsThePace(t *testing.T) {
	const s, m = time.Second, time.Minute
	now := time.Date(2026, time.November, 22, 14, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name   string
		tries  int // that have failed
		better time.Duration
		asked  time.Duration // by the provider
		want   time.Duration
	}{
		{"a better moment in the second half", 5, 4 * m, 0, 4 * m},
		{"not below the wait before", 5, 59 * s, 0, 5 * m},
		{"as short as the wait before", 5, 61 * s, 0, 61 * s},
		{"equal waits, in the second half", 9, 16 * m, 0, 16 * m},
		{"equal waits, in the first half", 9, 14 * m, 0, 30 * m},
		{"the first wait", 1, 3 * s, 0, 3 * s},
		{"the first wait, at once", 1, 0, 0, 5 * s},
		{"a moment that has passed", 5, -m, 0, 5 * m},
		{"a moment after the wait", 5, 6 * m, 0, 5 * m},
		{"not before what the provider has stated", 5, 2 * m, 3 * m, 5 * m},
		{"after what the provider has stated", 5, 4 * m, 3 * m, 4 * m},
		{"a wait that the provider has asked for", 5, 4 * m, 7 * m, 7 * m},
	} {
		f := &fault.Error{Kind: fault.Overloaded, Wait: tt.asked}
		p := policy.Patient()
		run, v := p.Next(policy.Run{Tries: tt.tries - 1}, f, false, now, 0)
		w := policy.Wait{Run: run, Fault: f, Verdict: v, Due: now.Add(v.Wait)}
		got := p.Sooner(w, now.Add(tt.better))
		if got.Verdict.Wait != tt.want || !got.Due.Equal(now.Add(tt.want)) || got.Run != run {
			t.Errorf("%s: waits %v until %v with %+v, want %v and the same run", tt.name, got.Verdict.Wait, got.Due, got.Run, tt.want)
		}
		if got := p.Sooner(w, time.Time{}); got.Verdict != v {
			t.Errorf("%s, without a better moment: %+v, want %+v", tt.name, got.Verdict, v)
		}
	}
}
