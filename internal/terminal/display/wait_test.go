package display_test

import (
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

var (
	nine = time.Date(2026, time.November, 2, 21, 0, 0, 0, time.Local)
	busy = policy.Wait{Run: policy.Run{Tries: 1}, Fault: &fault.Error{Kind: fault.Overloaded, Status: 529}, Limit: 10}
	gone = policy.Wait{Run: policy.Run{Tries: 7}, Fault: &fault.Error{Kind: fault.Unavailable}, Limit: policy.Unlimited, Deadline: nine.Add(8*time.Hour + 12*time.Minute)}
)

// waitLine is the line about a wait that ends in left, at nine o'clock.
func waitLine(w policy.Wait, left time.Duration, width int, keys ...string) string {
	w.Due = nine.Add(left)
	return display.WaitLine(w, nine, width, keys...)
}

func TestWaitLine_FormsByWidth(t *testing.T) {
	open := policy.Wait{Run: policy.Run{Tries: 3}, Fault: &fault.Error{Kind: fault.RateLimited, Status: 429}, Limit: policy.Unlimited}
	spent := policy.Wait{Run: policy.Run{Tries: 1}, Fault: &fault.Error{Kind: fault.Quota, Status: 429, Window: true, ResetAt: nine.Add(3*time.Hour + time.Minute)}, Limit: policy.Unlimited}
	soon := policy.Wait{Run: policy.Run{Tries: 1}, Fault: &fault.Error{Kind: fault.Quota, Status: 429, Window: true, ResetAt: nine.Add(8 * time.Second)}, Limit: policy.Unlimited}
	for _, tt := range []struct {
		wait  policy.Wait
		left  time.Duration
		width int
		want  string
	}{
		{busy, 5 * time.Second, 80, "▲ Server overloaded — retrying in 5s… (attempt 1/10) • Press Ctrl+C to cancel"},
		{busy, 4001 * time.Millisecond, 80, "▲ Server overloaded — retrying in 5s… (attempt 1/10) • Press Ctrl+C to cancel"},
		{busy, 0, 80, "▲ Server overloaded — retrying now… (attempt 1/10) • Press Ctrl+C to cancel"},
		{open, 5 * time.Second, 80, "▲ Rate limited — retrying in 5s… (attempt 3) • Press Ctrl+C to cancel"},
		{busy, 5 * time.Second, 60, "▲ Server overloaded — retrying in 5s… (attempt 1/10) • ^C"},
		{busy, 5 * time.Second, 40, "▲ overloaded · 5s · 1/10 · ^C"},
		{busy, 0, 40, "▲ overloaded · now · 1/10 · ^C"},
		{busy, 5 * time.Second, 20, "▲ overloaded · 5s"},
		{busy, 5 * time.Second, 3, "▲ overloaded"},
		{gone, 30 * time.Minute, 100, "▲ Network — retrying at 21:30, in 30m… (attempt 7, gives up 05:12) • Press Ctrl+C to cancel"},
		{gone, 30 * time.Minute, 80, "▲ Network — retrying at 21:30, in 30m… (attempt 7, gives up 05:12) • ^C"},
		{gone, 30 * time.Minute, 40, "▲ network · 21:30 · 7 · ^C"},
		{gone, 5 * time.Minute, 90, "▲ Network — retrying in 5m… (attempt 7, gives up 05:12) • Press Ctrl+C to cancel"},
		{gone, 90 * time.Second, 40, "▲ network · 1m30s · 7 · ^C"},
		{spent, 3*time.Hour + time.Minute, 40, "▲ usage limit · opens 00:01 · ^C"},
		{spent, 3*time.Hour + time.Minute, 80, "▲ Usage limit — opens again at 00:01, in 3h1m • Press Ctrl+C to cancel"},
		{spent, 3*time.Hour + time.Minute, 20, "▲ usage limit"},
		{soon, 8 * time.Second, 40, "▲ usage limit · opens in 8s · ^C"},
	} {
		if got := waitLine(tt.wait, tt.left, tt.width); got != tt.want {
			t.Errorf("line with %v left at %d columns:\n got %q\nwant %q", tt.left, tt.width, got, tt.want)
		}
	}
}

func TestWaitLine_ShedsKeysFirst(t *testing.T) {
	const full = "▲ Server overloaded — retrying in 5s… (attempt 1/10) • r now • d details • Press Ctrl+C to cancel"
	for width, want := range map[int]string{
		98: full,
		97: "▲ Server overloaded — retrying in 5s… (attempt 1/10) • Press Ctrl+C to cancel",
		40: "▲ overloaded · 5s · 1/10 · ^C",
	} {
		if got := waitLine(busy, 5*time.Second, width, "r now", "d details"); got != want {
			t.Errorf("line with keys at %d columns:\n got %q\nwant %q", width, got, want)
		}
	}
}

func TestClock_AddsTheDateOfAnotherDay(t *testing.T) {
	for after, want := range map[time.Duration]string{
		time.Minute: "21:01", 8 * time.Hour: "05:00", 13 * time.Hour: "10:00 on Nov 3", -22 * time.Hour: "23:00 on Nov 1",
	} {
		if got := display.Clock(nine.Add(after), nine); got != want {
			t.Errorf("Clock %v later: got %q, want %q", after, got, want)
		}
	}
}

func TestNextChange_MatchesTheTextOfDuration(t *testing.T) {
	left := 7*time.Minute + 700*time.Millisecond
	texts := []string{}
	for left > 0 {
		text := display.Duration(left)
		texts = append(texts, text)
		step := display.NextChange(left)
		if before := display.Duration(left - step + 1); before != text {
			t.Fatalf("Duration(%v): got %q, but %q just before the announced change", left, text, before)
		}
		if left -= step; left > 0 && display.Duration(left) == text {
			t.Fatalf("text after NextChange: got %q still after %v, want another", text, step)
		}
	}
	if got := display.Duration(0); got != "now" || display.NextChange(0) != 0 {
		t.Errorf("Duration(0), NextChange(0): got %q, %v, want \"now\", 0s", got, display.NextChange(0))
	}
	for i, want := range []string{"8m", "7m", "6m", "5m", "4m59s"} {
		if texts[i] != want {
			t.Errorf("text %d: got %q, want %q", i, texts[i], want)
		}
	}
	if last := texts[len(texts)-1]; last != "1s" {
		t.Errorf("last text: got %q, want 1s", last)
	}
	if got := display.Duration(2*time.Hour + 30*time.Minute + time.Second); got != "2h31m" {
		t.Errorf("Duration(2h30m1s): got %q, want 2h31m", got)
	}
}

func TestRecovered_RoundsTheWait(t *testing.T) {
	for _, tt := range []struct {
		retries int
		waited  time.Duration
		want    string
	}{
		{3, 21700 * time.Millisecond, "✓ Recovered after 3 retries (waited 22s)"},
		{1, time.Second, "✓ Recovered after 1 retry (waited 1s)"},
		{1, time.Millisecond, "✓ Recovered after 1 retry (waited 1s)"},
	} {
		if got := display.Recovered(tt.retries, tt.waited); got != tt.want {
			t.Errorf("Recovered(%d, %v): got %q, want %q", tt.retries, tt.waited, got, tt.want)
		}
	}
}

func TestSwitched_NamesModelsAndReason(t *testing.T) {
	for _, tt := range []struct {
		e    turn.Switched
		want string
	}{
		{turn.Switched{From: "anthropic/opus", To: "openai/gpt", Why: "HTTP 529:\nOverloaded\x1b[2J"}, "▲ Switching from anthropic/opus to openai/gpt: HTTP 529: Overloaded␛[2J"},
		{turn.Switched{To: "openai/gpt"}, "▲ Switching to openai/gpt"},
	} {
		if got := display.Switched(tt.e); got != tt.want {
			t.Errorf("Switched: got %q, want %q", got, tt.want)
		}
	}
}

func BenchmarkLine(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		waitLine(gone, 90*time.Second, 80, "r now", "d details")
	}
}

