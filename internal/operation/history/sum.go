package history

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Part is the history of one gateway of several.
type Part struct {
	*History
	Name string // of the gateway, which its incidents name; "": they name none
	Over bool   // the gateway runs no more: what it has left open is over
}

// Sum returns the history of several gateways as one, to be shown or kept: an incident that several of them have seen
// is one. It is no history to record events in.
func Sum(now time.Time, parts ...Part) *History {
	all := Open("", nil)
	all.started, all.summed = now, true
	for _, p := range parts {
		p.mu.Lock()
		all.addMeasured(&p)
		p.mu.Unlock()
	}
	for _, p := range parts {
		p.mu.Lock()
		all.addIncidents(&p, now)
		p.mu.Unlock()
	}
	all.joinIncidents()
	return all
}

// addMeasured adds all of a part but its incidents. The part's mutex is held.
func (h *History) addMeasured(p *Part) {
	if p.born.Before(h.born) {
		h.born = p.born
	}
	for name, u := range p.upstreams {
		if sum := h.at(name); sum != nil {
			sum.add(u, p.Over)
		}
	}
	for name, l := range p.learned {
		if h.learned[name] == nil {
			h.learned[name] = l
		}
	}
}

// add adds what another gateway has measured of the upstream.
func (u *upstream) add(other *upstream, over bool) {
	u.Strip.add(&other.Strip, byQuarter())
	u.Hour.add(&other.Hour, byMinute())
	u.Saved.add(&other.Saved)
	u.Last = latest(u.Last, other.Last)
	if u.Kind == "" || !over && other.lastFailure().After(u.lastFailure()) {
		u.Kind = other.Kind
	}
	for model, at := range other.Answers {
		if _, known := u.Answers[model]; known || len(u.Answers) < modelBound {
			u.Answers[model] = latest(u.Answers[model], at)
		}
	}
	for model, r := range other.Runs {
		if sum := u.Runs[model]; sum != nil && !over {
			sum.add(r)
		} else if !over && len(u.Runs) < modelBound {
			u.Runs[model] = &run{Since: r.Since, Last: r.Last, N: r.N, Unsent: r.Unsent, As: r.As, Message: r.Message, Joined: r.in != nil}
		}
	}
}

// lastFailure returns when a model that is still failing has failed last; zero: none is.
func (u *upstream) lastFailure() (at time.Time) {
	for _, r := range u.Runs {
		at = latest(at, r.Last)
	}
	return at
}

// add adds the failures of the same model at another gateway.
func (r *run) add(other *run) {
	if other.Last.After(r.Last) {
		r.Last, r.Unsent = other.Last, other.Unsent
	}
	if other.Since.Before(r.Since) {
		r.Since = other.Since
	}
	r.N += other.N
	r.Joined = r.Joined || other.in != nil
}

// add adds the periods of another strip.
func (s *strip) add(other *strip, by scale) {
	for i := range other.Periods {
		p := &other.Periods[i]
		if p.N <= 0 {
			continue
		}
		if s.Periods == nil {
			s.Periods = make([]period, by.steps)
		}
		switch sum := &s.Periods[p.N%by.steps]; {
		case sum.N < p.N:
			*sum = period{N: p.N}
			fallthrough
		case sum.N == p.N:
			sum.add(p)
		}
	}
}

// add adds another period, such as the same one at another gateway.
func (p *period) add(other *period) {
	p.Requests += other.Requests
	p.OK += other.OK
	p.Failed += other.Failed
	p.Retried += other.Retried
	p.Retries += other.Retries
	p.Waited += other.Waited
	p.Lost += other.Lost
	if p.Kinds == nil && len(other.Kinds) > 0 {
		p.Kinds = map[string]int{}
	}
	addCounts(p.Kinds, other.Kinds, len(other.Kinds)+len(p.Kinds))
	p.First.AddAll(other.First)
	p.Added.AddAll(other.Added)
}

// add adds what another gateway has saved.
func (s *saved) add(other *saved) {
	for i := range other.Shares {
		p := &other.Shares[i]
		if p.N <= 0 {
			continue
		}
		if s.Shares == nil {
			s.Shares = make([]share, parts)
		}
		switch sum := &s.Shares[p.N%parts]; {
		case sum.N < p.N:
			*sum = *p
		case sum.N == p.N:
			sum.Saved.add(p.Saved)
		}
	}
}

// addCounts adds counts by name, of most names.
func addCounts(to, from map[string]int, most int) {
	for name, n := range from {
		if _, known := to[name]; known || len(to) < most {
			to[name] += n
		}
	}
}

// addIncidents adds copies of a part's incidents. The part's mutex is held.
func (h *History) addIncidents(p *Part, now time.Time) {
	for _, in := range p.incidents {
		one := *in
		one.Models, one.Clients, one.Kinds = copyOf(in.Models), copyOf(in.Clients), copyOf(in.Kinds)
		one.Replicas, one.IDs = slices.Clone(in.Replicas), slices.Clone(in.IDs)
		one.seen, one.shown = nil, nil
		if len(one.Replicas) == 0 && p.Name != "" {
			one.Replicas = []string{p.Name}
		}
		if len(one.IDs) == 0 {
			one.IDs = []string{in.id()}
		}
		if in.Open() {
			h.closeAnswered(&one, p.upstreams[in.Upstream], in, p.Over)
		}
		until := cmp.Or(one.Ended, now)
		one.Course = in.Course.clone()
		one.Course.at(one.Began, until, in.waiting())
		h.incidents = append(h.incidents, &one)
	}
}

