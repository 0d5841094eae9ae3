package conversation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// Commands to the worker of a turn. They are only hints to read the log: a lost one
// is noticed at the next append.
const (
	sayStop = "stop"
	sayNow  = "now"
	sayLook = "look"
)

// sayGone is published to the readers of a conversation that is deleted.
const sayGone = "gone"

// control is the topic on which the worker of a turn listens.
func control(conversation, turnID string) string {
	return "turn." + jobID(conversation, turnID)
}

// listenForCommands listens to what is said to the worker, until ctx ends. What was said before is in the log.
func (w *worker) listenForCommands(ctx context.Context, over *sync.WaitGroup) error {
	words, err := w.runner.Store.Subscribe(ctx, control(w.log.id, w.turn))
	if err != nil {
		return err
	}
	w.look(ctx)
	over.Go(func() {
		for heard := range words {
			if heard.Gap {
				w.look(ctx)
			}
			switch string(heard.Data) {
			case sayStop:
				w.stop(errAborted)
			case sayNow:
				w.retryNow(ctx)
			case sayLook:
				w.look(ctx)
			}
		}
	})
	return nil
}

// look reads what others have appended to the log.
func (w *worker) look(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.runner.catchUp(ctx, w.log); err != nil && ctx.Err() == nil {
		w.runner.Log.Warn("log not read", "conversation", w.log.id, "error", err)
	}
	_ = w.checkEpoch(w.log) // another worker's turn is noticed at the next append
}

// onEvent handles an event of the agent.
func (w *worker) onEvent(ctx context.Context, e turn.Event) {
	switch e := e.(type) {
	case turn.TextDelta, turn.ReasoningDelta:
		w.said, w.shown = true, true
	case turn.AssistantMessage:
		w.shown = false
	case turn.Retry:
		w.asked = e.Name
		w.retryAsked.Store(false)
		if w.deferRetry(ctx, e) {
			return
		}
	case turn.Recovered:
		w.runner.dropWait(ctx, w.log.id, w.turn)
		w.runner.announceRecovery(ctx, e.Provider)
	}
	if turn.Kept(e) {
		return // it came with its append
	}
	w.flushDeferred(ctx)
	w.publish(ctx, e)
}

// deferRetry puts a retry aside until its wait is kept: what people have seen has been counted, whatever becomes of the
// process. False: a gateway holds the turn's request. That wait is noted and not kept: another worker would send the
// request again, and the gateway would continue the wait.
func (w *worker) deferRetry(ctx context.Context, e turn.Retry) bool {
	w.mu.Lock()
	if w.held == nil {
		w.deferred = &e
		w.mu.Unlock()
		return true
	}
	wait := (&park{Retry: e}).of(w.log.id, w.log.settings.Title, w.turn, w.log.now.since)
	w.mu.Unlock()
	wait.Held = true
	w.runner.noteWait(ctx, wait)
	return false
}

// flushDeferred publishes the deferred retry, if there is one.
func (w *worker) flushDeferred(ctx context.Context) {
	w.mu.Lock()
	e := w.deferred
	w.deferred = nil
	if w.log.isPaused() {
		e = nil // no time runs; it is told of when the conversation is resumed
	}
	w.mu.Unlock()
	if e != nil {
		w.publish(ctx, *e)
	}
}

// publish sends a transient event to the readers.
func (w *worker) publish(ctx context.Context, e turn.Event) {
	w.mu.Lock()
	seq := w.log.at.N
	w.mu.Unlock()
	line, err := json.Marshal(wire.Event{Seq: seq, Time: time.Now(), Body: wire.Turn{Ref: wire.Ref{ConversationID: w.log.id, TurnID: w.turn}, Event: e}})
	if err == nil {
		err = w.runner.Store.Publish(ctx, w.log.id, line)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrUnavailable) { // the store logs that once
		w.runner.Log.Warn("event not published", "type", turn.Type(e), "error", err)
	}
}

// Stop ends the turn in progress: it is sealed as aborted. turnID "" means
// whichever it is. What waits after it comes next.
func (r *Runner) Stop(ctx context.Context, conversation, turnID string) error {
	l, err := r.load(ctx, conversation)
	if err != nil {
		return err
	}
	defer r.cache.put(l)
	turnID = cmp.Or(turnID, l.now.id)
	underWay := func(l *log) error {
		switch {
		case l.idle() || turnID != l.now.id:
			return ErrIdle
		case l.now.abort:
			return ErrStopped
		}
		return nil
	}
	err = r.append(ctx, l, turnID, underWay, one(abort{}))
	switch {
	case err != nil && !errors.Is(err, ErrStopped):
		return err
	case l.now.held: // its worker ends it, or the next one if it has died
		return errors.Join(err, r.Store.Publish(ctx, control(conversation, l.now.id), []byte(sayStop)))
	}
	// Again if it was stopped before: that caller may have died before this.
	return errors.Join(err, r.enqueueAccepted(ctx, newJob(l, l.now.id, payload{})))
}

// RetryNow ends the wait that the turn in progress is in: it tries at once.
func (r *Runner) RetryNow(ctx context.Context, conversation string) error {
	l, err := r.load(ctx, conversation)
	if err != nil {
		return err
	}
	defer r.cache.put(l)
	switch {
	case l.idle():
		return ErrIdle
	case l.isPaused():
		return ErrPaused
	case l.approval() != nil:
		return nil // it does not wait for its provider
	}
	if l.now.held {
		id := l.now.id
		err := r.Store.Publish(ctx, control(conversation, id), []byte(sayNow))
		if err == nil {
			err = r.catchUp(ctx, l)
		}
		if err != nil || l.now.id != id || l.now.held {
			return err
		}
	} // else its worker has parked it before it could hear
	// The parking stays until another takes its place: who took it away, and then
	// died, would take the turn away.
	return r.enqueueAccepted(ctx, newJob(l, l.now.id, payload{Woken: true, Now: true}))
}
