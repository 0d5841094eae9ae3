package conversation

import (
	"bytes"
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
	"github.com/ridethrough/ridethrough/wire"
)

// payload is what a job carries.
type payload struct {
	ID    string `json:"id"` // the job's: the same when it is delivered again
	Turn  string `json:"turn"`
	Text  string `json:"text,omitzero"`  // the input, in case its record was never written
	Again bool   `json:"again,omitzero"` // the input is empty: the model is asked again
	Woken bool   `json:"woken,omitzero"` // before its time
	Now   bool   `json:"now,omitzero"`   // because a user asked for it: the breaker does not delay it
}

// newJob makes a job for a turn.
func newJob(conversation, turnID, key string, e payload) store.Job {
	e.ID, e.Turn = rand.Text(), turnID
	var body bytes.Buffer
	out := json.NewEncoder(&body)
	out.SetEscapeHTML(false)              // six bytes for each < of a text would not fit
	if err := out.Encode(e); err != nil { // strings and a bool always have a form in JSON
		panic(err)
	}
	return store.Job{Conversation: conversation, Turn: jobID(conversation, turnID), Key: key, Body: bytes.TrimSpace(body.Bytes())}
}

// jobID names a turn where those of all conversations are together: users
// choose ids, and two may choose the same.
func jobID(conversation, turnID string) string {
	sum := sha256.Sum256([]byte(conversation + "/" + turnID)) // no id has a slash
	return hex.EncodeToString(sum[:16])
}

// handle executes a job; nil: it is done.
func (h *Runner) handle(ctx context.Context, t store.Job) error {
	l, err := h.load(ctx, t.Conversation)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := h.handleJob(ctx, l, t); err != nil {
		return err
	}
	h.cache.put(l)
	return nil
}

// handleJob executes a job in its conversation.
func (h *Runner) handleJob(ctx context.Context, l *log, t store.Job) error {
	var e payload
	if err := json.Unmarshal(t.Body, &e); err != nil {
		return fmt.Errorf("read job: %w", err)
	}
	if err := h.recordInput(ctx, l, e); err != nil {
		return err
	}
	switch {
	case l.now.id == e.Turn && l.now.held && l.now.job != e.ID:
		return nil // its worker has a job of its own, which comes again if that dies
	case l.now.id == e.Turn:
	case !l.idle():
		return nil // this one comes when that one is sealed
	case !l.waits(e.Turn), l.inputs[0].ID != e.Turn:
		return h.enqueueNext(ctx, l) // it has been sealed or taken back, or another one is before it
	}
	return h.runTurn(ctx, l, e)
}

// recordInput writes the input of a payload into the log, if it is not there yet.
func (h *Runner) recordInput(ctx context.Context, l *log, e payload) error {
	missing := func(l *log) error {
		if l.known[e.Turn] {
			return errKnown
		}
		return nil
	}
	if e.Text == "" && !e.Again || missing(l) != nil {
		return nil
	}
	err := h.append(ctx, l, missing, func(now time.Time) ([]store.Record, error) {
		r, err := record(inputQueued, e.Turn, wire.InputQueued{Ref: wire.Ref{ConversationID: l.id, TurnID: e.Turn}, Text: e.Text}, now)
		return []store.Record{r}, err
	})
	if errors.Is(err, errKnown) {
		return nil
	}
	return err
}

// errKnown: it is in the log already.
var errKnown = errors.New("known")

// waits reports whether an input waits for its turn.
func (l *log) waits(id string) bool {
	return slices.ContainsFunc(l.inputs, func(in Input) bool { return in.ID == id })
}

// empty reports whether an input that waits says nothing: a model is to be asked again.
func (l *log) empty(id string) bool {
	return slices.ContainsFunc(l.inputs, func(in Input) bool { return in.ID == id && in.Text == "" })
}

// enqueueNext enqueues a job for the next input.
func (h *Runner) enqueueNext(ctx context.Context, l *log) error {
	if !l.idle() || len(l.inputs) == 0 {
		return nil
	}
	id := l.inputs[0].ID
	return h.Store.Enqueue(ctx, newJob(l.id, id, "", payload{}))
}

// runTurn resumes a turn, or begins it.
func (h *Runner) runTurn(ctx context.Context, l *log, e payload) error {
	w := &worker{h: h, log: l, turn: e.Turn, job: e.ID, epoch: l.now.epoch, now: e.Now}
	if due := l.due(); !e.Woken && !l.now.abort && time.Now().Before(due) {
		if l.now.held { // its worker has died in a wait: from here on no worker holds it
			if err := w.appendRecord(ctx, released, struct{}{}); err != nil {
				return err
			}
		}
		if w := l.wait(); w != nil {
			h.noteWait(ctx, *w)
			defer h.parked.add(w.Name.Provider, l.id, e.Turn)
		}
		return h.Store.Schedule(ctx, newJob(l.id, e.Turn, "", payload{}), due)
	}
	h.parked.drop(l.id)
	if w := l.wait(); w != nil {
		w.Trying = true
		h.noteWait(ctx, *w)
	}
	err := w.work(ctx)
	if !errors.Is(err, errElsewhere) {
		h.turnDone(ctx, l, e.Turn)
	}
	if err != nil && !errors.Is(err, errOver) {
		return err
	}
	return h.enqueueNext(ctx, l)
}

// due returns when the turn is to be resumed; in the past: at once.
func (l *log) due() time.Time {
	if l.now.waits != nil {
		return l.now.waits.Due
	}
	return l.now.due
}
