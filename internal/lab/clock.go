package lab

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/ridethrough/ridethrough/internal/clock"
)

// simulation has a time of its own, which passes when nobody in it has anything left
// to do. It is the clock of package retry and of package breaker, and it runs
// those who live in it one at a time, in an order that only their own doing
// decides: so the same seed gives the same story. Nothing in it may be used by
// two goroutines at once.
//
// Who lives in it is a coroutine (iter.Pull): it stops where it dozes and goes
// on when its time has come or somebody has rung for it, so that ten thousand
// of them cost ten thousand small stacks and no work for Go's scheduler.
type simulation struct {
	begun  time.Time
	at     time.Duration // since it began
	events queue
	seq    uint64
	ready  []*actor                   // whose turn it is, in order
	passed int                        // how many of them have had it
	dozing map[<-chan struct{}]*actor // those who can be rung for
	cast   []*actor
	over   bool
}

// errOver ends everybody when a play is broken off.
var errOver = errors.New("the play is over")

// newWorld begins on an evening in November, which no figure depends on.
func newWorld() *simulation {
	return &simulation{
		begun:  time.Date(2026, time.November, 2, 18, 0, 0, 0, time.UTC),
		dozing: map[<-chan struct{}]*actor{},
	}
}

// Now gives the time.
func (w *simulation) Now() time.Time { return w.begun.Add(w.at) }

// actor is somebody who lives in a world.
type actor struct {
	world  *simulation
	ctx    context.Context // done when the play is over
	cancel context.CancelCauseFunc
	next   func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool
	dozes  context.Context // that of the doze under way; nil: it is awake
	alarm  event           // the end of that doze
	queued bool
}

// actorKey is the key under which a context carries its actor.
type actorKey struct{}

// start brings somebody into the world, whose turn comes when all who are
// there have had theirs.
func (w *simulation) start(play func(*actor)) {
	a := &actor{world: w}
	a.alarm = event{f: func() { w.rouse(a) }, world: w, place: -1}
	ctx, cancel := context.WithCancelCause(context.Background())
	a.ctx, a.cancel = context.WithValue(ctx, actorKey{}, a), cancel
	a.next, a.stop = iter.Pull(func(yield func(struct{}) bool) {
		a.yield = yield
		play(a)
	})
	w.cast = append(w.cast, a)
	w.rouse(a)
}

// rouse gives an actor a turn.
func (w *simulation) rouse(a *actor) {
	if !a.queued {
		a.queued = true
		w.ready = append(w.ready, a)
	}
}

// beat is how many steps there are between two looks at whether the play is to
// go on.
const beat = 256

// run lets time pass until nothing is left to happen, it is over, or ctx ends.
// Then all who live in the world are gone.
func (w *simulation) run(ctx context.Context) error {
	defer w.close()
	for step := 0; ; step++ {
		if step%beat == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch {
		case w.over:
			return nil
		case len(w.ready) > 0:
			w.turn()
		case len(w.events) > 0:
			e := w.events.next()
			w.at = e.at
			e.f()
		default:
			return nil
		}
	}
}

// turn lets the next play whose turn it is, until it dozes.
func (w *simulation) turn() {
	a := w.ready[w.passed]
	if w.passed++; w.passed == len(w.ready) {
		w.ready, w.passed = w.ready[:0], 0
	}
	a.queued = false
	a.next()
}

// close sends everybody home.
func (w *simulation) close() {
	for _, a := range w.cast {
		a.cancel(errOver)
		a.stop()
	}
}

// Doze lets an actor wait until its time has come, its context ends or
// somebody rings. An actor that is sent home meanwhile is told so by its
// context.
func (w *simulation) SleepOrWake(ctx context.Context, d time.Duration, wake <-chan struct{}) (woken bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if heard(wake) {
		return true, nil
	}
	a := ctx.Value(actorKey{}).(*actor)
	a.dozes = ctx
	if wake != nil {
		w.dozing[wake] = a
	}
	if d < clock.Forever {
		a.alarm.Reset(d)
	}
	if !a.yield(struct{}{}) {
		a.cancel(errOver)
	}
	a.dozes = nil
	a.alarm.Stop()
	if wake != nil {
		delete(w.dozing, wake)
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	return heard(wake), nil
}

// heard takes a wake-up that has come.
func heard(wake <-chan struct{}) bool {
	select {
	case <-wake:
		return true
	default:
		return false
	}
}

// Woke wakes who dozes on wake.
func (w *simulation) Woke(wake <-chan struct{}) {
	if a := w.dozing[wake]; a != nil {
		w.rouse(a)
	}
}

// WithDeadline gives a context that ends at a moment of this world's.
func (w *simulation) WithDeadline(ctx context.Context, end time.Time, cause error) (context.Context, context.CancelFunc) {
	bounded, cancel := context.WithCancelCause(ctx)
	alarm := w.leaves(ctx, end.Sub(w.Now()), func() { cancel(cause) })
	return deadline{bounded, end}, func() {
		alarm.Stop()
		cancel(context.Canceled)
	}
}

// leaves has a context of the actor's ended after a time, and the actor told if
// it dozes.
func (w *simulation) leaves(ctx context.Context, after time.Duration, end func()) clock.Timer {
	a := ctx.Value(actorKey{}).(*actor)
	return w.AfterFunc(after, func() {
		end()
		if a.dozes != nil && a.dozes.Err() != nil {
			w.rouse(a)
		}
	})
}

// deadline is a context that knows when it ends.
type deadline struct {
	context.Context
	end time.Time
}

// Deadline gives the earlier of its own end and that of what it was made from.
func (d deadline) Deadline() (time.Time, bool) {
	if end, ok := d.Context.Deadline(); ok && end.Before(d.end) {
		return end, true
	}
	return d.end, true
}
