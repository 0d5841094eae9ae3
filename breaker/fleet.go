package breaker

import (
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// Fleet is what a breaker has in common with those of the same upstream in other processes. Each decides by itself, with
// what it has heard; nothing is asked before a call goes. The methods are called with the breaker's lock held, and only
// where an outage changes or is known: they must neither block nor call the breaker.
type Fleet interface {
	// Tell replaces what the others know of a circuit here. They Hear it.
	Tell(News)
	// Place returns the place of this breaker, from 0, among those that have calls waiting in a circuit, and how many
	// calls wait in the others.
	Place(c Circuit) (index, of, waiting int)
	// Load returns what passes through all others together, and how many they are.
	Load() (all Load, others int)
}

// Load is what passes through a breaker.
type Load struct {
	Usual   float64 // calls a second, outside of outages
	Peak    float64 // calls in the busiest second of the outage that is on; 0: there is none
	Retries float64 // calls that wait for a retry token
}

// idle is the load of a breaker without calls: one with a call a second has nearly all of what ten have in common.
const idle = 0.1

// demand is by what breakers divide what they have in common.
func (l Load) demand() float64 { return l.Usual + l.Retries + idle }

// Load returns what passes through the breaker, to be told to the others.
func (b *Breaker) Load() Load {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.traffic.at != 0 {
		b.traffic.roll(b.now(), b.degraded > 0)
	}
	l := Load{Usual: b.traffic.usual(), Retries: float64(b.noToken.n)}
	if b.degraded > 0 {
		l.Peak = b.traffic.peak
	}
	b.load = l
	return l
}

// rates returns how many calls come in a second, here and at all breakers together: usually, or in the busiest second
// of the outage.
func (b *Breaker) rates() (own, all float64) {
	t := &b.traffic
	if b.fleet == nil {
		own = max(t.usual(), t.peak)
		return own, own
	}
	others, _ := b.fleet.Load()
	if usual, peak := t.usual()+others.Usual, t.peak+others.Peak; usual < peak {
		return t.peak, peak
	}
	return t.usual(), t.usual() + others.Usual
}

// Circuit names a circuit, the same in all breakers of an upstream.
type Circuit struct {
	Level string // as in [Outage]
	Scope
}

// News are what a breaker tells the others of a circuit. Durations count from when it does.
type News struct {
	Circuit
	What    string        // has happened; "": nothing is known of it any more, as its replica has gone
	Age     time.Duration // since the first fault of the outage
	Begun   time.Duration // since the try began that was answered, of "back"; else the first of those which were all refused; 0: that is not known
	Wait    time.Duration // what is left of the cooldown that the upstream has asked for
	Probes  int           // that have failed
	Waiting int           // calls that wait at the sender
	Fault   *fault.Error  // the latest, without what may quote a request; nil: none
}

// What the News say.
const (
	newsProbing = "probing" // a probe is in progress
	newsFailed  = "failed"  // the circuit has opened, a probe has failed, or the upstream has asked for a cooldown
	newsKnown   = "known"   // the circuit is open: repeated, for those which have missed it
	newsBack    = "back"    // the upstream has answered, and the circuit is closed
	newsSlowed  = "slowed"  // the slow start has met a fault
	newsAnswers = "answers" // the upstream answers the sender, which has heard of an outage
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
)

// Join has the breaker act as one with the others of a fleet. Call it before the first Caller.
func (b *Breaker) Join(f Fleet) { b.fleet = f }

// Leave detaches the breaker from the others. It keeps what it has heard so far.
func (b *Breaker) Leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fleet, b.back = nil, nil
	now := b.now()
	for _, ci := range b.all() {
		ci.endOthersProbe(ci.otherProbe, now)
	}
}

// Known returns the news about all circuits that are open.
func (b *Breaker) Known() (all []News) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	for _, ci := range b.all() {
		if ci.open && len(all) < mostKnown {
			all = append(all, ci.news(newsKnown, now))
		}
	}
	return all
}