// closeAnswered ends a copy of an open incident whose models have been answered at other gateways since, or whose
// gateway runs no more.
func (h *History) closeAnswered(one *incident, at *upstream, in *incident, over bool) {
	last, answered := one.Began, time.Time{}
	if at != nil {
		for model, r := range at.Runs {
			if r.in != in {
				continue
			}
			last = latest(last, r.Last)
			if since := h.upstreams[in.Upstream].Answers[model]; since.After(r.Last) {
				one.Models[r.As] = false
				answered = latest(answered, since)
			}
		}
	}
	switch {
	case !one.failing():
		one.Ended, one.Recovered = cmp.Or(answered, last), !answered.IsZero()
	case over:
		clearValues(one.Models)
		one.Ended = last
	}
}

// copyOf returns a copy of a map, which is not nil.
func copyOf[V any](m map[string]V) map[string]V {
	c := make(map[string]V, len(m))
	maps.Copy(c, m)
	return c
}

func clearValues(m map[string]bool) {
	for name := range m {
		m[name] = false
	}
}

// joinIncidents makes one of those of an upstream that overlap, and restores the links to the runs that have not ended.
func (h *History) joinIncidents() {
	all := h.incidents
	h.incidents = nil
	slices.SortStableFunc(all, func(a, b *incident) int { return a.Began.Compare(b.Began) })
	for _, in := range all {
		u := h.at(in.Upstream)
		if u == nil {
			continue
		}
		if before := u.latest; before != nil && (before.Open() || in.Began.Sub(before.Ended) <= MergeGap) {
			before.join(in)
			continue
		}
		u.latest = in
		h.incidents = append(h.incidents, in)
	}
	h.incidents = h.incidents[max(0, len(h.incidents)-incidentBound):]
	for _, u := range h.upstreams {
		for model, r := range u.Runs {
			switch {
			case u.Answers[model].After(r.Last):
				delete(u.Runs, model)
			case r.Joined && u.latest != nil && u.latest.Open():
				r.in = u.latest
			}
		}
	}
}

// join adds a later incident, or one of the same time, that is part of the same one.
func (in *incident) join(other *incident) {
	in.Course.add(other.Course, other.Began.Sub(in.Began))
	for model, fails := range other.Models {
		if failsHere, known := in.Models[model]; known || len(in.Models) < modelBound {
			in.Models[model] = failsHere || fails
		}
	}
	switch {
	case in.Open() || other.Open():
		in.Ended, in.Recovered = time.Time{}, false
	case other.Ended.After(in.Ended):
		in.Ended, in.Recovered = other.Ended, other.Recovered
	}
	in.Partial = in.Partial || other.Partial
	in.Tries += other.Tries
	in.Failures += other.Failures
	in.Calls += other.Calls
	in.Held += other.Held
	in.Lost += other.Lost
	in.Callers += other.Callers
	in.Message = cmp.Or(in.Message, other.Message)
	addCounts(in.Clients, other.Clients, clientBound)
	addCounts(in.Kinds, other.Kinds, len(in.Kinds)+len(other.Kinds))
	in.Replicas = union(in.Replicas, other.Replicas)
	in.IDs = union(in.IDs, other.IDs)
}

// namesBound is how many gateways and ids of one incident are kept.
const namesBound = 64

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), namesBound)]
}

// add adds the course of the same incident at another gateway, which began so much later.
func (c *course) add(other course, later time.Duration) {
	if len(other.Points) == 0 {
		return
	}
	step := max(c.Step, other.Step, courseStep)
	end := max(time.Duration(len(c.Points))*c.Step, later+time.Duration(len(other.Points))*other.Step)
	for int((end+step-1)/step) > courseBound {
		step *= 2
	}
	own := *c
	if n := int((end + step - 1) / step); own.Step == step {
		c.Points = append(own.Points, make([]point, n-len(own.Points))...)
	} else {
		c.Step, c.Points = step, make([]point, n)
		own.spread(c.Points, step, 0)
	}
	other.spread(c.Points, step, later)
}

func (c *course) clone() course {
	own := course{Step: c.Step, Points: slices.Clone(c.Points)}
	for i := range own.Points {
		own.Points[i].Faults = maps.Clone(own.Points[i].Faults)
	}
	return own
}

// spread adds the course to steps of at least its own length.
func (c *course) spread(to []point, step, later time.Duration) {
	most := make([]int, len(to))
	for i, p := range c.Points {
		at := int((later + time.Duration(i)*c.Step) / step)
		most[at] = max(most[at], p.Waiting)
		for name, n := range p.Faults {
			to[at].count(name, n)
		}
	}
	for i, n := range most {
		to[i].Waiting += n
	}
}
