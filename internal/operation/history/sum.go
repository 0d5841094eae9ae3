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

// Sum returns the history of several gateways as one, for display or storage: an incident that several of them have
// seen is one. It cannot record events.
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
		all.addIncidents(&p)
		p.mu.Unlock()
	}
	all.joinIncidents()
	return all
}

// addMeasured adds everything in a part except its incidents. The part's mutex is held.
func (h *History) addMeasured(p *Part) {
	if p.born.Before(h.born) {
		h.born = p.born
	}
	for name, u := range p.upstreams {
		if sum := h.at(name); sum != nil {
			sum.add(u, p.Over)
		}
	}
	h.learn(p.History)
}

// add adds another gateway's measurements of the upstream.
func (u *upstream) add(other *upstream, over bool) {
	u.Day.add(other.Day)
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

// lastFailure returns when a model that is still failing has last failed; zero if none is.
func (u *upstream) lastFailure() (at time.Time) {
	for _, r := range u.Runs {
		at = latest(at, r.Last)
	}
	return at
}

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

func addCounts(to, from map[string]int, most int) {
	for name, n := range from {
		if _, known := to[name]; known || len(to) < most {
			to[name] += n
		}
	}
}

// addIncidents adds copies of a part's incidents. The part's mutex is held.
func (h *History) addIncidents(p *Part) {
	for _, in := range p.incidents {
		one := *in
		one.Models, one.Clients, one.Kinds = maps.Clone(in.Models), maps.Clone(in.Clients), maps.Clone(in.Kinds)
		if one.seen = nil; len(in.Known) == 0 {
			one.Known = []string{p.Name + "/" + in.id()}
		}
		if in.isOpen() {
			h.closeAnswered(&one, p.upstreams[in.Upstream], in, p.Over)
		}
		h.incidents = append(h.incidents, &one)
	}
}

// closeAnswered ends a copy of an open incident whose models have since been answered at other gateways, or whose
// gateway is gone.
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
		for model := range one.Models {
			one.Models[model] = false
		}
		one.Ended = last
	}
}

// joinIncidents merges overlapping incidents of an upstream, and restores the links to the runs in progress.
func (h *History) joinIncidents() {
	all := h.incidents
	h.incidents = nil
	slices.SortStableFunc(all, func(a, b *incident) int { return a.Began.Compare(b.Began) })
	for _, in := range all {
		u := h.at(in.Upstream)
		if u == nil {
			continue
		}
		if before := u.latest; before != nil && (before.isOpen() || in.Began.Sub(before.Ended) <= MergeGap) {
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
			case r.Joined && u.latest != nil && u.latest.isOpen():
				r.in = u.latest
			}
		}
	}
}

// join adds a later or simultaneous incident that is part of the same one.
func (in *incident) join(other *incident) {
	if in.includes(other) {
		return
	}
	for model, fails := range other.Models {
		if failsHere, known := in.Models[model]; known || len(in.Models) < modelBound {
			in.Models[model] = failsHere || fails
		}
	}
	switch {
	case in.isOpen() || other.isOpen():
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
	in.Known = slices.Compact(slices.Sorted(slices.Values(slices.Concat(in.Known, other.Known))))
	in.Known = in.Known[:min(len(in.Known), knownBound)]
}

const knownBound = 64

// includes reports whether another incident was joined before, such as that of a gateway whose history was adopted.
func (in *incident) includes(other *incident) bool {
	return !slices.ContainsFunc(other.Known, func(s string) bool { return !slices.Contains(in.Known, s) })
}

// adopt adds what gateways that are gone have seen and learned, once.
func (h *History) adopt(now time.Time, gone []Part) {
	sum := Sum(now, gone...)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dirty = true
	h.learn(sum)
	for _, in := range sum.incidents {
		known := slices.ContainsFunc(h.incidents, func(own *incident) bool { return len(own.Known) > 0 && own.includes(in) })
		if u := h.at(in.Upstream); u != nil && !known {
			in.seen = map[string]bool{}
			h.incidents = append(h.incidents, in)
		}
	}
	slices.SortStableFunc(h.incidents, func(a, b *incident) int { return a.Began.Compare(b.Began) })
	h.trimIncidents()
}

// learn adopts what an earlier history has learned about upstreams, where nothing is known yet.
func (h *History) learn(from *History) {
	for name, l := range from.learned {
		if h.learned[name] == nil {
			h.learned[name] = l
		}
	}
}
