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
	llm.Message            // By is the model that answered
	Reason      llm.Reason // why it ends
	Usage       llm.Usage
}

// Ask asks a model and returns its whole answer. Tool calls in it are the caller's to run. After a transient
// fault it retries by [policy.Simple]: three times, after 1, 2 and 4 seconds.
//
// The error has the last *fault.Error in its chain, or is context.Cause(ctx). An
// answer that breaks off is asked for again, since the caller has seen none of it.
func Ask(ctx context.Context, m llm.Model, tools []llm.Tool, messages []llm.Message) (Answer, error) {
	return AskWith(ctx, retry.Retrier{Policy: policy.Simple()}, m, llm.Request{Tools: tools, Messages: messages})
}

// AskWith is Ask with any retrier and request.
func AskWith(ctx context.Context, e retry.Retrier, m llm.Model, q llm.Request) (Answer, error) {
	c, err := collect(ctx, e, m, q)
	if err != nil {
		return Answer{}, err
	}
	return Answer{Message: llm.AssistantMessage(speaker(m, c), c.Content()...), Reason: c.End.Reason, Usage: c.Usage}, nil
}

// collect returns a whole answer.
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

// speaker returns the model that answered, by the provider's name for it.
func speaker(m llm.Model, c llm.Collector) llm.Name {
	name := m.Name()
	name.Model = cmp.Or(c.End.Model, name.Model)
	return name
}
