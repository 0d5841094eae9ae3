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
	"github.com/ridethrough/ridethrough/turn"
)

// payload is what a job carries. What the turn begins with is in the log.
type payload struct {
	ID    string `json:"id"` // the job's: the same when it is delivered again
	Turn  string `json:"turn"`
	Woken bool   `json:"woken,omitzero"` // before its time
	Now   bool   `json:"now,omitzero"`   // because a user asked for it: the breaker does not delay it

	Lost time.Time `json:"lost,omitzero"` // when jobs were lost: a worker that claimed the turn before has none

	N    int64     `json:"n,omitzero"`    // the number of the log's last record when the job was made; 0: not known
	Made time.Time `json:"made,omitzero"` // when that was
}

// newJob makes a job for a turn, by what is known of its log.
func newJob(l *log, turnID string, e payload) store.Job {
	e.ID, e.Turn, e.N, e.Made = rand.Text(), turnID, l.at.N, time.Now()
	body, err := json.Marshal(e)
	if err != nil { // strings, bools and the times of clocks always have a form in JSON
		panic(err)
	}
	return store.Job{Conversation: l.id, Turn: jobID(l.id, turnID), Body: body}
}

// newJob makes a job for the worker's turn.
func (w *worker) newJob(e payload) store.Job {
	w.mu.Lock()
	defer w.mu.Unlock()
	return newJob(w.log, w.turn, e)
}

// staleTime is how long a read may be without records that were acknowledged before it. A server that was the leader
// answers until its disk no longer stalls; what is missing after that is lost.
const staleTime = 5 * time.Minute

// jobID names a turn where those of all conversations are together: users
// choose ids, and two may choose the same.
func jobID(conversation, turnID string) string {
	sum := sha256.Sum256([]byte(conversation + "/" + turnID)) // no id has a slash
	return hex.EncodeToString(sum[:16])
}

// handle executes a job; nil: it is done.
func (r *Runner) handle(ctx context.Context, t store.Job) error {
	var e payload
	if err := json.Unmarshal(t.Body, &e); err != nil {
		return fmt.Errorf("read job: %w", err)
	}
	l := r.cache.take(t.Conversation)
	if err := r.catchUp(ctx, l); err != nil {
		return err
	}
	if l.at.N < e.N && time.Since(e.Made) < staleTime {
		return fmt.Errorf("%w: read %d records of a log that has %d", store.ErrUnavailable, l.at.N, e.N)
	}
	if err := l.check(); errors.Is(err, ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	if err := r.handleJob(ctx, l, e); err != nil {
		return err
	}
	r.cache.put(l)
	return nil
}

// handleJob executes a job in its conversation. It drops one for which another worker or another job is responsible.
// The log may have less than the latest records, but has those from before the job.
func (r *Runner) handleJob(ctx context.Context, l *log, e payload) error {
	if err := r.awaitInput(ctx, l, e.Turn); err != nil {
		return err
	}
	switch {
	case l.now.id == e.Turn && l.now.held && l.now.job != e.ID && !l.now.claimed.Before(e.Lost):
		return nil // its worker has a job of its own, which comes again if that dies
	case l.now.id == e.Turn:
	case l.now.lost:
		return r.enqueueAccepted(ctx, newJob(l, l.now.id, payload{Lost: time.Now()}))
	case !l.idle():
		return nil // this one comes when that one is sealed
	case l.input(e.Turn) == nil, l.inputs[0].ID != e.Turn:
		return r.enqueueNext(ctx, l) // it has been sealed or taken back, or another one is before it
	}
	return r.runTurn(ctx, l, e)
}

// input returns an input that waits for its turn; nil: it does not.
func (l *log) input(id string) *Input {
	if i := slices.IndexFunc(l.inputs, func(in Input) bool { return in.ID == id }); i >= 0 {
		return &l.inputs[i]
	}
	return nil
}

// enqueueNext enqueues a job for the next input.
func (r *Runner) enqueueNext(ctx context.Context, l *log) error {
	if !l.idle() || len(l.inputs) == 0 || l.isPaused() {
		return nil
	}
	return r.enqueueAccepted(ctx, newJob(l, l.inputs[0].ID, payload{}))
}

// enqueueAccepted enqueues a job of a turn that has been accepted. A store that is too full for new work takes it.
func (r *Runner) enqueueAccepted(ctx context.Context, j store.Job) error {
	return r.Store.Schedule(ctx, j, time.Now()) // its instant has passed: it is due
}

// runTurn resumes a turn, or begins it, if it is to be resumed now.
func (r *Runner) runTurn(ctx context.Context, l *log, e payload) error {
	w := &worker{runner: r, log: l, turn: e.Turn, job: e.ID, epoch: l.now.epoch, now: e.Now}
	w.leave, _ = ctx.Value(leaveKey{}).(func())
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
	if err := w.letGo(ctx, false); err != nil {
		return err
	}
	return w.runner.Store.Schedule(ctx, w.newJob(payload{Woken: e.Woken, Now: e.Now}), due)
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
	if !errors.Is(err, errElsewhere) && l.idle() {
		r.endWait(ctx, l.id, w.turn, l.sealed == turn.Aborted)
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
	case l.now.crash != nil:
		return l.now.crash.WakeAt
	}
	return time.Time{}
}
