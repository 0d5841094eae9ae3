package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/internal/latency"
)

// Traffic is what passed at an upstream in a span of time.
type Traffic struct {
	Step  time.Duration
	Steps []Step // the oldest first; the last one is the current
	All   Step   // of all steps
}

// Step is a part of a Traffic. Unlike Failed, Kinds has tries too that failed by the request, such as for a wrong key.
type Step struct {
	Cell
	Requests  int           // that arrived, and turns that began
	FirstMost time.Duration // 95 % of the times to the first content are not longer; 0: unknown
	Added     time.Duration // the median from a request's arrival until the try was sent that was answered; 0: unknown
	AddedMost time.Duration // 95 % of these times are not longer
	Kinds     []Kind        // of failed tries, the most frequent first
}

// Traffic returns what passed at an upstream in the last hour, by minutes, and in the last day, by quarters of an hour.
func (h *History) Traffic(name string, now time.Time) (hour, day Traffic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	u := h.upstreams[name]
	if u == nil {
		u = new(upstream)
	}
	return u.Hour.traffic(now, byMinute()), u.Strip.traffic(now, byQuarter())
}

// traffic returns the last span of a strip.
func (s *strip) traffic(now time.Time, by scale) Traffic {
	t := Traffic{Step: by.step, Steps: make([]Step, by.steps)}
	var all period
	for i, p := range s.latest(now, by) {
		if p != nil {
			all.add(p)
			t.Steps[i] = p.traffic()
		}
	}
	t.All = all.traffic()
	return t
}

// traffic returns the period with what is known of its histograms.
func (p *period) traffic() Step {
	const middle, most = 50, 95
	var first, added latency.Spectrum
	first.Add(p.First)
	added.Add(p.Added)
	v := Step{Cell: p.cell(), Requests: p.Requests, Kinds: kindsOf(p.Kinds)}
	v.FirstMost, _ = first.Quantile(most)
	v.Added, _ = added.Quantile(middle)
	v.AddedMost, _ = added.Quantile(most)
	return v
}

// Held is what waiting has achieved in the last day, at all upstreams.
type Held struct {
	Calls   int           // that were answered after a failed try
	Retries int           // that they took: each is a request that their clients did not send again
	Waited  time.Duration // the sum of their waits
	Outage  time.Duration // in which an incident lasted that such a call has met; where several did, it counts once
	Since   time.Duration // the time that is covered: a day, or less for a newer history
}

// Held sums up the last day.
func (h *History) Held(now time.Time) (v Held) {
	from := now.Truncate(CellTime).Add(-(Cells - 1) * CellTime)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, u := range h.upstreams {
		h.rest(u, now)
		for _, p := range u.Strip.latest(now, byQuarter()) {
			if p != nil {
				v.Calls += p.Retried
				v.Retries += p.Retries
				v.Waited += p.Waited
			}
		}
	}
	v.Outage = h.riddenOut(from, now)
	v.Since = now.Sub(latest(from, h.born))
	return v
}

// riddenOut returns for how long there was an incident that calls were held through.
func (h *History) riddenOut(from, now time.Time) (all time.Duration) {
	met := slices.DeleteFunc(slices.Clone(h.incidents), func(in *incident) bool { return in.Held == 0 })
	slices.SortFunc(met, func(a, b *incident) int { return a.Began.Compare(b.Began) })
	for _, in := range met {
		end := cmp.Or(in.Ended, now)
		if began := latest(in.Began, from); end.After(began) {
			all += end.Sub(began)
			from = end
		}
	}
	return all
}
