package history

import "time"

const (
	week       = 7 * 24 * time.Hour
	partOfWeek = 6 * time.Hour
	parts      = int64(week/partOfWeek) + 1 // the oldest is on its way out
)

// Saved is what holding has done for callers in the last week. A call is
// counted when it is answered although tries of it had failed in an incident.
type Saved struct {
	Calls   int
	Outages int           // incidents that such calls were held through
	Retries int           // that the calls took
	Waited  time.Duration // the sum of their waits
	Blips   int           // calls that were answered after failures that were no incident: not among the others
	Since   time.Duration // how long is looked back: a week, or as long as there is something to look at
}

// share is a part of a week.
type share struct {
	N       int64         `json:"n"` // its number since 1970
	Calls   int           `json:"calls,omitzero"`
	Outages int           `json:"outages,omitzero"`
	Retries int           `json:"retries,omitzero"`
	Waited  time.Duration `json:"waited,omitzero"`
	Blips   int           `json:"blips,omitzero"`
}

// saved holds the parts of the last week, each at its number modulo parts.
type saved struct {
	Shares []share `json:"shares"`
}

// at returns the part of an instant to count in.
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
		if p.N > last || p.N <= last-parts {
			continue
		}
		all.Calls += p.Calls
		all.Outages += p.Outages
		all.Retries += p.Retries
		all.Waited += p.Waited
		all.Blips += p.Blips
	}
	return all
}
