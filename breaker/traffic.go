package breaker

import (
	"math"
	"time"
)

const (
	bucketLength = time.Second / 2 // arrivals are counted in buckets
	memory       = 120             // how many buckets the usual rate remembers
	settled      = 20              // and how many it takes at least: what comes at a start is not what comes usually
	recently     = 20              // buckets of which a crowd at the beginning of an outage may be: refusals take their time
)

// traffic measures how many calls arrive: usually, and at most during an outage.
type traffic struct {
	at          int64             // the number of the present bucket
	recent      [recently]float64 // arrivals in it and in those before, each at its number modulo recently
	sum, weight float64           // of the buckets so far, the older the lighter
	peak        float64           // calls per second in the busiest second of this outage
}

// arrive counts a call. In an outage the usual rate is left as it was before.
func (t *traffic) arrive(now time.Time, outage bool) {
	t.roll(now, outage)
	*t.bucket(0)++
	if outage {
		t.peak = max(t.peak, t.busy(0))
	}
}

// bucket returns the arrivals in one of the recent buckets, by how many are after it.
func (t *traffic) bucket(ago int64) *float64 { return &t.recent[uint64(t.at-ago)%recently] }

// busy is the calls of the second that ends with a bucket, less two standard deviations: what chance does not explain.
func (t *traffic) busy(ago int64) float64 {
	second := *t.bucket(ago) + *t.bucket(ago + 1)
	return max(0, second-2*math.Sqrt(second))
}

// begin begins an outage. A crowd that comes at once has come before the fault that opens the circuit.
func (t *traffic) begin(now time.Time) {
	t.roll(now, false)
	t.peak = 0
	for ago := range int64(recently - 1) {
		t.peak = max(t.peak, t.busy(ago))
	}
}

// roll closes the present bucket and the empty ones after it, if they are over.
func (t *traffic) roll(now time.Time, outage bool) {
	at := now.UnixNano() / int64(bucketLength)
	passed := at - t.at
	switch {
	case passed == 0:
		return
	case passed < 0: // the clock was set
		t.at, t.recent = at, [recently]float64{}
	case t.at > 0 && !outage:
		const keep = 1 - 1.0/memory
		t.sum, t.weight = t.sum*keep+*t.bucket(0), t.weight*keep+1
		rest := math.Pow(keep, float64(max(0, passed-1)))
		t.sum, t.weight = t.sum*rest, t.weight*rest+memory*(1-rest)
	}
	for t.at = max(t.at, at-recently); t.at < at; *t.bucket(0) = 0 {
		t.at++
	}
}

// usual is the calls per second outside of outages, over about a minute.
func (t *traffic) usual() float64 {
	return t.sum / max(t.weight, settled) * float64(time.Second/bucketLength)
}
