package agent

import (
	"cmp"
	"context"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// Answer is a model's whole answer.
type Answer struct {
	llm.Message            // what it says; By is who has answered
	Reason      llm.Reason // why it ends
	Usage       llm.Usage
}

// Ask asks a model once and gives its whole answer, which may be calls of
// tools: to run them is the caller's. A fault that passes by itself is waited
// out as [policy.Simple] has it: three more tries, after 1, 2 and 4 seconds.
//
// The error is the last fault as a *fault.Error, or context.Cause(ctx). An
// answer that breaks off in the middle is asked for again, since nobody has
// seen any of it.
func Ask(ctx context.Context, m llm.Model, tools []llm.Tool, messages []llm.Message) (Answer, error) {
	return AskWith(ctx, retry.Retrier{Policy: policy.Simple()}, m, llm.Request{Tools: tools, Messages: messages})
}

// AskWith is Ask with any engine and everything that a request can hold.
func AskWith(ctx context.Context, e retry.Retrier, m llm.Model, q llm.Request) (Answer, error) {
	c, err := collect(ctx, e, m, q)
	if err != nil {
		return Answer{}, err
	}
	return Answer{Message: llm.AssistantMessage(speaker(m, c), c.Content()...), Reason: c.End.Reason, Usage: c.Usage}, nil
}

// collect gives a whole answer.
func collect(ctx context.Context, e retry.Retrier, m llm.Model, q llm.Request) (llm.Collector, error) {
	return retry.Do(ctx, e, func(ctx context.Context, _ int) (llm.Collector, error) {
		var c llm.Collector
		for part, err := range m.Stream(ctx, q) {
			if err != nil {
				return c, err
			}
			c.Add(part)
		}
		return c, nil
	})
}

// speaker gives who has answered: the model that was asked, by the name that
// the provider gives it.
func speaker(m llm.Model, c llm.Collector) llm.Name {
	name := m.Name()
	name.Model = cmp.Or(c.End.Model, name.Model)
	return name
}
