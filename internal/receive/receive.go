// Package receive bounds the time in which the body of a request has to arrive, and lets a client that is still
// sending one see an answer. The server and the gateway are its users.
package receive

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// Limits bounds how long a client may take for a body. Only the time counts in which the server waits for the
// client. A zero field sets no limit.
type Limits struct {
	Pause time.Duration // between two parts
	Total time.Duration // for all of it
	Rate  int64         // the least bytes per second, on average, once Grace has passed
}

// Grace is how long a client may send more slowly than the least rate.
const Grace = 30 * time.Second

// Default returns the limits for bodies of no special kind: 30 s, 10 min, 16 KiB per second.
func Default() Limits {
	return Limits{Pause: 30 * time.Second, Total: 10 * time.Minute, Rate: 16 << 10}
}

// Unread returns the limits for a body that is not read here, or not yet: it may be as slow as it is taken elsewhere.
func Unread() Limits { return Limits{Pause: Default().Pause} }

// Bounds of Drain: for what a client sends of a request that has its answer.
const (
	drainBytes = 64 << 20
	drainTime  = 10 * time.Second
)

// SlowError is the error of a body that took longer than its limits allow.
type SlowError struct {
	Received int64
	Waited   time.Duration
}

// Error returns how much came in what time.
func (e *SlowError) Error() string {
	return fmt.Sprintf("only %d bytes came in %v", e.Received, e.Waited.Round(time.Second))
}

// Body is a request's body whose client must not be too slow.
type Body struct {
	body  io.ReadCloser
	conn  http.ResponseController
	alone bool // on its connection, as in HTTP/1
	waits bool // the client waits for a 100 before it sends

	mu       sync.Mutex
	limits   Limits
	received int64
	waited   time.Duration
	deadline time.Time // that is set
	ended    bool      // all of it has been read
	slow     bool      // the client has had its time
}

// Bound puts limits on a request's body, in place of those that it has; nil: there is no body. They hold for a
// body that is not read as well: net/http waits for its rest before it answers. Limits that leave the client the same
// time as those before do not begin it anew.
func Bound(w http.ResponseWriter, r *http.Request, l Limits) *Body {
	if r.ContentLength == 0 || r.Body == nil {
		return nil
	}
	b, ok := r.Body.(*Body)
	if !ok {
		b = &Body{body: r.Body, conn: *http.NewResponseController(w), alone: r.ProtoMajor < 2, waits: r.Header["Expect"] != nil}
		r.Body = b
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.left()
	if b.limits = l; !ok || b.left() != before {
		b.extend(time.Now())
	}
	return b
}

// Read reads the body. At its end it removes the deadline: the server reads on to notice when the client
// leaves.
func (b *Body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	began := time.Now()
	if b.extend(began) <= 0 {
		return 0, b.tooSlow()
	}
	n, err := b.body.Read(p)
	b.received += int64(n)
	b.waited += time.Since(began)
	switch {
	case err == nil:
	case err == io.EOF:
		b.ended = true
		_ = b.conn.SetReadDeadline(time.Time{})
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = b.tooSlow()
	}
	return n, err
}

// tooSlow returns the error of a body whose client has had its time.
func (b *Body) tooSlow() error {
	b.slow = true
	return &SlowError{b.received, b.waited}
}

// extend moves the deadline of the connection to the time that is left, which it returns.
func (b *Body) extend(now time.Time) (left time.Duration) {
	left = b.left()
	if moved := now.Add(left).Sub(b.deadline); moved.Abs() > time.Second { // seldom, as it costs a little
		b.deadline = now.Add(left)
		_ = b.conn.SetReadDeadline(b.deadline) // not every connection has deadlines
	}
	return left
}

// left returns how long the client may take for its next part.
func (b *Body) left() time.Duration {
	left := time.Hour // more than any connection's
	if b.limits.Pause > 0 {
		left = b.limits.Pause
	}
	if b.limits.Total > 0 {
		left = min(left, b.limits.Total-b.waited)
	}
	if b.limits.Rate > 0 {
		left = min(left, Grace+time.Duration(b.received/b.limits.Rate)*time.Second-b.waited)
	}
	return left
}

// Close closes the body.
func (b *Body) Close() error { return b.body.Close() }

// Drain reads on after an answer, so that a client that is still sending sees the answer and not a reset. It
// does not wait for a client that was too slow before, and HTTP/2 can answer without.
func (b *Body) Drain() {
	if b == nil || !b.beginDrain() {
		return
	}
	_, _ = io.CopyN(io.Discard, b, drainBytes)
}

// beginDrain sets the limits for what is left; false: there is nothing.
func (b *Body) beginDrain() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended || b.slow || !b.alone || b.waits && b.received == 0 {
		return false
	}
	b.limits, b.received, b.waited = Limits{Total: drainTime}, 0, 0
	return true
}

// Finish ends a request that has its answer. Of a body that has no end it closes the connection: what follows
// would be read as the next request, and may be a part of this one. net/http does so itself only for answers
// that follow the whole body.
func (b *Body) Finish(w http.ResponseWriter) {
	if b == nil || b.hasEnded() || w.Header().Get("Connection") == "close" {
		return
	}
	_ = b.conn.Flush()
	if b.Drain(); b.hasEnded() {
		return
	}
	if b.Close() != nil {
		panic(http.ErrAbortHandler)
	}
}

func (b *Body) hasEnded() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended
}
