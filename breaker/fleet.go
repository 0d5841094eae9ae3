package breaker

import (
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/clock"
)

// Fleet connects a breaker with those of the same upstream in other processes: each puts small values, and Hears those
// of the others. Each decides by itself, with what it has heard; nothing is asked before a call goes. The methods are
// called with the breaker's lock held, and only where an outage changes or is known: they must neither block nor call
// the breaker.
type Fleet interface {
	// Put replaces what the others know of this process by a key; nil: nothing.
	Put(key string, value []byte)
	// ID returns the name of this process among them.
	ID() string
	// Others returns how many other processes there are.
	Others() int
}

// circuitName names a circuit, the same in all breakers of an upstream.
type circuitName struct {
	Level             string // as in [Outage]
	Model, Credential string
}

// key is the key of what is said of a circuit.
func (c circuitName) key() string { return c.Level + "\t" + c.Model + "\t" + c.Credential }

// news are what a breaker says of a circuit. Durations count from when it does.
type news struct {
	Circuit circuitName
	What    what
	Age     time.Duration // since the first fault of the outage
	Begun   time.Duration // since the try began that was answered, of back; else the first of those which were all refused; 0: that is not known
	Wait    time.Duration // what is left of the cooldown that the upstream has asked for
	Probes  int           // that have failed
	Waiting int           // calls that wait at the sender
	Fault   *fault.Error  // the latest, without what may quote a request; nil: none
}

// aged returns news of an age as of now, within what can be meant.
func (n news) aged(age time.Duration) news {
	n.Age, n.Wait, n.Probes, n.Waiting = n.Age+age, max(0, n.Wait-age), min(max(n.Probes, 0), 1<<20), min(max(n.Waiting, 0), 1<<24)
	if n.Begun > 0 {
		n.Begun += age
	}
	return n
}

// what says what news are.
type what string

// The news.
const (
	probing what = "probing" // a probe is in progress
	failed  what = "failed"  // the circuit has opened, a probe has failed, or the upstream has asked for a cooldown
	known   what = "known"   // the circuit is open: repeated, for those which have missed it
	back    what = "back"    // the upstream has answered, and the circuit is closed
	slowed  what = "slowed"  // the slow start has met a fault
	answers what = "answers" // the upstream answers the sender, which has heard of an outage
)

// SharedRule is the Rule of a fault that another replica has met and reported.
const SharedRule = "fleet/shared"

const (
	turnTime  = 250 * time.Millisecond // by which a probe is later than that of the one before in turn
	lately    = 5 * time.Second        // an answer that is no older contradicts another's outage
	suspicion = time.Minute            // for so long one fault suffices after another has told of an outage
	hintGap   = 10 * time.Second       // between two answers that are told of, and two probes because of that
	stale     = 10 * time.Second       // news of an outage that has ended may come for so long
	mostKnown = 64                     // circuits that are told of at once
	believed  = 6 * time.Second        // what others have said, unless they say it again
	maxOthers = 1024
)

// Join has the breaker act as one with the others of a fleet. Call it before the first Caller.
func (b *Breaker) Join(f Fleet) { b.fleet = f }

// Leave detaches the breaker from the others. It keeps what it has heard so far.
func (b *Breaker) Leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fleet, b.back, b.others = nil, nil, nil
	now := b.now()
	for _, ci := range b.all() {
		ci.endOthersProbe(ci.otherProbe, now)
	}
}

// Refresh puts what passes through the breaker and which circuits are open. Call it every two seconds: what is not put
// again is believed for six.
func (b *Breaker) Refresh() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fleet == nil {
		return
	}
	now := b.now()
	b.forgetOthers(now)
	if l := b.measure(now); l == (load{}) {
		b.fleet.Put(loadKey, nil)
	} else if value, err := clock.Relative(l, now); err == nil { // else a rate is no number
		b.fleet.Put(loadKey, value)
	}
	if b.degraded == 0 {
		return
	}
	n := 0
	for _, ci := range b.all() {
		if ci.open && n < mostKnown {
			n++
			ci.tell(known, now)
		}
	}
}

