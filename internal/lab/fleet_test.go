package lab_test

import (
	"slices"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab"
	"github.com/ridethrough/ridethrough/internal/operation/config"
)

// inFleet simulates a scenario of the gallery with gateways that act as one.
func inFleet(t *testing.T, s config.Scenario) *lab.Result {
	t.Helper()
	all, err := lab.Choose([]string{"patient+breaker+fleet"})
	if err != nil {
		t.Fatalf("choose the policy of a fleet: %v", err)
	}
	r, err := lab.Run(t.Context(), s, all, nil)
	if err != nil {
		t.Fatalf("run the scenario: %v", err)
	}
	return r.Results[0]
}

// requests returns the requests per minute of some minutes, on average.
func requests(r *lab.Result, from, to int) float64 {
	sum := 0
	for _, n := range r.PerMinute[from:to] {
		sum += n
	}
	return float64(sum) / float64(to-from)
}

// Ten gateways with ten thousand callers outlast two hours, and twenty minutes in which three of them do not reach
// the others.
func TestFleet_OfTenOutlastsTwoHoursAndAPartition(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	s, ok := lab.Find("fleet-of-ten")
	if !ok {
		t.Fatal("fleet-of-ten: not in the gallery")
	}
	r := inFleet(t, s)
	if got := requests(r, 12, 80); got > 2.5 {
		t.Errorf("%.2f probes a minute in the outage, want 2.5 at most", got)
	}
	// Answers in progress come for nine seconds, and hide nothing.
	if got := float64(sum(r.Refused, 10, 11)); got > 2*r.Usual {
		t.Errorf("%.0f requests in vain in the first minute, want two seconds of the usual %.0f a second at most", got, r.Usual)
	}
	if got := sum(r.Refused, 11, 12); got > 5 {
		t.Errorf("%d requests in vain in the second minute, want 5 at most", got)
	}
	if got := requests(r, 80, 100); got > 5 {
		t.Errorf("%.2f probes a minute in the partition, want 5 at most", got)
	}
	if got := requests(r, 101, 130); got > 2.5 {
		t.Errorf("%.2f probes a minute after the partition, want 2.5 at most", got)
	}
	if r.GaveUp+r.Left > 0 || r.LastAnswer > time.Minute {
		t.Errorf("%d calls unanswered, the last %v after the recovery; want none, and a minute at most", r.GaveUp+r.Left, r.LastAnswer)
	}
	if peak := float64(r.Peak); peak > 2*r.Usual {
		t.Errorf("%.0f requests in the busiest second, want at most twice the usual %.0f", peak, r.Usual)
	}
}

// small is the same with few callers, in the middle of whose partition the provider is back.
func small() config.Scenario {
	s, _ := lab.Find("fleet-of-ten")
	s.Callers.Number, s.Lasts = 200, 50*time.Minute
	s.Outages[0].For = 30 * time.Minute
	s.Fleet.Partitions = []config.Partition{{From: 30 * time.Minute, For: 15 * time.Minute, Away: 3}}
	return s
}

func TestFleet_RecoversInAPartition(t *testing.T) {
	r := inFleet(t, small())
	if r.GaveUp+r.Left > 0 || r.LastAnswer > time.Minute {
		t.Errorf("%d calls unanswered, the last %v after the recovery; want none, and a minute at most", r.GaveUp+r.Left, r.LastAnswer)
	}
}

func TestFleet_ClocksMayDiffer(t *testing.T) {
	s := small()
	s.Fleet.Skew = 0
	same := inFleet(t, s)
	s.Fleet.Skew = time.Hour
	skewed := inFleet(t, s)
	if skewed.InVain != same.InVain || skewed.LastAnswer != same.LastAnswer || skewed.Peak != same.Peak {
		t.Errorf("with clocks an hour apart %d requests in vain, the last answer after %v, %d at most in a second; want %d, %v and %d as with the same clocks",
			skewed.InVain, skewed.LastAnswer, skewed.Peak, same.InVain, same.LastAnswer, same.Peak)
	}
}

func TestFleet_IsDeterministic(t *testing.T) {
	if a, b := inFleet(t, small()), inFleet(t, small()); !slices.Equal(a.PerMinute, b.PerMinute) || a.LastAnswer != b.LastAnswer {
		t.Errorf("two runs with the same seed: %v and %v", a.PerMinute, b.PerMinute)
	}
}

// Ten gateways are within one limit, as one is, although their clocks differ.
func TestFleet_OfTenKeepsOneLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	s, ok := lab.Find("fleet-limits")
	if !ok {
		t.Fatal("fleet-limits: not in the gallery")
	}
	r := run(t, s, "patient+breaker+admission+fleet", "patient+breaker+admission")
	one, each := r.Results[0], r.Results[1]
	if one.Answered != one.Calls || one.InVain > 20 || each.InVain < 5000 {
		t.Errorf("%d of %d calls answered, %d requests in vain, %d where each gateway is by itself; want all, at most 20, and thousands", one.Answered, one.Calls, one.InVain, each.InVain)
	}
	if one.Used < 0.95 || one.Fairness < 0.98 {
		t.Errorf("%.3f of the limit used, fairness %.3f; want at least 0.95 and 0.98", one.Used, one.Fairness)
	}
}
