package conversation

import (
	"context"
	"errors"
	"time"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// A turn that waits for the user's approval of a call is parked: no worker holds it from the record of the
// request on. [Runner.Answer] appends the answer and enqueues a job of the turn.

// Errors of [Runner.Answer].
var (
	ErrNotAsked        = errors.New("no such call waits for approval") // or it has its answer, or its time is over
	ErrInvalidDecision = errors.New("want allow-once, allow-always or deny")
)

// answerDelay is until a turn looks for an answer whose process died before it enqueued the turn's job.
const answerDelay = 5 * time.Second

// Answer answers the request for approval that the turn in progress waits with. The answer is durable when Answer
// returns. The same answer again changes nothing while the other calls of the model's answer have no results.
func (r *Runner) Answer(ctx context.Context, conversation, call string, d turn.Decision) error {
	if d != turn.AllowOnce && d != turn.AllowAlways && d != turn.Deny {
		return ErrInvalidDecision
	}
	l, err := r.load(ctx, conversation)
	if err != nil {
		return err
	}
	defer r.cache.put(l)
	open := func(l *log) error {
		switch c, _ := l.state.Call(call); {
		case c.Answer == d && c.Asked != nil:
			return errKnown
		case l.now.abort:
			return ErrStopped
		case c.Asked == nil || c.Answer != "" || c.Result != nil:
			return ErrNotAsked
		}
		return nil
	}
	if err := open(l); err != nil && !errors.Is(err, errKnown) {
		return err
	}
	id := l.now.id
	// The job comes first: an answer in the log always has one. The turn's other job is when its time is over.
	if err := r.Store.Schedule(ctx, newJob(l, id, payload{}), time.Now().Add(answerDelay)); err != nil {
		return err
	}
	answer := wire.Turn{Ref: wire.Ref{ConversationID: conversation, TurnID: id}, Event: turn.ApprovalAnswered{ID: call, Decision: d}}
	if err := r.append(ctx, l, id, open, one(answer)); err != nil {
		return err
	}
	return r.enqueueAccepted(context.WithoutCancel(ctx), newJob(l, id, payload{}))
}

// approve parks the turn until a request for approval is answered, or its time is over. It is the Approve of the
// agent.
func (w *worker) approve(ctx context.Context, q turn.ApprovalRequested) (turn.Decision, error) {
	due := deadline(q)
	if !time.Now().Before(due) {
		return turn.Expired, nil
	}
	ctx = context.WithoutCancel(ctx)
	if err := w.letGo(ctx, false); err != nil { // it may have been asked for by the worker before
		return "", err
	}
	if err := w.runner.Store.Schedule(ctx, w.newJob(payload{}), due); err != nil {
		return "", err
	}
	if w.look(ctx); w.answered(q.ID) { // before, so that its job may be gone; from the record on the turn is not ours
		if err := w.runner.enqueueAccepted(ctx, w.newJob(payload{})); err != nil {
			return "", err
		}
	}
	return "", errParked
}

// answered reports whether a call has its answer.
func (w *worker) answered(call string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, _ := w.log.state.Call(call)
	return c.Answer != ""
}

// deadline returns when the time of a request for approval is over. One without a limit is looked at once a year.
func deadline(q turn.ApprovalRequested) time.Time {
	if q.Until.IsZero() {
		return time.Now().AddDate(1, 0, 0)
	}
	return q.Until
}

// approved refuses an answer to a request for approval that has one already.
func (l *log) approved(events []turn.Event) error {
	for _, e := range events {
		a, ok := e.(turn.ApprovalAnswered)
		if c, _ := l.state.Call(a.ID); ok && c.Answer != "" {
			return errChanged
		}
	}
	return nil
}

// Approval is a tool call that waits for the user's approval.
type Approval struct {
	Conversation string
	Title        string // of the conversation; ""
	Turn         string
	Since        time.Time
	turn.ApprovalRequested
}

// approval returns the request for approval that is open; nil: none is.
func (l *log) approval() *Approval {
	q := l.state.Approval()
	if q == nil || l.idle() || l.now.abort {
		return nil
	}
	return &Approval{Conversation: l.id, Title: l.settings.Title, Turn: l.now.id, Since: l.now.asked, ApprovalRequested: *q}
}

// Approvals lists the tool calls of all conversations that wait for approval, of the newest conversation first.
// It reads the whole list of conversations, and the logs of those whose turns may wait.
func (r *Runner) Approvals(ctx context.Context) (all []Approval, err error) {
	for head, err := range r.Store.Conversations(ctx, "") {
		if err != nil {
			return nil, err
		}
		if head.Last.Type == created || head.Last.Type == turn.Type(turn.Sealed{}) {
			continue
		}
		l, err := r.load(ctx, head.ID)
		_, damaged := errors.AsType[*store.Damage](err)
		switch {
		case damaged, errors.Is(err, ErrNotFound), errors.Is(err, store.ErrDeleted):
			continue // nothing of it can be read, or it is gone meanwhile
		case err != nil:
			return nil, err
		}
		if a := l.approval(); a != nil {
			all = append(all, *a)
		}
		r.cache.put(l)
	}
	return all, nil
}
