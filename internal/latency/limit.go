package latency

import (
	"math"
	"time"
)

// The rule of a [Limit]. Of n answers and one more, none is likelier than another to be the r-th slowest or slower:
// the next answer is slower than the r-th slowest of n with a probability of r/(n+1). With these numbers that is
// below one in a thousand for any n, whatever the distribution, and margin is on top of it.
const (
	enough    = 1000           // answers before a limit is known
	perRank   = 2048           // the limit goes by the slowest answer, and with each so many by the next slowest
	margin    = 1.5            // for an upstream that becomes slower
	leastTerm = time.Minute    // no limit is shorter
	window    = 4 * 1024       // the latest answers that count: so many to twice as many
	maxWeight = math.MaxUint16 // of one answer
)

// Limit is the time after which a silent try has failed, as the latest answers of its kind show. The zero Limit
// knows none.
type Limit struct {
	Now    Times `json:"now,omitempty"`    // the latest answers
	Before Times `json:"before,omitempty"` // a whole window of earlier ones, or none
	n      int   // of those in Now
}

// Add counts an answer, for weight of them.
func (l *Limit) Add(took time.Duration, weight uint32) {
	if l.n == 0 {
		l.n = l.Now.count() // it was read from a file
	}
	if l.n >= window {
		l.Now, l.Before, l.n = nil, l.Now, 0
	}
	weight = min(weight, maxWeight)
	l.Now.Add(took, weight)
	l.n += int(weight)
}

// Answers returns how many answers count.
func (l *Limit) Answers() int { return l.Now.count() + l.Before.count() }

// Of returns the limit by all answers of some kinds; 0: they are too few.
func Of(kinds ...*Limit) time.Duration {
	var s Spectrum
	for _, l := range kinds {
		s.Add(l.Now)
		s.Add(l.Before)
	}
	n := uint64(0)
	for _, k := range s {
		n += k
	}
	if n < enough {
		return 0
	}
	slower := uint64(0)
	for size := len(s) - 1; size >= 0; size-- {
		if slower += s[size]; slower >= 1+n/perRank {
			return max(leastTerm, time.Duration(margin*float64(timeOf(float64(size)+0.5)))).Round(time.Second)
		}
	}
	return 0
}

// count returns the number of durations.
func (t Times) count() (n int) {
	for _, one := range t {
		n += int(one.N)
	}
	return n
}
