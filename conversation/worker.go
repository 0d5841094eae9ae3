package conversation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/tool"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// worker works on one turn.
type worker struct {
	runner     *Runner
	log        *log
	turn       string
	job        string // the id of the job that it executes
	epoch      int
	moves      int                         // of the turn when it took it
	leave      func()                      // frees its place among the workers
	parent     string                      // the traceparent of the turn's request; "": none
	now        bool                        // a user has asked for the first try
	retryAsked atomic.Bool                 // a user has asked for the next one since its wait was told of
	rest       *park                       // the wait in which a user has asked for it while no worker had the turn; nil: none
	urged      bool                        // the try in progress is one that a user has asked for in a wait
	caller     *sharedCaller               // of the breaker of the provider in use; nil: none
	said       bool                        // content has come since it took the turn
	shown      bool                        // a part of an answer that is not kept so far
	endWait    context.CancelCauseFunc     // ends the wait that it is in; nil: it is in none
	held       func(context.Context) error // ends the wait in which a gateway holds the turn's request; nil: none does
	asked      llm.Name                    // the model of the last retry
	deferred   *turn.Retry                 // one that is told of when its wait is kept; nil: none is

	mu   sync.Mutex // guards log, caller, endWait, held and deferred while the turn runs
	stop context.CancelCauseFunc
}

// work claims the turn and resumes it until it is sealed, parked or handed back.
func (w *worker) work(ctx context.Context) error {
	if w.log.now.abort {
		w.epoch = w.log.now.epoch
		return w.end(ctx, turn.Aborted)
	}
	if w.log.incomplete(w.turn) {
		return w.failIncomplete(ctx)
	}
	if w.log.diedSoon() {
		return w.supervise(ctx, &failed{errDied}, w.log.now.claimed)
	}
	waited := w.log.now.waits
	input, err := w.claim(ctx)
	if err != nil {
		return err
	}
	if w.now && waited != nil && waited.Due.After(time.Now()) {
		w.rest, w.asked = waited, waited.Name
	}
	w.parent, w.moves = w.log.now.parent, w.log.now.moves
	err = w.run(ctx, input)
	var f *failed
	switch {
	case errors.As(err, &f):
		return w.supervise(ctx, f, time.Now())
	case errors.Is(err, errMoved):
		return w.resumeMoved(ctx)
	case errors.Is(err, errPaused):
		return w.setAside(ctx, !w.shown)
	case errors.Is(err, errParked) && w.retryAsked.Load(): // meanwhile
		return w.runner.enqueueAccepted(context.WithoutCancel(ctx), w.newJob(payload{Woken: true, Now: true}))
	case errors.Is(err, errParked):
		return nil
	case errors.Is(err, retry.ErrParked):
		return w.release(ctx, err)
	}
	return err
}

// end seals the turn where no agent does. One that has never begun does so
// first, or what the user has said would not be in the conversation.
func (w *worker) end(ctx context.Context, status turn.Status, events ...turn.Event) error {
	if w.log.state.Next() == nil {
		events = append(w.beginning(), events...)
	}
	return w.seal(ctx, status, events...)
}

// seal keeps events that end with the turn's seal, and reports them.
func (w *worker) seal(ctx context.Context, status turn.Status, events ...turn.Event) error {
	name := w.model()
	events = append(events, turn.Sealed{Status: status, Metrics: w.log.spent(time.Now())})
	if err := w.keep(ctx, nil, events...); err != nil {
		return err
	}
	for _, e := range events {
		switch e.(type) {
		case turn.Start, turn.Error, turn.Sealed:
			w.report(ctx, agent.Report{Name: name, Event: e})
		}
	}
	return nil
}

// claim takes the turn: from here on other workers' appends are refused. It returns the events to begin with.
func (w *worker) claim(ctx context.Context) (input []turn.Event, err error) {
	seen := w.log.now.epoch
	free := func(l *log) error {
		switch {
		case l.idle() && l.input(w.turn) == nil:
			return errOver
		case !l.idle() && l.now.id != w.turn || l.now.epoch > seen:
			return errElsewhere
		case l.isPaused():
			return errPaused // its job comes again, and is dropped
		}
		return nil
	}
	err = w.runner.append(ctx, w.log, w.turn, free, func(now time.Time) []any {
		var start, failed policy.Run
		input, start, failed = w.resumePoint(now) // each time anew: the log may have gone on
		return []any{run{Epoch: w.epoch, Job: w.job, Worker: w.runner.Name, Run: start, Failed: failed}}
	})
	return input, err
}

