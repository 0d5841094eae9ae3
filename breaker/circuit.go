package breaker

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/clock"
)

const (
	maxCooldown  = 15 * time.Minute // a stated wait keeps all calls away for no longer than this
	maxCircuits  = 1024             // that are remembered without callers
	chanceOutage = 5 * time.Second  // so long an outage may come of refusals that each call meets by itself
)

// level says how much of an upstream a circuit takes in. The zero level is the
// widest.
type level uint8

const (
	host       level = iota // all callers
	model                   // all who ask for the model
	credential              // those who ask for it with the same credential
	levels
	none = levels // of a fault that says nothing about the upstream
)

// levelNames are the levels as they are shown.
var levelNames = [levels]string{"host", "model", "credential"}

// levelOf returns what a fault is about. A timeout of ours says nothing, unless it is the end of a silence.
func levelOf(f *fault.Error) level {
	switch f.Kind {
	case fault.Unavailable, fault.UpstreamTimeout:
		return host
	case fault.Overloaded, fault.Truncated, fault.Unknown:
		return model
	case fault.RateLimited, fault.Quota:
		return credential
	case fault.Timeout:
		if f.Code == fault.Silence {
			return model
		}
	}
	return none
}

// hostAnswers holds the kinds that only a host that is up can answer with.
const hostAnswers = fault.Set(1<<fault.RateLimited | 1<<fault.Quota | 1<<fault.Auth |
	1<<fault.Invalid | 1<<fault.Refused | 1<<fault.TooLong)

// key names a circuit; the zero key is the host's. A host's with a model is for the calls that
// know no other.
type key struct {
	level level
	Scope
}

// key returns the call's circuit of a level.
func (c *Caller) key(l level) key {
	switch {
	case l == model:
		return key{model, Scope{Model: c.scope.Model}}
	case l == credential:
		return key{credential, c.scope}
	case c.ModelOnly:
		return key{host, Scope{Model: c.scope.Model}}
	}
	return key{}
}

// circuit is what is known about the host, a model or a credential that has
// failed, or is just recovering.
type circuit struct {
	key
	breaker *Breaker

	open         bool          // else closed
	faults       int           // without a success between
	of           string        // the model of the first of them
	several      bool          // another model has met one as well, or there was no answer at all
	ofHost       bool          // all of them may be the host's
	silences     int           // how many of the latest of them were silent tries
	firstFault   time.Time     // of them
	recent       window        // the latest tries, where it was closed
	cohort       cohort        // the latest tries, by when they began
	outageFrom   moment        // all tries have been refused since; zero: that is not certain
	latest       *fault.Error  // of them, without its cause
	took         time.Duration // the try that met it, from its beginning
	resetAt      time.Time     // the end of the wait that the latest fault asks for
	changed      time.Time     // when a try has told something last
	answered     time.Time     // when it was proved last that it is not down
	presumedAt   time.Time     // when it was closed because a probe was not refused; zero: something was answered since
	cooldown     time.Time     // no call is sent until then; by the wall clock
	cooldownFrom order         // the latest try that had begun by then

	probe        *Caller   // in progress: the circuit is half-open
	probedAt     time.Time // when the latest probe began
	probeFailed  bool      // so callers that come soon after it share its fault
	failedProbes int
	probeAtOnce  bool      // when the cooldown is over
	probeNow     bool      // even before that
	searchedAt   time.Time // when no sleeping call could go as an early probe

	otherProbe string    // the other replica whose probe is in progress; "": none
	suspected  time.Time // another has told of an outage, and this one is answered; zero: none has
	hintedAt   time.Time // when an answer was told of last, or a probe sent because of one

	earlyRetryAt  time.Time     // when the latest was sent
	earlyRetryGap time.Duration // between two of them, as those before have fared; 0: as little as may be

	sleeping      queue // in Wait
	awaitingProbe queue // in Acquire
	starting      queue // in the slow start
	slowStart     slowStart
	startShare    float64 // the share of its slow start in those of the fleet, once it has closed
	timer         clock.Timer
	timerAt       time.Time // zero: it is not set
}

// circuit returns a circuit, made if it is new.
func (b *Breaker) circuit(k key, now time.Time) *circuit {
	if ci := b.circuits[k]; ci != nil {
		return ci
	}
	if b.circuits == nil {
		b.circuits = map[key]*circuit{}
	}
	if len(b.circuits) >= maxCircuits {
		b.evict()
	}
	ci := &circuit{key: k, breaker: b, changed: now, recent: window{at: now}, cohort: newCohort(now)}
	ci.sleeping = queue{why: inBackoff, circuit: ci}
	ci.awaitingProbe = queue{why: awaitsProbe, circuit: ci}
	ci.starting = queue{why: inSlowStart, circuit: ci}
	b.circuits[k] = ci
	return ci
}

