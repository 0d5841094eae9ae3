package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/ridethrough/ridethrough/dialect"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

// bodyBound is how much of a request is kept for another try. A larger one is
// sent once, as it comes.
const bodyBound = 32 << 20

// stallLimit is how long a client may take none of its answer before it is
// taken for gone: longer than any lid of a laptop stays closed by accident.
const stallLimit = 10 * time.Minute

// What is said to those whose request ends with the gateway.
var (
	closingFault = &fault.Error{Kind: fault.Overloaded, Message: errClosing.Error()}
	closingWords = "ridethrough: " + errClosing.Error() + "; try again"
)

// call is one request for an answer on its way through the gateway.
type call struct {
	gateway  *Gateway
	upstream upstream
	dialect  *dialect.Dialect
	w        http.ResponseWriter
	r        *http.Request
	arrived  time.Time
	id       int64
	asked    dialect.Request
	hold     *hold      // keeps a client alive that waits for a stream; nil: one that does not stream
	began    bool       // bytes of the answer are out
	last     retry.Note // the last that the engine has told
}

// serve takes the request to its end.
func (c *call) serve() {
	ctx, cancel := context.WithCancelCause(c.r.Context())
	defer cancel(nil)
	defer context.AfterFunc(c.gateway.closing, func() { cancel(errClosing) })()
	req, err := c.outgoing(ctx)
	if err != nil { // the client has broken off, or does not know how to send a body
		f := &fault.Error{Kind: fault.Invalid}
		reply(c.w, http.StatusBadRequest, c.dialect.ErrorBody(f, "ridethrough: the request's body cannot be read: "+err.Error()))
		return
	}
	if c.asked.Form != dialect.JSON {
		client := dialect.Client{Agent: c.r.UserAgent(), Originator: c.r.Header.Get("Originator"), Model: c.asked.Model}
		c.hold = newHold(c.w, c.dialect, c.asked.Form, client, c.arrived)
		defer c.hold.stop()
	}
	t := &transport.Transport{
		Base:   c.gateway.config.Base,
		Engine: retry.Engine{Policy: c.gateway.config.Policy, Watch: c.watch, Wait: c.wait},
		Faults: c.gateway.config.Faults,
		Resent: true,
	}
	resp, err := t.RoundTrip(req)
	if err == nil {
		defer resp.Body.Close()
	}
	committed := c.hold.stop()
	switch {
	case err != nil:
		c.unanswered(err, committed)
	case committed:
		c.resume(resp)
	case c.gaveUp() && c.last.Fault.Status == 0:
		c.refuse()
	default:
		c.forward(resp)
	}
}

// outgoing makes the request for the upstream and reads what it asks for.
func (c *call) outgoing(ctx context.Context) (*http.Request, error) {
	body, err := io.ReadAll(io.LimitReader(c.r.Body, bodyBound+1))
	if err != nil {
		return nil, err
	}
	req := c.r.Clone(ctx)
	req.URL, req.Host, req.RequestURI = c.upstream.target(c.r), "", ""
	dropHop(req.Header)
	req.Close = false
	req.Header.Del("Expect") // the body is here
	req.Header.Add(viaHeader, c.gateway.id)
	req.Header.Set("Accept-Encoding", "identity") // we have to see where the content begins
	if _, ok := req.Header["User-Agent"]; !ok {
		req.Header.Set("User-Agent", "") // none is none: net/http would add its own
	}
	if len(body) > bodyBound {
		req.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), c.r.Body))
		req.GetBody = nil
		return req, nil
	}
	c.asked = c.dialect.Read(c.r.URL, body)
	req.ContentLength, req.TransferEncoding = int64(len(body)), nil
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body, _ = req.GetBody()
	return req, nil
}

// watch is told of each failed try and of recovery.
func (c *call) watch(n retry.Note) {
	c.last = n
	c.hold.note(n)
	c.tell(n, false)
}

// tell hands a note on to whoever watches the gateway.
func (c *call) tell(n retry.Note, left bool) {
	if watch := c.gateway.config.Watch; watch != nil {
		watch(Event{Request: c.id, Upstream: c.upstream.vendor.name, Model: c.asked.Model, Note: n, Left: left})
	}
}

// wait sleeps until the next try, or until the gateway is drained.
func (c *call) wait(ctx context.Context, n retry.Note) error {
	if c.gateway.draining.Err() != nil {
		return errClosing
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.gateway.draining, func() { cancel(errClosing) })()
	return retry.Sleep(ctx, n.Verdict.Wait)
}

// unanswered ends a request that has no response: the client has left, the
// gateway is closing, or the request could be sent once only and that failed.
func (c *call) unanswered(err error, committed bool) {
	switch {
	case c.r.Context().Err() != nil:
		if c.last.Fault != nil {
			c.tell(c.last, true)
		}
		panic(http.ErrAbortHandler)
	case errors.Is(err, errClosing) && committed:
		c.breakOff(closingFault, closingWords)
	case errors.Is(err, errClosing):
		c.w.Header().Set("Retry-After", "1")
		reply(c.w, http.StatusServiceUnavailable, c.dialect.ErrorBody(closingFault, closingWords))
	default:
		f := c.gateway.config.Faults.Of(err, time.Now())
		c.last = retry.Note{Run: policy.Run{Tries: 1}, Fault: f, Verdict: policy.Verdict{Stop: policy.Exhausted}}
		c.tell(c.last, false)
		c.refuse()
	}
}

