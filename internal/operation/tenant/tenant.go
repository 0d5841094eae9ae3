// Package tenant limits what the holder of each token may use of a gateway, and counts it: requests and tokens a
// minute, and requests that wait at a time. It stores nothing: a limit is full again after a restart.
//
// The gateways of a fleet tell each other what was used, see [Table.Report] and [Table.Hear], so that a limit is
// one for all of them. What was used in the last moments is known only where that was: a limit may be exceeded by
// as much.
package tenant

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/access"
	"github.com/ridethrough/ridethrough/internal/operation/metrics"
	"github.com/ridethrough/ridethrough/ratelimit"
)

// Table has the accounts of all tokens. Its methods may be called concurrently.
type Table struct {
	counts counts

	mu        sync.Mutex
	all       map[string]*Account    // by the token's name
	elsewhere func(token string) int // requests that wait at other gateways
}

// maxAccounts bounds the accounts: more than a file can have tokens, since tokens come and go.
const maxAccounts = 2000

// Account is what one token has used. Its methods may be called concurrently.
type Account struct {
	name   string
	table  *Table
	limits access.Limits

	requests, tokens rate
	held             int // here
	unsaid           Use // that was used here since the last report
	told             int // held at that
}

// New returns a table that counts in a registry.
func New(to *metrics.Registry) *Table {
	t := &Table{all: map[string]*Account{}, elsewhere: func(string) int { return 0 }}
	t.counts = newCounts(to, t)
	return t
}

// Refusal is why a request was refused.
type Refusal struct {
	Limit string        // rpm, tpm or holds
	Text  string        // in a sentence without a full stop
	Wait  time.Duration // until the next one may be
}

// Admit counts a request of a token; refused: it exceeds a limit and is not counted.
func (t *Table) Admit(token access.Token, now time.Time) (a *Account, refused *Refusal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a = t.account(token.Name)
	a.limits = token.Limits
	switch l := a.limits; {
	case l.Requests > 0 && a.requests.until(l.Requests, 1, now) > 0:
		return nil, a.refuse("rpm", fmt.Sprintf("%d requests a minute", l.Requests), a.requests.until(l.Requests, 1, now))
	case l.Tokens > 0 && a.tokens.until(l.Tokens, 0, now) > 0:
		return nil, a.refuse("tpm", fmt.Sprintf("%d tokens a minute", l.Tokens), a.tokens.until(l.Tokens, 0, now))
	}
	a.requests.add(a.limits.Requests, 1, now)
	a.unsaid.Requests++
	t.counts.requests.With(a.name).Inc()
	return a, nil
}

// account returns the account of a name. mu is held.
func (t *Table) account(name string) *Account {
	a := t.all[name]
	if a == nil {
		if len(t.all) >= maxAccounts {
			maps.DeleteFunc(t.all, func(_ string, a *Account) bool { return a.held == 0 })
		}
		a = &Account{name: name, table: t}
		t.all[name] = a
	}
	return a
}

func (a *Account) refuse(limit, permits string, wait time.Duration) *Refusal {
	a.table.counts.refused.With(a.name, limit).Inc()
	wait = (wait + time.Second - time.Millisecond).Truncate(time.Second) // up, but not for what rounding adds
	return &Refusal{limit, fmt.Sprintf("the token %s permits %s; try again in %v", a.name, permits, wait), wait}
}

// Name returns the token's name. It implements gateway.Tenant.
func (a *Account) Name() string { return a.name }

// Hold reserves a place for a waiting request. It returns a function that releases the place, or nil if all are
// taken. It implements gateway.Tenant.
func (a *Account) Hold() (release func()) {
	t := a.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if most := a.limits.Holds; most > 0 && a.held+t.elsewhere(a.name) >= most {
		t.counts.refused.With(a.name, "holds").Inc()
		return nil
	}
	a.held++
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		a.held--
	})
}

// Used counts the tokens of an answer. Tokens that were read from a prompt cache count for no limit where the
// provider counts them separately. It implements gateway.Tenant.
func (a *Account) Used(c ratelimit.Charged) {
	t := a.table
	t.counts.used(a.name, c)
	n := c.Input + c.Output
	t.mu.Lock()
	defer t.mu.Unlock()
	a.tokens.add(a.limits.Tokens, n, time.Now())
	a.unsaid.Tokens += n
}

