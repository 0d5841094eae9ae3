package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/policy"
)

// awayRequest is a request that another gateway of the fleet holds, or has sent away, given up or answered a moment ago.
type awayRequest struct {
	failedRequest
	from  string
	state heldState
	heard time.Time
}

// heldTry bounds the next try of a request that another gateway holds, since tries are not reported to the fleet.
const heldTry = 10 * time.Minute

// elsewhere returns what another gateway has put of a request; nil: nothing that this one can read.
func (f *Fleet) elsewhere(key string, now time.Time) *awayRequest {
	o, at, known := f.Outcomes.Lookup(key)
	if !known || o.From == f.Replica {
		return nil
	}
	a := &awayRequest{failedRequest: o.request(key), from: o.From, state: o.State, heard: at}
	switch a.state {
	case heldThere:
		a.until = a.until.Add(heldTry)
	case leftThere, failed, keptThere, onlyThere:
	default:
		return nil
	}
	if a.last.Fault == nil && !a.state.isAnswered() || !a.until.After(now) {
		return nil
	}
	return a
}

// knows reports whether another gateway has put something of a request like the call, as far as that is seen without its
// body.
func (f *Fleet) knows(c *call) bool {
	return f.Outcomes.Knows("") && f.Outcomes.Knows(c.scope())
}

// comesBack returns a request that has come back; nil: none is known. One whose client still waits elsewhere comes back
// only if its client says so: it may not have noticed that its connection is lost.
func (f *Fleet) comesBack(key string, again bool, now time.Time) *awayRequest {
	a := f.elsewhere(key, now)
	switch {
	case a == nil || a.state.isAnswered():
		return nil
	case a.state != heldThere:
		return a
	case !again && f.Lives != nil && f.Lives(a.from):
		return nil
	}
	a.stayed += now.Sub(a.heard)
	a.until = now.Add(rememberFor)
	return a
}

// adopt makes a request that another gateway has held one that this one has left or given up, if the call is the
// same, sent again.
func (g *Gateway) adopt(c *call) {
	fleet, key, m, now := c.setup.fleet, c.fleetKey(), c.meaning(), time.Now()
	if key == "" || m == nil {
		return
	}
	a := fleet.comesBack(key, c.isResend() || c.info.Session != "", now)
	if a == nil {
		return
	}
	f := a.failedRequest
	f.upstream = c.upstream
	if fleet.Lives == nil {
		c.recall(f.last)
	}
	e := c.newEntry()
	e.meaning = *m
	g.outcomes.addFailed(e, f, now)
	fleet.put(&f, f.state(), now) // it is here now
}

// recall has the breaker count what the request met in an earlier process, with what is left of a wait that the upstream
// asked for.
func (in *intake) recall(w policy.Wait) {
	met := *w.Fault
	met.Wait, met.ResetAt = 0, time.Time{}
	if w.Verdict.Hinted {
		met.Wait = max(0, time.Until(w.Due))
	}
	if !met.GivenUp {
		in.upstream.breaker.Recall(breaker.Scope{Model: in.parsed.Model, Credential: in.credentialFor(in.upstream)}, &met)
	}
}

// scopeLength is the length of the part of a request's key in the fleet that is found without its body.
const scopeLength = 2 * 16

// scope identifies who sends the call, and where: what is known without its body.
func (in *intake) scope() string {
	h := sha256.New()
	in.addSender(h)
	return hex.EncodeToString(h.Sum(nil)[:scopeLength/2])
}

