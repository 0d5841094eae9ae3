package ratelimit

import (
	"math"
	"time"

	"github.com/ridethrough/ridethrough/internal/clock"
)

// Fleet connects a table with those of other processes whose requests count for the same limits. It must neither block
// nor call the table.
type Fleet interface {
	// Put replaces what the other tables know of this one by a key of an upstream. They Hear it.
	Put(k Key, value []byte)
}

// news is what a table tells the others about a key. It sends nothing while more than half of each limit is left.
type news struct {
	Limits  []knownLimit // those that hold requests back, as they are known
	Spent   amount       // let go since the last news
	Demand  amount       // let go of late, and waiting: by that the limits are divided; zero: nothing is known any more
	Refused bool         // a limit that no answer states is lower than it seemed
}

// knownLimit is a limit as it is known now. It was seen when an answer has stated it.
type knownLimit struct {
	Limit
	AtOnce bool // it comes back all at once at its reset
}

// amount is what requests cost: how many they are, and their tokens.
type amount struct{ Requests, Input, Output float64 }

func (a *amount) add(b amount) {
	a.Requests += b.Requests
	a.Input += b.Input
	a.Output += b.Output
}

// of returns the amount in a unit.
func (a amount) of(u Unit) float64 {
	switch u {
	case Requests:
		return a.Requests
	case InputTokens:
		return a.Input
	case OutputTokens:
		return a.Output
	case Tokens:
		return a.Input + a.Output
	}
	return 0
}

// bounded returns the amount within what can be meant.
func (a amount) bounded() amount {
	within := func(x float64) float64 { return min(max(x, 0), most) }
	return amount{within(a.Requests), within(a.Input), within(a.Output)}
}

// times returns the amount times a number.
func (a amount) times(x float64) amount { return amount{a.Requests * x, a.Input * x, a.Output * x} }

// fading is an amount that counts the less the older it is.
type fading struct {
	amount
	at time.Time
}

func (f *fading) now(now time.Time) amount {
	return f.times(math.Exp(-now.Sub(f.at).Seconds() / fades.Seconds()))
}

// add adds an amount at a time.
func (f *fading) add(a amount, now time.Time) {
	f.amount, f.at = f.now(now), now
	f.amount.add(a)
}

// The rules of limits that several tables have in common.
const (
	telling = time.Second      // between two news of an upstream
	fades   = 20 * time.Second // a demand that was told so long ago counts for a third
	fresher = time.Second / 2  // by so much another's statement must be, to be taken in place of one's own
)

// common is what an entry knows of the same one in the fleet.
type common struct {
	key    Key
	sent   fading            // what has gone
	queued amount            // what waits
	unsaid fading            // what has gone since the others were told
	heard  map[string]fading // what each of them wants
	due    bool              // they are to be told
}

// demand is by what tables divide a limit.
func (e *entry) demand(now time.Time) amount {
	a := e.sent.now(now)
	a.add(e.queued)
	return a
}

// enqueue counts a call that begins to wait, and dequeue one that has ended to.
func (e *entry) enqueue(c *Call) { e.queued.add(c.cost) }

func (e *entry) dequeue(c *Call) {
	if e.queued.add(c.cost.times(-1)); e.n == 0 {
		e.queued = amount{} // not what rounding leaves
	}
}

// spend counts a call that goes. What went before a pause is in what answers have stated since.
func (e *entry) spend(c *Call, now time.Time) {
	e.dequeue(c)
	e.sent.add(c.cost, now)
	if now.Sub(e.unsaid.at) > 2*telling {
		e.unsaid.amount = amount{}
	}
	e.unsaid.amount.add(c.cost)
	e.unsaid.at = now
}

// link is what a table has of the fleet at an upstream.
type link struct {
	Fleet
	at    time.Time // when they were told last
	timer clock.Timer
	due   []*entry
}

// Join has the table's limits of an upstream be one with those of the others.
func (t *Table) Join(upstream string, f Fleet) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.links == nil {
		t.links = map[string]*link{}
	}
	t.links[upstream] = &link{Fleet: f}
}

// Leave is the reverse of Join. It does nothing once another fleet was joined in place of this.
func (t *Table) Leave(upstream string, f Fleet) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.links[upstream]
	if l == nil || l.Fleet != f {
		return
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	for _, e := range l.due {
		e.due = false
	}
	l.due = nil // its timer may have ended just now
	delete(t.links, upstream)
}

// near reports whether the others are to know: a limit is stated for which something waits, or of which less than half
// is left.
func (e *entry) near(now time.Time) bool {
	for i := range e.limits[:e.known] {
		if k := &e.limits[i]; k.rate > 0 && k.Name != learnedName && (e.n > 0 || k.leftAt(now) < k.limit/2) {
			return true
		}
	}
	return false
}

