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
	"github.com/ridethrough/ridethrough/transport"
)

// stallLimit is how long a client may take none of its answer before it is
// taken for gone: longer than any lid of a laptop stays closed by accident.
const stallLimit = 10 * time.Minute

// forward hands a response on from its status line on.
func (c *call) forward(resp *http.Response) {
	h := c.w.Header()
	for name, values := range resp.Header {
		if !strings.HasPrefix(name, ours) { // another gateway's, perhaps
			h[name] = values
		}
	}
	dropHop(h)
	if w, watched := resp.Body.(transport.Watched); watched {
		c.asked.Form = w.Form()
		h.Del("Content-Length") // an error may have to be added
	}
	h["X-Ridethrough-Upstream"] = []string{c.flight.at.Name}
	if n := c.latest.Retries(); n > 0 {
		h.Set("X-Ridethrough-Retries", strconv.Itoa(n))
		h.Set("X-Ridethrough-Waited-Ms", strconv.FormatInt(c.latest.Waited.Milliseconds(), 10))
	}
	c.status = resp.StatusCode
	c.w.WriteHeader(resp.StatusCode)
	c.pump(resp.Body)
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
	case c.latest.Verdict.Stop != "":
		c.breakOff(c.latest.Fault, c.lastWords())
	case form == c.asked.Form && whole:
		c.pump(resp.Body)
	default:
		c.fail(&fault.Error{
			Kind: fault.Unavailable, Status: resp.StatusCode,
			Message: c.flight.at.Name + " answered without the stream that was asked for", Rule: "gateway/no stream",
		})
	}
}

// pump hands the body on as it comes.
func (c *call) pump(body io.Reader) {
	buf := newBuffer(pumpSize)
	defer buf.release()
	for {
		n, err := body.Read(buf.bytes[:cap(buf.bytes)])
		c.within = c.within || n > 0
		if n > 0 && c.push(buf.bytes[:n], stallLimit) != nil {
			c.left() // or takes nothing
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

// pumpSize is how much is handed on at once.
const pumpSize = 16 << 10

// push sends bytes to the client at once. One that takes none for so long is
// an error. The deadline is set anew only when a part of the time has passed.
func (c *call) push(p []byte, limit time.Duration) error {
	if c.control == nil {
		c.control = http.NewResponseController(c.w)
	}
	if now := time.Now(); c.lent.Sub(now) < limit-limit/8 || c.lent.Sub(now) > limit {
		c.lent = now.Add(limit)
		_ = c.control.SetWriteDeadline(c.lent) // not every connection has deadlines
	}
	if _, err := c.w.Write(p); err != nil {
		return err
	}
	if err := c.control.Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil // it writes what it gets at once, or keeps it: we cannot help it
}

// ended looks at how a whole stream has ended: an error in the provider's own
// words is told, since the client has it and nobody else does.
func (c *call) ended(body io.Reader) {
	if w, ok := body.(transport.Watched); ok && w.Failure() != nil && c.latest.Verdict.Stop == "" {
		c.broke(w.Failure())
	}
}

// broken ends an answer that has broken off after its first content: in the
// dialect's own error, or in a cut connection where that has no place.
func (c *call) broken(err error) {
	if c.r.Context().Err() != nil {
		c.left()
	}
	f := c.setup.faults.Broken(err, time.Now())
	if c.gateway.closing.Err() != nil {
		f = closingFault
	}
	// Package transport names the fault where it has watched the frames: then
	// the client stands between two of them.
	_, watched := errors.AsType[*fault.Error](err)
	switch {
	case watched && c.asked.Form == dialect.Lines: // it has also told the client
		c.broke(f)
		return
	case watched:
		c.fail(f)
		return
	}
	c.broke(f)
	c.cut()
}

// fail reports that an answer has come to nothing although its headers are out.
func (c *call) fail(f *fault.Error) {
	if c.latest.Verdict.Stop == "" {
		c.broke(f)
	}
	words := "ridethrough: " + f.Error()
	if f == closingFault {
		words = closingWords
	}
	c.breakOff(f, words)
}

// breakOff reports a fault in an answer whose headers are out.
func (c *call) breakOff(f *fault.Error, words string) {
	event := c.dialect.ErrorEvent(c.asked.Form, f, words, c.within)
	if event == nil || c.push(event, stallLimit) != nil || c.dialect.Aborts(c.asked.Form) {
		c.cut()
	}
}

// cut breaks the client's connection: a clean end would be taken for a whole
// answer.
func (c *call) cut() {
	c.status = 0
	panic(http.ErrAbortHandler)
}