// refuse answers that there is no answer to be had from the upstream.
func (c *call) refuse() {
	c.w.Header().Set("X-Should-Retry", "false")
	reply(c.w, http.StatusServiceUnavailable, c.dialect.ErrorBody(c.last.Fault, c.lastWords()))
}

// forward hands a response on from its status line on.
func (c *call) forward(resp *http.Response) {
	h := c.w.Header()
	for name, values := range resp.Header {
		h[name] = values
	}
	dropHop(h)
	if _, watched := resp.Body.(transport.Watched); watched {
		h.Del("Content-Length") // an error may have to be added
	}
	if n := c.last.Retries(); n > 0 {
		h.Set("X-Ridethrough-Retries", strconv.Itoa(n))
		h.Set("X-Ridethrough-Waited-Ms", strconv.FormatInt(c.last.Waited.Milliseconds(), 10))
	}
	c.w.WriteHeader(resp.StatusCode)
	c.pump(resp.Body)
}

// resume goes on after the hold has sent the headers: with the answer, or with
// the error that the headers can no longer tell.
func (c *call) resume(resp *http.Response) {
	_, watched := resp.Body.(transport.Watched)
	switch {
	case c.gaveUp():
		c.breakOff(c.last.Fault, c.lastWords())
	case watched:
		c.pump(resp.Body)
	default:
		c.fail(&fault.Error{
			Kind: fault.Unavailable, Status: resp.StatusCode,
			Message: c.upstream.vendor.name + " answered without the stream that was asked for", Rule: "gateway/no stream",
		})
	}
}

// pump hands the body on as it comes.
func (c *call) pump(body io.Reader) {
	buf := make([]byte, 16<<10)
	for {
		n, err := body.Read(buf)
		c.began = c.began || n > 0
		if n > 0 && push(c.w, buf[:n], stallLimit) != nil {
			panic(http.ErrAbortHandler) // the client has left
		}
		if err == io.EOF {
			c.ended(body)
			return
		}
		if err != nil {
			c.broken(err)
			return
		}
	}
}

// push sends bytes to a client at once. One that takes none for so long is an
// error.
func push(w http.ResponseWriter, p []byte, limit time.Duration) error {
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Now().Add(limit)) // not every connection has deadlines
	defer func() { _ = rc.SetWriteDeadline(time.Time{}) }()
	if _, err := w.Write(p); err != nil {
		return err
	}
	if err := rc.Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil // it writes what it gets at once, or keeps it: we cannot help it
}

// ended looks at how a whole stream has ended: an error in the provider's own
// words is told, since the client has it and nobody else does.
func (c *call) ended(body io.Reader) {
	if w, ok := body.(transport.Watched); ok && w.Failure() != nil && !c.gaveUp() {
		c.tellBroken(w.Failure())
	}
}

// broken ends an answer that has broken off after its first content: in the
// dialect's own error, or in a cut connection where that has no place.
func (c *call) broken(err error) {
	if c.r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // the client has left, and with it the request
	}
	f := c.gateway.config.Faults.Broken(err, time.Now())
	if c.gateway.closing.Err() != nil {
		f = closingFault
	}
	// Package transport names the fault where it has watched the frames: then
	// the client stands between two of them.
	if _, watched := errors.AsType[*fault.Error](err); watched {
		c.fail(f)
		return
	}
	c.tellBroken(f)
	panic(http.ErrAbortHandler)
}

// fail reports that an answer has come to nothing although its headers are out.
func (c *call) fail(f *fault.Error) {
	if !c.gaveUp() {
		c.tellBroken(f)
	}
	words := "ridethrough: " + f.Error()
	if f == closingFault {
		words = closingWords
	}
	c.breakOff(f, words)
}

// tellBroken tells of a fault that is not tried again because part of the
// answer is out.
func (c *call) tellBroken(f *fault.Error) {
	run := c.last.Run
	run.Tries++
	c.tell(retry.Note{Run: run, Fault: f, Verdict: policy.Verdict{Stop: policy.Committed}, Waited: c.last.Waited}, false)
}

// breakOff reports a fault inside a stream whose headers are out.
func (c *call) breakOff(f *fault.Error, words string) {
	err := push(c.w, c.dialect.ErrorEvent(c.asked.Form, f, words, c.began), stallLimit)
	if err != nil || c.dialect.Aborts(c.asked.Form) {
		panic(http.ErrAbortHandler)
	}
}

// gaveUp tells whether the engine has ended the run.
func (c *call) gaveUp() bool { return c.last.Verdict.Stop != "" }

// lastWords say that there is no other try, and why.
func (c *call) lastWords() string {
	why := c.last.Fault.Error()
	if c.last.Fault.Status == 0 {
		why = c.upstream.unreachable(c.last.Fault)
	}
	n := c.last.Retries()
	if n == 0 || c.last.Verdict.Stop == policy.Final {
		return "ridethrough: " + why
	}
	return fmt.Sprintf("ridethrough: gave up after %d retries in %v: %s", n, c.last.Waited.Round(time.Second), why)
}
