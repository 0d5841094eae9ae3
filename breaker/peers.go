package breaker

import (
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// Peers are the breakers of the same upstream in other processes, the replicas of a fleet. Each breaker decides by
// itself, with what it has heard; nothing is asked before a call goes. The methods are called with the breaker's
// lock held, and only where an outage changes or is known: they must neither block nor call the breaker.
type Peers interface {
	// Tell sends news to the other breakers, which Hear them.
	Tell(News)
	// Turn returns the place of this breaker in the order in which they probe a circuit: 0 is the first. After each
	// probe the order is another.
	Turn(c Circuit, probes int) int
	// Share returns which share of all calls that wait in a circuit wait here, where so many do.
	Share(c Circuit, waiting int) float64
	// Part returns this breaker's part of what all of them have in common, by what passes through each: up to 1.
	Part() float64
	// Others returns what passes through all others together.
	Others() Load
}

// Load is what passes through a breaker.
type Load struct {
	Usual   float64 // calls a second, outside of outages
	Peak    float64 // calls in the busiest second of the outage that is on; 0: there is none
	Retries float64 // calls that wait for a retry token
}

// Load returns what passes through the breaker.
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
	return l
}

// rates returns how many calls come in a second, here and at all breakers together: usually, or in the busiest second
// of the outage.
func (b *Breaker) rates() (own, all float64) {
	t := &b.traffic
	if b.peers == nil {
		own = max(t.usual(), t.peak)
		return own, own
	}
	others := b.peers.Others()
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

// News are what a breaker tells its peers. No instant is among them, since clocks differ.
type News struct {
	Circuit
	What    What
	Age     time.Duration // since the first fault of the outage
	Begun   time.Duration // since the try began that was answered, of Back; else the first of those which were all refused; 0: that is not known
	Wait    time.Duration // what is left of the cooldown that the upstream has asked for
	Probes  int           // that have failed
	Waiting int           // calls that wait at the sender
	Fault   *fault.Error  // the latest, without what may quote a request; nil: none
}

// What says what the News are.
type What string

// The News.
const (
	Probing What = "probing" // a probe is in progress
	Failed  What = "failed"  // the circuit has opened, a probe has failed, or the upstream has asked for a cooldown
	Known   What = "known"   // the circuit is open: repeated, for those which have missed it
	Back    What = "back"    // the upstream has answered, and the circuit is closed
	Slowed  What = "slowed"  // the slow start has met a fault
	Answers What = "answers" // the upstream answers the sender, which has heard of an outage
)

// SharedRule is the Rule of a fault that a peer has met and told of.
const SharedRule = "fleet/shared"

const (
	turnTime  = 250 * time.Millisecond // by which a probe is later than that of the one before in turn
	lately    = 5 * time.Second        // an answer that is no older contradicts another's outage
	suspicion = time.Minute            // for so long one fault suffices after a peer has told of an outage
	hintGap   = 10 * time.Second       // between two answers that are told of, and two probes because of that
	stale     = 10 * time.Second       // news of an outage that has ended may come for so long
	mostKnown = 64                     // circuits that are told of at once
)

// Join has the breaker act as one with its peers. Call it before the first Caller.
func (b *Breaker) Join(p Peers) { b.peers = p }

// Leave has the breaker go on by itself, with what it has heard so far.
func (b *Breaker) Leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.peers, b.back = nil, nil
	now := b.now()
	for _, ci := range b.all() {
		ci.peerProbe = ""
		ci.advance(now)
	}
}

// Known returns the news about all circuits that are open.
func (b *Breaker) Known() (all []News) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	for _, ci := range b.all() {
		if ci.open && len(all) < mostKnown {
			all = append(all, ci.news(Known, now))
		}
	}
	return all
}

// Hear takes in the news of a peer.
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
	case n.What == Failed || n.What == Known:
		b.hearOutage(from, n, k, now)
	case n.What == Back:
		b.hearBack(ci, n, k, now)
	case ci == nil:
	case n.What == Probing:
		ci.hearProbe(from, n, now)
	case n.What == Slowed:
		ci.slowStart.slowDown()
	case n.What == Answers:
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

// PeerGone no longer waits for the probes of a peer that has gone.
func (b *Breaker) PeerGone(from string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	for _, ci := range b.all() {
		if ci.peerProbe == from {
			ci.peerProbe = ""
			ci.advance(now)
		}
	}
}

// hearOutage takes in that a circuit is open elsewhere. A breaker whose calls are answered goes on: it may be the
// other replica that has no network. But its own next fault opens the circuit.
func (b *Breaker) hearOutage(from string, n News, k key, now time.Time) {
	if back, ended := b.back[k]; n.Fault == nil || ended && now.Add(-n.Age).Before(back) {
		return // its sender has not heard of the end
	}
	ci := b.circuit(k, now)
	if !ci.open && n.Wait == 0 && now.Sub(ci.answered) < lately {
		ci.tellAnswers(now)
		ci.forget()
		return
	}
	if !ci.open && n.Wait == 0 && now.Sub(b.answered) < lately {
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
	if n.What == Failed {
		ci.peerProbeFailed(from, now)
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
	if !open || n.What == Failed {
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
	ci.peerProbe, ci.probedAt, ci.probeFailed, ci.probeAtOnce = from, now, false, false
	ci.setTimer(now)
}

// peerProbeFailed shares the fault of another's probe with the calls that wait for the outcome.
func (ci *circuit) peerProbeFailed(from string, now time.Time) {
	switch {
	case ci.probe != nil: // its outcome is waited for
		return
	case ci.peerProbe == from:
		ci.peerProbe = ""
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

// tellAnswers tells those which have told of an outage that the upstream answers.
func (ci *circuit) tellAnswers(now time.Time) {
	ci.suspected = time.Time{}
	if now.Sub(ci.hintedAt) >= hintGap {
		ci.hintedAt = now
		ci.tell(Answers, now)
	}
}

// tellBack tells of the end of the outage, which the answer to a try has shown.
func (ci *circuit) tellBack(began moment, now time.Time) {
	if p := ci.breaker.peers; p != nil {
		ci.breaker.noteBack(ci.key, now)
		n := ci.news(Back, now)
		n.Begun = began.age(now)
		p.Tell(n)
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

// tell tells the peers, if there are any.
func (ci *circuit) tell(what What, now time.Time) {
	if p := ci.breaker.peers; p != nil {
		p.Tell(ci.news(what, now))
	}
}

// news returns what there is to tell of the circuit.
func (ci *circuit) news(what What, now time.Time) News {
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
		n.Fault = ci.sharedFault(now).WithoutMessage()
	}
	return n
}

// name returns the circuit's name.
func (k key) name() Circuit { return Circuit{levelNames[k.level], k.Scope} }

// waiting counts the calls that wait for the end of the outage.
func (ci *circuit) waiting() int { return ci.sleeping.n + ci.awaitingProbe.n + ci.starting.n }

// turn is by how much a probe from here is later than one of the breaker whose turn it is.
func (ci *circuit) turn() time.Duration {
	if ci.breaker.peers == nil {
		return 0
	}
	return turnTime * time.Duration(ci.breaker.peers.Turn(ci.name(), ci.failedProbes))
}

// share returns which share of all calls that wait in the circuit wait here, where so many do.
func (ci *circuit) share(waiting int) float64 {
	if ci.breaker.peers == nil || waiting == 0 {
		return 1
	}
	return ci.breaker.peers.Share(ci.name(), waiting)
}

// part is this breaker's part of what all of them may do.
func (b *Breaker) part() float64 {
	if b.peers == nil {
		return 1
	}
	return b.peers.Part()
}