// evict forgets the circuit without callers that has not changed for longest.
func (b *Breaker) evict() {
	var oldest *circuit
	for _, ci := range b.circuits {
		if ci.vacant() && (oldest == nil || ci.changed.Before(oldest.changed)) {
			oldest = ci
		}
	}
	if oldest != nil {
		oldest.close()
		oldest.faults, oldest.silences, oldest.outageFrom, oldest.recent.faults, oldest.suspected = 0, 0, 0, 0, time.Time{}
		oldest.forget()
	}
}

// all returns the circuits, the widest first.
func (b *Breaker) all() []*circuit {
	return slices.SortedFunc(maps.Values(b.circuits), func(x, y *circuit) int {
		return cmp.Or(
			cmp.Compare(x.level, y.level), cmp.Compare(x.Model, y.Model), cmp.Compare(x.Credential, y.Credential),
		)
	})
}

// of returns the circuits that a call is in, the widest first; nil where there
// is nothing to remember.
func (b *Breaker) of(c *Caller) (all [levels]*circuit) {
	if len(b.circuits) == 0 {
		return all
	}
	for l := range levels {
		all[l] = b.circuits[c.key(l)]
	}
	return all
}

// outage returns the widest circuit of the call that is open; nil: none.
func (b *Breaker) outage(c *Caller) *circuit {
	for _, ci := range b.of(c) {
		if ci != nil && ci.open {
			return ci
		}
	}
	return nil
}

// vacant reports whether no call waits in the circuit or probes it.
func (ci *circuit) vacant() bool {
	return ci.probe == nil && ci.sleeping.n == 0 && ci.awaitingProbe.n == 0 && ci.starting.n == 0
}

// forget drops the circuit if there is nothing to remember.
func (ci *circuit) forget() {
	if !ci.vacant() {
		return
	}
	ci.stopTimer()
	ci.endSlowStart()
	if !ci.open && ci.faults == 0 && ci.recent.faults == 0 && ci.suspected.IsZero() && ci.breaker.circuits[ci.key] == ci {
		delete(ci.breaker.circuits, ci.key)
	}
}

// ageWindows takes weight from old tries. Circuits whose faults no longer count
// are dropped.
func (b *Breaker) ageWindows(now time.Time) {
	b.aged = now
	for _, ci := range b.circuits {
		if now.Sub(ci.suspected) > suspicion {
			ci.suspected = time.Time{}
		}
		if ci.recent.age(now); ci.recent.faults < 0.5 {
			ci.recent.faults = 0
			ci.forget()
		}
	}
}

// trip opens the circuit. Retries that wait for a token wait for its end.
func (ci *circuit) trip(now time.Time) {
	b := ci.breaker
	if b.degraded == 0 {
		b.traffic.begin(now)
	}
	b.degraded++
	ci.open, ci.probedAt, ci.probeFailed = true, now, true
	ci.breakOffSlowStart(now)
	for _, c := range b.noToken.drain() {
		b.admit(c, now, false)
	}
}

// close closes the circuit.
func (ci *circuit) close() {
	if ci.open {
		ci.breaker.degraded--
	}
	ci.open, ci.probe, ci.otherProbe, ci.failedProbes, ci.probeAtOnce, ci.probeNow = false, nil, "", 0, false, false
	ci.cooldown, ci.resetAt = time.Time{}, time.Time{}
}

// coolDown keeps all calls away for as long as the upstream asks, but for no
// longer than maxCooldown: then one call asks again.
func (ci *circuit) coolDown(wait time.Duration, now time.Time) {
	if end := now.Add(min(wait, maxCooldown)).Round(0); end.After(ci.cooldown) {
		ci.cooldown = end
	}
	if !ci.open {
		ci.trip(now)
	}
	ci.cooldownFrom, ci.probeAtOnce = ci.breaker.begun, true
}

// coolsDown reports whether the upstream has asked for no calls at this moment.
func (ci *circuit) coolsDown(now time.Time) bool { return now.Round(0).Before(ci.cooldown) }

// lasts reports whether the outage has lasted for longer than an upstream answers no call by chance, where it answers each
// call at its third try for example.
func (ci *circuit) lasts(now time.Time) bool {
	return ci.open && now.Sub(ci.firstFault) >= chanceOutage
}

// sharedFault returns the fault for a call that shares it, with what is left of
// a stated wait.
func (ci *circuit) sharedFault(now time.Time) *fault.Error {
	f := *ci.latest
	f.Wait = max(0, ci.resetAt.Sub(now.Round(0)))
	return &f
}
