package agent

import (
	"errors"
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
)

// approve asks the user about a call; nil: it may run.
func (r *run) approve(c turn.Call) error {
	if c.Answer == "" {
		var err error
		if c.Answer, err = r.ask(c); err != nil {
			return err
		}
	}
	switch {
	case c.Answer.Allows():
		return nil
	case c.Answer == turn.Expired:
		return errors.New("not allowed: the user has not answered in time")
	}
	return errors.New("not allowed: denied by the user")
}

// ask asks the user about a call, unless that was done before, and keeps the answer. An *ending is the error
// of Persist, or retry.ErrParked.
func (r *run) ask(c turn.Call) (turn.Decision, error) {
	if c.Asked == nil {
		c.Asked = &turn.ApprovalRequested{ToolCall: c.ToolCall}
		if r.ApprovalTime > 0 {
			c.Asked.Until = time.Now().Add(r.ApprovalTime).UTC().Truncate(time.Millisecond)
		}
		if err := r.keep(*c.Asked); err != nil {
			return "", &ending{err}
		}
	}
	decision, err := r.Approve(r.ctx, *c.Asked)
	switch {
	case errors.Is(err, retry.ErrParked):
		return "", &ending{err}
	case err != nil:
		return "", fmt.Errorf("not allowed: %w", err)
	}
	if err := r.keep(turn.ApprovalAnswered{ID: c.ID, Decision: decision}); err != nil {
		return "", &ending{err}
	}
	return decision, nil
}

// ending is an error that ends Run. The model sees other errors as results.
type ending struct{ error }