// Hear takes in what another process has put some time ago; nil: that holds no longer, as when the process has gone.
// What comes after Leave changes nothing.
func (b *Breaker) Hear(from, key string, value []byte, age time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fleet == nil {
		return
	}
	now := b.now()
	at := now.Add(-age)
	switch {
	case key == loadKey:
		l, err := clock.Absolute[load](value, at)
		if o := b.other(from); o != nil && (err == nil || value == nil) {
			o.load, o.loadAt = l.within(), at
		}
	case value == nil:
		b.forget(from, key, now)
	default:
		if n, err := clock.Absolute[news](value, at); err == nil && n.Circuit.key() == key {
			b.hear(from, n.aged(age), at, now)
		}
	}
}

// hear takes in the news of another process.
func (b *Breaker) hear(from string, n news, at, now time.Time) {
	l := slices.Index(levelNames[:], n.Circuit.Level)
	if l < 0 {
		return
	}
	k := key{level(l), Scope{n.Circuit.Model, n.Circuit.Credential}}
	b.noteWaits(from, k, waits{n.Waiting, at})
	ci := b.circuits[k]
	switch {
	case n.What == failed || n.What == known:
		b.hearOutage(from, n, k, now)
	case n.What == back:
		b.hearBack(ci, n, k, now)
	case ci == nil:
	case n.What == probing:
		ci.hearProbe(from, n, now)
	case n.What == slowed:
		ci.slowStart.slowDown()
	case n.What == answers:
		ci.hearAnswer(now)
	}
}

// hearBack takes in that another's try was answered, unless it began before those which are all refused.
func (b *Breaker) hearBack(ci *circuit, n news, k key, now time.Time) {
	began := momentOf(now.Add(-n.Begun))
	if ci != nil && ci.precedesOutage(began) {
		return
	}
	b.noteBack(k, now)
	if ci != nil {
		ci.cohort.answer(began)
		b.release(ci.end(now), k, now)
	}
}

// endOthersProbe no longer waits for the probe of a replica that has gone.
func (ci *circuit) endOthersProbe(from string, now time.Time) {
	if ci.otherProbe == from {
		ci.otherProbe = ""
		ci.advance(now)
	}
}

// hearOutage takes in that a circuit is open elsewhere. A breaker whose calls are answered continues: it may be the
// other replica that has no network. But its own next fault opens the circuit. A cooldown is of a credential, so only
// answers to calls with that credential contradict it.
func (b *Breaker) hearOutage(from string, n news, k key, now time.Time) {
	n.Fault = n.Fault.Shared(0)
	if back, ended := b.back[k]; n.Fault == nil || ended && now.Add(-n.Age).Before(back) {
		return // its sender has not heard of the end
	}
	n.Fault.Rule = SharedRule
	if k.level != credential || k.Credential == "" {
		n.Wait = 0
	}
	ci := b.circuit(k, now)
	if !ci.open && now.Sub(ci.answered) < lately {
		ci.tellAnswers(now)
		ci.forget()
		return
	}
	answered := b.answered
	if n.Wait > 0 {
		answered = b.answeredAt(k.Scope)
	}
	if !ci.open && now.Sub(answered) < lately {
		ci.suspected = now
		ci.adoptCertainty(n, now)
		return
	}
	was := ci.open
	ci.adopt(n, was, now)
	if !was {
		ci.trip(now)
	}
	if now.Add(min(n.Wait, maxCooldown)).Sub(ci.cooldown) > time.Second && n.Wait > 0 { // else it would creep, by the delay of each message
		ci.coolDown(n.Wait, now)
	}
	if n.What == failed {
		ci.othersProbeFailed(from, now)
	}
	ci.advance(now)
}

// adopt notes what another breaker knows of an outage. open is whether it was known here.
func (ci *circuit) adopt(n news, open bool, now time.Time) {
	if began := now.Add(-n.Age); ci.faults == 0 || began.Before(ci.firstFault) {
		ci.firstFault = began
	}
	if !open {
		ci.ofHost = levelOf(n.Fault) == host
	}
	if !open || n.What == failed {
		ci.latest, ci.resetAt, ci.changed = n.Fault, now.Add(n.Fault.RetryAfter(now)).Round(0), now
	}
	ci.faults, ci.failedProbes, ci.several = max(1, ci.faults), max(ci.failedProbes, n.Probes), true
	ci.suspected = time.Time{}
	ci.adoptCertainty(n, now)
}

