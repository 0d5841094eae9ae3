package tenant

import (
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/access"
)

// Use is what a token has used.
type Use struct {
	Requests int     `json:"requests,omitzero"`
	Tokens   float64 `json:"tokens,omitzero"`
	Held     int     `json:"held,omitzero"` // at the moment, not since the last report

	Limits access.Limits `json:"limits,omitzero"` // of the token there
}

// heard is what another gateway has told of itself last.
type heard struct {
	held  map[string]int // by the token's name
	until time.Time      // when it counts as gone
}

// reportLasts is how long what another gateway holds is believed: some reports may be lost.
const reportLasts = 10 * time.Second

// Report returns what was used here since the last report, by the tokens' names, for the other gateways of the
// fleet. A token that has used nothing since is left out, unless requests of it wait.
func (t *Table) Report() map[string]Use {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := map[string]Use{}
	for name, a := range t.all {
		use := Use{Requests: a.total.Requests - a.told.Requests, Tokens: a.total.Tokens - a.told.Tokens, Held: a.held}
		if use != (Use{}) || a.told.Held > 0 {
			use.Limits = a.limits
			all[name] = use
		}
		a.told = a.total
		a.told.Held = a.held
	}
	return all
}

// Hear counts what another gateway has reported.
func (t *Table) Hear(from string, all map[string]Use, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	held := map[string]int{}
	for name, use := range all {
		if use.Held > 0 {
			held[name] = use.Held
		}
		a := t.account(name)
		if a.limits == (access.Limits{}) {
			a.limits = use.Limits // no request has had the token here so far
		}
		a.requests.add(a.limits.Requests, float64(use.Requests), now)
		a.tokens.add(a.limits.Tokens, use.Tokens, now)
	}
	for name, h := range t.heard {
		if now.After(h.until) {
			delete(t.heard, name)
		}
	}
	if len(held) == 0 {
		delete(t.heard, from)
		return
	}
	t.heard[from] = heard{held, now.Add(reportLasts)}
}

// heldElsewhere returns how many requests of a token wait at other gateways. mu is held.
func (t *Table) heldElsewhere(token string) (n int) {
	now := time.Now()
	for _, h := range t.heard {
		if now.Before(h.until) {
			n += h.held[token]
		}
	}
	return n
}
