package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/internal/fleet"
)

// Elsewhere is an incident as another gateway of the fleet has met it, in brief. Its JSON is that of the API.
type Elsewhere struct {
	Replica     string    `json:"replica,omitzero"` // the gateway; in the fleet's map the owner of the entry
	ID          string    `json:"id,omitzero"`      // at that gateway; in the map the key
	Upstream    string    `json:"upstream"`
	Began       time.Time `json:"began"`
	Ended       time.Time `json:"ended,omitzero"` // left out: it is open
	RecoveredMs int64     `json:"recoveredMs,omitzero"`
	Calls       int       `json:"calls"` // that had to wait there
}

const sharedFor = 7 * 24 * time.Hour // after an incident has ended

// Share has each gateway of a fleet know in brief which incidents the others have met. They outlive their gateway.
func (h *History) Share(f *fleet.Fleet) {
	shared := fleet.NewMap(f, "incidents", fleet.Options[Elsewhere]{MaxTTL: sharedFor, OfOne: 64, OfAll: 1024, Outlives: true})
	h.mu.Lock()
	h.fleet, h.shared = f, shared
	h.mu.Unlock()
	f.OnBeat(func() {
		now := f.Clock.Now()
		for _, in := range h.Incidents(now) {
			left, brief := sharedFor, Elsewhere{Upstream: in.Upstream, Began: in.Began, Ended: in.Ended, RecoveredMs: in.RecoveredMs, Calls: in.Calls}
			if !in.Open {
				left -= now.Sub(in.Ended)
			}
			if put, known := shared.Get(in.ID); left > 0 && (!known || put.Value != brief) {
				shared.Put(in.ID, brief, left)
			}
		}
	})
}

// FleetIncidents returns the latest incidents, the newest first, with those that other gateways of the fleet have met.
// The numbers are of this gateway, so an incident that only others have met lacks them.
func (h *History) FleetIncidents(now time.Time) []Incident {
	all := h.Incidents(now)
	own := len(all)
	for _, e := range h.elsewhere() {
		i := slices.IndexFunc(all, func(in Incident) bool { return in.meets(&e) })
		if i < 0 {
			i = len(all)
			all = append(all, Incident{ID: e.ID, Upstream: e.Upstream, Models: []string{}, Clients: []Client{}, Kinds: []Kind{}, Began: e.Began})
		}
		if i >= own {
			all[i].extend(&e)
		}
		all[i].Elsewhere = append(all[i].Elsewhere, e)
	}
	slices.SortStableFunc(all, func(a, b Incident) int { return b.Began.Compare(a.Began) })
	return all[:min(len(all), incidentBound)]
}

// elsewhere returns what the other gateways have met, the oldest first.
func (h *History) elsewhere() (all []Elsewhere) {
	h.mu.Lock()
	f, shared := h.fleet, h.shared
	h.mu.Unlock()
	if f == nil {
		return nil
	}
	s := f.Status()
	for _, put := range shared.All() {
		e := put.Value
		e.Replica, e.ID, e.Calls, e.RecoveredMs = put.Owner, put.Key, max(0, e.Calls), max(0, e.RecoveredMs)
		if e.Ended.IsZero() && s.Connected && !slices.Contains(s.Members, e.Replica) {
			e.Ended = put.At // its gateway has gone
		}
		if e.Replica == s.ID || e.Began.IsZero() || !e.Ended.IsZero() && e.Ended.Before(e.Began) {
			continue
		}
		e.Began, e.Ended = e.Began.UTC().Round(time.Second), e.Ended.UTC().Round(time.Second) // as exact as clocks and messages
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b Elsewhere) int {
		return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.Replica, b.Replica), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// meets reports whether another gateway's incident is part of this one.
func (in *Incident) meets(e *Elsewhere) bool {
	return in.Upstream == e.Upstream && (in.Open || e.Began.Sub(in.Ended) <= MergeGap) && (e.Ended.IsZero() || in.Began.Sub(e.Ended) <= MergeGap)
}

// extend has an incident that this gateway has not met last as long as the longest elsewhere.
func (in *Incident) extend(e *Elsewhere) {
	if len(in.Elsewhere) > 0 && (in.Open || !e.Ended.IsZero() && !e.Ended.After(in.Ended)) {
		return
	}
	in.Open, in.Ended, in.RecoveredMs = e.Ended.IsZero(), e.Ended, 0
	if e.RecoveredMs > 0 {
		in.RecoveredMs = max(1, e.Ended.Sub(in.Began).Milliseconds())
	}
}
