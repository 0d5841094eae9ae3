package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/internal/dialect"
)

// awayRequests are the requests that other gateways of the fleet hold, or have sent away or given up a moment ago.
type awayRequests struct {
	n atomic.Int64 // so that nothing is locked while there is none

	mu      sync.Mutex
	all     map[string]map[string]*awayRequest // by scope and key
	members []string
}

// awayRequest is one of them.
type awayRequest struct {
	failedRequest
	from  string
	state heldState
	heard time.Time
}

// maxAway is how many are known.
const maxAway = 32 << 10

// heldTry is how long a request that is held elsewhere may be in its next try, of which nothing is told.
const heldTry = 10 * time.Minute

// Hear takes in what another gateway of the fleet tells.
func (g *Gateway) Hear(entry []byte) {
	var e heldEntry
	setup := g.setup.Load()
	if setup.fleet == nil || json.Unmarshal(entry, &e) != nil || e.From == setup.fleet.Replica || len(e.Key) != keyLength {
		return
	}
	now := time.Now()
	a := &awayRequest{failedRequest: e.request(now), from: e.From, state: e.State, heard: now}
	if a.state == heldThere {
		a.until = a.until.Add(heldTry)
	}
	if g.away.put(a, now); a.state == overThere {
		g.coalescer.dropKept(e.Key)
	}
}

// put notes what was heard of a request.
func (w *awayRequests) put(a *awayRequest, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.remove(a.fleetKey)
	if a.state == overThere || a.last.Fault == nil && !a.state.isAnswered() || !a.until.After(now) {
		return
	}
	if w.n.Load() >= maxAway {
		w.dropExpired(now)
	}
	if w.n.Load() >= maxAway {
		return
	}
	scope := a.fleetKey[:scopeLength]
	if w.all == nil {
		w.all = map[string]map[string]*awayRequest{}
	}
	if w.all[scope] == nil {
		w.all[scope] = map[string]*awayRequest{}
	}
	w.all[scope][a.fleetKey] = a
	w.n.Add(1)
}

// remove forgets a request. mu is held.
func (w *awayRequests) remove(key string) {
	scope := key[:scopeLength]
	if _, known := w.all[scope][key]; !known {
		return
	}
	w.n.Add(-1)
	delete(w.all[scope], key)
	if len(w.all[scope]) == 0 {
		delete(w.all, scope)
	}
}

// dropExpired forgets the requests whose time is over. mu is held.
func (w *awayRequests) dropExpired(now time.Time) {
	for _, of := range w.all {
		for key, a := range of {
			if !a.until.After(now) {
				w.remove(key)
			}
		}
	}
}

// knows reports whether there are requests with a scope.
func (w *awayRequests) knows(scope string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.all[scope]) > 0
}

// take takes out a request that has come back; nil: none is known. One whose client still waits elsewhere comes back
// only if its client says so: it may not have noticed that its connection is lost.
func (w *awayRequests) take(key string, again bool, now time.Time) *awayRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.all[key[:scopeLength]][key]
	switch {
	case a == nil || a.state.isAnswered() || !a.until.After(now):
		return nil
	case a.state == heldThere && !again && slices.Contains(w.members, a.from):
		return nil
	}
	w.remove(key)
	if a.state == heldThere {
		a.stayed += now.Sub(a.heard)
		a.until = now.Add(rememberFor)
	}
	return a
}

// isNewer reports whether another gateway has told of a request after a time: its client is there.
func (w *awayRequests) isNewer(key string, than time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.all[key[:scopeLength]][key]
	return a != nil && a.heard.After(than)
}

// adopt makes a request that another gateway has held one that this one has left or given up, if the call is the
// same, sent again.
func (g *Gateway) adopt(c *call) {
	if g.away.n.Load() == 0 || !g.away.knows(c.scope()) {
		return
	}
	key, m := c.fleetKey(), c.meaning()
	if key == "" || m == nil {
		return
	}
	a := g.away.take(key, c.isResend() || c.info.Session != "", time.Now())
	if a == nil {
		return
	}
	f := a.failedRequest
	f.requestKey, f.meaning, f.upstream = c.key(), *m, c.upstream
	g.coalescer.add(f, time.Now())
}

// The lengths of a request's key in the fleet, and of the part of it that is found without its body.
const (
	scopeLength = 2 * 16
	keyLength   = 2 * scopeLength
)

// scope identifies who sends the call, and where: what is known without its body.
func (c *call) scope() string {
	h := sha256.New()
	c.addSender(h)
	return hex.EncodeToString(h.Sum(nil)[:scopeLength/2])
}

