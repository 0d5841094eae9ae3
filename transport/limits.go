package transport

import (
	"cmp"
	"context"
	"io"
	"math"
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
	// WithoutContent is from sending to the first content of an answer, and between two in a streamed one: other
	// bytes, such as pings, comments and empty events, do not count. An answer that is not streamed, whose content
	// is whole at its end, has three times as long. In a request that is sent once it is to the first content only.
	WithoutContent time.Duration
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

	// learned takes the place of FirstByte where it is shorter, and of WithoutContent before the first content. A
	// request that is sent once has no such limit.
	learned learnedLimit
}

// unlearned is the limit on the first byte of a try from which to learn, where there is no other.
const unlearned = 10 * time.Minute

// fullTry is the try that has the whole of FirstByte, of every few silent ones of a call: a request that is slow
// by itself is answered then.
const fullTry = 4

// lengthen returns the learned limit of a try after a number of silent ones of the same call.
func (l Limits) lengthen(learned time.Duration, silent int) time.Duration {
	switch silent %= fullTry; {
	case learned == 0:
		return 0
	case silent == fullTry-1:
		return cmp.Or(l.FirstByte, unlearned)
	}
	return learned << silent
}

// minFirstByte is the least time that a try has to its first byte, however much of its limit is spent.
const minFirstByte = 10 * time.Second

// left returns what is left of the limit on the first byte of a call's n-th try.
func (l Limits) left(limit time.Duration, n int) time.Duration {
	if l.Spent == 0 || n > 1 {
		return limit
	}
	return min(limit, max(limit-l.Spent, minFirstByte))
}

