package council

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
)

// aggregate has the aggregator make one answer, within its own budget.
func (s *sitting) aggregate(ctx context.Context) error {
	bounded, release := context.WithTimeoutCause(ctx, s.AggregatorBudget, &fault.Error{
		Kind: fault.Timeout, Message: "the time budget of " + s.AggregatorBudget.String() + " is spent", Rule: "council/aggregator",
	})
	defer release()
	began, v := time.Now(), &s.aggregator
	v.State = Asking
	err := safely(s.Aggregator, func() error { return s.judged(bounded) })
	v.Took = time.Since(began)
	v.Left = max(0, s.AggregatorBudget-v.Took)
	switch {
	case err == nil:
		v.State = Answered
		return nil
	case ctx.Err() != nil:
		v.State, v.Why = CutOff, context.Cause(ctx)
		return v.Why
	}
	v.State, v.Fault = Failed, classify.Of(err, time.Now())
	return fmt.Errorf("the aggregator %s: %w", v.Name, err)
}

// judged has the aggregator's turn run, and again with less of the answers
// where they are too long for its model.
func (s *sitting) judged(ctx context.Context) error {
	room := min(s.length(), promptBound)
	for {
		err := s.judge(ctx, room)
		if !errors.Is(err, errTooLong) {
			return err
		}
		room /= 4
	}
}

// errTooLong is of an aggregator that is to be asked with less.
var errTooLong = errors.New("the answers are too long for the aggregator")

// judge runs the aggregator's turn, with so much of the answers.
func (s *sitting) judge(ctx context.Context, room int) error {
	var state turn.State
	var last turn.AssistantMessage
	var failed *fault.Error
	v := &s.aggregator
	before := v.Tries
	for e, err := range s.chair().Run(ctx, state, turn.Begin("", s.prompt(room))...) {
		if err != nil {
			return err
		}
		state = state.Apply(e)
		v.Usage = state.Spent()
		v.follow(e, before)
		switch e := e.(type) {
		case turn.UserMessage:
			continue // it is long, and known
		case turn.Start:
			if before > 0 {
				continue // for whoever watches it is the same turn
			}
		case turn.AssistantMessage:
			last = e
		case turn.Error:
			if failed = e.Fault; failed.Kind == fault.TooLong && !e.Committed && room > leastRoom {
				return errTooLong
			}
		case turn.Sealed:
			s.tell(Judging{e})
			if failed != nil {
				return failed
			}
			return conclude(ctx, last, e)
		}
		s.tell(Judging{e})
	}
	return context.Cause(ctx)
}

// follow takes an event of the aggregator's turn in, before which there were
// so many tries.
func (v *Voice) follow(e turn.Event, before int) {
	switch e := e.(type) {
	case turn.Start:
		v.Tries = before + 1
	case turn.Retry:
		v.Fault, v.Tries = e.Fault, before+e.Run.Tries
	case turn.Recovered:
		v.Tries = before + e.Retries + 1
	case turn.AssistantMessage:
		v.Text, v.Reason = e.Content.Text(), e.Reason
	case turn.Error:
		v.Tries = before + e.Retries + 1
	}
}

// chair gives the aggregator's world.
func (s *sitting) chair() agent.Agent {
	w := asked(s.Aggregator)
	w.Retry = s.Aggregator.Retry
	w.System = strings.TrimSpace(systemPrompt + "\n\n" + w.System)
	w.Breaker = func(name llm.Name) (retry.Breaker, func()) {
		call := s.Breakers.Of(name.Provider).Caller(breaker.Scope{Model: name.Model})
		return call, call.Close
	}
	return w
}