// addSender adds who sends the call, and where.
func (c *call) addSender(h hash.Hash) {
	add := func(text string) { _, _ = fmt.Fprintf(h, "%d %s", len(text), text) } // it never fails
	for _, text := range []string{c.dialect.Name(), c.r.RequestURI, c.info.Session, c.parsed.Model, c.tenantName()} {
		add(text)
	}
	for _, name := range credentialHeaders {
		for _, v := range c.r.Header[name] {
			if name == authorization && strings.HasPrefix(v, "AWS4-") {
				v, _, _ = strings.Cut(v, "/") // behind the key's id, each signature differs
			}
			add(v)
		}
		add("")
	}
}

// fleetKey identifies the call in the fleet: with the credentials in it, so that nothing can be guessed from it; "":
// its body is gone.
func (c *call) fleetKey() string {
	if c.keyInFleet == "" {
		c.identify()
	}
	return c.keyInFleet
}

// identify sets what identifies the call in the fleet, unless its body is gone.
func (c *call) identify() {
	body, ok := c.digest(dialect.DigestSeed{})
	if !ok {
		return
	}
	scope, h := c.scope(), sha256.New()
	_, _ = fmt.Fprint(h, scope, body, c.parsed.Form) // it never fails
	for _, name := range meaningHeaders {
		_, _ = fmt.Fprintf(h, "%q", c.r.Header[name])
	}
	c.keyInFleet = scope + hex.EncodeToString(h.Sum(nil)[:scopeLength/2])
	c.addSender(h) // the credentials themselves: the key is told, and this cannot be had from it
	c.secretInFleet = [sha256.Size]byte(h.Sum(nil))
}

// tell tells the fleet of a request.
func (g *Gateway) tell(f *failedRequest, state heldState, now time.Time) {
	fleet := g.setup.Load().fleet
	if fleet == nil || f.fleetKey == "" {
		return
	}
	e := heldEntry{Key: f.fleetKey, State: state}
	if state != overThere {
		e = f.entry(state, now)
	}
	e.From = fleet.Replica
	entry, err := json.Marshal(e)
	if err == nil {
		fleet.Tell(entry)
	}
}

// tellHeld tells the fleet that the request waits.
func (s *sharedRequest) tellHeld() {
	c := s.leader
	if s.setup.fleet == nil {
		return
	}
	now := time.Now()
	f := s.outcomeAt(now)
	if f.fleetKey = c.fleetKey(); f.fleetKey == "" {
		return
	}
	s.mu.Lock()
	s.held = &f
	s.mu.Unlock()
	s.toldAt = now
	s.Gateway.tell(&f, heldThere, now)
}

// tellEnd tells the fleet what has become of a request that it knows: f, or that it is over if f is nil.
func (s *sharedRequest) tellEnd(f *failedRequest) {
	key := s.leader.keyInFleet
	if key == "" {
		return
	}
	s.mu.Lock()
	s.held = nil
	s.mu.Unlock()
	switch {
	case s.away.isNewer(key, s.toldAt): // it goes on there
	case f == nil:
		s.Gateway.tell(&failedRequest{fleetKey: key}, overThere, time.Now())
	default:
		s.Gateway.tell(f, f.state(), time.Now())
	}
}

// state returns what has become of the request.
func (f *failedRequest) state() heldState {
	if f.gaveUp() {
		return failed
	}
	return leftThere
}

// SetMembers notes which gateways of the fleet live, by their Replica. The clients of one that is gone come back, and
// to a new one everything is told that is held here.
func (g *Gateway) SetMembers(ids []string) {
	g.away.mu.Lock()
	before := g.away.members
	g.away.members = slices.Clone(ids)
	g.away.mu.Unlock()
	if slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(before, id) }) {
		g.tellAll(time.Now())
	}
}

// tellAll tells the fleet of all that is held here, and of what has just been left or given up.
func (g *Gateway) tellAll(now time.Time) {
	co := &g.coalescer
	co.mu.Lock()
	active := co.inProgress()
	co.dropExpired(now)
	ended, kept := slices.Clone(co.failed), slices.Clone(co.kept)
	co.mu.Unlock()
	for _, s := range active {
		s.mu.Lock()
		f := s.held
		s.mu.Unlock()
		if f != nil {
			g.tell(f, heldThere, now)
		}
	}
	for i := range ended {
		g.tell(&ended[i], ended[i].state(), now)
	}
	for _, k := range kept {
		g.tellKept(k, now)
	}
}
