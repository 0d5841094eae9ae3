package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/internal/spool"
	"github.com/ridethrough/ridethrough/policy"
)

// call is one client's request for an answer.
type call struct {
	gateway       *Gateway
	setup         *setup
	upstream      *upstream // that it is for
	endpoint      endpoint
	dialect       *dialect.Dialect
	w             http.ResponseWriter
	control       *http.ResponseController // of w; nil: not needed yet
	r             *http.Request
	arrived       time.Time
	info          Call
	parsed        dialect.Request
	body          *spool.Body
	carried       policy.Run // where an earlier request like it has left off; zero: there was none
	shared        *sharedRequest
	keepalive     *keepalive // keeps the client alive while it waits
	outcome       Note       // the flight's last, when it has landed
	status        int        // that was answered; 0: none, or the connection is to be cut
	writeDeadline time.Time  // until when the client may take nothing; zero: it has had nothing
	answering     bool       // part of an answer is out
	unreadable    bool       // its body cannot be read: nobody knows whether it asks for a stream

	credential string // names its credentials, without being them
}

// newCall makes the call for a request.
func newCall(g *Gateway, s *setup, up *upstream, to endpoint, d *dialect.Dialect, w http.ResponseWriter, r *http.Request) *call {
	return &call{
		gateway: g, setup: s, upstream: up, endpoint: to, dialect: d, w: w, r: r,
		arrived: time.Now(), credential: breaker.Credential(r.Header, r.URL),
	}
}

// serve takes the request to its end. This and what is below it down to the
// wait is on the stack of every request that waits, so it is kept small.
func (c *call) serve() {
	if !c.read() || c.refusedBefore() {
		return
	}
	c.begin()
	defer c.finish()
	for !c.takePart() {
		c.carried = policy.Run{}
	}
}

// summed looks for the same request a moment ago. It tells whether that
// one has been given up, and answers then; else the call goes on with what is
// left of its budget.
func (c *call) refusedBefore() bool {
	past := c.gateway.coalescer.lookup(c)
	switch {
	case past == nil:
		return false
	case past.gaveUp():
		c.refuseResend(past)
		return true
	}
	c.carried = past.note.Run
	return false
}

// load gets ready to wait.
func (c *call) begin() {
	c.keepalive = newKeepalive(c)
	c.tell(Event{Type: Began})
}

// finish lets go of what the call has.
func (c *call) finish() {
	c.tell(Event{Type: Ended, Status: c.status})
	c.keepalive.stop()
	c.body.Release()
	if !c.writeDeadline.IsZero() {
		_ = c.control.SetWriteDeadline(time.Time{}) // the connection may have other requests
	}
}

// takePart takes part in a flight and answers with its outcome; false: another call
// has taken the answer, and this one needs one of its own.
func (c *call) takePart() bool {
	f, lead := c.gateway.coalescer.join(c)
	c.shared = f
	defer f.release(c)
	defer context.AfterFunc(c.r.Context(), func() { f.leave(c) })()
	if lead {
		f.run()
	} else {
		c.await()
	}
	if c.r.Context().Err() != nil {
		c.clientLeft()
	}
	c.outcome = f.withAllTries(f.note)
	switch {
	case f.winner == c:
		c.answer(f.resp, f.err)
	case f.gaveUp() || f.err != nil:
		c.answer(nil, f.err)
	default:
		return false
	}
	return true
}

// await waits for the flight that the call has joined.
func (c *call) await() {
	c.tell(Event{Type: Joined})
	c.body.Compress()
	c.shared.catchUp(c)
	select {
	case <-c.shared.done:
	case <-c.r.Context().Done():
	}
}

// clientLeft ends a call whose client has left.
func (c *call) clientLeft() {
	f := c.shared
	f.mu.Lock()
	n := f.withAllTries(f.note)
	f.mu.Unlock()
	c.tell(Event{Type: Left, Note: n})
	c.cut()
}

// read takes the request's body and what it asks for; false: it is answered.
func (c *call) read() bool {
	c.info = Call{
		ID: c.gateway.requests.Add(1), Session: sessionOf(c.r.Header), Client: clientOf(c.r.Header),
		API: c.dialect.Name(), Upstream: c.upstream.Name, Began: c.arrived,
	}
	if parent := c.r.Header["Traceparent"]; len(parent) > 0 {
		c.info.Parent = clip(parent[0])
	}
	err := c.readBody()
	switch {
	case errors.Is(err, spool.ErrTooLarge):
		c.w.Header().Set("Connection", "close") // the rest of it is not read
		c.w.Header().Set(shouldRetryHeader, "false")
		c.reply(http.StatusRequestEntityTooLarge, c.dialect.ErrorBody(&fault.Error{Kind: fault.TooLong},
			fmt.Sprintf("ridethrough: the request is larger than %d bytes, the bound of the upstream %s", c.upstream.Body, c.upstream.Name)))
		return false
	case err != nil: // the client has broken off, or does not know how to send a body
		c.w.Header().Set("Connection", "close") // what comes behind it is no request
		c.reply(http.StatusBadRequest, c.dialect.ErrorBody(&fault.Error{Kind: fault.Invalid},
			"ridethrough: the request's body cannot be read: "+err.Error()))
		return false
	}
	c.info.Model, c.info.Stream = c.parsed.Model, c.parsed.Form != dialect.JSON
	return true
}

