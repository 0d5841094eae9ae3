package gateway

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/brief"
	"github.com/ridethrough/ridethrough/internal/clip"
	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/internal/plural"
	"github.com/ridethrough/ridethrough/internal/preamble"
	"github.com/ridethrough/ridethrough/internal/send"
	"github.com/ridethrough/ridethrough/internal/spool"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// call is one client's request for an answer.
type call struct {
	gateway      *Gateway
	setup        *setup
	upstream     *upstream // that the request is for
	endpoint     endpoint
	dialect      *dialect.Dialect
	w            http.ResponseWriter
	out          send.Writer // the body for w
	r            *http.Request
	arrived      time.Time
	info         Call
	parsed       dialect.Request
	body         *spool.Body
	meant        atomic.Pointer[meaning] // nil: not needed so far
	carried      *policy.Wait            // of the same request before, whose client left in it; nil: there was none
	answered     bool                    // the upstream has answered others since that one was left
	stayed       time.Duration           // how long its client stayed with that one; 0: there was none
	silence      time.Duration           // of the same request's try before, which had not begun to answer when its client left
	shared       *sharedRequest
	kept         *keptAnswer      // that it sends; nil: it is not kept
	preamble     *preamble.Writer // w, whose client is told of the wait ahead of the answer; nil: it is not
	maxWait      time.Duration    // the longest total wait that the client allows; 0: no limit
	keepalive    *keepalive       // keeps the client alive while it waits; nil: the form of its answer is not known
	alive        keepalive        // that: one allocation for both
	outcome      policy.Wait      // the shared request's last, once it is finished
	status       int              // of the answer; 0: none, or the connection is cut
	end          turn.Status      // "": done so far
	answering    bool             // part of an answer is out
	prelude      dialect.Prelude
	text         *continuation // of the answer; nil: it is not continued
	background   *background   // of the answer; nil: it is not in the background
	again        int           // how often the answer has been asked for after its first content
	resumed      int           // of these, how often for the rest of it
	afterContent atomic.Bool   // a part of the answer that broke off is out
	withheld     int           // bytes that are reserved for what is withheld of the answer
	pinging      bool          // the keepalive runs though an answer has begun: nothing of it is sent
	unreadable   bool          // the encoding of its body is unknown, and so is the form of its answer

	credential string // identifies its credentials, without holding them
	tenant     Tenant // nil: none is known
	keyInFleet string // "": not needed so far

	secretInFleet [sha256.Size]byte // known with keyInFleet, unless that is an earlier request's
}

// newCall returns the call of a request.
func newCall(g *Gateway, s *setup, up *upstream, to endpoint, d *dialect.Dialect, w http.ResponseWriter, r *http.Request) *call {
	c := &call{
		gateway: g, setup: s, upstream: up, endpoint: to, dialect: d, w: w, out: send.Writer{ResponseWriter: w}, r: r,
		arrived: time.Now(), credential: s.credential(r.Header, r.URL), tenant: tenantOf(r),
	}
	if preamble.Accepted(r.Header) {
		c.preamble = &preamble.Writer{ResponseWriter: w}
		c.w, c.out.ResponseWriter = c.preamble, c.preamble
	}
	return c
}

// serve takes the request to its end. It is on the stack of every request that
// waits, like all calls from here to the wait: these are kept small.
func (c *call) serve() {
	if !c.read() || c.refusedBefore() {
		return
	}
	c.begin()
	defer c.finish()
	for !c.replay() && !c.takePart() {
		c.carried, c.silence = nil, 0
	}
}

// refusedBefore looks for the same request a moment ago. It reports whether that one was given up, and answers
// then; else the call continues its budget. From time to time one that was given up is tried once more.
//
//go:noinline its frame would be on the stack of every request that waits
func (c *call) refusedBefore() bool {
	c.gateway.adopt(c)
	before := c.gateway.coalescer.lookup(c)
	if before == nil {
		return false
	}
	if before.gaveUp() && !before.probes {
		c.refuseResend(before)
		return true
	}
	c.keyInFleet = before.fleetKey // it is the same request
	if before.gaveUp() {
		c.carried = carriedFrom(before.last) // whose budget is spent: one try is left
		return false
	}
	c.stayed, c.silence, c.answered = before.stayed, before.silence, before.hasAnswered()
	c.carried = carriedFrom(shortened(before.last, c.stayed))
	return false
}

