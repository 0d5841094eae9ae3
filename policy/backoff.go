package policy

import (
	"math"
	"time"
)

// Backoff is the wait before each retry: the steps as listed, then the last one
// again and again, times Factor each time. Each wait is moved within Jitter, then
// limited to Max. The zero Backoff does not wait.
type Backoff struct {
	Steps  []time.Duration // the wait before retry 1, 2, 3 …
	Factor float64         // growth after the last step; 1 or below: none
	Jitter Jitter          // zero: none
	Max    time.Duration   // no wait is longer; 0: no bound
}

// Jitter is how far a wait may move, as shares of it: {0.1, 0.1} is ±10 %,
// {0, 0.1} only lengthens.
type Jitter struct{ Down, Up float64 }

// At returns the wait before retry k, 1 for the first. random in [0, 1) places
// it within the jitter.
func (b Backoff) At(k int, random float64) time.Duration {
	if len(b.Steps) == 0 {
		return 0
	}
	k = max(k, 1)
	last := len(b.Steps)
	wait := float64(b.Steps[min(k, last)-1])
	wait *= math.Pow(max(1, b.Factor), float64(max(0, k-last)))
	wait *= 1 - b.Jitter.Down + random*(b.Jitter.Down+b.Jitter.Up)
	return b.limit(wait)
}

// waitsInALimit is how many of the longest waits fit into the limit on all of them.
const waitsInALimit = 6

// fitting returns the backoff with waits of at most a sixth of a limit on all of them, or as long as the first.
func (b Backoff) fitting(limit time.Duration) Backoff {
	return b.AtMost(max(limit/waitsInALimit, b.At(1, 0)))
}

// AtMost returns the backoff with no wait longer than that.
func (b Backoff) AtMost(longest time.Duration) Backoff {
	if b.Max == 0 || b.Max > longest {
		b.Max = longest
	}
	return b
}

// limit turns nanoseconds into a duration within [0, Max], at most the longest.
func (b Backoff) limit(ns float64) time.Duration {
	longest := time.Duration(math.MaxInt64)
	if b.Max > 0 {
		longest = b.Max
	}
	if ns >= float64(longest) {
		return longest
	}
	return max(0, time.Duration(math.Round(ns)))
}
