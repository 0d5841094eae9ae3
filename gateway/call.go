package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
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
	last     retry.Note // the last that the engine has told
}

// serve takes the request to its end.
func (c *call) serve() {
	req, err := c.outgoing()
	if err != nil {
		panic(http.ErrAbortHandler) // the client broke off its own request
	}
	if c.asked.Stream {
		client := dialect.Client{Agent: c.r.UserAgent(), Model: c.asked.Model}
		c.hold = newHold(c.w, c.dialect, client, c.arrived)
		defer c.hold.stop()
	}
	t := &transport.Transport{
		Base:   c.gateway.config.Base,
		Engine: retry.Engine{Policy: c.gateway.config.Policy, Watch: c.watch, Wait: c.wait},
		Faults: c.gateway.config.Faults,
		Resent: true,
	}
	resp, err := t.RoundTrip(req)
	committed := c.hold.stop()
	switch {
	case err != nil:
		c.unanswered(err, committed)
	case committed:
		defer resp.Body.Close()
		c.resume(resp)
	default:
		defer resp.Body.Close()
		c.forward(resp)
	}
}

// outgoing makes the request for the upstream and reads what it asks for.
func (c *call) outgoing() (*http.Request, error) {
	body, err := io.ReadAll(io.LimitReader(c.r.Body, bodyBound+1))
	if err != nil {
		return nil, err
	}
	req := c.r.Clone(c.r.Context())
	req.URL, req.Host, req.RequestURI = target(c.upstream.base, c.r), "", ""
	dropHop(req.Header)
	req.Header.Set("Accept-Encoding", "identity") // we have to see where the content begins
	if _, ok := req.Header["User-Agent"]; !ok {
		req.Header.Set("User-Agent", "") // none is none: net/http would add its own
	}
	if len(body) > bodyBound {
		req.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), c.r.Body))
		req.GetBody = nil
		return req, nil
	}
	c.asked = c.dialect.Read(body)
	req.ContentLength, req.TransferEncoding = int64(len(body)), nil
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body, _ = req.GetBody()
	return req, nil
}

// watch is told of each failed try and of recovery.
func (c *call) watch(n retry.Note) {
	c.last = n
	c.hold.note(n)
	c.tell(n)
}

// tell hands a note on to whoever watches the gateway.
func (c *call) tell(n retry.Note) {
	if watch := c.gateway.config.Watch; watch != nil {
		watch(Event{Request: c.id, Upstream: c.upstream.name, Model: c.asked.Model, Note: n})
	}
}

// wait sleeps until the next try, or until the gateway is closed.
func (c *call) wait(ctx context.Context, n retry.Note) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.gateway.closing, func() { cancel(errClosing) })()
	return retry.Sleep(ctx, n.Verdict.Wait)
}

// unanswered ends a request that has no response: its client has left, or the
// gateway is closing.
func (c *call) unanswered(err error, committed bool) {
	if !errors.Is(err, errClosing) {
		panic(http.ErrAbortHandler)
	}
	f := &fault.Error{Kind: fault.Overloaded}
	words := "ridethrough: " + err.Error() + "; try again"
	if committed {
		c.breakOff(f, words)
		return
	}
	c.w.Header().Set("Retry-After", "1")
	reply(c.w, http.StatusServiceUnavailable, c.dialect.ErrorBody(f, words))
}

// forward hands a response on from its status line on.
func (c *call) forward(resp *http.Response) {
	h := c.w.Header()
	for name, values := range resp.Header {
		h[name] = values
	}
	dropHop(h)
	if n := c.last; n.Run.Tries > 0 {
		h.Set("X-Ridethrough-Retries", strconv.Itoa(retries(n)))
		h.Set("X-Ridethrough-Waited-Ms", strconv.FormatInt(n.Waited.Milliseconds(), 10))
	}
	c.w.WriteHeader(resp.StatusCode)
	c.pump(resp.Body)
}

// resume goes on after the hold has sent the headers: with the answer, or with
// the error that the headers can no longer tell.
func (c *call) resume(resp *http.Response) {
	switch {
	case c.last.Verdict.Stop != "":
		c.breakOff(c.last.Fault, gaveUp(c.last))
	case !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
		f := &fault.Error{Kind: fault.Unavailable}
		c.breakOff(f, "ridethrough: "+c.upstream.name+" answered without the stream that was asked for")
	default:
		c.pump(resp.Body)
	}
}

// pump hands the body on as it comes.
func (c *call) pump(body io.Reader) {
	flusher := http.NewResponseController(c.w)
	buf := make([]byte, 16<<10)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			if _, err := c.w.Write(buf[:n]); err != nil {
				panic(http.ErrAbortHandler) // the client has left
			}
			_ = flusher.Flush() // an error shows at the next write
		}
		switch err {
		case nil:
			continue
		case io.EOF:
			return
		}
		c.broken(err)
		return
	}
}

// broken ends an answer that has broken off after its first content: in the
// dialect's own error, or in a cut connection where that has no place.
func (c *call) broken(err error) {
	if c.r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // the client has left, and with it the request
	}
	f := c.gateway.config.Faults.Broken(err, time.Now())
	c.tell(retry.Note{Run: c.last.Run, Fault: f, Verdict: policy.Verdict{Stop: policy.Committed}, Waited: c.last.Waited})
	// Package transport names the fault where it has watched the frames: then
	// the client stands between two of them.
	if _, watched := errors.AsType[*fault.Error](err); !watched {
		panic(http.ErrAbortHandler)
	}
	c.breakOff(f, "ridethrough: "+f.Error())
}

// breakOff reports a fault inside a stream whose headers are out.
func (c *call) breakOff(f *fault.Error, words string) {
	_, err := c.w.Write(c.dialect.ErrorEvent(f, words))
	if err == nil {
		err = http.NewResponseController(c.w).Flush()
	}
	if err != nil || c.dialect.Aborts() {
		panic(http.ErrAbortHandler)
	}
}

// gaveUp says that there is no other try, and why.
func gaveUp(n retry.Note) string {
	words := "ridethrough: " + n.Fault.Error()
	if r := retries(n); r > 0 && n.Verdict.Stop != policy.Final {
		words = fmt.Sprintf("ridethrough: gave up after %d retries in %v: %v", r, n.Waited.Round(time.Second), n.Fault)
	}
	return words
}

// retries counts the retries that have been made.
func retries(n retry.Note) int {
	if n.Fault == nil {
		return n.Run.Tries // each failed try was followed by another
	}
	return n.Run.Tries - 1
}
