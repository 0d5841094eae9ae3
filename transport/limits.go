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

// Limits bounds the silence of one try; 0: no limit. A try that is silent for
// longer fails with a fault of kind Timeout. Before the first content it is tried
// again, after it the answer ends in that fault. Only time in which the caller
// reads counts. How long a connection may take to be made is up to Base.
type Limits struct {
	// FirstByte is from sending to the first byte of the answer's body. Where no
	// answer was asked for, it is to the headers.
	FirstByte time.Duration
	// Spent is how much of FirstByte has passed for the first try before it is sent: an earlier try of the same
	// request was as silent until its client left. The try has minFirstByte in any case.
	Spent time.Duration
	// Idle is between two bytes of the body, and to the first one where there is
	// no FirstByte.
	Idle time.Duration
	// Content is when the first content of an answer must have come, of an answer that is not streamed all of it;
	// zero: no such moment. The caller has something better to do then, such as to ask another upstream, so that
	// bytes without content do not count. A request that is sent once has no such limit.
	Content time.Time
}

// minFirstByte is the least time that a try has to its first byte, however much of its limit is spent.
const minFirstByte = 10 * time.Second

// firstByte returns the limit of a call's n-th try.
func (l Limits) firstByte(n int) time.Duration {
	if l.Spent == 0 || n > 1 {
		return l.FirstByte
	}
	return min(l.FirstByte, max(l.FirstByte-l.Spent, minFirstByte))
}

// watchdog enforces limits on one try, with one timer, and then is the body of
// its answer. The nil watchdog enforces none.
type watchdog struct {
	limits  Limits
	began   time.Time
	cancel  context.CancelCauseFunc // ends the try's context
	timer   *time.Timer
	content *time.Timer  // until the first content; nil: it has no end
	outcome atomic.Int32 // of that wait
	waiting atomic.Bool  // for the first byte
	expired atomic.Pointer[fault.Error]

	mu  sync.Mutex    // for the timer, which may come before there is a body
	src io.ReadCloser // nil: nothing has come yet
}

// The outcomes of the wait for the first content.
const (
	inTime int32 = 1 + iota
	tooLate
)

// start begins to watch a call's n-th try, and returns the context that ends when
// a limit expires.
func (l Limits) start(ctx context.Context, n int) (context.Context, *watchdog) {
	if l == (Limits{}) {
		return ctx, nil
	}
	w := &watchdog{limits: l, began: time.Now()}
	ctx, w.cancel = context.WithCancelCause(ctx)
	w.waiting.Store(l.FirstByte > 0)
	w.timer = time.AfterFunc(cmp.Or(l.firstByte(n), l.Idle), w.expire)
	if l.FirstByte == 0 {
		w.timer.Stop() // until the caller reads
	}
	if !l.Content.IsZero() {
		w.content = time.AfterFunc(time.Until(l.Content), w.expireContent)
	}
	return ctx, w
}

// expire ends the try when the timer fires.
func (w *watchdog) expire() {
	f := &fault.Error{Kind: fault.Timeout, Message: "no byte for " + w.limits.Idle.String(), Rule: "transport/idle"}
	if w.waiting.Load() {
		f.Code, f.Rule = fault.Silence, "transport/first byte"
		f.Message = "no first byte in " + w.limits.FirstByte.String()
	}
	w.fail(f)
}

// expireContent ends the try when its first content has not come in time.
func (w *watchdog) expireContent() {
	if !w.outcome.CompareAndSwap(0, tooLate) {
		return
	}
	took := time.Since(w.began).Round(time.Millisecond)
	w.fail(&fault.Error{Kind: fault.Timeout, Message: "no content in " + took.String(), Rule: "transport/content"})
}

// answered notes that the first content has come, or that none will; false: too late.
func (w *watchdog) answered() bool {
	if w == nil || w.content == nil {
		return true
	}
	w.content.Stop()
	w.outcome.CompareAndSwap(0, inTime)
	return w.outcome.Load() == inTime
}

// fail ends the try with a fault.
func (w *watchdog) fail(f *fault.Error) {
	w.expired.Store(f)
	w.cancel(f)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.src != nil {
		_ = w.src.Close() // it may not heed the context
	}
}

// cause returns the fault of an expired limit, or the error.
func (w *watchdog) cause(err error) error {
	if w != nil && w.expired.Load() != nil {
		f := *w.expired.Load()
		f.Err = err
		return &f
	}
	return err
}

// end stops the watchdog. It may be called again.
func (w *watchdog) end() {
	if w != nil {
		w.timer.Stop()
		w.answered()
		w.cancel(nil)
	}
}

// wrap makes the watchdog the response's body.
func (w *watchdog) wrap(resp *http.Response) {
	switch {
	case w == nil:
	case resp.Body == http.NoBody:
		w.end()
	case resp.StatusCode == http.StatusSwitchingProtocols:
		w.timer.Stop() // not a body, but both directions of a connection
	default:
		w.mu.Lock()
		w.src = resp.Body
		w.mu.Unlock()
		resp.Body = w
	}
}

// Read stops the timer between two reads: a reader may take its time.
func (w *watchdog) Read(p []byte) (int, error) {
	if w.limits.Idle > 0 && !w.waiting.Load() {
		w.timer.Reset(w.limits.Idle)
	}
	n, err := w.src.Read(p)
	if n > 0 || err != nil {
		w.timer.Stop()
		w.waiting.Store(false)
	}
	if err != nil { // an EOF too: a body that expire has closed may end in one
		err = w.cause(err)
	}
	return n, err
}

// Close stops the watchdog with the body.
func (w *watchdog) Close() error {
	defer w.end()
	return w.src.Close()
}

// sendOnce sends a request that is not tried again here.
func (t *Transport) sendOnce(req *http.Request) (*http.Response, error) {
	if t.Limits == (Limits{}) {
		return t.base().RoundTrip(req)
	}
	l := t.Limits
	l.Content = time.Time{}
	ctx, w := l.start(req.Context(), 1)
	resp, err := t.base().RoundTrip(req.WithContext(ctx))
	if err != nil {
		w.end()
		return nil, w.cause(err)
	}
	w.wrap(resp)
	return unlimited(resp), nil
}

// unlimited stops the timer of a body that is returned unread.
func unlimited(resp *http.Response) *http.Response {
	if w, ok := resp.Body.(*watchdog); ok {
		w.timer.Stop()
		w.waiting.Store(false)
	}
	return resp
}
