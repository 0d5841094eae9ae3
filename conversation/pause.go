package conversation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// In a paused conversation no turn begins and no model is asked. The turn in progress is left at a safe place: a wait
// ends at once, an answer and tools in progress come to their end before. No job of it is left then; Resume enqueues
// one.

// ErrPaused is returned where a turn is to try at once and its conversation is paused.
var ErrPaused = errors.New("the conversation is paused: resume it first")

// errPaused ends the work on a turn whose conversation is paused.
var errPaused = fmt.Errorf("the conversation is paused: %w", retry.ErrParked)

// Pause pauses a conversation until Resume, also where its runner ends: the turn in progress stops before it asks a
// model or runs a tool again, and inputs wait. To pause a paused conversation changes nothing.
func (r *Runner) Pause(ctx context.Context, conversation string) error {
	l, err := r.load(ctx, conversation)
	if err != nil {
		return err
	}
	defer r.cache.put(l)
	goesOn := func(l *log) error {
		if l.isPaused() {
			return errKnown
		}
		return nil
	}
	if err := r.append(ctx, l, "", goesOn, one(wire.ConversationPaused{ConversationID: l.id})); err != nil {
		return err
	}
	if w := l.wait(); w != nil {
		r.noteWait(ctx, *w)
	}
	if !l.now.held {
		return nil
	}
	return r.Store.Publish(ctx, control(conversation, l.now.id), []byte(sayLook)) // also if it was paused before: that caller may have died
}

// resumeDelay is until the turn of a conversation looks whether it is resumed whose process died meanwhile.
const resumeDelay = 5 * time.Second

// IsPaused reports whether a conversation was paused when this runner read its record last, such as for [Runner.Submit].
// It is read only if that is not known.
func (r *Runner) IsPaused(ctx context.Context, conversation string) bool {
	since, known := r.cache.paused(conversation)
	if !known {
		v, err := r.Get(ctx, conversation)
		since, known = v.Paused, err == nil
	}
	return known && !since.IsZero()
}

// Resume ends the pause of a conversation. A wait lasts until its instant, or ends at once if that has passed. The
// pause counts against no limit of time. To resume a conversation that is not paused changes nothing.
func (r *Runner) Resume(ctx context.Context, conversation string) error {
	l, err := r.load(ctx, conversation)
	if err != nil {
		return err
	}
	defer r.cache.put(l)
	for err == nil && l.isPaused() {
		next := l.next()
		if next != "" { // its job comes first: one that may go on always has one
			err = r.Store.Schedule(ctx, newJob(l, next, payload{}), time.Now().Add(resumeDelay))
		}
		if err == nil {
			err = r.appendResumed(ctx, l, next)
		}
		if errors.Is(err, errChanged) {
			err = nil // another turn comes next by now
		}
	}
	if err != nil {
		return err
	}
	next := l.next()
	if next == "" {
		return nil
	}
	if w := l.wait(); w != nil {
		r.noteWait(ctx, *w)
	}
	return r.enqueueAccepted(context.WithoutCancel(ctx), newJob(l, next, payload{}))
}

// appendResumed records that a conversation is resumed, if a turn is still the next one.
func (r *Runner) appendResumed(ctx context.Context, l *log, next string) error {
	paused := func(l *log) error {
		switch {
		case !l.isPaused():
			return errKnown
		case l.next() != next:
			return errChanged
		}
		return nil
	}
	return r.append(ctx, l, "", paused, one(wire.ConversationResumed{ConversationID: l.id}))
}

// next returns the turn in progress, or the one that begins next, or "".
func (l *log) next() string {
	if l.idle() && len(l.inputs) > 0 {
		return l.inputs[0].ID
	}
	return l.now.id
}

// isPaused reports whether the conversation is paused.
func (l *log) isPaused() bool { return !l.paused.IsZero() }

// resumed applies the record that ends a pause, which counts against no limit of time.
func (l *log) resumed(at time.Time) {
	took := at.Sub(l.paused)
	l.paused = time.Time{}
	l.now.run = later(l.now.run, took)
	if l.now.waits == nil {
		return
	}
	w := *l.now.waits
	w.Run = later(w.Run, took)
	if !w.Deadline.IsZero() {
		w.Deadline = w.Deadline.Add(took)
	}
	l.now.waits = &w
}

// later returns a run that began later by some time.
func later(r policy.Run, d time.Duration) policy.Run {
	if !r.Started.IsZero() {
		r.Started = r.Started.Add(d)
	}
	return r
}

// usesTools refuses to run tools in a paused conversation.
func (l *log) usesTools(events []turn.Event) error {
	for _, e := range events {
		if _, uses := e.(turn.ToolCall); uses && l.isPaused() && !l.now.abort {
			return errPaused
		}
	}
	return nil
}

// leaveWait ends the wait that the turn is in, as its conversation is paused. What is in progress comes to its end
// before. w.mu is held.
func (w *worker) leaveWait() {
	switch {
	case w.endWait != nil:
		w.endWait(errPaused)
	case w.held != nil:
		w.stop(errPaused)
	}
}

// pausable waits, until the conversation is paused.
func (w *worker) pausable(ctx context.Context, wait func(context.Context) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	w.mu.Lock()
	paused := w.log.isPaused() && !w.log.now.abort
	w.endWait = end
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.endWait = nil
		w.mu.Unlock()
	}()
	if paused {
		return errPaused
	}
	err := wait(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errPaused) {
		return errPaused
	}
	return err
}

// setAside hands back the turn of a paused conversation, which another worker takes up when it is resumed. clean: nothing
// of an answer that is void was shown.
func (w *worker) setAside(ctx context.Context, clean bool) error {
	ctx = context.WithoutCancel(ctx)
	if err := w.letGo(ctx, clean); err != nil {
		return err
	}
	if wait := w.log.wait(); wait != nil {
		w.runner.noteWait(ctx, *wait)
	} else {
		w.runner.dropWait(ctx, w.log.id, w.turn)
	}
	if w.log.isPaused() {
		return nil
	}
	return w.runner.enqueueAccepted(ctx, w.newJob(payload{})) // resumed meanwhile
}