// carriedFrom returns a wait to go on in; nil: no try had failed.
func carriedFrom(w policy.Wait) *policy.Wait {
	if w.Fault == nil {
		return nil
	}
	return &w
}

// begin prepares for a wait.
func (c *call) begin() {
	c.keepalive = newKeepalive(c)
	c.emit(Event{Event: turn.Start{}})
}

// finish releases what the call holds.
func (c *call) finish() {
	c.endKept(false)
	c.releaseWithheld()
	c.releaseText()
	c.endBackground()
	c.emitEnd()
	c.keepalive.stop()
	c.body.Release()
	c.out.Close()
}

// takePart leads or joins a shared request and answers with its outcome; false:
// another call has taken the answer, and this one needs its own.
func (c *call) takePart() bool {
	s, leads := c.gateway.coalescer.enter(c)
	c.shared = s
	defer s.release(c)
	defer context.AfterFunc(c.r.Context(), func() { s.leave(c) })()
	if leads {
		s.run()
	} else {
		c.await()
	}
	return c.conclude(s)
}

// conclude answers with the outcome of the shared request; false: another call has it.
func (c *call) conclude(s *sharedRequest) bool {
	c.takeOutcome(s)
	switch {
	case s.winner == c:
		c.answer(s.resp, s.err)
	case s.gaveUp() || s.err != nil:
		c.answer(nil, s.err)
	default:
		return false
	}
	return true
}

// takeOutcome notes how the shared request has ended.
//
//go:noinline its frame would be on the stack of every stream
func (c *call) takeOutcome(s *sharedRequest) {
	if c.r.Context().Err() != nil && !c.goesOn() {
		c.clientLeft()
	}
	c.outcome = s.soFar()
}

// await waits for the shared request that the call has joined.
func (c *call) await() {
	c.emit(Event{Joined: c.shared.leader.info.ID})
	c.body.Compress()
	c.shared.catchUp(c)
	select {
	case <-c.shared.done:
	case <-c.r.Context().Done():
	}
}

// clientLeft ends a call whose client has disconnected.
func (c *call) clientLeft() {
	s := c.shared
	s.mu.Lock()
	c.outcome = s.soFar()
	s.mu.Unlock()
	left := &fault.Error{Kind: fault.Canceled, Message: errLeft.Error()}
	if c.outcome.Fault != nil {
		left.Err = c.outcome.Fault
	}
	c.emitError(left, "")
	c.end = turn.Aborted
	c.cut()
}

// read reads and parses the request; false: it is answered with an error.
//
//go:noinline its frame would be on the stack of every request that waits
func (c *call) read() bool {
	c.info = Call{
		ID: c.gateway.requests.Add(1), Session: sessionOf(c.r.Header), Client: clientOf(c.r.Header),
		API: c.dialect.Name(), Upstream: c.upstream.Name, Began: c.arrived,
	}
	if parent := c.r.Header["Traceparent"]; len(parent) > 0 {
		c.info.Parent = clip.Text(parent[0], idBound)
	}
	if !c.readBody() || !c.readMaxWait() {
		return false
	}
	c.info.Model, c.info.Stream = c.parsed.Model, c.parsed.Form != dialect.JSON
	return true
}

// answer answers a call with the outcome of its shared request.
func (c *call) answer(resp *http.Response, err error) {
	c.gateway.waits.remove(c)
	committed := c.keepalive.stop() && (c.preamble == nil || c.again > 0)
	if committed {
		c.status = http.StatusOK
	}
	c.emitFailure(err)
	c.keepAnswer(resp)
	switch {
	case resp == nil:
		c.unanswered(err, committed)
	case committed:
		c.resume(resp)
	case c.outcome.Verdict.Stop != "" && c.replaces(resp):
		_ = resp.Body.Close()
		c.refuse()
	default:
		c.forward(resp)
	}
}

// client identifies the client.
func (c *call) client() dialect.Client {
	return dialect.Client{Agent: c.r.UserAgent(), Originator: c.r.Header.Get("Originator"), Model: c.parsed.Model}
}

