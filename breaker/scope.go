package breaker

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// Numbers of an outage.
const (
	enough       = 5                      // faults in a row open it
	soonest      = 250 * time.Millisecond // between two probes at the least
	latest       = 30 * time.Second       // that they may have to be apart
	aging        = 360 * time.Second      // age²/aging between probes: 2 a minute when waits exceed one
	probeLimit   = 30 * time.Second       // a probe that takes longer is not waited for
	refusalLimit = time.Second            // one that comes later is not waited for after a stated wait
	closureBound = 15 * time.Minute       // a stated wait keeps everybody away for no longer than this
	scopeBound   = 1024                   // scopes without callers that are remembered
)

// level says how much of an upstream a scope takes in. The zero level is the
// widest.
type level uint8

const (
	host       level = iota // all callers
	model                   // all who ask for the model
	credential              // those who ask for it with the same credential
	levels
	nothing = levels // of a fault that says nothing
)

// names are the levels for people.
var names = [levels]string{"host", "model", "credential"}

// about tells what a fault of the kind is about.
func about(k fault.Kind) level {
	switch k {
	case fault.Unavailable, fault.UpstreamTimeout:
		return host
	case fault.Overloaded, fault.Truncated, fault.Unknown:
		return model
	case fault.RateLimited, fault.Quota:
		return credential
	}
	return nothing
}

// reached holds the kinds that only somebody says who is there: they end an
// outage of the host.
const reached = fault.Set(1<<fault.RateLimited | 1<<fault.Quota | 1<<fault.Auth |
	1<<fault.Invalid | 1<<fault.Refused | 1<<fault.TooLong)

// key names a scope; the zero key is the host.
type key struct {
	level level
	Scope
}

// key gives the call's scope of a level.
func (c *Caller) key(l level) key {
	switch l {
	case model:
		return key{model, Scope{Model: c.scope.Model}}
	case credential:
		return key{credential, c.scope}
	}
	return key{}
}

// scope is what is known about the host, a model or a credential that has
// failed, or is just recovering.
type scope struct {
	key
	gate *Breaker

	run   int          // faults without a success between
	since time.Time    // the first of them
	used  time.Time    // when there was news last
	fault *fault.Error // the latest, without its cause
	open  bool         // this is an outage
	epoch uint64       // the gate's, when the upstream asked for quiet
	until time.Time    // the upstream has asked for quiet until then; by the wall clock
	reset time.Time    // the end of the wait that the latest fault asks for, which may be later

	probe  *Caller   // it is under way to see whether the outage is over
	probed time.Time // when the latest probe began
	failed bool      // the latest probe has failed: who comes soon after it shares that
	probes int       // failed ones
	ready  bool      // the next probe may go as soon as the quiet is over
	hurry  bool      // the next probe is to go at once, even before its time
	looked time.Time // when no sleeper could go as a scout

	answered time.Time     // when it was proved last that it is not down
	strayed  time.Time     // when the latest straggler was sent
	lag      time.Duration // between two of them, as those before have fared; 0: as little as may be

	sleepers list // in Wait
	queue    list // in Enter, for the probe's outcome
	ramp     list // on their way out since the recovery
	pace     pace // of the ramp
	timer    Timer
	next     time.Time // when the timer fires; zero: it is not set
}

// scope gives a scope, made if it is new.
func (g *Breaker) scope(k key, now time.Time) *scope {
	if s := g.scopes[k]; s != nil {
		return s
	}
	if g.scopes == nil {
		g.scopes = map[key]*scope{}
	}
	if len(g.scopes) >= scopeBound {
		g.evict()
	}
	s := &scope{key: k, gate: g, used: now}
	s.sleepers = list{why: InBackoff, scope: s}
	s.queue = list{why: AwaitingProbe, scope: s}
	s.ramp = list{why: SlowStart, scope: s}
	g.scopes[k] = s
	return s
}

// evict forgets the scope that has had no news for longest, of those that
// nobody waits in.
func (g *Breaker) evict() {
	var oldest *scope
	for _, s := range g.scopes {
		if s.vacant() && (oldest == nil || s.used.Before(oldest.used)) {
			oldest = s
		}
	}
	if oldest != nil {
		oldest.shut()
		oldest.run = 0
		oldest.tidy()
	}
}

// all gives the scopes, the widest first.
func (g *Breaker) all() []*scope {
	return slices.SortedFunc(maps.Values(g.scopes), func(a, b *scope) int {
		return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Credential, b.Credential))
	})
}

// of gives the scopes that a call is in, the widest first; nil where there is
// nothing to remember.
func (g *Breaker) of(c *Caller) (all [levels]*scope) {
	if len(g.scopes) > 0 {
		for l := range levels {
			all[l] = g.scopes[c.key(l)]
		}
	}
	return all
}

// outage gives the widest scope of the call that is open; nil: none.
func (g *Breaker) outage(c *Caller) *scope {
	for _, s := range g.of(c) {
		if s != nil && s.open {
			return s
		}
	}
	return nil
}

// vacant tells whether no call stands in the scope or probes it.
func (s *scope) vacant() bool {
	return s.probe == nil && s.sleepers.n+s.queue.n+s.ramp.n == 0
}

// tidy forgets the scope if there is nothing to remember.
func (s *scope) tidy() {
	if !s.vacant() {
		return
	}
	s.disarm()
	if s.pace.on {
		s.pace.on = false
		s.gate.troubled--
	}
	if !s.open && s.run == 0 && s.gate.scopes[s.key] == s {
		delete(s.gate.scopes, s.key)
	}
}

// start opens an outage.
func (s *scope) start(now time.Time) {
	g := s.gate
	if g.troubled == 0 {
		g.traffic.peak = 0
	}
	g.troubled++
	s.open, s.probed, s.failed = true, now, true
	s.relapse()
	for _, c := range g.short.drain() { // they have not left: they wait with the others
		g.admit(c, now, false)
	}
}

// shut ends an outage.
func (s *scope) shut() {
	if s.open {
		s.gate.troubled--
	}
	s.open, s.probe, s.probes, s.ready, s.hurry = false, nil, 0, false, false
	s.until, s.reset = time.Time{}, time.Time{}
}

// spacing gives how far the next probe has to be from the latest: little in a
// short outage, which is to be noticed at once, half a minute in a long one.
func (s *scope) spacing() time.Duration {
	age := s.probed.Sub(s.since).Seconds()
	apart := time.Duration(age * age / aging.Seconds() * float64(time.Second))
	return min(max(apart, soonest), latest)
}

// probing tells whether there is a probe to wait for.
func (s *scope) probing(now time.Time) bool {
	return s.probe != nil && now.Sub(s.probed) < probeLimit
}

// due gives the next moment at which a probe may go.
func (s *scope) due(now time.Time) time.Time {
	if s.hurry || s.ready {
		return now
	}
	return s.probed.Add(s.spacing())
}

// said gives the fault to one who shares it, with what is left of a stated
// wait.
func (s *scope) said(now time.Time) *fault.Error {
	f := *s.fault
	f.Wait = 0
	if left := s.reset.Sub(now.Round(0)); left > 0 {
		f.Wait = left
	}
	return &f
}
