// Package exchange bounds how long a client may take over one exchange: how long its request takes to arrive, and
// how long it may read nothing of its answer. The server and the gateway are its users.
//
// The time of a write is counted in ticks, so it passes only while the process runs. A deadline of a connection also
// passes while the machine stalls or the process is stopped. Then it would cut off clients that have read all along.
package exchange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Listener accepts connections whose read deadlines cost little to move: net/http moves that of a connection six
// times for each request, always to a later moment but once.
type Listener struct{ net.Listener }

// Accept implements net.Listener.
func (l Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

// conn is a connection that is given a later read deadline only once the earlier one has come.
type conn struct {
	net.Conn

	mu     sync.Mutex
	wanted time.Time // the read deadline; zero: none
	set    time.Time // that the connection below has, which is no later

	interrupted atomic.Bool // set is one that is always past
}

// resumeTime is the first deadline after one that was past. It is earlier than those that net/http sets for the next
// request, which then need not be set.
const resumeTime = 5 * time.Second

// NetConn returns the connection below.
func (c *conn) NetConn() net.Conn { return c.Conn }

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted = t
	if t.IsZero() || !c.set.IsZero() && !t.Before(c.set) {
		return nil
	}
	return c.apply(t)
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	if c.interrupted.Load() {
		c.resume()
	}
	for {
		n, err := c.Conn.Read(p)
		if n > 0 || err == nil || !errors.Is(err, os.ErrDeadlineExceeded) || !c.goesOn() {
			return n, err
		}
	}
}

// goesOn reports whether a deadline that has come is not the wanted one any more, which it sets then.
func (c *conn) goesOn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.wanted.Equal(c.set) && c.apply(c.wanted) == nil
}

// resume lets the connection be read again after a past deadline, by which net/http ends a read, unless that one
// holds. The read would fail first otherwise.
func (c *conn) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wanted.Equal(c.set) {
		return
	}
	t := c.wanted
	if soon := time.Now().Add(resumeTime); t.After(soon) {
		t = soon
	}
	_ = c.apply(t) // the read fails if it cannot be set
}

// apply sets the deadline of the connection below. mu is held.
func (c *conn) apply(t time.Time) error {
	c.set = t
	c.interrupted.Store(t.Unix() == 1) // as net/http does
	return c.Conn.SetReadDeadline(t)
}

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
// time as the old ones do not move its deadline.
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

// Writer writes the answer to one request. Set its ResponseWriter before its first use. It must not be copied.
type Writer struct {
	ResponseWriter http.ResponseWriter

	control http.ResponseController
	stall   countdown // of the write in progress
}

// Write sends bytes at once. It fails if the client reads none of them for so long, and then all later ones fail.
func (w *Writer) Write(p []byte, limit time.Duration) error {
	if w.stall.wait == nil {
		w.control, w.stall.wait = *http.NewResponseController(w.ResponseWriter), w
	}
	w.stall.begin(limit)
	defer w.stall.pause()
	if _, err := w.ResponseWriter.Write(p); err != nil {
		return err
	}
	if err := w.control.Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil // it sends at once anyway, or buffers, which cannot be changed
}

// end ends the write in progress.
func (w *Writer) end() {
	_ = w.control.SetWriteDeadline(time.Unix(1, 0)) // not every connection has deadlines
}

// Close releases the timer. Nothing may be written after it.
func (w *Writer) Close() { w.stall.stop() }

// WithTimeout is [context.WithTimeout] in time in which the process ran.
func WithTimeout(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &countdown{wait: canceling(cancel)}
	c.begin(limit)
	return ctx, func() { c.stop(); cancel(context.Canceled) }
}

// canceling is a wait that ends with a context.
type canceling context.CancelCauseFunc

func (cancel canceling) end() { cancel(context.DeadlineExceeded) }

// ticks is how many parts a limit has. A stall of any length takes one of them.
const ticks = 20

// countdown ends a wait that outlasts its ticks. Its timer outlasts a short wait, so that many short ones in a row
// set it only once.
type countdown struct {
	wait interface{ end() } // ended once, if the wait in progress takes too long; nil: there was none yet

	mu    sync.Mutex
	timer *time.Timer   // nil: there was no wait yet
	every time.Duration // between ticks; 0: the timer is not set
	left  int           // ticks of the wait in progress; 0: there is none
}

// begin begins a wait.
func (c *countdown) begin(limit time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	every := limit / ticks
	c.left = ticks
	switch {
	case c.timer == nil:
		c.timer = time.AfterFunc(every, c.tick)
	case c.every == 0 || every < c.every:
		c.timer.Reset(every)
	default:
		c.left++ // the first tick comes early
	}
	c.every = every
}

// pause ends the wait in progress.
func (c *countdown) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = 0
}

// tick counts down.
func (c *countdown) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.left {
	case 0:
		c.every = 0
	case 1:
		c.every, c.left = 0, 0
		c.wait.end()
	default:
		c.left--
		c.timer.Reset(c.every)
	}
}

// stop ends the wait in progress and the timer.
func (c *countdown) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.every, c.left = 0, 0
	if c.timer != nil {
		c.timer.Stop()
	}
}
