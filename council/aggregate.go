package council

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gate"
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
	v.State, v.Tries = Asking, 1
	err := s.judge(bounded)
	v.Took = time.Since(began)
	v.Left = max(0, s.AggregatorBudget-v.Took)
	switch {
	case ctx.Err() != nil:
		v.State, v.Why = CutOff, context.Cause(ctx)
		return v.Why
	case err == nil:
		v.State = Answered
		return nil
	}
	v.State, v.Fault = Failed, fault.Of(err, time.Now())
	return fmt.Errorf("the aggregator %s: %w", v.Name, err)
}

// judge runs the aggregator's turn.
func (s *sitting) judge(ctx context.Context) error {
	var state turn.State
	var last turn.AssistantMessage
	var failed *fault.Error
	v := &s.aggregator
	for e, err := range s.chair().Run(ctx, state, turn.Begin("", s.prompt())...) {
		if err != nil {
			return err
		}
		state = state.Apply(e)
		v.Usage = state.Spent()
		switch e := e.(type) {
		case turn.UserMessage:
			continue // it is long, and known
		case turn.Retry:
			v.Fault, v.Tries = e.Fault, e.Attempt+1
		case turn.Recovered:
			v.Tries = e.Retries + 1
		case turn.AssistantMessage:
			last, v.Text, v.Reason = e, e.Content.Text(), e.Reason
		case turn.Error:
			failed, v.Tries = e.Fault, e.Retries+1
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

// chair gives the aggregator's world.
func (s *sitting) chair() agent.World {
	w := asked(s.Aggregator)
	w.Retry = s.Aggregator.Retry
	w.System = strings.TrimSpace(orders + "\n\n" + w.System)
	w.Gate = func(name llm.Name) (retry.Gate, func()) {
		call := s.Gates.Of(name.Provider).Call(gate.Scope{Model: name.Model})
		return call, call.Close
	}
	return w
}
