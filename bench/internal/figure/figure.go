// Package figure turns the measurements of a benchmark into verdicts: medians of rounds, ratios to a baseline
// that was measured in the same round, and the bounds that they are held against. It only computes, so that
// what it says can be tested without measuring anything.
package figure

import (
	"math"
	"slices"
)

// noise is the factor by which a gate may be exceeded on a machine that others use too.
const noise = 1.15

// Bound is the most that a value may be. The zero Bound permits any value.
type Bound struct {
	most float64
	set  bool
}

// AtMost returns a bound.
func AtMost(x float64) Bound { return Bound{x, true} }

func (b Bound) holds(x, slack float64) bool { return b.set && x <= b.most*slack }

// Figure is one row of the table: what was measured in each round.
type Figure struct {
	Row     string    // the experiment, as -only names it
	Name    string    // what was measured
	Unit    string    // of Ours and Base
	Ours    []float64 // one value for each round
	Base    []float64 // the baseline's, round by round; nil: no baseline
	Peers   []Series  // of other proxies, in the same rounds
	PerBase bool      // Ours is judged as a multiple of Base; else as it is
	Gate    Bound     // must hold, give or take the noise
	Goal    Bound     // is where we want to be
	Notes   []string
}

// Series is what was measured of another proxy in each round.
type Series struct {
	Name   string
	Rounds []float64
}

// Of returns the figure with the series in place of ours. It has no bounds, which apply to ours alone.
func (f Figure) Of(s Series) Figure {
	f.Ours, f.Gate, f.Goal = s.Rounds, Bound{}, Bound{}
	return f
}

// Add adds the value of a round: of ours, of the baseline, or of the peer that has this name.
func (f *Figure) Add(side string, value float64) {
	switch side {
	case "ours":
		f.Ours = append(f.Ours, value)
		return
	case "baseline":
		f.Base = append(f.Base, value)
		return
	}
	i := slices.IndexFunc(f.Peers, func(s Series) bool { return s.Name == side })
	if i < 0 {
		i, f.Peers = len(f.Peers), append(f.Peers, Series{Name: side})
	}
	f.Peers[i].Rounds = append(f.Peers[i].Rounds, value)
}

// A Verdict says which bounds a figure meets.
type Verdict string

// What a verdict can be.
const (
	Goal   Verdict = "goal"         // keeps to the goal
	Gate   Verdict = "gate"         // keeps to the gate
	Noise  Verdict = "gate (noise)" // keeps to the gate but for 15 % of noise
	Short  Verdict = "short"        // misses the goal and has no gate
	Missed Verdict = "MISSED"       // misses the gate
	None   Verdict = "NO FIGURE"    // was not measured, or too few rounds make sense
	Open   Verdict = "-"            // has no bounds
)

// Value is compared with the bounds: the median over the rounds of Ours, or of its ratio to Base; NaN without
// rounds.
func (f Figure) Value() float64 {
	values := f.Rounds()
	if 2*len(values) < len(f.Ours) { // most of them made no sense
		return math.NaN()
	}
	return Median(values)
}

// Rounds returns the judged value of each round. It omits rounds whose ratio makes no sense, because the baseline
// measured nothing or less.
func (f Figure) Rounds() []float64 {
	var values []float64
	for i, ours := range f.Ours {
		v := ours
		if f.PerBase {
			v = math.NaN()
			if i < len(f.Base) && f.Base[i] > 0 {
				v = ours / f.Base[i]
			}
		}
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			values = append(values, v)
		}
	}
	return values
}

// Verdict compares the value with the bounds.
func (f Figure) Verdict() Verdict {
	switch v := f.Value(); {
	case math.IsNaN(v):
		return None
	case f.Goal.holds(v, 1):
		return Goal
	case f.Gate.holds(v, 1):
		return Gate
	case f.Gate.holds(v, noise):
		return Noise
	case f.Gate.set:
		return Missed
	case f.Goal.set:
		return Short
	}
	return Open
}

// Median is the middle value, or the mean of the two in the middle; NaN without values.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 || slices.ContainsFunc(values, math.IsNaN) {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Quantile is the value that a share of all values does not exceed; NaN without values.
func Quantile(values []float64, share float64) float64 {
	if len(values) == 0 || slices.ContainsFunc(values, math.IsNaN) {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

// Peak is the largest number of moments in any span of the given length, in the unit of the moments. A span
// includes its beginning but not its end.
func Peak(moments []float64, length float64) int {
	sorted := slices.Sorted(slices.Values(moments))
	peak, first := 0, 0
	for i, m := range sorted {
		for sorted[first] <= m-length {
			first++
		}
		peak = max(peak, i-first+1)
	}
	return peak
}