// buffer reads the request. While its upstream is out a crowd may come at once,
// all of which will wait: then only some are read at a time, and each is packed
// before the next.
func (c *call) readBody() (err error) {
	troubled := c.upstream.breaker.Degraded()
	if troubled {
		select {
		case c.gateway.readSlots <- struct{}{}:
			defer func() { <-c.gateway.readSlots }()
		case <-c.r.Context().Done():
			return c.r.Context().Err()
		}
	}
	if c.body, err = c.gateway.spool.Read(c.r.Body, c.r.ContentLength, c.upstream.Body); err != nil {
		return err
	}
	c.parsed = c.parse()
	if troubled {
		c.body.Compress()
	}
	return nil
}

// send reads what the body asks for. A compressed one is unpacked for that, and
// sent on as it is.
func (c *call) parse() dialect.Request {
	plain := c.body.Plain()
	if coding := c.r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		plain = spool.Decode(strings.ToLower(coding), plain, c.upstream.Body)
		c.unreadable = plain == nil
	}
	return c.dialect.Read(c.r.URL, plain)
}

// answer ends a call with the outcome of its flight.
func (c *call) answer(resp *http.Response, err error) {
	c.gateway.waits.remove(c)
	committed := c.keepalive.stop()
	if c.outcome.Verdict.Stop != "" {
		c.gaveUp()
	}
	switch {
	case resp == nil:
		c.unanswered(err, committed)
	case committed:
		c.resume(resp)
	case c.outcome.Verdict.Stop != "" && c.outcome.Fault.Status == 0:
		c.refuse()
	default:
		c.forward(resp)
	}
}

// gaveUp tells that there is no other try.
func (c *call) gaveUp() {
	if c.shared.leader == c {
		c.tell(Event{Type: GaveUp, Note: c.outcome})
	}
}

// What is said to those whose request ends with the gateway.
var (
	closingFault   = &fault.Error{Kind: fault.Overloaded, Message: errClosing.Error()}
	closingMessage = "ridethrough: " + errClosing.Error() + "; try again"
)

// unanswered ends a call that has no response: the gateway is closing, somebody
// has given it up, or it shares the outcome of a call that has taken it.
func (c *call) unanswered(err error, committed bool) {
	switch {
	case errors.Is(err, errClosing) && committed:
		c.endWithError(closingFault, closingMessage)
	case errors.Is(err, errClosing):
		c.w.Header().Set("Retry-After", "1")
		c.reply(http.StatusServiceUnavailable, c.dialect.ErrorBody(closingFault, closingMessage))
	case committed:
		c.endWithError(c.outcome.Fault, c.giveUpMessage())
	default:
		c.refuse()
	}
}

// refuse answers that there is no answer to be had from the upstream.
func (c *call) refuse() {
	c.w.Header().Set(shouldRetryHeader, "false")
	c.reply(statusOf(c.outcome.Fault), c.dialect.ErrorBody(c.outcome.Fault, c.giveUpMessage()))
}

// statusOf gives the status for a fault: the provider's, or 503 where it had
// none that says so.
func statusOf(f *fault.Error) int {
	if f.Status < http.StatusBadRequest {
		return http.StatusServiceUnavailable
	}
	return f.Status
}

// reply answers with a JSON body of ours.
func (c *call) reply(status int, body []byte) {
	c.status = status
	reply(c.w, status, body)
}

// giveUpMessage say that there is no other try, and why.
func (c *call) giveUpMessage() string {
	why := c.outcome.Fault.Error()
	if c.outcome.Fault.Status == 0 {
		why = c.shared.upstream.noAnswer(c.outcome.Fault)
	}
	n := c.outcome.Retries()
	switch {
	case c.outcome.Verdict.Stop == policy.GivenUp && c.outcome.Run.Tries == 0:
		return "ridethrough: given up by command before it was sent"
	case c.outcome.Verdict.Stop == policy.GivenUp:
		return fmt.Sprintf("ridethrough: given up by command after %d retries: %s", n, why)
	case n == 0 || c.outcome.Verdict.Stop == policy.Final:
		return "ridethrough: " + why
	}
	return fmt.Sprintf("ridethrough: gave up after %d retries in %v: %s", n, c.outcome.Waited.Round(time.Second), why)
}
