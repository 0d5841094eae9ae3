package history

import (
	"math"
	"time"
)

// times counts durations by size, in sizes of which each is a twelfth of an
// octave, 6 %, larger than the one before: a median is exact to 3 %. Few
// sizes occur, so only those are kept.
type times []size

// size says how often a size occurs.
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

// sizeOf returns the number of a duration's size: 0 up to a millisecond, the last
// for those of 40 minutes and more.
func sizeOf(d time.Duration) uint8 {
	if d <= leastTime {
		return 0
	}
	return uint8(min(math.MaxUint8, math.Round(perOctave*math.Log2(float64(d)/float64(leastTime)))))
}

// spectrum is how often each size occurs.
type spectrum [math.MaxUint8 + 1]uint64

// take adds what was counted.
func (s *spectrum) take(t times) {
	for _, one := range t {
		s[one.Size] += uint64(one.N)
	}
}

// median returns the duration in the middle, and of how many; 0: of none.
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

// median returns the duration in the middle; 0: of none.
func (t times) median() time.Duration {
	if len(t) == 0 {
		return 0
	}
	var s spectrum
	s.take(t)
	d, _ := s.median()
	return d
}
