package history

import (
	"math"
	"time"
)

// times is a histogram of durations with buckets of a twelfth of an octave, 6 %, so
// that a median is exact to 3 %. Empty buckets are not stored.
type times []size

// size is a bucket with its count.
type size struct {
	Size uint8  `json:"s"`
	N    uint32 `json:"n"`
}

const (
	perOctave = 12
	leastTime = time.Millisecond
)

// add counts a duration.
func (t *times) add(d time.Duration) {
	n := sizeOf(d)
	for i := range *t {
		if (*t)[i].Size == n {
			(*t)[i].N++
			return
		}
	}
	*t = append(*t, size{n, 1})
}

// sizeOf returns the bucket of a duration: 0 up to a millisecond, the last one from 40 minutes on.
func sizeOf(d time.Duration) uint8 {
	if d <= leastTime {
		return 0
	}
	return uint8(min(math.MaxUint8, math.Round(perOctave*math.Log2(float64(d)/float64(leastTime)))))
}

// spectrum has the counts of all buckets.
type spectrum [math.MaxUint8 + 1]uint64

// take adds a histogram.
func (s *spectrum) take(t times) {
	for _, one := range t {
		s[one.Size] += uint64(one.N)
	}
}

// median returns the median and the number of durations.
func (s *spectrum) median() (d time.Duration, n uint64) {
	for _, k := range s {
		n += k
	}
	var seen uint64
	for size, k := range s {
		if seen += k; n > 0 && seen >= (n+1)/2 {
			exact := float64(leastTime) * math.Exp2(float64(size)/perOctave)
			return time.Duration(exact).Round(time.Millisecond), n
		}
	}
	return 0, 0
}

// median returns the median, or 0 if there are no durations.
func (t times) median() time.Duration {
	if len(t) == 0 {
		return 0
	}
	var s spectrum
	s.take(t)
	d, _ := s.median()
	return d
}
