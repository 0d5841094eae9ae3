package gateway

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/internal/spool"
	"github.com/ridethrough/ridethrough/transport"
)

// clientStallTimeout is how long a client may take none of its answer before it is
// taken for gone: longer than any lid of a laptop stays closed by accident.
const clientStallTimeout = 10 * time.Minute

// forward hands a response on from its status line on.
func (c *call) forward(resp *http.Response) {
	h := c.w.Header()
	for name, values := range resp.Header {
		if !strings.HasPrefix(name, headerPrefix) { // another gateway's, perhaps
			h[name] = values
		}
	}
	dropHop(h)
	if w, watched := resp.Body.(transport.Watched); watched {
		c.parsed.Form = w.Form()
		h.Del("Content-Length") // an error may have to be added
	}
	h["X-Ridethrough-Upstream"] = []string{c.shared.upstream.Name}
	if n := c.outcome.Retries(); n > 0 {
		h.Set("X-Ridethrough-Retries", strconv.Itoa(n))
		h.Set("X-Ridethrough-Waited-Ms", strconv.FormatInt(c.outcome.Waited.Milliseconds(), 10))
	}
	c.status = resp.StatusCode
	c.w.WriteHeader(resp.StatusCode)
	c.copyBody(resp.Body)
}

// resume goes on after the hold has sent the headers: with the answer, or with
// the error that the headers can no longer tell.
func (c *call) resume(resp *http.Response) {
	c.status = http.StatusOK
	whole := resp.StatusCode == http.StatusOK && resp.Header.Get("Content-Encoding") == ""
	form := dialect.JSON
	if w, ok := resp.Body.(transport.Watched); ok {
		form = w.Form()
	}
	switch {
	case c.outcome.Verdict.Stop != "":
		c.endWithError(c.outcome.Fault, c.giveUpMessage())
	case form == c.parsed.Form && whole:
		c.copyBody(resp.Body)
	default:
		c.fail(&fault.Error{
			Kind: fault.Unavailable, Status: resp.StatusCode,
			Message: c.shared.upstream.Name + " answered without the stream that was asked for", Rule: "gateway/no stream",
		})
	}
}

// copyBody hands the body on as it comes.
func (c *call) copyBody(body io.Reader) {
	buf := spool.NewBuffer(copyBufferSize)
	defer buf.Release()
	for {
		n, err := body.Read(buf.Bytes[:cap(buf.Bytes)])
		c.answering = c.answering || n > 0
		if n > 0 && c.write(buf.Bytes[:n], clientStallTimeout) != nil {
			c.clientLeft() // or takes nothing
		}
		if err == io.EOF {
			c.noteStreamError(body)
			return
		}
		if err != nil {
			c.brokenOff(err)
			return
		}
	}
}

// copyBufferSize is how much is handed on at once.
const copyBufferSize = 16 << 10

// write sends bytes to the client at once. One that takes none for so long is
// an error. The deadline is set anew only when a part of the time has passed.
func (c *call) write(p []byte, limit time.Duration) error {
	if c.control == nil {
		c.control = http.NewResponseController(c.w)
	}
	if now := time.Now(); c.writeDeadline.Sub(now) < limit-limit/8 || c.writeDeadline.Sub(now) > limit {
		c.writeDeadline = now.Add(limit)
		_ = c.control.SetWriteDeadline(c.writeDeadline) // not every connection has deadlines
	}
	if _, err := c.w.Write(p); err != nil {
		return err
	}
	if err := c.control.Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil // it writes what it gets at once, or keeps it: we cannot help it
}

// noteStreamError looks at how a whole stream has ended: an error in the provider's own
// words is told, since the client has it and nobody else does.
func (c *call) noteStreamError(body io.Reader) {
	if w, ok := body.(transport.Watched); ok && w.Failure() != nil && c.outcome.Verdict.Stop == "" {
		c.tellBrokeOff(w.Failure())
	}
}

// brokenOff ends an answer that has broken off after its first content: in the
// dialect's own error, or in a cut connection where that has no place.
func (c *call) brokenOff(err error) {
	if c.r.Context().Err() != nil {
		c.clientLeft()
	}
	f := c.setup.faults.Broken(err, time.Now())
	if c.gateway.closing.Err() != nil {
		f = closingFault
	}
	// Package transport names the fault where it has watched the frames: then
	// the client stands between two of them.
	_, watched := errors.AsType[*fault.Error](err)
	switch {
	case watched && c.parsed.Form == dialect.Lines: // it has also told the client
		c.tellBrokeOff(f)
		return
	case watched:
		c.fail(f)
		return
	}
	c.tellBrokeOff(f)
	c.cut()
}

// fail reports that an answer has come to nothing although its headers are out.
func (c *call) fail(f *fault.Error) {
	if c.outcome.Verdict.Stop == "" {
		c.tellBrokeOff(f)
	}
	words := "ridethrough: " + f.Error()
	if f == closingFault {
		words = closingMessage
	}
	c.endWithError(f, words)
}

// endWithError reports a fault in an answer whose headers are out.
func (c *call) endWithError(f *fault.Error, words string) {
	event := c.dialect.ErrorEvent(c.parsed.Form, f, words, c.answering)
	if event == nil || c.write(event, clientStallTimeout) != nil || c.dialect.Aborts(c.parsed.Form) {
		c.cut()
	}
}

// cut breaks the client's connection: a clean end would be taken for a whole
// answer.
func (c *call) cut() {
	c.status = 0
	panic(http.ErrAbortHandler)
}
