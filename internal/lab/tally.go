package lab

import (
	"errors"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/config"
)

// call is what became of one call.
type call struct {
	began, ended time.Duration
	sent         time.Duration // its latest request
	hit          bool          // it met a fault, its own or a shared one
}

// tally counts while a play is on.
type tally struct {
	recovery time.Duration
	last     time.Duration // the latest answer to a call that waited at the recovery
	calls    int
	answered int
	gaveUp   int
	left     int
	hit      int
	ridden   int // calls that met a fault and were answered
	requests int
	waits    []time.Duration // of those
	perMin   []int           // requests
	answers  []int           // per minute
	perSec   map[int64]int   // requests, after the recovery
	before   int             // requests before the first outage
	quiet    time.Duration   // how long that is
}

// aftermath is how long after the recovery its peak is looked for.
const aftermath = 10 * time.Minute

func newTally(s config.Scenario) tally {
	return tally{recovery: recovery(s), quiet: firstOutage(s), perSec: map[int64]int{}}
}

// request counts a request at the upstream.
func (t *tally) request(at time.Duration) {
	t.requests++
	t.perMin = bump(t.perMin, at)
	if at < t.quiet {
		t.before++
	}
	if at >= t.recovery && at < t.recovery+aftermath {
		t.perSec[int64((at-t.recovery)/time.Second)]++
	}
}

// bump counts one into its minute.
func bump(series []int, at time.Duration) []int {
	minute := int(at / time.Minute)
	for len(series) <= minute {
		series = append(series, 0)
	}
	series[minute]++
	return series
}

// count counts a call that has ended, if only with the play.
func (t *tally) count(c call, err error) {
	t.calls++
	if c.hit {
		t.hit++
	}
	switch {
	case errors.Is(err, errLeft):
		t.left++
	case err != nil:
		t.gaveUp++
	default:
		t.answered++
		t.answers = bump(t.answers, c.ended)
		if c.hit {
			t.ridden++
			t.waits = append(t.waits, c.sent-c.began)
		}
		if c.began < t.recovery && c.hit && c.ended > t.recovery {
			t.last = max(t.last, c.ended-t.recovery)
		}
	}
}

// Result is what a strategy comes to in a scenario. A call is hit when it has
// met a fault, its own or one that it shares; its wait is the time from its
// first request to the one that was answered.
type Result struct {
	Strategy Strategy
	Calls    int
	Answered int
	GaveUp   int // ended with an error, or had no answer a day after calls had ceased to begin
	Left     int // the caller's patience was at its end
	Hit      int // calls that met a fault
	Ridden   int // those of them that were answered

	Median, P95, Longest time.Duration // the waits of those

	Requests int           // at the upstream
	Extra    int           // requests that brought no answer
	Last     time.Duration // from the recovery to the last answer to a call from before it; 0: nobody had waited
	Peak     int           // requests in the busiest second of the ten minutes after it
	Usual    float64       // requests per second before the first outage; 0: it begins at the start

	PerMinute []int // requests at the upstream
	Answers   []int // per minute
}

// result sums up.
func (t *tally) result(how Strategy) Result {
	slices.Sort(t.waits)
	r := Result{
		Strategy: how, Calls: t.calls, Answered: t.answered, GaveUp: t.gaveUp, Left: t.left, Hit: t.hit, Ridden: t.ridden,
		Median: quantile(t.waits, 0.5), P95: quantile(t.waits, 0.95), Longest: quantile(t.waits, 1),
		Requests: t.requests, Extra: t.requests - t.answered, Last: t.last,
		PerMinute: t.perMin, Answers: t.answers,
	}
	for _, n := range t.perSec {
		r.Peak = max(r.Peak, n)
	}
	if t.quiet > 0 {
		r.Usual = float64(t.before) / t.quiet.Seconds()
	}
	return r
}

// quantile gives the least value that a share of the sorted ones does not
// exceed; 0: there are none.
func quantile(sorted []time.Duration, share float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, min(len(sorted)-1, int(float64(len(sorted))*share+0.5)-1))]
}