// watchdog enforces limits on one try, with one timer, and then is the body of
// its answer. The nil watchdog enforces none.
type watchdog struct {
	limits  Limits
	first   time.Duration // the limit on the first byte
	seen    uint64        // answers to others when the try began
	learned bool          // first is
	longer  atomic.Bool   // it goes on although first is over
	began   time.Time
	cancel  context.CancelCauseFunc // ends the try's context
	timer   *time.Timer
	content *time.Timer   // until the first content; nil: it has no end
	outcome atomic.Int32  // of the wait for it; 0: it waits
	waiting atomic.Bool   // for the first byte
	due     atomic.Bool   // what the timer waits for is content
	whole   atomic.Bool   // the answer is not streamed
	follows bool          // the reader says what is content, see progress
	quiet   time.Duration // for which the reader has waited since the last one
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
// a limit expires. silent is how many tries before have exceeded it.
func (l Limits) start(ctx context.Context, n, silent int) (context.Context, *watchdog) {
	if l == (Limits{}) {
		return ctx, nil
	}
	w := &watchdog{limits: l, first: l.FirstByte, began: time.Now()}
	learned, seen := l.learned.limit()
	if learned = l.lengthen(learned, silent); learned > 0 && (w.first == 0 || learned < w.first) {
		w.first, w.learned, w.seen = learned, true, seen
	}
	ctx, w.cancel = context.WithCancelCause(ctx)
	w.waiting.Store(w.first > 0)
	w.timer = time.AfterFunc(cmp.Or(l.left(w.first, n), l.Idle, math.MaxInt64), w.expire) // not 0: it would fire before Stop
	if w.first == 0 {
		w.timer.Stop() // until the caller reads
	}
	if !l.Content.IsZero() {
		w.content = time.AfterFunc(time.Until(l.Content), w.expireContent)
	}
	return ctx, w
}

// idle returns the limit between two bytes. Before the first content it is no longer than the learned one.
func (w *watchdog) idle() time.Duration {
	if w.learned && w.outcome.Load() == 0 && (w.limits.Idle == 0 || w.first < w.limits.Idle) {
		return w.first
	}
	return w.limits.Idle
}

// timesWhole is how many times as long an answer that is not streamed may take: DeepSeek sends blanks while one is queued,
// and while it is generated.
const timesWhole = 3

// contentLimit returns how long the next content may take; 0: it has no limit. learned: the first has the learned one.
func (w *watchdog) contentLimit() (limit time.Duration, learned bool) {
	if limit = w.limits.WithoutContent; w.whole.Load() {
		limit *= timesWhole
	}
	if w.learned && w.outcome.Load() == 0 && !w.longer.Load() && (limit == 0 || w.first < limit) {
		return w.first, true
	}
	return limit, false
}

// contentDue returns in what time the next content must come; 0: there is no such time. Before the first content all time
// counts, and then only that in which the reader waits.
func (w *watchdog) contentDue() time.Duration {
	limit, _ := w.contentLimit()
	switch begun := w.outcome.Load() != 0; {
	case limit == 0 || begun && !w.follows:
		return 0
	case begun:
		return max(limit-w.quiet, 1)
	}
	return max(limit-time.Since(w.began), 1)
}

// progress notes that content has come. The reader calls it.
func (w *watchdog) progress() {
	if w != nil {
		w.quiet = 0
	}
}

// expire ends the try when the timer fires, or lets it continue to learn from it.
func (w *watchdog) expire() { w.expireAfter(w.first) }

// expireAfter is expire with the time to the first byte that the try has had.
func (w *watchdog) expireAfter(first time.Duration) {
	f := &fault.Error{Kind: fault.Timeout, Message: "no byte for " + w.idle().String(), Rule: "transport/idle"}
	waiting, byLearned := w.waiting.Load(), w.learned
	switch {
	case waiting:
		f.Message, f.Rule = "no first byte in "+first.String(), "transport/first byte"
	case w.due.Load():
		var limit time.Duration
		limit, byLearned = w.contentLimit()
		f.Message, f.Rule = "no content in "+limit.String()+", only pings or comments", "transport/only pings"
	}
	if w.outcome.Load() == 0 {
		f.Code = fault.Silence
		if byLearned && w.goesOn(f) {
			return
		}
	}
	w.fail(f)
}

// goesOn reports whether a try continues although the learned limit is over. Else it adds to the fault what was
// learned.
func (w *watchdog) goesOn(f *fault.Error) bool {
	alone, mayGoOn := w.limits.learned.silent(w.seen, w.longer.Load())
	if mayGoOn && w.extend() {
		return true
	}
	f.Message += ", the learned limit"
	if alone {
		f.Code = fault.SilentTry
		f.Message += ", while others were answered"
	}
	return false
}

// extend lets the try have all the time that it would have without the learned limit; false: it has had that.
func (w *watchdog) extend() bool {
	to, waiting := cmp.Or(w.limits.FirstByte, unlearned), w.waiting.Load()
	if !waiting {
		to = cmp.Or(w.limits.WithoutContent, unlearned)
	}
	if to <= w.first || w.outcome.Load() != 0 {
		return false
	}
	w.longer.Store(true)
	time.AfterFunc(to-w.first, func() { // not w.timer, which a byte may have stopped meanwhile
		if w.waiting.Load() || !waiting && w.outcome.Load() == 0 {
			w.expireAfter(to)
		}
	})
	return true
}

// expireContent ends the try when its first content has not come in time.
func (w *watchdog) expireContent() {
	if !w.outcome.CompareAndSwap(0, tooLate) {
		return
	}
	took := time.Since(w.began).Round(time.Millisecond)
	w.fail(&fault.Error{Kind: fault.Timeout, Message: "no content in " + took.String(), Rule: "transport/content"})
}

// hold stops the limit on the first byte while a gateway holds the request. The returned function restarts it.
func (w *watchdog) hold() (end func()) {
	if w == nil {
		return func() {}
	}
	w.waiting.Store(false)
	w.timer.Stop()
	return func() {
		w.began = time.Now()
		if w.first > 0 {
			w.waiting.Store(true)
			w.timer.Reset(w.first)
		}
	}
}

// answered notes that the first content has come, or that none will; false: too late.
func (w *watchdog) answered() bool {
	if w == nil {
		return true
	}
	if w.content != nil {
		w.content.Stop()
	}
	w.outcome.CompareAndSwap(0, inTime)
	return w.outcome.Load() == inTime
}

// learn takes the time to the first content, of which this is the moment.
func (w *watchdog) learn() {
	if w == nil {
		return
	}
	w.limits.learned.answered(time.Since(w.began), w.longer.Load())
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
	if !w.waiting.Load() {
		idle, due := w.idle(), w.contentDue()
		first := due > 0 && (idle == 0 || due < idle)
		if first {
			idle = due
		}
		w.due.Store(first)
		if idle > 0 {
			w.timer.Reset(idle)
		}
	}
	follows := w.follows && w.outcome.Load() != 0
	var begun time.Time
	if follows {
		begun = time.Now()
	}
	n, err := w.src.Read(p)
	if follows {
		w.quiet += time.Since(begun)
	}
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

// unlimited stops the timer of a body that is returned unread.
func unlimited(resp *http.Response) *http.Response {
	if w, ok := resp.Body.(*watchdog); ok {
		w.timer.Stop()
		w.waiting.Store(false)
		w.answered()
	}
	return resp
}
