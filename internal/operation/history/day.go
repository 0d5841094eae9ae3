package history

import (
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/internal/latency"
)

const (
	quarterTime = 15 * time.Minute
	quarters    = 96
)

// Measured has the measurements of an upstream.
type Measured struct {
	Samples int           // tries that were answered in the last three quarters to one hour
	First   time.Duration // the median time to the first content in the last quarter to half hour; 0: unknown
	Before  time.Duration // the same in the day before that
	Slow    bool          // First is clearly more than Before
	Last    time.Time     // the last answer; zero: unknown
	Cause   string        // of the last failure, in plain words
	Saved   Saved
}

// Saved is what waiting achieved in the last day.
type Saved struct {
	Calls   int           // that were answered after a failed try
	Outages int           // incidents that such calls were held through
	Retries int           // that the calls took: each is a request that their clients did not send again
	Waited  time.Duration // the sum of their waits
	Since   time.Duration // the time that is covered: a day, or less for a newer history
}

// An upstream is slow if its median is more than twice the earlier one plus a second, given at least these numbers
// of answers.
const (
	slowSamples = 5
	slowBefore  = 20
	slowTimes   = 2
	slowMore    = time.Second
)

type quarter struct {
	N       int64         `json:"n"` // its number since 1970
	OK      int           `json:"ok,omitzero"`
	Calls   int           `json:"calls,omitzero"` // answered after failed tries
	Retries int           `json:"retries,omitzero"`
	Waited  time.Duration `json:"waited,omitzero"`
	First   latency.Times `json:"first,omitempty"`
}

// day holds the quarters in which something happened, each at its number modulo quarters, or nil.
type day []quarter

func quarterOf(t time.Time) int64 { return max(0, t.UnixMilli()/quarterTime.Milliseconds()) }

// count counts something in a quarter, which replaces the quarter of a day before.
func (d *day) count(n int64, add func(*quarter)) {
	if *d == nil {
		*d = make(day, quarters)
	}
	q := &(*d)[n%quarters]
	if q.N < n {
		*q = quarter{N: n, First: q.First[:0]}
	}
	if q.N == n {
		add(q)
	}
}

func (d day) measure(now time.Time) (m Measured) {
	var recent, before latency.Spectrum
	last := quarterOf(now)
	for _, q := range d {
		ago := last - q.N
		if ago < 0 || ago >= quarters || q.N == 0 {
			continue
		}
		m.Saved.Calls += q.Calls
		m.Saved.Retries += q.Retries
		m.Saved.Waited += q.Waited
		if ago < 4 {
			m.Samples += q.OK
		}
		if ago < 2 {
			recent.Add(q.First)
		} else {
			before.Add(q.First)
		}
	}
	var lately, earlier uint64
	m.First, lately = recent.Median()
	m.Before, earlier = before.Median()
	m.Slow = lately >= slowSamples && earlier >= slowBefore && m.First >= slowTimes*m.Before && m.First >= m.Before+slowMore
	return m
}

// Upstream returns the measurements of an upstream, or zero.
func (h *History) Upstream(name string, now time.Time) Measured {
	h.mu.Lock()
	defer h.mu.Unlock()
	u := h.upstreams[name]
	if u == nil {
		return Measured{}
	}
	h.rest(u, now)
	m := u.Day.measure(now)
	from := latest(h.born, now.Truncate(quarterTime).Add(-(quarters-1)*quarterTime))
	m.Saved.Since = now.Sub(from)
	for in := range slices.Values(h.incidents) {
		if in.Upstream == name && in.Held > 0 && (in.isOpen() || in.Ended.After(from)) {
			m.Saved.Outages++
		}
	}
	m.Last, m.Cause = u.Last, kindOf(u.Kind, 0).Cause
	return m
}