// tell sends an entry to the other gateways: at once if nothing was sent lately, or else with the entries that come
// until the next message is due. mu is held.
func (t *Table) tell(e *entry, now time.Time) {
	l := t.links[e.key.Upstream]
	if l == nil || e.due || e.unsaid.Requests == 0 && e.n == 0 || !e.near(now) {
		return
	}
	e.due = true
	l.due = append(l.due, e)
	if in := l.at.Add(telling).Sub(now); in > 0 {
		if l.timer == nil {
			l.timer = clock.Or(t.Clock).AfterFunc(in, func() { t.tellDue(l) })
		} else if len(l.due) == 1 {
			l.timer.Reset(in)
		}
		return
	}
	t.sendDue(l, now)
}

// tellDue tells the others what is due, and again while something waits.
func (t *Table) tellDue(l *link) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	sent := t.sendDue(l, now)
	for _, e := range sent {
		if e.n > 0 {
			t.tell(e, now)
		}
	}
}

// sendDue sends what is due. mu is held.
func (t *Table) sendDue(l *link, now time.Time) (sent []*entry) {
	sent, l.due, l.at = l.due, nil, now
	for _, e := range sent {
		e.due = false
		l.put(e.key, e.news(now), now)
	}
	return sent
}

// put tells the others of a key.
func (l *link) put(k Key, n news, now time.Time) {
	if value, err := clock.Relative(n, now); err == nil { // else an amount is no number
		l.Put(k, value)
	}
}

// news returns what there is to tell.
func (e *entry) news(now time.Time) news {
	n := news{Spent: e.unsaid.amount, Demand: e.demand(now)}
	e.unsaid.amount = amount{}
	for i := range e.limits[:e.known] {
		k := &e.limits[i]
		if k.rate == 0 || k.Name == learnedName || now.Sub(k.Seen) > outdated {
			continue
		}
		l := k.Limit
		l.Remaining = k.leftAt(now)
		l.Used = 1 - l.Remaining/l.Limit
		if l.Reset = k.reset; l.Reset.IsZero() {
			l.Reset = now.Add(time.Duration((k.limit - l.Remaining) / k.rate * float64(time.Second)))
		}
		n.Limits = append(n.Limits, knownLimit{l, !k.reset.IsZero()})
	}
	return n
}

// Hear takes in what another table has put some time ago; nil: that holds no longer.
func (t *Table) Hear(from string, k Key, value []byte, age time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	at := now.Add(-age)
	n, err := clock.Absolute[news](value, at)
	if t.links[k.Upstream] == nil || err != nil && value != nil {
		return
	}
	if n.Spent, n.Demand = n.Spent.bounded(), n.Demand.bounded(); age > 2*telling { // what it says has been spent is stated by now
		n.Spent, n.Refused = amount{}, false
	}
	e := t.entry(k)
	if n.Refused {
		e.learnLimit(0, now)
	} else {
		e.hear(from, n, at, now)
	}
	t.dispatch(e, now)
}

// hear takes in what another has sent and wants, and what its answers have stated.
func (e *entry) hear(from string, n news, at, now time.Time) {
	if e.heard == nil {
		e.heard = map[string]fading{}
	}
	if e.heard[from] = (fading{n.Demand, at}); n.Demand == (amount{}) {
		delete(e.heard, from)
	}
	for i := range e.limits[:e.known] {
		if k := &e.limits[i]; k.rate > 0 && k.Name != learnedName {
			k.elsewhere(n.Spent.of(k.Unit), now)
		}
	}
	for _, s := range n.Limits[:min(len(n.Limits), maxLimits)] {
		if s.Limit.Limit <= 0 || s.Limit.Limit > most || s.Name == learnedName {
			continue
		}
		s.Remaining, s.Used = min(max(s.Remaining, 0), s.Limit.Limit), min(max(s.Used, 0), 1)
		k := &e.limits[e.place(s.Name)]
		if k.rate > 0 && s.Seen.Sub(k.Seen) < fresher {
			continue
		}
		k.set(s.Limit)
		k.windowed.found = k.windowed.found || s.AtOnce
		s.Seen = now
		k.state(s.Limit, k.charged, time.Time{}, now)
		k.left = max(0, k.left-e.unsaid.of(s.Unit))
	}
	e.review()
}

// elsewhere charges what another has sent within the time between two news, as far as it is not in what was stated
// last.
func (b *bucket) elsewhere(cost float64, now time.Time) {
	if cost == 0 {
		return
	}
	if b.others == nil {
		b.others = new(history)
	}
	b.others.add(cost, now.Add(-telling/2))
	unstated := min(1, max(0, now.Sub(b.asOf).Seconds()/telling.Seconds()))
	b.take(cost*unstated, now)
}

// part returns which part of a limit is this table's; 1: no other wants some of it.
func (e *entry) part(u Unit, now time.Time) float64 {
	own, others := e.demand(now).of(u), 0.0
	for _, f := range e.heard {
		others += f.now(now).of(u)
	}
	if others == 0 {
		return 1
	}
	return max(own/(own+others), 0.01)
}
