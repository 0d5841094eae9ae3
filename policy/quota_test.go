package policy_test

import (
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
)

// window is a usage window that opens that long after the start.
func window(opens time.Duration) fault.Error {
	f := fault.Error{Kind: fault.Quota, Status: 429, ResetAt: start.Add(opens), Window: true}
	return f
}

// soon is one that opens within minutes, which is a rate limit as well.
func soon(opens time.Duration) fault.Error {
	f := window(opens)
	f.Kind = fault.RateLimited
	return f
}

// untilReset is a policy that waits for windows.
func untilReset(p policy.Policy, q policy.Quota) policy.Policy {
	q.Wait = policy.QuotaUntilReset
	p.Quota = q
	return p
}

func TestQuota_Scripts(t *testing.T) {
	const s, m, h = time.Second, time.Minute, time.Hour
	five := policy.Quota{Max: 5 * h}
	stop := policy.Patient()
	stop.Quota.Wait = policy.QuotaStop
	wall := untilReset(policy.Council(2*h), five)
	for _, tt := range []struct {
		name   string
		policy policy.Policy
		script []failure
	}{
		{"a window is waited for, then the schedule begins", untilReset(policy.Patient(), five), []failure{
			{0, window(4 * h), 4 * h, ""},
			{4 * h, overloaded, 5 * s, ""},
			{4*h + 5*s, overloaded, 10 * s, ""},
		}},
		{"a window is waited for behind faults", untilReset(policy.Patient(), five), []failure{
			{0, overloaded, 5 * s, ""},
			{5 * s, window(4 * h), 4*h - 5*s, ""},
			{4 * h, overloaded, 10 * s, ""},
		}},
		{"a policy of few retries waits too, and does not count it", untilReset(policy.Simple(), five), []failure{
			{0, window(4 * h), 4 * h, ""},
			{4 * h, overloaded, 1 * s, ""},
			{4 * h, overloaded, 2 * s, ""},
			{4 * h, overloaded, 4 * s, ""},
			{4 * h, overloaded, 0, policy.Exhausted},
		}},
		{"one that is longer ends the run", untilReset(policy.Patient(), five), []failure{{0, window(5*h + m), 0, policy.RetryAfterTooLong}}},
		{"without a longest wait", untilReset(policy.Patient(), policy.Quota{}), []failure{{0, window(200 * h), 200 * h, ""}}},
		{"stop", stop, []failure{{0, window(h), 0, policy.RetryAfterTooLong}}},
		{"stop, soon open", stop, []failure{{0, soon(m), 0, policy.RetryAfterTooLong}}},
		{"no Quota: as RetryOn says", policy.Patient(), []failure{{0, window(h), h, ""}, {h, window(10 * h), 0, policy.RetryAfterTooLong}}},
		{"no Quota: not listed", policy.Interactive(), []failure{{0, window(h), 0, policy.Final}}},
		{"a policy without retries", untilReset(policy.Policy{}, five), []failure{{0, window(h), 0, policy.Final}}},
		{"a second window ends the run", untilReset(policy.Patient(), five), []failure{
			{0, window(h), h, ""},
			{h, window(6 * h), 0, policy.Exhausted},
		}},
		{"two windows", untilReset(policy.Patient(), policy.Quota{Max: 5 * h, Windows: 2}), []failure{
			{0, window(h), h, ""},
			{h, window(6 * h), 5 * h, ""},
			{6 * h, window(11 * h), 0, policy.Exhausted},
		}},
		{"a window that opens a little later is the same one", untilReset(policy.Patient(), five), []failure{
			{0, window(h), h, ""},
			{h, soon(h + 1*s), 5 * s, ""},
			{h + 5*s, soon(h + 10*m), 10*m - 5*s, ""},
			{h + 10*m, soon(h + 14*m), 4 * m, ""},
			{h + 14*m, window(h + 30*m), 0, policy.Exhausted},
		}},
		{"one that opens every second is asked at the policy's pace", untilReset(policy.Simple(), five), []failure{
			{0, soon(1 * s), 1 * s, ""},
			{1 * s, soon(2 * s), 1 * s, ""},
			{2 * s, soon(3 * s), 2 * s, ""},
			{4 * s, soon(5 * s), 4 * s, ""},
			{8 * s, soon(9 * s), 0, policy.Exhausted},
		}},
		{"a try before the window was to open is free", untilReset(policy.Simple(), five), []failure{
			{0, window(4 * h), 4 * h, ""},
			{1 * h, window(4 * h), 3 * h, ""},
			{2 * h, window(4 * h), 2 * h, ""},
			{3 * h, overloaded, 1 * s, ""},
			{3*h + 1*s, window(4 * h), 1*h - 1*s, ""},
			{4 * h, overloaded, 2 * s, ""},
			{4*h + 2*s, overloaded, 4 * s, ""},
			{4*h + 6*s, overloaded, 0, policy.Exhausted},
		}},
		{"one that states an earlier reset over and over is asked at the policy's pace", untilReset(policy.Patient(), five), []failure{
			{0, window(4 * h), 4 * h, ""},
			{1 * h, soon(h + 1*s), 5 * s, ""},
			{h + 5*s, soon(h + 6*s), 10 * s, ""},
			{h + 15*s, soon(h + 16*s), 30 * s, ""},
		}},
		{"many early tries do not put off the last wait", untilReset(policy.Patient(), five), []failure{
			{0, window(2 * h), 2 * h, ""},
			{15 * m, window(2 * h), 105 * m, ""},
			{30 * m, window(2 * h), 90 * m, ""},
			{45 * m, window(2 * h), 75 * m, ""},
			{60 * m, window(2 * h), 60 * m, ""},
			{75 * m, window(2 * h), 45 * m, ""},
			{90 * m, window(2 * h), 30 * m, ""},
			{105 * m, soon(2 * h), 15 * m, ""},
			{115 * m, soon(2 * h), 5 * m, ""},
			{120 * m, soon(2*h + 1*s), 5 * s, ""},
		}},
		{"a limit that asks for the rest of a window is that window", untilReset(policy.Simple(), five), []failure{
			{0, window(4 * h), 4 * h, ""},
			{4*h - 10*m, limited(10 * m), 10 * m, ""},
			{4 * h, limited(2 * h), 0, policy.RetryAfterTooLong},
		}},
		{"a further one that opens soon is a throttle", untilReset(policy.Patient(), five), []failure{
			{0, window(h), h, ""},
			{h + 20*m, soon(h + 21*m), m, ""},
		}},
		{"one that opens at none of the times it states ends the run", untilReset(policy.Patient(), five), []failure{
			{0, window(h), h, ""},
			{h, soon(h + 1*s), 5 * s, ""},
			{h + 5*s, soon(h + 6*s), 10 * s, ""},
			{h + 15*s, soon(h + 16*s), 30 * s, ""},
			{h + 16*m, soon(h + 17*m), 0, policy.Exhausted},
		}},
		{"the clock's budget holds", wall, []failure{{0, window(3 * h), 0, policy.RetryAfterTooLong}}},
		{"within the clock's budget", wall, []failure{{0, window(h), h, ""}, {2*h - 20*s, overloaded, 0, policy.OverBudget}}},
		{"until 23:00", untilReset(policy.Patient(), policy.Quota{NotAfter: 23 * h}), []failure{{0, window(2 * h), 2 * h, ""}}},
		{"until 23:00, later", untilReset(policy.Patient(), policy.Quota{NotAfter: 23 * h}), []failure{{0, window(2*h + s), 0, policy.RetryAfterTooLong}}},
		{"until 06:00 of the next day", untilReset(policy.Patient(), policy.Quota{NotAfter: 6 * h}), []failure{{0, window(9 * h), 9 * h, ""}}},
		{"until 06:00, counted from the beginning", untilReset(policy.Patient(), policy.Quota{NotAfter: 6 * h, Windows: 2}), []failure{
			{0, window(9 * h), 9 * h, ""},
			{9*h + s, window(14 * h), 0, policy.RetryAfterTooLong},
		}},
		{"until midnight", untilReset(policy.Patient(), policy.Quota{NotAfter: 24 * h}), []failure{{0, window(3*h + s), 0, policy.RetryAfterTooLong}}},
	} {
		t.Run(tt.name, func(t *testing.T) { run(t, tt.policy, tt.script) })
	}
}

