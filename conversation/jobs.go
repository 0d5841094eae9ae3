package conversation

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/store"
)

// payload is what a job carries. What the turn begins with is in the log.
type payload struct {
	ID    string `json:"id"` // the job's: the same when it is delivered again
	Turn  string `json:"turn"`
	Woken bool   `json:"woken,omitzero"` // before its time
	Now   bool   `json:"now,omitzero"`   // because a user asked for it: the breaker does not delay it

	Lost time.Time `json:"lost,omitzero"` // when jobs were lost: a worker that claimed the turn before has none
}

// newJob makes a job for a turn.
func newJob(conversation, turnID string, e payload) store.Job {
	e.ID, e.Turn = rand.Text(), turnID
	body, err := json.Marshal(e)
	if err != nil { // strings, bools and the times of clocks always have a form in JSON
		panic(err)
	}
	return store.Job{Conversation: conversation, Turn: jobID(conversation, turnID), Body: body}
}

// jobID names a turn where those of all conversations are together: users
// choose ids, and two may choose the same.
func jobID(conversation, turnID string) string {
	sum := sha256.Sum256([]byte(conversation + "/" + turnID)) // no id has a slash
	return hex.EncodeToString(sum[:16])
}

// handle executes a job; nil: it is done.
func (r *Runner) handle(ctx context.Context, t store.Job) error {
	l, err := r.load(ctx, t.Conversation)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := r.handleJob(ctx, l, t); err != nil {
		return err
	}
	r.cache.put(l)
	return nil
}

// handleJob executes a job in its conversation.
func (r *Runner) handleJob(ctx context.Context, l *log, t store.Job) error {
	var e payload
	if err := json.Unmarshal(t.Body, &e); err != nil {
		return fmt.Errorf("read job: %w", err)
	}
	if err := r.awaitInput(ctx, l, e.Turn); err != nil {
		return err
	}
	switch {
	case l.now.id == e.Turn && l.now.held && l.now.job != e.ID && !l.now.claimed.Before(e.Lost):
		return nil // its worker has a job of its own, which comes again if that dies
	case l.now.id == e.Turn:
	case l.now.lost:
		return r.enqueueAccepted(ctx, newJob(l.id, l.now.id, payload{Lost: time.Now()}))
	case !l.idle():
		return nil // this one comes when that one is sealed
	case !l.waits(e.Turn), l.inputs[0].ID != e.Turn:
		return r.enqueueNext(ctx, l) // it has been sealed or taken back, or another one is before it
	}
	return r.runTurn(ctx, l, e)
}

// waits reports whether an input waits for its turn.
func (l *log) waits(id string) bool {
	return slices.ContainsFunc(l.inputs, func(in Input) bool { return in.ID == id })
}

// empty reports whether an input that waits says nothing: a model is to be asked again.
func (l *log) empty(id string) bool {
	return slices.ContainsFunc(l.inputs, func(in Input) bool { return in.ID == id && (in.Text == "" || in.Compact) })
}

// enqueueNext enqueues a job for the next input.
func (r *Runner) enqueueNext(ctx context.Context, l *log) error {
	if !l.idle() || len(l.inputs) == 0 || l.isPaused() {
		return nil
	}
	return r.enqueueAccepted(ctx, newJob(l.id, l.inputs[0].ID, payload{}))
}

// enqueueAccepted enqueues a job of a turn that has been accepted. A store that is too full for new work takes it.
func (r *Runner) enqueueAccepted(ctx context.Context, j store.Job) error {
	return r.Store.Schedule(ctx, j, time.Now()) // its instant has passed: it is due
}

// runTurn resumes a turn, or begins it, if it is to be resumed now.
func (r *Runner) runTurn(ctx context.Context, l *log, e payload) error {
	w := &worker{runner: r, log: l, turn: e.Turn, job: e.ID, epoch: l.now.epoch, now: e.Now}
	switch {
	case l.now.abort:
		return r.runWorker(ctx, w)
	case l.isPaused():
		return w.setAside(ctx, false)
	}
	if due := l.due(); !e.Woken && !l.now.lost && time.Now().Before(due) {
		if w := l.wait(); w != nil {
			r.noteWait(ctx, *w)
			defer r.parked.add(w.Name.Provider, l.id, e.Turn)
		}
		return w.postpone(ctx, e, due)
	}
	if l.now.failed.Tries >= suspicious && !l.diedSoon() {
		if !r.trials.begin(l.id) {
			return w.postpone(ctx, e, time.Now().Add(trialDelay))
		}
		defer r.trials.end(l.id, false)
	}
	return r.runWorker(ctx, w)
}

// postpone schedules the turn. The worker that had it has died, if there was one: from here on none has it.
func (w *worker) postpone(ctx context.Context, e payload, due time.Time) error {
	if w.log.now.held {
		if err := w.appendNote(ctx, release{}); err != nil {
			return err
		}
	}
	return w.runner.Store.Schedule(ctx, newJob(w.log.id, w.turn, payload{Woken: e.Woken, Now: e.Now}), due)
}

// runWorker has a worker resume its turn, and enqueues the next one.
func (r *Runner) runWorker(ctx context.Context, w *worker) error {
	l := w.log
	r.parked.drop(l.id)
	if w := l.wait(); w != nil {
		w.Trying = true
		r.noteWait(ctx, *w)
	}
	err := w.work(ctx)
	if !errors.Is(err, errElsewhere) {
		r.turnDone(ctx, l, w.turn)
	}
	if err != nil && !errors.Is(err, errOver) {
		return err
	}
	return r.enqueueNext(ctx, l)
}

// due returns when the turn is to be resumed; in the past: at once.
func (l *log) due() time.Time {
	switch q := l.state.Approval(); {
	case l.now.waits != nil:
		return l.now.waits.Due
	case q != nil:
		return deadline(*q)
	}
	return l.now.due
}
