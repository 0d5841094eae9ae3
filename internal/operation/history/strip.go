package history

import (
	"time"

	"github.com/ridethrough/ridethrough/internal/latency"
)

// A strip is the last day in quarters of an hour.
const (
	Cells    = 96
	CellTime = 15 * time.Minute
)

// Measured has the measurements of an upstream.
type Measured struct {
	Strip   []Cell        // the last day, the oldest first; the last one is the current. nil: unknown
	Samples int           // tries that were answered in the last three quarters to one hour
	First   time.Duration // the median time to the first content in the last quarter to half hour; 0: unknown
	Before  time.Duration // the same in the day before that
	Slow    bool          // First is clearly more than Before
	Last    time.Time     // the last answer; zero: none is known of
	Kind    Kind          // of the last failure
	Saved   Saved
}

// Cell is a quarter of an hour. All zero: no try.
type Cell struct {
	OK      int           // answered tries
	Failed  int           // tries that failed because of the upstream
	Retried int           // calls that were answered after a failed try
	Lost    int           // calls that waited and were not answered
	First   time.Duration // the median time to the first content; 0: unknown
}

// An upstream is slow if its median is twice the earlier one and a second more,
// with at least these numbers of answers now and before.
const (
	slowSamples = 5
	slowBefore  = 20
	slowTimes   = 2
	slowMore    = time.Second
)

// quarter is a Cell with its counters.
type quarter struct {
	N       int64         `json:"n"` // its number since 1970
	OK      int           `json:"ok,omitzero"`
	Failed  int           `json:"failed,omitzero"`
	Retried int           `json:"retried,omitzero"`
	Lost    int           `json:"lost,omitzero"`
	First   latency.Times `json:"first,omitzero"`
}

// strip holds the quarters that had tries, each at its number modulo Cells.
type strip struct {
	Quarters []quarter `json:"quarters"`
}

func numberOf(t time.Time) int64 { return max(0, t.UnixMilli()/CellTime.Milliseconds()) }

// at returns the quarter that a time belongs to.
func (s *strip) at(t time.Time) *quarter {
	if s.Quarters == nil {
		s.Quarters = make([]quarter, Cells)
	}
	n := numberOf(t)
	q := &s.Quarters[n%Cells]
	if q.N != n {
		*q = quarter{N: n}
	}
	return q
}

// get returns a quarter by its number, or nil if it had no tries.
func (s *strip) get(n int64) *quarter {
	if s.Quarters == nil || n < 0 {
		return nil
	}
	if q := &s.Quarters[n%Cells]; q.N == n {
		return q
	}
	return nil
}

// measure sums up the last day.
func (s *strip) measure(now time.Time) (m Measured) {
	last := numberOf(now)
	var recent, before latency.Spectrum
	m.Strip = make([]Cell, Cells)
	for i := range m.Strip {
		n := last - Cells + 1 + int64(i)
		q := s.get(n)
		if q == nil {
			continue
		}
		m.Strip[i] = Cell{OK: q.OK, Failed: q.Failed, Retried: q.Retried, Lost: q.Lost, First: q.First.Median()}
		if last-n < 4 {
			m.Samples += q.OK
		}
		if last-n < 2 {
			recent.Add(q.First)
		} else {
			before.Add(q.First)
		}
	}
	var lately, ago uint64
	m.First, lately = recent.Median()
	m.Before, ago = before.Median()
	m.Slow = lately >= slowSamples && ago >= slowBefore && m.First >= slowTimes*m.Before && m.First >= m.Before+slowMore
	return m
}