// resumePoint returns how the turn stands: the events with which it continues, the run
// of the policy, and how many workers have failed in a row.
func (w *worker) resumePoint(now time.Time) (input []turn.Event, start, failed policy.Run) {
	l := w.log
	if l.now.id != w.turn {
		w.epoch = 1
		return w.beginning(), start, failed
	}
	w.epoch, start, failed = l.now.epoch+1, l.now.run, l.now.failed
	if wait := l.now.waits; wait != nil && !wait.Verdict.Window { // the budget is of time that was really waited
		start.Slept -= max(0, min(start.Slept, wait.Due.Sub(now)))
	}
	if l.state.Next() == nil {
		return w.beginning(), start, failed
	}
	if wait := l.now.waits; wait != nil && !wait.Held && !wait.Shown || l.now.left {
		return nil, start, failed // nothing streams without a worker; after a wait that was held something may have
	}
	return []turn.Event{turn.Restarted{}}, start, failed
}

// beginning returns the events that begin the turn.
func (w *worker) beginning() []turn.Event {
	in := w.log.now.input
	if w.log.now.id != w.turn {
		waiting := w.log.input(w.turn)
		if waiting == nil {
			return nil
		}
		in = *waiting
	}
	switch {
	case in.Compact:
		return []turn.Event{turn.Start{ID: w.turn, Compact: true, Instruction: in.Text}}
	case in.Text == "":
		return []turn.Event{turn.Start{ID: w.turn}}
	}
	return turn.Begin(w.turn, in.Text, in.Images...)
}

// run runs the turn. The error is a *failed if the worker has failed.
func (w *worker) run(ctx context.Context, input []turn.Event) (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.runner.Log.Error("a worker panicked", "turn", w.turn, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = &failed{fmt.Errorf("panic: %v", p)}
		}
	}()
	// A runner that ends hands the turn back; only a user stops it.
	under, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(retry.ErrParked) })()
	ctx, w.stop = under, cancel
	var besides sync.WaitGroup
	if err := w.listenForCommands(ctx, &besides); err != nil {
		return err
	}
	if w.log.now.failed.Tries > 0 {
		besides.Go(func() { w.proveLife(ctx) })
	}
	defer func() { cancel(nil); besides.Wait() }() // then the log is this goroutine's again
	a, err := w.runner.Agent(tool.WithWatch(ctx, func(e turn.Event) { w.publish(ctx, e) }), w.log.now.with)
	if err != nil {
		return &failed{err}
	}
	a.Persist = func(each context.Context, events ...turn.Event) error {
		return w.keep(each, ctx, events...)
	}
	a.Steering, a.SpreadWait, a.Retry.Sleep, a.Breaker = w.steering, lengthen, w.wait, w.acquireBreaker
	a.OnHold = w.setHold
	if w.log.now.untilReset {
		a.Terms = untilReset(a.TermsAt)
	}
	if a.Approve == nil {
		a.Approve = w.approve
	}
	a.OnReport = func(e agent.Report) { w.report(ctx, e) }
	for {
		err := w.drive(ctx, a, input)
		if !errors.Is(err, errChanged) {
			return err
		}
		input = nil // it is kept
	}
}

// drive continues the turn with an agent from what is recorded.
func (w *worker) drive(ctx context.Context, a agent.Agent, input []turn.Event) error {
	w.mu.Lock()
	state := w.log.state
	a.Prior, a.Retry.Start = w.log.spent(time.Now()), w.log.now.run
	if w.rest != nil {
		a.Retry.Resume = &w.rest.Wait
	}
	w.mu.Unlock()
	for e, err := range a.Run(ctx, state, input...) {
		switch {
		case errors.Is(err, errElsewhere), errors.Is(err, errChanged), errors.Is(err, retry.ErrParked), errors.Is(err, store.ErrDeleted):
			return err
		case err != nil:
			return &failed{err}
		}
		w.onEvent(ctx, e)
	}
	return nil
}

// errParked: the turn waits, and no worker holds it.
var errParked = fmt.Errorf("the turn waits: %w", retry.ErrParked)

