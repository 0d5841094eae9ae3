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

// aggregate has the aggregator answer within its own budget.
func (r *run) aggregate(ctx context.Context) error {
	bounded, release := context.WithTimeoutCause(ctx, r.AggregatorBudget, &fault.Error{
		Kind: fault.Timeout, Message: "the time budget of " + r.AggregatorBudget.String() + " is spent", Rule: "council/aggregator",
	})
	defer release()
	began, v := time.Now(), &r.aggregator
	v.State = Asking
	err := r.recoverPanic(r.Aggregator, func() error { return r.aggregateWithin(bounded) })
	v.Took = time.Since(began)
	v.Left = max(0, r.AggregatorBudget-v.Took)
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

// aggregateWithin runs the aggregator's turn. If the answers are too long for its
// model, it repeats the turn with less of them.
func (r *run) aggregateWithin(ctx context.Context) error {
	room := 0
	for _, v := range r.members {
		room += len(v.Text)
	}
	for room = min(room, maxPrompt); ; room /= 4 {
		err := r.runAggregator(ctx, room)
		if !errors.Is(err, errTooLong) {
			return err
		}
	}
}

// errTooLong asks for another try with less of the answers.
var errTooLong = errors.New("the answers are too long for the aggregator")

// runAggregator runs the aggregator's turn with at most room bytes of the answers.
func (r *run) runAggregator(ctx context.Context, room int) error {
	var state turn.State
	var last turn.AssistantMessage
	var failed *fault.Error
	v := &r.aggregator
	before := v.Tries
	for e, err := range r.aggregatorAgent().Run(ctx, state, turn.Begin("", r.prompt(room))...) {
		if err != nil {
			return err
		}
		state = state.Apply(e)
		v.Usage = state.Spent()
		v.follow(e, before)
		switch e := e.(type) {
		case turn.UserMessage:
			continue // it is long and known
		case turn.Start:
			if before > 0 {
				continue // it is the same turn for a reader of the events
			}
		case turn.AssistantMessage:
			last = e
		case turn.Error:
			if failed = e.Fault; failed.Kind == fault.TooLong && !e.Committed() && room > minRoom {
				return errTooLong
			}
		case turn.Sealed:
			r.emit(Event{Turn: e})
			if failed != nil {
				return failed
			}
			return checkAnswer(ctx, last, e)
		}
		r.emit(Event{Turn: e})
	}
	return context.Cause(ctx)
}

// follow updates the aggregator from an event of its turn. before is the number of tries before that turn.
func (m *Member) follow(e turn.Event, before int) {
	switch e := e.(type) {
	case turn.Start:
		m.Tries = before + 1
	case turn.Retry:
		m.Fault, m.Tries = e.Fault, before+e.Run.Tries
	case turn.Recovered:
		m.Tries = before + e.Retries + 1
	case turn.AssistantMessage:
		m.Text, m.Reason = e.Content.Text(), e.Reason
	case turn.Error:
		m.Tries = before + e.Retries + 1
	}
}

// aggregatorAgent returns the agent of the aggregator.
func (r *run) aggregatorAgent() agent.Agent {
	w := agentOf(r.Aggregator)
	w.Retry, w.Fallback, w.Patience, w.Terms = r.Aggregator.Retry, r.Aggregator.Fallback, r.Aggregator.Patience, r.Aggregator.Terms
	if r.OnReport != nil {
		w.OnReport = func(e agent.Report) { r.OnReport(len(r.Members), e) }
	}
	w.System = strings.TrimSpace(systemPrompt + "\n\n" + w.System)
	w.Breaker = func(name llm.Name) (retry.Breaker, func()) {
		call := r.Breakers.Of(name.Provider).Caller(breaker.Scope{Model: name.Model})
		return call, call.Close
	}
	return w
}
