package gateway

import (
	"slices"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
)

// outcomeTable knows what has become of each request, so that one that is sent again is recognised. The re-send
// joins a request in progress, continues with the budget of the one that its client has left, is answered at once
// after one that was given up, and is given the answer that its client has not stayed for. What is known of a
// request at another gateway is put in here when it comes back, see [Gateway.adopt] and [call.keptElsewhere].
type outcomeTable struct {
	mu    sync.Mutex
	last  map[uint64]*entry // the youngest of each account, which leads to the older ones
	ended int               // how many of them only wait to be forgotten
}

// maxEnded is how many requests are remembered that have ended. One more takes the place of that which is forgotten
// first.
const maxEnded = 1024

// entry is one request in the table, in one of its states: in progress, left or given up, answered for a client
// that has left. An answer in progress is in it twice, as its request is not over.
type entry struct {
	requestKey
	meaning meaning // of one that is not in progress

	running *sharedRequest // in progress, until its answer is over
	failed  *failedRequest // without an answer
	kept    *keptAnswer    // with one

	digest         uint64 // of its account
	older, younger *entry // of the same account
	until          time.Time
	forget         *time.Timer // then; nil: it goes on
}

// add puts an entry into the table.
func (t *outcomeTable) add(e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.link(e)
}

// link is add. mu is held.
func (t *outcomeTable) link(e *entry) {
	if t.last == nil {
		t.last = make(map[uint64]*entry)
	}
	if e.older = t.last[e.digest]; e.older != nil {
		e.older.younger = e
	}
	t.last[e.digest] = e
}

// expire notes that the request of an entry has ended, and is forgotten after a time.
func (t *outcomeTable) expire(e *entry, ttl time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.has(e) {
		t.end(e, ttl)
	}
}

// end is expire. mu is held.
func (t *outcomeTable) end(e *entry, ttl time.Duration) {
	e.until = time.Now().Add(ttl)
	e.forget = time.AfterFunc(ttl, func() { t.dropAt(e, time.Now()) })
	if t.ended++; t.ended > maxEnded {
		t.evict()
	}
}

// evict forgets the entry that would be forgotten first. mu is held.
func (t *outcomeTable) evict() {
	var first *entry
	for e := range t.all {
		if e.forget != nil && (first == nil || e.until.Before(first.until)) {
			first = e
		}
	}
	t.remove(first)
}

// drop forgets an entry.
func (t *outcomeTable) drop(e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remove(e)
}

// dropAt forgets an entry whose time is over: it may have got more since.
func (t *outcomeTable) dropAt(e *entry, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !e.until.After(now) {
		t.remove(e)
	}
}

// has reports whether an entry is in the table. mu is held.
func (t *outcomeTable) has(e *entry) bool { return e.younger != nil || t.last[e.digest] == e }

// remove forgets an entry. mu is held.
func (t *outcomeTable) remove(e *entry) {
	switch {
	case !t.has(e):
		return
	case e.younger != nil:
		e.younger.older = e.older
	case e.older != nil:
		t.last[e.digest] = e.older
	default:
		delete(t.last, e.digest)
	}
	if e.older != nil {
		e.older.younger = e.younger
	}
	e.older, e.younger = nil, nil
	if e.forget != nil {
		e.forget.Stop()
		t.ended--
	}
	if e.kept != nil {
		e.kept.drop()
	}
}

// all yields the entries. mu is held.
func (t *outcomeTable) all(yield func(*entry) bool) {
	for _, e := range t.last {
		for ; e != nil; e = e.older {
			if !yield(e) {
				return
			}
		}
	}
}

// of returns the entries of a call's account for which a filter holds, the youngest first. mu is held.
func (t *outcomeTable) of(c *call, holds func(*entry) bool) (all []*entry) {
	for e := t.last[c.newEntry().digest]; e != nil; e = e.older {
		if holds(e) {
			all = append(all, e)
		}
	}
	return all
}

// runningFor returns the shared requests in progress with the call's key, the oldest first.
func (t *outcomeTable) runningFor(c *call) []*entry {
	key := c.key()
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.of(c, func(e *entry) bool { return e.running != nil && e.requestKey == key })
	slices.Reverse(all)
	return all
}

// running returns all shared requests whose answers are not over.
func (t *outcomeTable) running() (all []*sharedRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for e := range t.all {
		if e.running != nil {
			all = append(all, e.running)
		}
	}
	return all
}

// keptFor returns the answer to the same request, whose client has left, to be read by the call; nil: none is kept.
func (t *outcomeTable) keptFor(c *call) *keptAnswer {
	key := c.key()
	t.mu.Lock()
	all := t.of(c, func(e *entry) bool { return e.kept != nil && e.requestKey == key })
	t.mu.Unlock()
	for _, e := range all {
		if m := c.meaning(); m != nil && *m == e.meaning && e.kept.hasLeft(c) && e.kept.beginReading() {
			return e.kept
		}
	}
	return nil
}

// keptAs returns the whole answers that the fleet knows by a key.
func (t *outcomeTable) keptAs(key string) (all []*entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for e := range t.all {
		if e.kept != nil && e.kept.inFleet.key == key && e.kept.hasEnded() {
			all = append(all, e)
		}
	}
	return all
}

// failedFor returns the outcome of the same request a moment ago; nil: none is known. The next request of a session
// counts as the same for a while.
func (t *outcomeTable) failedFor(c *call) *failedRequest {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended == 0 {
		return nil
	}
	key := c.key()
	all := t.of(c, func(e *entry) bool { return e.failed != nil })
	if slices.ContainsFunc(all, func(e *entry) bool { return e.requestKey == key }) {
		t.mu.Unlock()
		c.meaning() // without the lock: the body may be large
		t.mu.Lock()
	}
	now := time.Now()
	for _, e := range all {
		if f := e.failed; t.has(e) && e.until.After(now) && t.finds(e, c, key, now) {
			found := *f
			f.silence = 0 // the call has it
			if f.probes {
				f.at = now
			}
			return &found
		}
	}
	return nil
}

