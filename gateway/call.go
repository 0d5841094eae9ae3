package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/exchange"
	"github.com/ridethrough/ridethrough/internal/preamble"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// call is one client's request for an answer: how it comes in, and how the client gets its answer.
type call struct {
	intake
	predecessor
	form       api.Form // of the answer: as was asked, until it says otherwise
	w          http.ResponseWriter
	out        exchange.Writer  // the body for w
	preamble   *preamble.Writer // w, whose client is told of the wait ahead of the answer; nil: it is not
	keepalive  *keepalive       // keeps the client alive while it waits; nil: the form of its answer is not known
	alive      keepalive        // that: one allocation for both
	shared     *sharedRequest
	outcome    policy.Wait // the shared request's last, once it is finished
	kept       *keptAnswer // that it sends; nil: it is not kept
	status     int         // of the answer; 0: none, or the connection is cut
	note       api.Note    // what is known of the answer beyond what it says; "": nothing
	end        turn.Status // "": done so far
	completion completion
}

// predecessor is what is known of the same request before.
type predecessor struct {
	carried  *policy.Wait  // in which its client left; nil: there was none
	answered bool          // the upstream has answered others since
	stayed   time.Duration // how long its client stayed; 0: there was none
	silence  time.Duration // of its try, which had not begun to answer when its client left
}

// newCall returns the call of a request.
func newCall(g *Gateway, s *setup, up *upstream, to endpoint, d *api.API, w http.ResponseWriter, r *http.Request) *call {
	c := &call{intake: intake{gateway: g, setup: s, upstream: up, endpoint: to, dialect: d, r: r}, w: w, out: exchange.Writer{ResponseWriter: w}}
	c.info.Began, c.credential, c.tenant = time.Now(), s.credential(r.Header, r.URL), tenantOf(r)
	if preamble.Accepted(r.Header) {
		c.preamble = &preamble.Writer{ResponseWriter: w}
		c.w, c.out.ResponseWriter = c.preamble, c.preamble
	}
	return c
}

// serve takes the request to its end.
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
func (c *call) refusedBefore() bool {
	if fleet := c.setup.fleet; fleet != nil && fleet.knows(c) {
		c.gateway.adopt(c)
	}
	before := c.gateway.outcomes.failedFor(c)
	if before == nil {
		return false
	}
	if before.gaveUp() && !before.probes {
		c.refuseResend(before)
		return true
	}
	c.inFleet.key = before.fleetKey // it is the same request
	if before.gaveUp() {
		c.carried = carriedFrom(before.last) // whose budget is spent: one try is left
		return false
	}
	c.stayed, c.silence, c.answered = before.stayed, before.silence, before.hasAnswered()
	c.carried = carriedFrom(shortened(before.last, c.stayed))
	return false
}

// carriedFrom returns the wait to resume, or nil if no try had failed.
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
	c.emitEnd()
	c.keepalive.stop()
	c.body.Release()
	c.out.Close()
}

