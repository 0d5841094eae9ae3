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

	mu    sync.Mutex
	all   map[string]*Account // by the token's name
	heard map[string]heard    // by the other gateway's name
}

// maxAccounts is how many are kept: more than a file can have tokens, as tokens come and go.
const maxAccounts = 2000

// Account is what one token has used. Its methods may be called concurrently.
type Account struct {
	name   string
	table  *Table
	limits access.Limits

	requests, tokens rate
	held             int // here
	told             Use // what the other gateways know
	total            Use // that was used here
}

// New returns a table that counts in a registry.
func New(to *metrics.Registry) *Table {
	t := &Table{all: map[string]*Account{}, heard: map[string]heard{}}
	t.counts = newCounts(to, t)
	return t
}

// Refusal is why a request is not let through.
type Refusal struct {
	Limit string        // rpm, tpm or holds
	Text  string        // in a sentence without a full stop
	Wait  time.Duration // until the next one may be
}

// Admit counts a request of a token; refused: it is beyond a limit, and not counted.
func (t *Table) Admit(token access.Token, now time.Time) (a *Account, refused *Refusal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a = t.account(token.Name)
	a.limits = token.Limits
	switch l := a.limits; {
	case l.Requests > 0 && a.requests.until(l.Requests, 1, now) > 0:
		refused = a.refuse("rpm", fmt.Sprintf("%d requests a minute", l.Requests), a.requests.until(l.Requests, 1, now))
	case l.Tokens > 0 && a.tokens.until(l.Tokens, 0, now) > 0:
		refused = a.refuse("tpm", fmt.Sprintf("%d tokens a minute", l.Tokens), a.tokens.until(l.Tokens, 0, now))
	}
	if refused != nil {
		return nil, refused
	}
	a.requests.add(a.limits.Requests, 1, now)
	a.total.Requests++
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

// refuse counts a refusal.
func (a *Account) refuse(limit, permits string, wait time.Duration) *Refusal {
	a.table.counts.refused.With(a.name, limit).Inc()
	wait = (wait + time.Second - time.Millisecond).Truncate(time.Second) // up, but not for what rounding adds
	return &Refusal{limit, fmt.Sprintf("the token %s permits %s; try again in %v", a.name, permits, wait), wait}
}

// Name returns the token's name. It implements gateway.Tenant.
func (a *Account) Name() string { return a.name }

// Hold takes a place for a request that waits, and returns what frees it; nil: all of them are taken. It implements
// gateway.Tenant.
func (a *Account) Hold() (release func()) {
	t := a.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if most := a.limits.Holds; most > 0 && a.held+t.heldElsewhere(a.name) >= most {
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

// Used counts the tokens of an answer. Those that were read from a prompt cache count for no limit where the provider
// counts them apart. It implements gateway.Tenant.
func (a *Account) Used(c ratelimit.Charged) {
	t := a.table
	t.counts.used(a.name, c)
	n := c.Input + c.Output
	t.mu.Lock()
	defer t.mu.Unlock()
	a.tokens.add(a.limits.Tokens, n, time.Now())
	a.total.Tokens += n
}

// rate is how much of a limit a minute is used at the moment: what was used less what a minute's limit has given
// back since.
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

// add counts what is used of a limit; 0: there is none, and nothing is counted.
func (r *rate) add(limit int, n float64, now time.Time) {
	if limit == 0 {
		*r = rate{}
		return
	}
	r.now(limit, now)
	r.used += n
}

// until returns when there is room for n more, or for anything at all if n is 0: the tokens of an answer are known
// only after it. It is 0 if there is.
func (r *rate) until(limit int, n float64, now time.Time) time.Duration {
	r.now(limit, now)
	const little = 1e-9 // that rounding may add
	over := r.used + n - float64(limit)
	if over < 0 || over < little && n > 0 {
		return 0
	}
	return max(time.Millisecond, time.Duration(over/float64(limit)*float64(time.Minute)))
}
