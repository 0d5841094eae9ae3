// Package ratelimit knows the limits that providers of language models state in the headers of their answers:
// requests and tokens a minute, and the windows of subscriptions. It reads them, keeps the latest for each
// upstream, credential and model, and says when one is nearly used up.
//
// Whatever a provider states may be wrong. A value that cannot be true is not read.
package ratelimit

import (
	"strconv"
	"time"

	"github.com/ridethrough/ridethrough/internal/text"
)

// Unit is what a limit counts.
type Unit string

// The units.
const (
	Requests     Unit = "requests"
	Tokens       Unit = "tokens" // of input and output together
	InputTokens  Unit = "input-tokens"
	OutputTokens Unit = "output-tokens"
	Usage        Unit = "usage" // of a subscription: only the share is stated
)

// Limit is one limit of a provider, as an answer has stated it.
type Limit struct {
	// Name is the same for the same limit of an upstream: "input-tokens", "requests-day", or of a subscription
	// its window, "5h" or "7d".
	Name      string
	Unit      Unit
	Window    time.Duration // in which the limit may be used; 0: not known, as a rule a minute
	Limit     float64       // above 0; of Usage: 0
	Remaining float64       // from 0 to Limit
	Used      float64       // the share that is used: 0 is none, 1 is all
	Reset     time.Time     // when all of it is there again, by our clock; zero: not stated
	Seen      time.Time     // when it was stated
	Account   bool          // it is for all models together
}

// At returns the limit as it is at a later time if nothing has been used since: whole again after its reset,
// and where none is stated after its window.
func (l Limit) At(now time.Time) Limit {
	whole := l.Reset
	if whole.IsZero() {
		window := l.Window
		if window == 0 {
			window = time.Minute
		}
		whole = l.Seen.Add(window)
	}
	if !now.Before(whole) {
		l.Remaining, l.Used, l.Reset = l.Limit, 0, time.Time{}
	}
	return l
}

// windowName names the window of a subscription: "5h", "7d".
func windowName(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= day && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	return text.Duration(d)
}