// finds reports whether a failed request is that of a call, or precedes it. mu is held.
func (t *outcomeTable) finds(e *entry, c *call, key requestKey, now time.Time) bool {
	f := e.failed
	m := c.meant.Load()
	same := e.requestKey == key && m != nil && *m == e.meaning && f.stillHolds(c)
	if same && f.gaveUp() {
		e.until = earlier(now.Add(rememberFor), f.latest)
		e.forget.Reset(e.until.Sub(now))
	}
	f.probes = same && f.isProbeDue(now)
	return same || e.session != "" && e.account == key.account && f.gaveUp() && now.Before(f.at.Add(rememberFor)) && f.stillHolds(c)
}

// addFailed remembers a request that found no answer, in place of the same one before. The last refusal of that
// stays as late as it was.
func (t *outcomeTable) addFailed(e entry, f failedRequest, now time.Time) {
	e.failed = &f
	t.mu.Lock()
	defer t.mu.Unlock()
	for old := t.last[e.digest]; old != nil; {
		before := old
		old = old.older
		if before.failed == nil || before.requestKey != e.requestKey || before.meaning != e.meaning {
			continue
		}
		if latest := before.failed.latest; f.gaveUp() && latest.After(f.latest) {
			f.latest = latest
			f.until = earlier(f.at.Add(rememberFor), latest)
		}
		t.remove(before)
	}
	t.link(&e)
	t.end(&e, f.until.Sub(now))
}

// How long a failed request is remembered after it was given up or sent again, and the bounds of how long in all,
// which is otherwise as long as it was held. Agents that ignore X-Should-Retry send a
// request again until their own retries are used up (Claude Code eleven times, Codex thirty). All of these get the
// same answer, and its short Retry-After brings them there soon. Measured with both.
const (
	rememberFor     = 75 * time.Second
	rememberAtLeast = 5 * time.Second
	rememberAtMost  = 15 * time.Minute
	probeAfter      = 30 * time.Second // since the last try: a re-send is tried once more
	resendAfter     = "5"              // seconds
)

// failedRequest is a request that found no answer.
type failedRequest struct {
	at       time.Time
	until    time.Time // it is remembered
	latest   time.Time // end of that, however often it is sent again: no longer than its run was patient
	upstream *upstream
	last     policy.Wait   // without a Stop if the client has left
	stayed   time.Duration // from its arrival
	silence  time.Duration // of the try that the client has left, until the request is sent again
	fleetKey string        // identifies it in the fleet; "": it is not known there
	probes   bool          // the call that it was found for is to be tried once more
}

// remember keeps the outcome of a shared request that found no answer, and returns it; nil: the request cannot be
// known again.
func (s *sharedRequest) remember() *failedRequest {
	meaning, now := s.leader.meaning(), time.Now()
	if meaning == nil {
		return nil
	}
	f := s.outcomeAt(now)
	f.fleetKey = s.leader.inFleet.key
	e := s.leader.newEntry()
	e.meaning = *meaning
	s.outcomes.addFailed(e, f, now)
	return &f
}

// outcomeAt returns the request so far as one that has found no answer, without its meaning.
func (s *sharedRequest) outcomeAt(now time.Time) failedRequest {
	c := s.leader
	f := failedRequest{
		at: now, until: now.Add(rememberFor),
		upstream: c.upstream, last: s.last, stayed: now.Sub(c.info.Began), silence: s.silence,
	}
	switch {
	case f.gaveUp():
		f.latest = now.Add(min(max(rememberAtLeast, f.stayed), rememberAtMost))
		f.until = earlier(f.until, f.latest)
	case s.at != s.failover.origin:
		f.last.Due, f.silence = time.Time{}, 0 // of a wait or a try at a fallback
	case f.last.Due.After(now):
		f.until = f.last.Due.Add(rememberFor)
	}
	return f
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// gaveUp reports whether the request was given up; else its client has left.
func (f *failedRequest) gaveUp() bool { return f.last.Verdict.Stop != "" }

// isProbeDue reports whether the request, sent again, is to be tried once more: it may be the only one that could
// notice that the upstream is back. A silent upstream would hold it, and a command is the operator's.
func (f *failedRequest) isProbeDue(now time.Time) bool {
	stop := f.last.Verdict.Stop
	return (stop == policy.Exhausted || stop == policy.OverBudget) && f.last.Fault.Kind != fault.Timeout && now.Sub(f.at) >= probeAfter
}

// hasAnswered reports whether the upstream has answered a request since.
func (f *failedRequest) hasAnswered() bool { return f.upstream.breaker.State().LastSuccess.After(f.at) }

// stillHolds reports whether the outcome still says something about a call of the same account: the upstream has
// answered no request since.
func (f *failedRequest) stillHolds(c *call) bool {
	return f.upstream.breaker == c.upstream.breaker && !(f.gaveUp() && f.hasAnswered())
}

// worthRemembering reports whether the outcome answers a re-send. A final fault
// does not: the provider may be asked again.
func (s *sharedRequest) worthRemembering() bool {
	switch stop := s.last.Verdict.Stop; {
	case stop == policy.Final, stop == policy.Committed, stop == policy.OverBudget && s.bounded():
		return false
	case stop == policy.GivenUp:
		return s.last.Fault != nil
	}
	return s.silence >= commitAfter || s.last.Fault != nil && (s.last.Verdict.Stop == "" || s.last.Run.Tries > 1)
}
