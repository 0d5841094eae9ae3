package breaker

import (
	"math"
	"time"
)

const (
	bucket = time.Second / 2 // arrivals are counted in buckets of this length
	memory = 120             // how many buckets the usual rate remembers
)

// traffic knows how many calls arrive: usually, and at the most while there is
// an outage.
type traffic struct {
	at          int64   // the number of the present bucket
	cur, prev   float64 // arrivals in it and in the one before
	sum, weight float64 // of the buckets so far, the older the lighter
	peak        float64 // calls per second in the busiest second of this outage
}

// arrive counts a call. In an outage the usual rate is left as it was before.
func (t *traffic) arrive(now time.Time, outage bool) {
	t.roll(now, outage)
	t.cur++
	if outage {
		// Two standard deviations less than was counted: what chance does not explain.
		second := t.cur + t.prev
		t.peak = max(t.peak, second-2*math.Sqrt(second))
	}
}

// roll closes the present bucket and the empty ones after it, if they are over.
func (t *traffic) roll(now time.Time, outage bool) {
	at := now.UnixNano() / int64(bucket)
	switch t.at {
	case at:
		return
	case 0:
		t.at = at // nothing is known of before
		return
	}
	passed := at - t.at
	if t.at = at; !outage {
		const keep = 1 - 1.0/memory
		t.sum, t.weight = t.sum*keep+t.cur, t.weight*keep+1
		rest := math.Pow(keep, float64(max(0, passed-1)))
		t.sum, t.weight = t.sum*rest, t.weight*rest+memory*(1-rest)
	}
	if t.prev = t.cur; passed != 1 {
		t.prev = 0
	}
	t.cur = 0
}

// usual gives the calls per second outside of outages, of about a minute.
func (t *traffic) usual() float64 {
	if t.weight == 0 {
		return 0
	}
	return t.sum / t.weight * float64(time.Second/bucket)
}

const (
	fullBucket = 100 // retry tokens at the most
	trickle    = 1   // tokens per second that come by themselves
)

// tokens bound the share of traffic that is retries. Spent counts those that
// are taken, so that the zero value is full.
type tokens struct {
	spent float64
	at    time.Time
}

// take takes a token, if there is one.
func (t *tokens) take(now time.Time) bool {
	t.spent = max(0, t.spent-now.Sub(t.at).Seconds()*trickle)
	t.at = now
	if t.spent > fullBucket-1 {
		return false
	}
	t.spent++
	return true
}

// give puts a token back.
func (t *tokens) give() { t.spent = max(0, t.spent-1) }

// next gives how long it takes until a token has come by itself.
func (t *tokens) next() time.Duration {
	short := t.spent - (fullBucket - 1)
	return max(0, time.Duration(short/trickle*float64(time.Second))) + 1
}
