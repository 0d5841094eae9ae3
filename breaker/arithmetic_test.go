package breaker_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
)

func TestSpacing_GrowsWithTheAgeOfTheOutage(t *testing.T) {
	tests := []struct{ age, want time.Duration }{
		{0, 250 * time.Millisecond},
		{9 * time.Second, 475 * time.Millisecond},
		{12 * time.Second, 650 * time.Millisecond},
		{time.Minute, 10250 * time.Millisecond},
		{90 * time.Second, 22750 * time.Millisecond},
		{2 * time.Minute, 30 * time.Second},
		{time.Hour, 30 * time.Second},
	}
	for _, tt := range tests {
		if got := breaker.Spacing(tt.age); got != tt.want {
			t.Errorf("probes of an outage of %v are %v apart, want %v", tt.age, got, tt.want)
		}
	}
}

func TestBudget_HasAHundredTokensAndOnePerSecond(t *testing.T) {
	var b breaker.Budget
	now := time.Unix(1_000_000, 0)
	b.Give() // a full budget stays full
	taken := 0
	for range 200 {
		if b.Take(now) {
			taken++
		}
	}
	if taken != 100 {
		t.Errorf("a full budget has %d tokens, want 100", taken)
	}
	if got := b.Next(); got != time.Second+1 {
		t.Errorf("the next token comes in %v, want just after 1s", got)
	}
	if b.Take(now.Add(time.Second - 1)) {
		t.Error("a token has come before its second is over")
	}
	if now = now.Add(time.Second); !b.Take(now) || b.Take(now) {
		t.Error("a second has not brought exactly one token")
	}
	b.Give()
	if !b.Take(now) || b.Take(now) {
		t.Error("a call that arrives has not brought exactly one token")
	}
	if now = now.Add(time.Hour); b.Take(now) && b.Next() != 1 {
		t.Errorf("with tokens at hand the next comes in %v, want 1ns", b.Next())
	}
}

func TestUsual_IsTheRatePerSecond(t *testing.T) {
	tests := []struct {
		name    string
		buckets []int
		want    float64
	}{
		{"no calls", nil, 0},
		{"ten in each half second", slices.Repeat([]int{10}, 400), 20},
		{"none for a minute", append(slices.Repeat([]int{10}, 400), make([]int, 120)...), 7.16}, // about 20 / e
	}
	for _, tt := range tests {
		if got := breaker.Usual(tt.buckets...); math.Abs(got-tt.want) > 0.05 {
			t.Errorf("%s: %.2f calls per second, want %.2f", tt.name, got, tt.want)
		}
	}
}

func TestBatches_DoubleUntilTheMost(t *testing.T) {
	tests := []struct {
		name    string
		calls   int
		usual   float64
		faultAt int // 0: none
		want    []float64
	}{
		{"two calls go within a second", 2, 0, 0, []float64{1, 0.08, 0.08, 0.08, 0.08}},
		{"a hundred thousand go within twenty seconds", 100_000, 0, 0, []float64{1, 125, 125, 125, 125}},
		{"a fault slows down a few", 100, 0, 3, []float64{1, 0.125, 0.125, 0.125, 0.125}},
		{"at least as many as usual, at most nearly twice as many", 1000, 400, 0, []float64{1, 10, 10, 10, 16, 19, 19}},
		{"a fault halves them for good", 1000, 400, 5, []float64{1, 10, 10, 10, 16, 16, 16}},
	}
	for _, tt := range tests {
		got := breaker.Batches(tt.calls, len(tt.want), tt.faultAt, tt.usual)
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
		if !slices.EqualFunc(got, tt.want, near) {
			t.Errorf("%s: batches are %v, want %v", tt.name, got, tt.want)
		}
	}
}
