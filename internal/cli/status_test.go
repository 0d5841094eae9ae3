package cli_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/cli"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

func TestOneSentenceSaysWhatWaitsAndHowLong(t *testing.T) {
	now := time.Date(2026, time.November, 2, 21, 0, 0, 0, time.Local)
	busy := retry.Note{Fault: &fault.Error{Kind: fault.Overloaded, Status: 529}, Run: policy.Run{Tries: 1}, Limit: 10}
	gone := retry.Note{Fault: &fault.Error{Kind: fault.Unavailable}, Run: policy.Run{Tries: 7}, Limit: policy.Unlimited, Deadline: now.Add(8*time.Hour + 12*time.Minute)}
	tests := []struct {
		note  retry.Note
		left  time.Duration
		width int
		want  string
	}{
		{busy, 5 * time.Second, 80, "▲ Server overloaded — retrying in 5s… (attempt 1/10) • Press Ctrl+C to cancel"},
		{busy, 4001 * time.Millisecond, 80, "▲ Server overloaded — retrying in 5s… (attempt 1/10) • Press Ctrl+C to cancel"},
		{busy, 0, 80, "▲ Server overloaded — retrying now… (attempt 1/10) • Press Ctrl+C to cancel"},
		{busy, 5 * time.Second, 40, "▲ overloaded · 5s · 1/10 · ^C"},
		{busy, 0, 40, "▲ overloaded · now · 1/10 · ^C"},
		{busy, 5 * time.Second, 20, "▲ overloaded · 5s"},
		{busy, 5 * time.Second, 3, "▲ overloaded"},
		{gone, 30 * time.Minute, 90, "▲ Network — retrying at 21:30… (attempt 7, gives up 05:12) • Press Ctrl+C to cancel"},
		{gone, 5 * time.Minute, 90, "▲ Network — retrying in 5m0s… (attempt 7, gives up 05:12) • Press Ctrl+C to cancel"},
		{gone, 90 * time.Second, 40, "▲ network · 1m30s · 7 · ^C"},
	}
	for _, tt := range tests {
		if got := cli.Sentence(tt.note, tt.left, now, tt.width); got != tt.want {
			t.Errorf("%v at %d columns:\n got %q\nwant %q", tt.left, tt.width, got, tt.want)
		}
	}
}

func TestRecoveryIsSaidOnce(t *testing.T) {
	n := retry.Note{Run: policy.Run{Tries: 3}, Waited: 21700 * time.Millisecond}
	if got := cli.Recovered(n); got != "✓ Recovered after 3 retries (waited 22s)" {
		t.Errorf("got %q", got)
	}
	if got := cli.Recovered(retry.Note{Run: policy.Run{Tries: 1}, Waited: time.Second}); got != "✓ Recovered after 1 retry (waited 1s)" {
		t.Errorf("got %q", got)
	}
}

func TestStatusLineIsReplacedInPlaceAndStaysBelow(t *testing.T) {
	var out bytes.Buffer
	s := cli.LiveScreen(&out)
	s.Set("waiting 2s")
	s.Set("waiting 2s") // no change, no bytes
	s.Print("a line")
	s.Set("")
	const amber, reset, erase = "\x1b[33m", "\x1b[0m", "\r\x1b[2K"
	want := amber + "waiting 2s" + reset + erase + "a line\n" + amber + "waiting 2s" + reset + erase
	if out.String() != want {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
}