// takePart leads or joins a shared request and answers with its outcome; false:
// another call has taken the answer, and this one needs its own.
func (c *call) takePart() bool {
	s, leads := c.enter()
	c.shared = s
	c.keepalive.takesPart(s)
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

// answer answers a call with the outcome of its shared request.
func (c *call) answer(resp *http.Response, err error) {
	c.shared.waitsNoMore(c)
	committed := c.keepalive.stop() && (c.preamble == nil || c.completion.again > 0)
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

// replaces reports whether the gateway's own error takes the place of the upstream's last response: there is
// none or half of one, or the client would send the request again on it.
func (c *call) replaces(resp *http.Response) bool {
	f, client := c.outcome.Fault, c.lastClient()
	if resp.StatusCode == http.StatusOK && f.Status != 0 || c.shared.at.refusesKey(f) {
		return false
	}
	if c.preamble != nil && c.outcome.Retries() > 0 && !f.GivenUp || c.bound(c.shared.failover.settings.policy) != "" {
		return true // an agent, which shows it to its user
	}
	status := client.FinalStatus(resp.StatusCode, f.Kind)
	return f.Status == 0 || f.Status == http.StatusOK && f.Kind == fault.Truncated || status == http.StatusBadRequest && resp.StatusCode != status || client.ReadsWords()
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
		c.endStream(c.dialect.BrokenEvent, e.fault, e.message())
	case e != nil:
		e.setHeader(c.w.Header())
		c.reply(e.status, e.body(c.dialect))
	case committed:
		c.endGivenUp(nil)
	default:
		c.refuse()
	}
}

// refuse answers with the gateway's own words for the last fault.
func (c *call) refuse() { c.replyFinal(c.shared.at.upstream, c.outcome.Fault, c.giveUpMessage()) }

// replyFinal answers with an error after which the client does not send the request again, unless it was about a key
// of the client's.
func (c *call) replyFinal(at *upstream, f *fault.Error, text string) {
	status, client := statusOf(f), c.lastClient()
	final := client.FinalStatus(status, f.Kind)
	h := c.w.Header()
	c.setStop(c.outcome)
	if !at.refusesKey(f) {
		h.Set(shouldRetryHeader, "false")
	}
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
	if run := c.outcome.Run; c.outcome.Fault.Window && run.Windows > 0 && run.Opens.Before(time.Now()) {
		why += "; it was to open at " + run.Opens.UTC().Format(time.RFC3339) + " and did not"
	}
	n := c.outcome.Retries()
	switch {
	case c.outcome.Verdict.Stop == policy.GivenUp && c.outcome.Run.Tries == 0:
		return "ridethrough: given up by command before it was sent"
	case c.outcome.Verdict.Stop == policy.GivenUp:
		return fmt.Sprintf("ridethrough: given up by command after %s: %s", text.Count(n, "retry", "retries"), why)
	case n == 0 || c.outcome.Verdict.Stop == policy.Final:
		return "ridethrough: " + why + c.bound(c.shared.failover.settings.policy)
	}
	why += c.bound(c.shared.failover.settings.policy)
	return fmt.Sprintf("ridethrough: gave up after %s in %s: %s", text.Count(n, "retry", "retries"), text.Passed(c.outcome.Waited), why)
}

// bound names the limit that ended the waiting, to a client that states its own: whose it is, and how long. "": no limit
// did, or the client states none.
func (c *call) bound(p *policy.Policy) string {
	stop, asked := c.outcome.Verdict.Stop, c.outcome.Fault.RetryAfter(time.Now())
	switch tooLong := stop == policy.RetryAfterTooLong; {
	case c.maxWait == 0:
	case stop == policy.Exhausted && p.Retries > 0:
		return " (the gateway's policy allows " + text.Count(p.Retries, "retry", "retries") + ")"
	case tooLong && c.outcome.Fault.Window && asked <= c.maxWait:
		return " (the quota of the gateway's policy allows no such wait)"
	case tooLong && p.MaxRetryAfter > 0 && asked > p.MaxRetryAfter:
		return " (the gateway's policy waits " + text.Duration(p.MaxRetryAfter) + " at most where the provider asks for a wait)"
	case !tooLong && stop != policy.OverBudget:
	case p.MaxWait == 0 || c.maxWait < p.MaxWait:
		if c.info.Side != "" {
			return " (" + c.info.Side + ": the agent goes on without an answer after " + text.Duration(c.maxWait) + ")"
		}
		return " (the request allows " + text.Duration(c.maxWait) + " of waiting)"
	default:
		return " (the gateway's policy allows " + text.Duration(p.MaxWait) + " of waiting)"
	}
	return ""
}

// refuseResend answers a request that has just failed, at once, so that agents do
// not start another keepalive with each of their own retries.
func (c *call) refuseResend(f *failedRequest) {
	defer c.body.Release()
	c.outcome = f.last
	c.w.Header().Set("Retry-After", resendAfter)
	c.replyFinal(c.upstream, f.last.Fault, "ridethrough: the same request has just been given up: "+f.last.Fault.Error()+c.bound(c.upstream.settings(c.parsed.Model).policy))
}

// ending is how a call ends whose client is to send it again: through no fault of the upstream's.
type ending struct {
	fault      *fault.Error
	status     int
	retryAfter string // seconds; "": the client is to send another request
}

// errForgotten ends a request that leans on what its server keeps for minutes, as it would have to be held.
var errForgotten = errors.New("the server may have forgotten what the request continues")

// The endings.
var (
	closing = ending{closingFault, http.StatusServiceUnavailable, "1"}
	noPlace = ending{&fault.Error{Kind: fault.RateLimited, Message: errNoPlace.Error()}, http.StatusTooManyRequests, "30"}
	forgets = ending{&fault.Error{Kind: fault.Invalid, Message: errForgotten.Error()}, http.StatusNotFound, ""}
)

// message is the text for the client.
func (e *ending) message() string {
	switch e {
	case &noPlace:
		return "ridethrough: too many requests: " + e.fault.Message + "; try again"
	case &forgets:
		return "ridethrough: " + e.fault.Message + ", as its provider does not answer; send the whole conversation"
	}
	return "ridethrough: " + mayPass + e.fault.Message + "; try again"
}

// body is the answer in its place.
func (e *ending) body(d *api.API) []byte {
	switch e {
	case &noPlace:
		return d.LimitBody(e.message())
	case &forgets:
		return d.Forgotten(e.message())
	}
	return d.ErrorBody(e.fault, e.message())
}

// setHeader says when the client is to send its request again.
func (e *ending) setHeader(h http.Header) {
	if e.retryAfter == "" {
		h.Set(shouldRetryHeader, "false")
		return
	}
	h.Set("Retry-After", e.retryAfter)
}

// endingOf returns how a call ends with an error; nil: its shared request has found no answer.
func endingOf(err error) *ending {
	switch {
	case errors.Is(err, errClosing):
		return &closing
	case errors.Is(err, errNoPlace):
		return &noPlace
	case errors.Is(err, errForgotten):
		return &forgets
	}
	return nil
}