// rate is the current use of a limit per minute: what was used, less what has been restored since.
type rate struct {
	used float64
	at   time.Time
}

// now brings the rate up to a time.
func (r *rate) now(limit int, now time.Time) {
	if passed := now.Sub(r.at); passed > 0 {
		r.used = max(0, r.used-float64(limit)*passed.Minutes())
		r.at = now
	}
}

// add counts the use of a limit; nothing if the limit is 0.
func (r *rate) add(limit int, n float64, now time.Time) {
	if limit == 0 {
		*r = rate{}
		return
	}
	r.now(limit, now)
	r.used += n
}

// until returns when there is room for n more, or for anything at all if n is 0, since the tokens of an answer are
// known only afterwards. It returns 0 if there is room now.
func (r *rate) until(limit int, n float64, now time.Time) time.Duration {
	r.now(limit, now)
	const little = 1e-9 // that rounding may add
	over := r.used + n - float64(limit)
	if over < 0 || over < little && n > 0 {
		return 0
	}
	return max(time.Millisecond, time.Duration(over/float64(limit)*float64(time.Minute)))
}

// counts has the metrics by token. Its names come from the file of tokens, never from a client.
type counts struct {
	requests, refused, tokens *metrics.Counters
}

func newCounts(to *metrics.Registry, t *Table) counts {
	c := counts{
		requests: to.Counters("ridethrough_token_requests_total", "Requests to the APIs, by the name of the client's token.", "token"),
		refused:  to.Counters("ridethrough_token_refused_total", "Requests refused for a limit of the client's token: rpm, tpm or holds.", "token", "limit"),
		tokens:   to.Counters("ridethrough_token_used_tokens_total", "Tokens of answers, as their providers state them, by the name of the client's token. cached: read from a prompt cache and counted apart.", "token", "kind"),
	}
	held := to.Gauges("ridethrough_token_held_requests", "Requests that wait for their provider, by the name of the client's token.", "token")
	to.OnScrape(func(s *metrics.Scrape) {
		for name, n := range t.heldHere() {
			s.Set(held, float64(n), name)
		}
	})
	return c
}

func (c *counts) used(token string, used ratelimit.Charged) {
	for kind, n := range map[string]float64{"input": used.Input, "cached": used.Cached, "output": used.Output} {
		if n > 0 {
			c.tokens.With(token, kind).Add(n)
		}
	}
}

func (t *Table) heldHere() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	held := make(map[string]int, len(t.all))
	for name, a := range t.all {
		held[name] = a.held
	}
	return held
}

// Use is what a token has used.
type Use struct {
	Requests int     `json:"requests,omitzero"`
	Tokens   float64 `json:"tokens,omitzero"`
	Held     int     `json:"held,omitzero"` // at the moment, not since the last report

	Limits access.Limits `json:"limits,omitzero"` // of the token there
}

// Report returns what was used here since the last report, by the tokens' names, for the other gateways of the
// fleet. It omits a token that has used nothing, unless its requests wait.
func (t *Table) Report() map[string]Use {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := map[string]Use{}
	for name, a := range t.all {
		use := a.unsaid
		use.Held = a.held
		if use != (Use{}) || a.told > 0 {
			use.Limits = a.limits
			all[name] = use
		}
		a.unsaid, a.told = Use{}, a.held
	}
	return all
}

// Hear counts what another gateway has reported for a token.
func (t *Table) Hear(token string, use Use, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.account(token)
	if a.limits == (access.Limits{}) {
		a.limits = use.Limits // no request has had the token here so far
	}
	a.requests.add(a.limits.Requests, float64(max(use.Requests, 0)), now)
	a.tokens.add(a.limits.Tokens, max(use.Tokens, 0), now)
}

// HeldElsewhere sets the function that returns how many requests of a token wait at other gateways.
func (t *Table) HeldElsewhere(held func(token string) int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.elsewhere = held
}
