package history

import "time"

const (
	week       = 7 * 24 * time.Hour
	partOfWeek = 6 * time.Hour
	parts      = int64(week/partOfWeek) + 1 // the oldest is partly over
)

// Saved counts the calls of the last week that were answered after tries had failed in an incident.
type Saved struct {
	Calls   int           `json:"calls,omitzero"`
	Outages int           `json:"outages,omitzero"` // incidents that such calls were held through
	Retries int           `json:"retries,omitzero"` // that the calls took
	Waited  time.Duration `json:"waited,omitzero"`  // the sum of their waits
	Blips   int           `json:"blips,omitzero"`   // calls that were answered after failures outside an incident; not in Calls
	Since   time.Duration `json:"-"`                // the time that is covered: a week, or less for a newer history
}

// add adds what is counted.
func (s *Saved) add(other Saved) {
	s.Calls += other.Calls
	s.Outages += other.Outages
	s.Retries += other.Retries
	s.Waited += other.Waited
	s.Blips += other.Blips
}

// share is a part of a week.
type share struct {
	N int64 `json:"n"` // its number since 1970
	Saved
}

// saved holds the parts of the last week, each at its number modulo parts.
type saved struct {
	Shares []share `json:"shares"`
}

// at returns the part that a time belongs to.
func (s *saved) at(t time.Time) *share {
	if s.Shares == nil {
		s.Shares = make([]share, parts)
	}
	n := max(0, t.UnixMilli()/partOfWeek.Milliseconds())
	p := &s.Shares[n%parts]
	if p.N != n {
		*p = share{N: n}
	}
	return p
}

// sum adds up the last week.
func (s *saved) sum(now time.Time) (all Saved) {
	last := now.UnixMilli() / partOfWeek.Milliseconds()
	for _, p := range s.Shares {
		if p.N <= last && p.N > last-parts {
			all.add(p.Saved)
		}
	}
	return all
}

// heldThrough counts the incidents of an upstream since a time that calls were held through.
func (h *History) heldThrough(name string, since time.Time) (n int) {
	for _, in := range h.incidents {
		if in.Upstream == name && in.Held > 0 && (in.Open() || in.Ended.After(since)) {
			n++
		}
	}
	return n
}
