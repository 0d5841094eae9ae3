package session

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/ridethrough/ridethrough/engine"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// What is said to the worker of a turn. It is only a hint to look: what counts
// is in the log, and a word that gets lost is noticed there at the next append.
const (
	sayStop = "stop"
	sayNow  = "now"
	sayLook = "look"
)

// sayGone is said to those who watch a conversation that is taken away.
const sayGone = "gone"

// control is the topic on which the worker of a turn listens.
func control(conversation, turnID string) string {
	return "turn." + errandID(conversation, turnID)
}

// obey listens to what is said to the worker, until ctx ends.
func (w *worker) obey(ctx context.Context) error {
	words, err := w.h.Engine.Listen(ctx, control(w.log.id, w.turn))
	if err != nil {
		return err
	}
	go func() { // ends with ctx, which closes the channel
		for heard := range words {
			switch string(heard.Data) {
			case sayStop:
				w.stop(errAborted)
			case sayNow:
				w.hurry()
			case sayLook:
				w.look(ctx)
			}
		}
	}()
	return nil
}

// look reads what others have appended to the log.
func (w *worker) look(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.h.catchUp(ctx, w.log); err != nil && ctx.Err() == nil {
		w.h.Log.Warn("reading a log", "conversation", w.log.id, "error", err)
	}
}

// tell tells whoever watches of what passes by.
func (w *worker) tell(ctx context.Context, e turn.Event) {
	switch e := e.(type) {
	case turn.TextDelta, turn.ReasoningDelta:
		w.said = true
	case turn.Retry:
		w.asked = e.Name
	case turn.Recovered:
		w.h.back(ctx, e.Provider)
	}
	if turn.Kept(e) {
		return // it came with its append
	}
	w.mu.Lock()
	seq := w.log.at.N
	w.mu.Unlock()
	line, err := json.Marshal(wire.Event{Seq: seq, Time: time.Now(), Body: wire.OfTurn(wire.Call{ConversationID: w.log.id, TurnID: w.turn}, e)})
	if err == nil {
		err = w.h.Engine.Publish(ctx, w.log.id, line)
	}
	if err != nil && ctx.Err() == nil {
		w.h.Log.Warn("telling of an event", "type", e.Type(), "error", err)
	}
}

// Stop ends the turn under way: it is sealed as aborted. turnID "" means
// whichever it is. What waits behind it comes next.
func (h *Host) Stop(ctx context.Context, conversation, turnID string) error {
	l, err := h.load(ctx, conversation)
	if err != nil {
		return err
	}
	underWay := func(l *log) error {
		switch {
		case l.idle() || turnID != "" && turnID != l.now.id:
			return ErrIdle
		case l.now.abort:
			return ErrStopped
		}
		return nil
	}
	var id string
	err = h.append(ctx, l, underWay, func(now time.Time) ([]engine.Record, error) {
		id = l.now.id
		r, err := record(abortRequested, id, struct{}{}, now)
		return []engine.Record{r}, err
	})
	if err != nil {
		return err
	}
	if l.now.held { // its worker ends it, or whoever takes up the turn of one that has died
		return h.Engine.Publish(ctx, control(conversation, id), []byte(sayStop))
	}
	return errors.Join(
		h.Engine.Unpark(ctx, errandID(conversation, id)),
		h.Engine.Offer(ctx, ticket(conversation, id, "", errand{})),
	)
}

// Now ends the wait that the turn under way is in: it tries at once.
func (h *Host) Now(ctx context.Context, conversation string) error {
	l, err := h.load(ctx, conversation)
	switch {
	case err != nil:
		return err
	case l.idle():
		return ErrIdle
	}
	if l.now.held {
		return h.Engine.Publish(ctx, control(conversation, l.now.id), []byte(sayNow))
	}
	return errors.Join(
		h.Engine.Unpark(ctx, errandID(conversation, l.now.id)),
		h.Engine.Offer(ctx, ticket(conversation, l.now.id, "", errand{Woken: true, Now: true})),
	)
}
