package transport

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// Limits bounds the silence of one try. A try that is silent for longer fails
// with a fault of kind Timeout: before the first content it is tried again,
// after it the answer ends in that fault. Only time in which somebody waits for
// the provider counts. How long a connection may take to be made is for Base to
// say.
type Limits struct {
	FirstByte time.Duration // from sending to the first byte of the answer's body; of what is no answer, to its headers; 0: none
	Idle      time.Duration // between two bytes of the body, and to the first one where FirstByte is 0; 0: none
}

// watch enforces limits on one try, with one timer, and then is the body of its
// answer. The nil watch enforces none.
type watch struct {
	limits  Limits
	cancel  context.CancelCauseFunc // ends the try's context
	timer   *time.Timer
	waiting atomic.Bool // for the first byte
	expired atomic.Pointer[fault.Error]

	mu  sync.Mutex    // for the timer, which may come before there is a body
	src io.ReadCloser // nil: nothing has come yet
}

// start begins to watch a try, and gives the context that ends when a limit
// expires.
func (l Limits) start(ctx context.Context) (context.Context, *watch) {
	if l == (Limits{}) {
		return ctx, nil
	}
	w := &watch{limits: l}
	ctx, w.cancel = context.WithCancelCause(ctx)
	w.waiting.Store(l.FirstByte > 0)
	w.timer = time.AfterFunc(cmp.Or(l.FirstByte, l.Idle), w.expire)
	if l.FirstByte == 0 {
		w.timer.Stop() // until somebody reads
	}
	return ctx, w
}

// expire is the timer's: it ends the try.
func (w *watch) expire() {
	f := &fault.Error{Kind: fault.Timeout, Message: "no byte for " + w.limits.Idle.String(), Rule: "transport/idle"}
	if w.waiting.Load() {
		f.Message, f.Rule = "no byte for "+w.limits.FirstByte.String(), "transport/first byte"
	}
	w.expired.Store(f)
	w.cancel(f)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.src != nil {
		_ = w.src.Close() // it may not heed the context
	}
}

// cause gives the fault of an expired limit, or the error.
func (w *watch) cause(err error) error {
	if w != nil && w.expired.Load() != nil {
		f := *w.expired.Load()
		f.Err = err
		return &f
	}
	return err
}

// end ends the watch. It may be called again.
func (w *watch) end() {
	if w != nil {
		w.timer.Stop()
		w.cancel(nil)
	}
}

// over puts the watch over a response's body.
func (w *watch) over(resp *http.Response) {
	switch {
	case w == nil:
	case resp.Body == http.NoBody:
		w.end()
	case resp.StatusCode == http.StatusSwitchingProtocols:
		w.timer.Stop() // it is no body, but both ways of a connection
	default:
		w.mu.Lock()
		w.src = resp.Body
		w.mu.Unlock()
		resp.Body = w
	}
}

// Read stops the clock between two reads: a reader may take its time.
func (w *watch) Read(p []byte) (int, error) {
	if w.limits.Idle > 0 && !w.waiting.Load() {
		w.timer.Reset(w.limits.Idle)
	}
	n, err := w.src.Read(p)
	if n > 0 || err != nil {
		w.timer.Stop()
		w.waiting.Store(false)
	}
	if err != nil { // an EOF too: a body that we have closed may end in one
		err = w.cause(err)
	}
	return n, err
}

// Close ends the watch with the body.
func (w *watch) Close() error {
	defer w.end()
	return w.src.Close()
}

// once sends a request that is not for this transport to try again.
func (t *Transport) once(req *http.Request) (*http.Response, error) {
	if t.Limits == (Limits{}) {
		return t.base().RoundTrip(req)
	}
	ctx, w := t.Limits.start(req.Context())
	resp, err := t.base().RoundTrip(req.WithContext(ctx))
	if err != nil {
		w.end()
		return nil, w.cause(err)
	}
	w.over(resp)
	return unread(resp), nil
}

// unread stops the clock of a body that is handed on unread.
func unread(resp *http.Response) *http.Response {
	if w, ok := resp.Body.(*watch); ok {
		w.timer.Stop()
		w.waiting.Store(false)
	}
	return resp
}
