package conversation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// ErrNotWaiting is returned where a turn is to move to another model and does not wait for its own.
var ErrNotWaiting = errors.New("the turn does not wait for its model")

// errMoved ends the work on a turn that has moved to another model: it continues at once with another agent.
var errMoved = fmt.Errorf("the turn has moved to another model: %w", retry.ErrParked)

// move is the record of a turn that has moved to another model.
type move struct {
	Model string `json:"model"`
}

// Move lets the turn in progress, which waits for its model, ask another one at once. A gateway that holds its request
// is left. The budgets of its policy start over, and its fallbacks stay. Turns after it ask the model that Change has
// set. Readers get a [turn.Switched].
func (r *Runner) Move(ctx context.Context, conversation, model string) error {
	l, err := r.load(ctx, conversation)
	if err != nil {
		return err
	}
	defer r.cache.put(l)
	id := l.now.id
	waits := func(l *log) error {
		switch {
		case l.idle() || l.now.id != id:
			return ErrIdle
		case r.waitsFor(l) == nil || l.now.abort:
			return ErrNotWaiting
		}
		return nil
	}
	err = r.append(ctx, l, id, waits, func(time.Time) []any {
		switched := turn.Switched{From: l.now.with.Model, To: model}
		if f := r.waitsFor(l); f != nil {
			switched.Why = f.Redacted()
		}
		return []any{move{model}, wire.Turn{Ref: wire.Ref{ConversationID: l.id, TurnID: id}, Event: switched}}
	})
	if err != nil {
		return err
	}
	r.dropWait(ctx, conversation, id)
	if l.now.held { // its worker hands it back, or has died, and its job comes again
		return r.Store.Publish(ctx, control(conversation, id), []byte(sayLook))
	}
	return r.enqueueAccepted(ctx, newJob(l, id, payload{Woken: true, Now: true}))
}

// waitsFor returns why the turn in progress waits, in a wait of its own or at a gateway that holds its request, which
// no record tells; nil: it does not.
func (r *Runner) waitsFor(l *log) *fault.Error {
	if l.now.waits != nil {
		return l.now.waits.Fault
	}
	if w, ok := r.waits.in(l.id); ok && w.Held && w.Turn == l.now.id {
		return w.Fault
	}
	return nil
}

// moved applies the record.
func (l *log) moved(m move, at time.Time) {
	l.now.left = l.now.waits != nil && !l.now.waits.Shown // else something of an answer is void
	l.waited(at)
	l.now.with.Model = m.Model
	l.now.moves++
}

// resumeMoved hands a turn that has moved to the next worker. What was shown of an answer meanwhile is void.
func (w *worker) resumeMoved(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if w.shown {
		if err := w.keep(ctx, nil, turn.Restarted{}); err != nil {
			return err
		}
	}
	return w.postpone(ctx, payload{Woken: true, Now: true}, time.Now())
}