// adoptCertainty notes since when all of another's tries have been refused, if it knows.
func (ci *circuit) adoptCertainty(n news, now time.Time) {
	if n.Begun > 0 && ci.outageFrom == 0 {
		ci.outageFrom = momentOf(now.Add(-n.Begun))
	}
}

// hearProbe has the calls here wait for another's probe. That it has failed may have been heard before.
func (ci *circuit) hearProbe(from string, n news, now time.Time) {
	if !ci.open || ci.probe != nil || n.Probes < ci.failedProbes {
		return
	}
	ci.otherProbe, ci.probedAt, ci.probeFailed, ci.probeAtOnce = from, now, false, false
	ci.setTimer(now)
}

// othersProbeFailed shares the fault of another's probe with the calls that wait for the outcome.
func (ci *circuit) othersProbeFailed(from string, now time.Time) {
	switch {
	case ci.probe != nil: // its outcome is waited for
		return
	case ci.otherProbe == from:
		ci.otherProbe = ""
	default:
		ci.probedAt = now
	}
	ci.probeFailed = true
	for _, w := range ci.awaitingProbe.drain() {
		w.share(ci.sharedFault(now))
	}
}

// hearAnswer probes at once after another's answer, if it is this one's turn.
func (ci *circuit) hearAnswer(now time.Time) {
	if !ci.open || ci.turn() > 0 || now.Sub(ci.hintedAt) < hintGap || !ci.mayProbe(now) {
		return
	}
	ci.hintedAt, ci.probeNow = now, true
	ci.advance(now)
}

// tellAnswers tells those that have reported an outage that the upstream answers.
func (ci *circuit) tellAnswers(now time.Time) {
	ci.suspected = time.Time{}
	if now.Sub(ci.hintedAt) >= hintGap {
		ci.hintedAt = now
		ci.tell(answers, now)
	}
}

// tellBack announces the end of the outage, which the answer to a try has shown.
func (ci *circuit) tellBack(began moment, now time.Time) {
	if ci.breaker.fleet != nil {
		ci.breaker.noteBack(ci.key, now)
		n := ci.news(back, now)
		n.Begun = began.age(now)
		ci.breaker.put(n, now)
	}
}

// noteBack notes when an outage has ended, and forgets those for which no late news come any more.
func (b *Breaker) noteBack(k key, now time.Time) {
	for old, at := range b.back {
		if now.Sub(at) > stale {
			delete(b.back, old)
		}
	}
	if b.back == nil {
		b.back = map[key]time.Time{}
	}
	if len(b.back) < maxCircuits {
		b.back[k] = now
	}
}

// tell tells the others, if there are any.
func (ci *circuit) tell(says what, now time.Time) {
	if ci.breaker.fleet != nil {
		ci.breaker.put(ci.news(says, now), now)
	}
}

// put tells the others.
func (b *Breaker) put(n news, now time.Time) {
	if value, err := clock.Relative(n, now); err == nil { // a fault is always written
		b.fleet.Put(n.Circuit.key(), value)
	}
}

// news returns the state of the circuit for the others.
func (ci *circuit) news(says what, now time.Time) news {
	n := news{Circuit: ci.name(), What: says, Probes: ci.failedProbes, Waiting: ci.waiting()}
	if ci.faults > 0 {
		n.Age = now.Sub(ci.firstFault)
	}
	if ci.outageFrom != 0 {
		n.Begun = ci.outageFrom.age(now)
	}
	if ci.open && ci.coolsDown(now) {
		n.Wait = ci.cooldown.Sub(now.Round(0))
	}
	if ci.latest != nil {
		n.Fault = ci.sharedFault(now).Shared(0)
	}
	return n
}

// name returns the circuit's name.
func (k key) name() circuitName { return circuitName{levelNames[k.level], k.Model, k.Credential} }

// waiting counts the calls that wait for the end of the outage.
func (ci *circuit) waiting() int { return ci.sleeping.n + ci.awaitingProbe.n + ci.starting.n }
