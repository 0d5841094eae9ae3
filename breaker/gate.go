// Package breaker is what all callers of one upstream share, so that its outage
// is one outage and not a thousand: one call at a time is sent to see whether
// it is over, the others share what that call learns, and when the upstream is
// back all of them go at once, in a ramp that it can bear.
//
// An outage is the host's, a model's or a credential's, by what the fault is
// about; five faults in a row open it, or one with a stated wait, or one of a
// call that is wary. Who comes soon after a failed probe shares its failure
// without a request. Probes are the farther apart the older the outage is, and
// go out evenly: where callers' own schedules would run in step, one of them is
// sent early as a scout. So is, one by one, who was refused by an upstream that
// answers others again and would sleep for long.
//
// A [Breaker] stands for one upstream. Each logical call takes a [Caller] from it,
// which is the Gate of a retry.Retrier. The gate decides who goes when; how
// often and how long a call may wait stays the decision of its policy. It
// keeps no goroutine: callers wait in their own, with a timer each.
//
// Retries in a partial failure, when no outage is open, are bounded by a
// bucket of tokens, as in gRPC and the AWS SDKs. Those end a call that finds
// no token (policy.Throttled is for them); here it waits for one, because to
// lose a call that could have been answered later is what this project is
// against. A token comes back with each call that arrives, and one per second.
package breaker

import (
	"errors"
	"sync"
	"time"
)

// ErrGivenUp ends a run that waited when somebody gave it up. It comes inside
// a [GivenUp] if a fault was known.
var ErrGivenUp = errors.New("given up")

// Scope says what a call asks for, as far as a fault can be about it.
type Scope struct {
	Model      string
	Credential string // a hash or a name of it, never the credential
}

// Breaker is shared by all callers of one upstream. The zero Breaker is ready. It
// may be used by many goroutines at the same time and must not be copied.
type Breaker struct {
	Clock Clock // the time to go by; nil: the machine's. Set it before the first call

	name     string
	mu       sync.Mutex
	scopes   map[key]*scope // those about which there is something to remember
	troubled int            // how many of them are open or let their callers go in a ramp
	epoch    uint64         // grows whenever the upstream asks for quiet
	traffic  traffic
	tokens   tokens
	success  time.Time // the latest

	paused time.Time // zero: it is not
	by     string
	held   list // calls that the pause or their own Hold keeps from going
	short  list // retries that wait for a token
	asleep list // calls whose wait is about no scope
	token  Timer
}

// New makes a gate with a name, for people.
func New(name string) *Breaker { return &Breaker{name: name} }

// Caller gives a logical call its place at the gate. Close it.
func (g *Breaker) Caller(s Scope) *Caller { return &Caller{gate: g, scope: s} }

// Pause lets nobody go until Resume, and keeps waits that fall due. by says who
// wants that, for people.
func (g *Breaker) Pause(by string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.paused.IsZero() {
		g.paused = g.now()
	}
	g.by = by
}

// Resume ends Hold. The calls that it has kept go in a ramp.
func (g *Breaker) Resume() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.paused.IsZero() {
		return
	}
	g.paused, g.by = time.Time{}, ""
	now := g.now()
	var free []*Caller
	for _, c := range g.held.drain() {
		if c.kept {
			g.held.push(c)
		} else {
			free = append(free, c)
		}
	}
	for _, s := range g.all() {
		s.tick(now)
	}
	g.feed(now)
	g.release(free, key{}, now)
}

// RetryNow asks the upstream at once: of each open outage one waiter goes, whose
// try does not count if it fails. Calls that wait although no outage is open
// go as well, in a ramp.
func (g *Breaker) RetryNow() {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	free := g.asleep.drain()
	for _, s := range g.all() {
		switch {
		case !s.open:
			free = append(free, s.sleepers.drain()...)
		case !s.probing(now):
			s.until, s.hurry = time.Time{}, true
		}
	}
	for _, s := range g.all() {
		s.tick(now)
	}
	g.release(free, key{}, now)
}

// GiveUp ends all calls that wait, with ErrGivenUp.
func (g *Breaker) GiveUp() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.lists() {
		for _, c := range l.drain() {
			c.end()
		}
	}
	for _, s := range g.all() {
		s.tidy()
	}
}

// calm tells whether nothing is known against anybody.
func (g *Breaker) calm() bool { return len(g.scopes) == 0 && g.paused.IsZero() }

// lists gives all places where calls stand still.
func (g *Breaker) lists() []*list {
	all := []*list{&g.held, &g.short, &g.asleep}
	for _, s := range g.scopes {
		all = append(all, &s.sleepers, &s.queue, &s.ramp)
	}
	return all
}