// keep records events, as [Runner.appendWhenAvailable] does. It is the Persist of the agent.
func (w *worker) keep(ctx, while context.Context, events ...turn.Event) error {
	may := func(l *log) error {
		return cmp.Or(w.checkEpoch(l), l.steered(events), l.approved(events), l.usesTools(events))
	}
	return w.append(ctx, while, may, func(time.Time) []any {
		contents := make([]any, len(events))
		for i, e := range events {
			contents[i] = wire.Turn{Ref: wire.Ref{ConversationID: w.log.id, TurnID: w.turn}, Event: e}
		}
		return contents
	})
}

// checkEpoch refuses to continue when another worker has taken the turn.
func (w *worker) checkEpoch(l *log) error {
	if l.now.id != w.turn || l.now.epoch != w.epoch {
		return errElsewhere
	}
	switch {
	case w.stop == nil:
	case l.now.abort:
		w.stop(errAborted)
	case l.now.moves != w.moves:
		w.stop(errMoved)
	case l.isPaused():
		w.leaveWait()
	}
	return nil
}

// steered refuses inputs that steer a turn and are not what they were.
func (l *log) steered(events []turn.Event) error {
	for _, e := range events {
		m, ok := e.(turn.UserMessage)
		same := func(in Input) bool { return in.ID == m.ID && in.Text == m.Text }
		if ok && m.ID != "" && !slices.ContainsFunc(l.inputs, same) {
			return errChanged
		}
	}
	return nil
}

// appendNote appends a note about the turn.
func (w *worker) appendNote(ctx context.Context, n note) error {
	return w.append(ctx, nil, w.checkEpoch, one(n))
}

// append appends records of the turn, as [Runner.appendWhenAvailable] does.
func (w *worker) append(ctx, while context.Context, may func(*log) error, contents func(time.Time) []any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.runner.appendWhenAvailable(ctx, while, w.log, w.turn, may, contents)
	if w.log.now.proven {
		w.runner.trials.end(w.log.id, true)
	}
	return err
}

// steering returns the inputs that steer the turn.
func (w *worker) steering() []turn.UserMessage {
	w.mu.Lock()
	defer w.mu.Unlock()
	var said []turn.UserMessage
	for _, in := range w.log.inputs {
		if in.Steers {
			said = append(said, turn.UserMessage{Text: in.Text, Images: in.Images, ID: in.ID})
		}
	}
	return said
}

// acquireBreaker returns a caller of the breaker of a model's provider.
func (w *worker) acquireBreaker(name llm.Name) (retry.Breaker, func()) {
	c := &sharedCaller{Caller: w.runner.Breakers.Of(name.Provider).Caller(breaker.Scope{Model: name.Model}), worker: w, name: name}
	c.OnBlock = func(why breaker.BlockReason) {
		if why == breaker.Paused { // for as long as its operator likes
			w.leave()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.caller == nil && w.now {
		c.RetryNow()
	}
	w.caller = c
	return c, c.Close
}

// retryNow ends the wait that the worker is in, or about to be in.
func (w *worker) retryNow(ctx context.Context) {
	w.mu.Lock()
	held := w.held
	if w.retryAsked.Store(true); held == nil && w.caller != nil {
		w.caller.RetryNow()
	}
	w.mu.Unlock()
	if held == nil {
		return
	}
	if err := held(ctx); err != nil && ctx.Err() == nil {
		w.runner.Log.Warn("the gateway does not retry now", "conversation", w.log.id, "error", err)
	}
}

// setHold notes what ends the wait in which a gateway holds the turn's request; nil: it holds none.
func (w *worker) setHold(retryNow func(context.Context) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = retryNow
	if w.held != nil && w.log.isPaused() {
		w.leaveWait()
	}
}

// lengthen makes long waits a little longer, so that many of them do not end at
// the same moment: by 2 % and 5 s at most.
func lengthen(d time.Duration) time.Duration {
	if d < time.Minute {
		return d
	}
	return d + time.Duration(rand.Int64N(int64(min(d/50, 5*time.Second))))
}

// letGo records that no worker has the turn, if the log says that one has. clean: see [release].
func (w *worker) letGo(ctx context.Context, clean bool) error {
	w.mu.Lock()
	held := w.log.now.held
	w.mu.Unlock()
	if !held {
		return nil
	}
	return w.appendNote(ctx, release{Clean: clean})
}

// release hands the turn back: the runner ends, and another one resumes it.
func (w *worker) release(ctx context.Context, why error) error {
	if err := w.appendNote(context.WithoutCancel(ctx), release{}); err != nil {
		return err
	}
	return why
}