// replaces reports whether the gateway's own error takes the place of the upstream's last response: there is
// none, or the client would send the request again on it.
func (c *call) replaces(resp *http.Response) bool {
	f, client := c.outcome.Fault, c.client()
	if resp.StatusCode == http.StatusOK && f.Status != 0 {
		return false
	}
	if c.preamble != nil && c.outcome.Retries() > 0 && !f.GivenUp {
		return true // an agent, which shows it to its user
	}
	status := client.FinalStatus(resp.StatusCode, f.Kind)
	return f.Status == 0 || status == http.StatusBadRequest && resp.StatusCode != status || client.ReadsWords()
}

// emitFailure reports that the shared request has found no answer, if it has not. Its leader does for all.
func (c *call) emitFailure(err error) {
	stop, f := c.outcome.Verdict.Stop, c.outcome.Fault
	if e := endingOf(err); e != nil {
		stop, f = "", e.fault
	} else if stop == "" {
		return
	}
	c.end = turn.Failed
	if c.shared.leader == c {
		c.emitError(f, stop)
	}
}

// closingFault ends the requests that end with the gateway.
var closingFault = &fault.Error{Kind: fault.Overloaded, Message: errClosing.Error()}

// unanswered ends a call without a response: the gateway is closing, its tenant has no place for it, it was given
// up by command, or another call has taken the response.
func (c *call) unanswered(err error, committed bool) {
	switch e := endingOf(err); {
	case e != nil && committed:
		c.endStream(c.dialect.ClosingEvent, e.fault, e.message())
	case e != nil:
		c.w.Header().Set("Retry-After", e.retryAfter)
		c.reply(e.status, e.body(c.dialect))
	case committed:
		c.endStream(c.dialect.FinalEvent, c.outcome.Fault, c.giveUpMessage())
	default:
		c.refuse()
	}
}

// refuse answers with the gateway's own words for the last fault.
func (c *call) refuse() { c.replyFinal(c.outcome.Fault, c.giveUpMessage()) }

// replyFinal answers with an error after which the client does not send the request again.
func (c *call) replyFinal(f *fault.Error, text string) {
	status, client := statusOf(f), c.client()
	final := client.FinalStatus(status, f.Kind)
	h := c.w.Header()
	h.Set(shouldRetryHeader, "false")
	c.setStop(c.outcome)
	if final != status {
		h.Del("Retry-After")
	}
	c.reply(final, c.dialect.FinalBody(client, f, text))
}

// statusOf returns the status for a fault: the provider's, or 503 if that is no error.
func statusOf(f *fault.Error) int {
	if f.Status < http.StatusBadRequest {
		return http.StatusServiceUnavailable
	}
	return f.Status
}

// reply answers with a JSON body of the gateway.
func (c *call) reply(status int, body []byte) {
	c.status = status
	c.w.Header()[preamble.Call] = []string{strconv.FormatInt(c.info.ID, 10)}
	reply(c.w, c.dialect, status, body)
}

// giveUpMessage is the text of the error after the last try.
func (c *call) giveUpMessage() string {
	why := c.outcome.Fault.Error()
	if c.outcome.Fault.Status == 0 {
		why = c.shared.at.noAnswer(c.outcome.Fault)
	}
	if opens := c.outcome.Fault.OpensAgain(time.Now()); opens != "" {
		why += "; the usage window " + opens
	}
	n := c.outcome.Retries()
	switch {
	case c.outcome.Verdict.Stop == policy.GivenUp && c.outcome.Run.Tries == 0:
		return "ridethrough: given up by command before it was sent"
	case c.outcome.Verdict.Stop == policy.GivenUp:
		return fmt.Sprintf("ridethrough: given up by command after %s: %s", plural.Count(n, "retry", "retries"), why)
	case n == 0 || c.outcome.Verdict.Stop == policy.Final:
		return "ridethrough: " + why
	}
	if c.outcome.Verdict.Stop == policy.OverBudget && c.shared.bounded() {
		why += " (the request allows to wait " + brief.Duration(c.maxWait) + ")"
	}
	return fmt.Sprintf("ridethrough: gave up after %s in %s: %s", plural.Count(n, "retry", "retries"), brief.Duration(c.outcome.Waited.Round(time.Second)), why)
}
