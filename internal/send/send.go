// Package send writes answers to clients, and gives up a client that reads nothing for too long. The server and the
// gateway are its users.
//
// The time is counted in ticks, so it passes only while the process runs. A deadline of a connection also passes
// while the machine stalls or the process is stopped. Then it would cut off clients that have read all along.
package send

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

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
