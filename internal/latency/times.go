package latency

import (
	"math"
	"time"
)

// Times is a histogram of durations with buckets of a twelfth of an octave, 6 %, so
// that a median is exact to 3 %. Empty buckets are not stored.
type Times []size

// size is a bucket with its count.
type size struct {
	Size uint8  `json:"s"`
	N    uint32 `json:"n"`
}

const (
	perOctave = 12
	leastTime = time.Millisecond
)

// Add counts a duration n times.
func (t *Times) Add(d time.Duration, n uint32) { t.add(sizeOf(d), n) }

func (t *Times) add(at uint8, n uint32) {
	for i := range *t {
		if (*t)[i].Size == at {
			(*t)[i].N += n
			return
		}
	}
	*t = append(*t, size{at, n})
}

// sizeOf returns the bucket of a duration: 0 up to a millisecond, the last one from 40 minutes on.
func sizeOf(d time.Duration) uint8 {
	if d <= leastTime {
		return 0
	}
	return uint8(min(math.MaxUint8, math.Round(perOctave*math.Log2(float64(d)/float64(leastTime)))))
}

// timeOf returns the duration of a place between buckets.
func timeOf(at float64) time.Duration {
	return time.Duration(float64(leastTime) * math.Exp2(at/perOctave))
}

// Spectrum has the counts of all buckets.
type Spectrum [math.MaxUint8 + 1]uint64

// Add adds a histogram.
func (s *Spectrum) Add(t Times) {
	for _, one := range t {
		s[one.Size] += uint64(one.N)
	}
}

// Median returns the median and the number of durations; 0: none.
func (s *Spectrum) Median() (d time.Duration, n uint64) {
	for _, k := range s {
		n += k
	}
	var seen uint64
	for size, k := range s {
		if seen += k; n > 0 && 2*seen >= n {
			return timeOf(float64(size)).Round(time.Millisecond), n
		}
	}
	return 0, 0
}