func TestQuota_TakesNothingFromTheBudget(t *testing.T) {
	p := untilReset(policy.Patient(), policy.Quota{Max: 168 * time.Hour})
	spent := window(100 * time.Hour)
	r, v := p.Next(policy.Run{Started: start}, &spent, false, start, 0.5)
	if !v.Window || !v.Hinted || r.Slept != 0 || r.Windows != 1 || !r.Opens.Equal(start.Add(100*time.Hour)) {
		t.Errorf("verdict %+v, run %+v; want a window's wait that takes nothing from the budget", v, r)
	}
	now, n := start.Add(100*time.Hour), 0
	for stop := policy.Stop(""); ; n++ {
		r, v = p.Next(r, &overloaded, false, now, 0.5)
		if stop, now = v.Stop, now.Add(v.Wait); stop != "" {
			break
		}
	}
	if n != 21 || r.Slept != 27105*time.Second {
		t.Errorf("%d retries and %v of waiting after the window, want Patient's 21 and 27105s", n, r.Slept)
	}
}

func TestQuota_TimeOfDayIsThatOfTheZone(t *testing.T) {
	p := untilReset(policy.Patient(), policy.Quota{NotAfter: 6 * time.Hour})
	tokyo := start.In(time.FixedZone("JST", 9*3600)) // 06:00, exactly
	for opens, want := range map[time.Duration]policy.Stop{24 * time.Hour: "", 24*time.Hour + 1: policy.RetryAfterTooLong} {
		f := window(opens)
		if _, v := p.Next(policy.Run{}, &f, false, tokyo, 0); v.Stop != want {
			t.Errorf("at 06:00, a window that opens in %v: stop %q, want %q", opens, v.Stop, want)
		}
	}
}

func TestWait_EndedEarlyReturnsToTheBudget(t *testing.T) {
	w := policy.Wait{Run: policy.Run{Slept: time.Hour}}
	if r := w.EndedEarly(time.Minute); r.Slept != 59*time.Minute {
		t.Errorf("%v slept, want 59m", r.Slept)
	}
	w.Verdict.Window = true
	if r := w.EndedEarly(time.Minute); r.Slept != time.Hour {
		t.Errorf("%v slept after the wait for a window, want 1h: it has taken nothing", r.Slept)
	}
}
