package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/internal/receive"
	"github.com/ridethrough/ridethrough/internal/spool"
)

// Receive bounds how long a client may take for the body of a request for an answer. Only the time counts in
// which the gateway waits for the client; a pause of 30 s is too long in any case. A zero field sets no limit.
//
// A client that is too slow gets the status 408. These limits replace the ReadTimeout of an http.Server.
type Receive struct {
	Time time.Duration // for all of it
	Rate int64         // the least bytes per second, on average, once 30 s have passed
}

// DefaultReceive returns the limits of a gateway without its own: 10 min, and 16 KiB per second.
func DefaultReceive() Receive {
	l := receive.Default()
	return Receive{Time: l.Total, Rate: l.Rate}
}

// limits returns them in the form in which they are applied.
func (r Receive) limits() receive.Limits {
	l := receive.Default()
	l.Total, l.Rate = r.Time, r.Rate
	return l
}

// readBody reads and parses the request; false: it is answered with an error. While its upstream fails it is
// going to wait, and compressed at once.
func (c *call) readBody() bool {
	received := receive.Bound(c.w, c.r, c.setup.receive)
	src := scannedBodies.Get().(*scannedBody)
	defer src.release()
	src.Reader, src.ended = c.r.Body, c.coding() != ""
	read, encoded := c.gateway.spool.Read, src.ended
	if c.upstream.breaker.Degraded() {
		read = c.gateway.spool.ReadForWait
	}
	body, err := read(src, c.r.ContentLength, c.upstream.Body)
	if err != nil {
		c.status = c.upstream.refuseBody(c.w, c.r, received, c.dialect, err)
		return false
	}
	c.body = body
	if encoded {
		c.unreadable = !c.eachPart(func(part []byte) (more bool) { return !src.found.Scan(part) })
	}
	c.parsed = c.dialect.Request(c.r.URL, &src.found)
	return true
}

// scannedBody is a request's body that is looked at while it is received: afterwards it may be compressed.
type scannedBody struct {
	io.Reader
	found dialect.RequestScanner
	ended bool // nothing of the rest is of use
}

// scannedBodies are not in use.
var scannedBodies = sync.Pool{New: func() any { return new(scannedBody) }}

// release makes it ready for another body.
func (s *scannedBody) release() {
	*s = scannedBody{}
	scannedBodies.Put(s)
}

// Read implements io.Reader.
func (s *scannedBody) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if !s.ended {
		s.ended = s.found.Scan(p[:n])
	}
	return n, err
}

// eachPart calls f with the parts of the request's body, decoded, until f returns false. It reports whether they
// could be read. What is sent stays encoded.
func (c *call) eachPart(f func(part []byte) (more bool)) bool {
	if coding := c.coding(); coding != "" {
		return c.gateway.spool.Unpack(coding, c.body, c.upstream.Body, f)
	}
	return c.body.Each(f)
}

// coding returns the content coding of the request's body in lower case; "": none.
func (c *call) coding() string {
	if c.continuing() {
		return "" // the body is the gateway's
	}
	if coding := c.r.Header.Get("Content-Encoding"); !strings.EqualFold(coding, "identity") {
		return strings.ToLower(coding)
	}
	return ""
}

// fullRetryAfter is the Retry-After, in seconds, of a request for whose body there is no room.
const fullRetryAfter = "5"

// refuseBody answers a request whose body is not taken, and returns the status.
func (u *upstream) refuseBody(w http.ResponseWriter, r *http.Request, received *receive.Body, d *dialect.Dialect, err error) int {
	h := w.Header()
	status, kind, why := http.StatusBadRequest, fault.Invalid, "the request's body cannot be read: "+err.Error()
	switch slow, isSlow := errors.AsType[*receive.SlowError](err); {
	case errors.Is(err, spool.ErrTooLarge):
		status, kind = http.StatusRequestEntityTooLarge, fault.TooLong
		why = fmt.Sprintf("the request is larger than %d bytes, the bound of the upstream %s", u.Body, u.Name)
		h.Set(shouldRetryHeader, "false")
	case errors.Is(err, spool.ErrFull):
		status, kind, why = http.StatusServiceUnavailable, fault.Overloaded, err.Error()+"; try again"
		h.Set("Retry-After", fullRetryAfter)
	case isSlow:
		status, why = http.StatusRequestTimeout, "the request's body is sent too slowly: "+slow.Error()
	}
	answer := d.ErrorBody(&fault.Error{Kind: kind}, "ridethrough: "+why)
	h.Set("Content-Length", strconv.Itoa(len(answer))) // the client has all of it before the connection ends
	if r.ProtoMajor == 1 {
		h.Set("Connection", "close") // what follows is no request
	}
	reply(w, d, status, answer)
	_ = http.NewResponseController(w).Flush()
	received.Drain()
	return status
}