// addSender adds who sends the call, and where.
func (in *intake) addSender(h hash.Hash) {
	add := func(text string) { _, _ = fmt.Fprintf(h, "%d %s", len(text), text) } // it never fails
	for _, text := range []string{in.dialect.Name(), in.r.RequestURI, in.info.Session, in.parsed.Model, in.tenantName()} {
		add(text)
	}
	for _, name := range credentialHeaders {
		for _, v := range in.r.Header[name] {
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
func (in *intake) fleetKey() string {
	if in.inFleet.key == "" {
		in.identify()
	}
	return in.inFleet.key
}

// identify sets what identifies the call in the fleet, unless its body is gone.
func (in *intake) identify() {
	body, ok := in.digest(api.DigestSeed{})
	if !ok {
		return
	}
	scope, h := in.scope(), sha256.New()
	_, _ = fmt.Fprint(h, scope, body, in.parsed.Form) // it never fails
	for _, name := range meaningHeaders {
		_, _ = fmt.Fprintf(h, "%q", in.r.Header[name])
	}
	in.inFleet.key = scope + hex.EncodeToString(h.Sum(nil)[:scopeLength/2])
	in.addSender(h) // the credentials themselves: the key is told, and this cannot be had from it
	in.inFleet.secret = [sha256.Size]byte(h.Sum(nil))
}

// put sets the outcome of a request.
func (f *Fleet) put(r *failedRequest, state heldState, now time.Time) {
	if r.fleetKey == "" {
		return
	}
	ttl := r.until.Sub(now)
	if state == heldThere {
		ttl += heldTry
	}
	f.Outcomes.Put(r.fleetKey, r.outcome(f.Replica, state), ttl)
}

// tellHeld tells the fleet that the request waits.
func (s *sharedRequest) tellHeld() {
	now := time.Now()
	f := s.outcomeAt(now)
	f.fleetKey = s.leader.fleetKey()
	s.setup.fleet.put(&f, heldThere, now)
}

// tellEnd tells the fleet what has become of a request that it knows: f, or that it is over if f is nil.
func (s *sharedRequest) tellEnd(f *failedRequest) {
	key, fleet, now := s.leader.inFleet.key, s.setup.fleet, time.Now()
	switch {
	case fleet.elsewhere(key, now) != nil: // it goes on there
	case f == nil:
		fleet.Outcomes.Delete(key)
	default:
		fleet.put(f, f.state(), now)
	}
}

// state returns what has become of the request.
func (f *failedRequest) state() heldState {
	if f.gaveUp() {
		return failed
	}
	return leftThere
}

// Fleet makes a gateway one of several, at any of which a client may come back: the budget and the tries of its
// request are known there. Nothing is put into Outcomes for a request whose first try is answered, and no request waits
// for another gateway.
type Fleet struct {
	Replica  string   // this gateway's name, which no other has
	First    int64    // before the numbers of its requests, so that no other gateway has the same
	Outcomes Outcomes // what is held, or has ended a moment ago; call [Gateway.Delivered] when another gateway deletes one
	// Lives reports whether another gateway lives; nil: none does, those which have put outcomes were earlier processes of
	// this one.
	Lives func(replica string) bool

	// Answers keeps the answers for clients that have left for all gateways; nil: they stay where they were read.
	Answers Answers
}

// Outcomes is a map that all gateways of a fleet share: what has become of a request. The latest Put of a key wins,
// whichever gateway made it. The methods must not block, and may be called concurrently. An entry may be lost: then a
// client that comes back at another gateway starts over.
type Outcomes interface {
	Put(key string, o Outcome, ttl time.Duration)
	Delete(key string)
	// Lookup returns an outcome, when it was put, and whether it is known. Its instants are by the local clock.
	Lookup(key string) (o Outcome, at time.Time, known bool)
	// Knows reports whether another gateway may have put an outcome with a scope, the first 32 bytes of its key; "": any.
	Knows(scope string) bool
}

// Outcome is what has become of a request, without anything of what is in it.
type Outcome struct {
	From    string // the gateway
	State   heldState
	Last    policy.Wait   `json:",omitzero"`
	At      time.Time     `json:",omitzero"`
	Until   time.Time     `json:",omitzero"` // it is remembered
	Latest  time.Time     `json:",omitzero"`
	Stayed  time.Duration `json:",omitzero"`
	Silence time.Duration `json:",omitzero"`
}

// heldState is what has become of a request that gateways tell each other of.
type heldState string

// The states.
const (
	heldThere heldState = "held"   // a client waits there
	leftThere heldState = "left"   // its client has left, or was sent away
	failed    heldState = "failed" // it was given up
	keptThere heldState = "kept"   // it is answered, and its client has left: the answer is in [Fleet.Answers]
	onlyThere heldState = "only"   // likewise, but the answer is at that gateway only
)

// isAnswered reports whether there is an answer, which its client has left.
func (s heldState) isAnswered() bool { return s == keptThere || s == onlyThere }

// outcome returns the request for other gateways.
func (f *failedRequest) outcome(from string, state heldState) Outcome {
	o := Outcome{From: from, State: state, Last: f.last, At: f.at, Until: f.until, Latest: f.latest, Stayed: f.stayed, Silence: f.silence}
	o.Last.Fault = f.last.Fault.Shared(messageBound)
	return o
}

// request is the reverse of outcome.
func (o *Outcome) request(key string) failedRequest {
	f := failedRequest{fleetKey: key, last: o.Last, at: o.At, until: o.Until, latest: o.Latest, stayed: o.Stayed, silence: o.Silence}
	f.last.Run.Tries, f.last.Limit = max(f.last.Run.Tries, 0), max(f.last.Limit, 0)
	if f.last.Fault = o.Last.Fault.Shared(messageBound); f.last.Fault != nil {
		f.last.Fault.Rule = "gateway/fleet"
	}
	return f
}

// messageBound is how much of a provider's text is shared, in bytes. It never quotes the request, see [quotePermit].
const messageBound = 512
