package breaker

import (
	"math"
	"time"
)

const (
	bucketLength = time.Second / 2 // arrivals are counted in buckets
	memory       = 120             // how many buckets the usual rate remembers
)

// traffic measures how many calls arrive: usually, and at most during an outage.
type traffic struct {
	at                int64   // the number of the present bucket
	current, previous float64 // arrivals in it and in the one before
	sum, weight       float64 // of the buckets so far, the older the lighter
	peak              float64 // calls per second in the busiest second of this outage
}

// arrive counts a call. In an outage the usual rate is left as it was before.
func (t *traffic) arrive(now time.Time, outage bool) {
	t.roll(now, outage)
	t.current++
	if outage {
		t.peak = max(t.peak, t.busy())
	}
}

// busy is the calls of the present second, less two standard deviations: what chance does not explain.
func (t *traffic) busy() float64 {
	second := t.current + t.previous
	return max(0, second-2*math.Sqrt(second))
}

// roll closes the present bucket and the empty ones after it, if they are over.
func (t *traffic) roll(now time.Time, outage bool) {
	at := now.UnixNano() / int64(bucketLength)
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
		t.sum, t.weight = t.sum*keep+t.current, t.weight*keep+1
		rest := math.Pow(keep, float64(max(0, passed-1)))
		t.sum, t.weight = t.sum*rest, t.weight*rest+memory*(1-rest)
	}
	if t.previous = t.current; passed != 1 {
		t.previous = 0
	}
	t.current = 0
}

// usual is the calls per second outside of outages, over about a minute.
func (t *traffic) usual() float64 {
	if t.weight == 0 {
		return 0
	}
	return t.sum / t.weight * float64(time.Second/bucketLength)
}
