package policy

import (
	"math"
	"time"
)

// Backoff is the wait before each retry: the steps as listed, then the last
// one again and again, times Factor each time. Each wait is moved within
// Jitter and clamped to Max last. The zero Schedule does not wait.
type Backoff struct {
	Steps  []time.Duration // the wait before retry 1, 2, 3 …
	Factor float64         // growth after the last step; 1 or below: none
	Jitter Jitter          // zero: none
	Max    time.Duration   // no wait is longer; 0: no bound
}

// Jitter says how far a wait may move, as shares of it: {0.1, 0.1} is ±10 %,
// {0, 0.1} only lengthens.
type Jitter struct{ Down, Up float64 }

// At gives the wait before retry k, 1 for the first. dice in [0, 1) places it
// within the jitter.
func (s Backoff) At(k int, dice float64) time.Duration {
	if len(s.Steps) == 0 {
		return 0
	}
	k = max(k, 1)
	last := len(s.Steps)
	wait := float64(s.Steps[min(k, last)-1])
	if k > last && s.Factor > 1 {
		wait *= math.Pow(s.Factor, float64(k-last))
	}
	wait *= 1 - s.Jitter.Down + dice*(s.Jitter.Down+s.Jitter.Up)
	return s.clamp(wait)
}

// clamp turns nanoseconds into a duration within [0, Max]. Beyond the range of
// a Duration it gives the longest one.
func (s Backoff) clamp(ns float64) time.Duration {
	longest := time.Duration(math.MaxInt64)
	if s.Max > 0 {
		longest = s.Max
	}
	if ns >= float64(longest) {
		return longest
	}
	return max(0, time.Duration(math.Round(ns)))
}