// Hear takes in the news of another replica.
func (b *Breaker) Hear(from string, n News) {
	l := slices.Index(levelNames[:], n.Level)
	if l < 0 {
		return
	}
	k := key{level(l), n.Scope}
	b.mu.Lock()
	defer b.mu.Unlock()
	now, ci := b.now(), b.circuits[k]
	switch {
	case n.What == newsFailed || n.What == newsKnown:
		b.hearOutage(from, n, k, now)
	case n.What == newsBack:
		b.hearBack(ci, n, k, now)
	case ci == nil:
	case n.What == "":
		ci.endOthersProbe(from, now)
	case n.What == newsProbing:
		ci.hearProbe(from, n, now)
	case n.What == newsSlowed:
		ci.slowStart.slowDown()
	case n.What == newsAnswers:
		ci.hearAnswer(now)
	}
}

// hearBack takes in that another's try was answered, unless it began before those which are all refused.
func (b *Breaker) hearBack(ci *circuit, n News, k key, now time.Time) {
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
func (b *Breaker) hearOutage(from string, n News, k key, now time.Time) {
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
	if n.What == newsFailed {
		ci.othersProbeFailed(from, now)
	}
	ci.advance(now)
}

// adopt notes what another breaker knows of an outage. open is whether it was known here.
func (ci *circuit) adopt(n News, open bool, now time.Time) {
	if began := now.Add(-n.Age); ci.faults == 0 || began.Before(ci.firstFault) {
		ci.firstFault = began
	}
	if !open {
		ci.ofHost = levelOf(n.Fault) == host
	}
	if !open || n.What == newsFailed {
		ci.latest, ci.resetAt, ci.changed = n.Fault, now.Add(n.Fault.RetryAfter(now)).Round(0), now
	}
	ci.faults, ci.failedProbes, ci.several = max(1, ci.faults), max(ci.failedProbes, n.Probes), true
	ci.suspected = time.Time{}
	ci.adoptCertainty(n, now)
}

// adoptCertainty notes since when all of another's tries have been refused, if it knows.
func (ci *circuit) adoptCertainty(n News, now time.Time) {
	if n.Begun > 0 && ci.outageFrom == 0 {
		ci.outageFrom = momentOf(now.Add(-n.Begun))
	}
}

// hearProbe has the calls here wait for another's probe. That it has failed may have been heard before.
func (ci *circuit) hearProbe(from string, n News, now time.Time) {
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
		ci.tell(newsAnswers, now)
	}
}

// tellBack announces the end of the outage, which the answer to a try has shown.
func (ci *circuit) tellBack(began moment, now time.Time) {
	if f := ci.breaker.fleet; f != nil {
		ci.breaker.noteBack(ci.key, now)
		n := ci.news(newsBack, now)
		n.Begun = began.age(now)
		f.Tell(n)
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
func (ci *circuit) tell(what string, now time.Time) {
	if f := ci.breaker.fleet; f != nil {
		f.Tell(ci.news(what, now))
	}
}

// news returns the state of the circuit for the others.
func (ci *circuit) news(what string, now time.Time) News {
	n := News{Circuit: ci.name(), What: what, Probes: ci.failedProbes, Waiting: ci.waiting()}
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
func (k key) name() Circuit { return Circuit{levelNames[k.level], k.Scope} }

// waiting counts the calls that wait for the end of the outage.
func (ci *circuit) waiting() int { return ci.sleeping.n + ci.awaitingProbe.n + ci.starting.n }

// turn is by how much a probe from here is later than one of the breaker whose turn it is. After each probe the order in
// which they probe is another.
func (ci *circuit) turn() time.Duration {
	if ci.breaker.fleet == nil {
		return 0
	}
	index, of, _ := ci.breaker.fleet.Place(ci.name())
	if of < 2 {
		return 0
	}
	return turnTime * time.Duration(((index-ci.failedProbes)%of+of)%of)
}

// share returns this breaker's share of all calls that wait in the circuit, of which waiting wait here.
func (ci *circuit) share(waiting int) float64 {
	if ci.breaker.fleet == nil || waiting == 0 {
		return 1
	}
	_, _, others := ci.breaker.fleet.Place(ci.name())
	return float64(waiting) / float64(waiting+others)
}

// part is this breaker's part of what all of them may do, by the load that the others know too.
func (b *Breaker) part() float64 {
	if b.fleet == nil {
		return 1
	}
	all, others := b.fleet.Load()
	own := b.load.demand()
	return own / (own + all.Usual + all.Retries + float64(others)*idle)
}