// The change from quick tries to long waits is said once, and only where the policy makes it.
func TestSlower_AtTheFirstLongWait(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.Local)
	wait := func(tries, limit int, d time.Duration) policy.Wait {
		return policy.Wait{Run: policy.Run{Tries: tries}, Limit: limit, Verdict: policy.Verdict{Wait: d}, Deadline: now.Add(8 * time.Hour)}
	}
	asked := wait(11, policy.Unlimited, time.Minute)
	asked.Verdict.Hinted = true
	quick := wait(10, policy.Unlimited, 30*time.Second)
	const want = "· The quick tries are used up: from here on the waits are longer, until 20:00"
	for _, tt := range []struct {
		name      string
		before, w policy.Wait
		want      string
	}{
		{"changes over", quick, wait(11, policy.Unlimited, 54*time.Second), want},
		{"another quick one", wait(9, policy.Unlimited, 30*time.Second), quick, ""},
		{"a later long one", wait(11, policy.Unlimited, time.Minute), wait(12, policy.Unlimited, 5*time.Minute), ""},
		{"the provider asks for it", quick, asked, ""},
		{"with a limit", wait(4, 10, 30*time.Second), wait(5, 10, time.Minute), ""},
	} {
		if got := display.Slower(tt.before, tt.w, now); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
