package lab_test

import (
	"slices"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab"
	"github.com/ridethrough/ridethrough/internal/operation/config"
)

// sequential skips a test under the race detector, which finds nothing in it: a simulation runs one task at a time.
// Simulations beside each other, and what a real gateway and its clients do, are in tests that are not skipped.
func sequential(t *testing.T) {
	t.Helper()
	if raced {
		t.Skip("runs one task at a time, and takes a minute under the race detector")
	}
}

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

// inGallery returns results of a scenario of the gallery, by the names of their policies.
func inGallery(t *testing.T, name string) map[string]*lab.Result {
	t.Helper()
	s, ok := lab.Find(name)
	if !ok {
		t.Fatalf("%s: not in the gallery", name)
	}
	r, err := lab.GalleryReport(t.Context(), s)
	if err != nil {
		t.Fatalf("run the scenario: %v", err)
	}
	results := map[string]*lab.Result{}
	for _, one := range r.Results {
		results[one.Strategy.Name] = one
	}
	return results
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
	takesLong(t)
	r := inGallery(t, "fleet-of-ten")["patient+breaker+fleet"]
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
	// Half a minute between two probes, nine seconds of an answer, and ten thousand calls at twice the usual rate.
	most := 30*time.Second + 9*time.Second + time.Duration(10_000/(2*r.Usual)*float64(time.Second)) + 10*time.Second
	if r.GaveUp+r.Left > 0 || r.LastAnswer > most {
		t.Errorf("%d calls unanswered, the last %v after the recovery; want none, and %v at most", r.GaveUp+r.Left, r.LastAnswer, most)
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

func TestFleet_RecoversInAPartitionTheSameEachTime(t *testing.T) {
	sequential(t)
	r := inFleet(t, small())
	if r.GaveUp+r.Left > 0 || r.LastAnswer > time.Minute {
		t.Errorf("%d calls unanswered, the last %v after the recovery; want none, and a minute at most", r.GaveUp+r.Left, r.LastAnswer)
	}
	if again := inFleet(t, small()); !slices.Equal(r.PerMinute, again.PerMinute) || r.LastAnswer != again.LastAnswer {
		t.Errorf("two runs with the same seed: %v and %v", r.PerMinute, again.PerMinute)
	}
}

func TestFleet_ClocksMayDiffer(t *testing.T) {
	sequential(t)
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

// Ten gateways are within one limit, as one is, although their clocks differ.
func TestFleet_OfTenKeepsOneLimit(t *testing.T) {
	takesLong(t)
	results := inGallery(t, "fleet-limits")
	one, each := results["patient+breaker+admission+fleet"], results["patient+breaker+admission"]
	if one.Answered != one.Calls || one.InVain > 20 || each.InVain < 5000 {
		t.Errorf("%d of %d calls answered, %d requests in vain, %d where each gateway is by itself; want all, at most 20, and thousands", one.Answered, one.Calls, one.InVain, each.InVain)
	}
	if one.Used < 0.95 || one.Fairness < 0.98 {
		t.Errorf("%.3f of the limit used, fairness %.3f; want at least 0.95 and 0.98", one.Used, one.Fairness)
	}
}
