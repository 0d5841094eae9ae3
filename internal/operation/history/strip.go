package history

import (
	"time"

	"github.com/ridethrough/ridethrough/internal/latency"
)

// The strips are the last day in quarters of an hour, and the last hour in minutes.
const (
	Cells    = 96
	CellTime = 15 * time.Minute
	Minutes  = 60
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

// scale is how a strip divides time.
type scale struct {
	step  time.Duration
	steps int64
}

func byQuarter() scale { return scale{CellTime, Cells} }
func byMinute() scale  { return scale{time.Minute, Minutes} }

func (sc scale) numberOf(t time.Time) int64 { return max(0, t.UnixMilli()/sc.step.Milliseconds()) }

// period is a step of a strip with its counters. An hour and a day of them take 50 KB as a rule, and less than 1 MB if
// all durations differ.
type period struct {
	N        int64          `json:"n"` // its number since 1970
	Requests int            `json:"requests,omitzero"`
	OK       int            `json:"ok,omitzero"`
	Failed   int            `json:"failed,omitzero"`
	Retried  int            `json:"retried,omitzero"`
	Retries  int            `json:"retries,omitzero"` // of those that were answered after them
	Waited   time.Duration  `json:"waited,omitzero"`  // by these
	Lost     int            `json:"lost,omitzero"`
	Kinds    map[string]int `json:"kinds,omitempty"` // of failed tries, also of those that the upstream did not cause
	First    latency.Times  `json:"first,omitempty"`
	Added    latency.Times  `json:"added,omitempty"` // from a request's arrival until the try was sent that was answered
}

// fails counts a failed try.
func (p *period) fails(kind string) {
	if p.Kinds == nil {
		p.Kinds = map[string]int{}
	}
	p.Kinds[kind]++
}

// cell returns the period without its histograms.
func (p *period) cell() Cell {
	return Cell{OK: p.OK, Failed: p.Failed, Retried: p.Retried, Lost: p.Lost, First: p.First.Median()}
}

// strip holds the periods in which something happened, each at its number modulo their number.
type strip struct {
	Periods []period `json:"quarters"`
}

// at returns the period that a time belongs to.
func (s *strip) at(t time.Time, by scale) *period {
	if s.Periods == nil {
		s.Periods = make([]period, by.steps)
	}
	n := by.numberOf(t)
	p := &s.Periods[n%by.steps]
	if p.N != n {
		clear(p.Kinds)
		*p = period{N: n, Kinds: p.Kinds, First: p.First[:0], Added: p.Added[:0]} // their memory is used again
	}
	return p
}

// latest returns the periods of the last span, the oldest first; nil for one in which nothing happened.
func (s *strip) latest(now time.Time, by scale) []*period {
	all, first := make([]*period, by.steps), by.numberOf(now)-by.steps+1
	for i := range s.Periods {
		if at := s.Periods[i].N - first; 0 <= at && at < by.steps && s.Periods[i].N > 0 {
			all[at] = &s.Periods[i]
		}
	}
	return all
}

// measure sums up the last day.
func (s *strip) measure(now time.Time) (m Measured) {
	var recent, before latency.Spectrum
	m.Strip = make([]Cell, Cells)
	for i, p := range s.latest(now, byQuarter()) {
		if p == nil {
			continue
		}
		m.Strip[i] = p.cell()
		if i >= Cells-4 {
			m.Samples += p.OK
		}
		if i >= Cells-2 {
			recent.Add(p.First)
		} else {
			before.Add(p.First)
		}
	}
	var lately, ago uint64
	m.First, lately = recent.Median()
	m.Before, ago = before.Median()
	m.Slow = lately >= slowSamples && ago >= slowBefore && m.First >= slowTimes*m.Before && m.First >= m.Before+slowMore
	return m
}
