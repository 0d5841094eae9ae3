// Package doctor checks what the program depends on: the clock, and the providers' addresses. Package storecheck
// checks the store of conversations. It changes nothing and describes its findings in sentences. The command chooses
// what to check.
package doctor

import (
	"fmt"
	"slices"
	"time"
)

// State is the severity of a finding.
type State string

const (
	OK      State = "ok"      // nothing to do
	Warning State = "warning" // works, but needs attention
	Problem State = "problem" // does not work
)

// Finding is the result of one check.
type Finding struct {
	Check string `json:"check"` // what was checked
	State State  `json:"state"`
	Text  string `json:"text"`
}

// Well reports whether no finding is a problem.
func Well(all []Finding) bool {
	return !slices.ContainsFunc(all, func(f Finding) bool { return f.State == Problem })
}

// Find formats a finding.
func Find(check string, state State, format string, args ...any) Finding {
	return Finding{check, state, fmt.Sprintf(format, args...)}
}

const (
	MaxSkew = time.Minute     // between two clocks
	maxJump = 2 * time.Second // of the clock during a check
)

// Clock checks the wall clock: its year, its jump during the checks, and its
// difference from the clocks of servers.
func Clock(now time.Time, jump time.Duration, skews []Skew) Finding {
	if jump.Abs() > maxJump {
		return Find("clock", Warning, "the clock jumped by %v during the checks: waits that ended meanwhile retry at once", jump.Round(time.Second))
	}
	if y := now.Year(); y < 2025 || y > 2100 {
		return Find("clock", Problem, "the clock is wrong: %s; waits and certificates depend on it", now.Format(time.RFC3339))
	}
	for _, s := range skews {
		if d := s.Ahead.Abs().Round(time.Second); d > MaxSkew {
			return Find("clock", Warning, "the clock differs by %v from that of %s", d, s.Server)
		}
	}
	if len(skews) == 0 {
		return Find("clock", OK, "%s; not compared, because no server answered", now.Format(time.RFC3339))
	}
	return Find("clock", OK, "%s, in agreement with the servers that answered", now.Format(time.RFC3339))
}

// Jump returns the time by which the wall clock has gone ahead of the monotonic
// clock. Both arguments must come from time.Now.
func Jump(began, now time.Time) time.Duration {
	return now.Round(0).Sub(began.Round(0)) - now.Sub(began)
}

// Skew is the difference of a server's clock from ours.
type Skew struct {
	Server string
	Ahead  time.Duration
}
