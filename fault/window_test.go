package fault_test

import (
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

func TestError_OpensAgain(t *testing.T) {
	now := time.Date(2026, time.November, 22, 20, 0, 0, 0, time.FixedZone("", 3600))
	for left, want := range map[time.Duration]string{
		90*time.Second + 1:            "opens again at 20:01, in 1m31s",
		3*time.Hour + 30*time.Second:  "opens again at 23:00, in 3h1m",
		5 * time.Hour:                 "opens again at 01:00, in 5h",
		7*time.Minute - time.Second:   "opens again at 20:06, in 7m",
		26*time.Hour + 5*time.Minute:  "opens again at 22:05 on Nov 23, in 26h5m",
		-time.Second:                  "opens again now",
		100*time.Hour + 1:             "opens again at 00:00 on Nov 27, in 100h1m",
		10 * time.Hour:                "opens again at 06:00, in 10h",
		20*time.Minute + time.Second:  "opens again at 20:20, in 21m",
		120*time.Hour + 2*time.Minute: "opens again at 20:02 on Nov 27, in 120h2m",
	} {
		f := fault.Error{Kind: fault.Quota, Window: true, ResetAt: now.Add(left).UTC()}
		if got := f.OpensAgain(now); got != want {
			t.Errorf("in %v: %q, want %q", left, got, want)
		}
	}
	if got := (&fault.Error{Kind: fault.Quota, ResetAt: now.Add(time.Hour)}).OpensAgain(now); got != "" {
		t.Errorf("without a window: %q, want nothing", got)
	}
}
