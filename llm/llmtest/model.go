package llmtest

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
)

// Model is a scripted language model: it answers each request with the next answer. Its methods may run
// concurrently.
type Model struct {
	Then Answer // the answer once the others are used up; nil: a final fault

	name    llm.Name
	answers []Answer

	mu    sync.Mutex
	asked []llm.Request
}

// New returns a model with the given answers, in order.
func New(name llm.Name, answers ...Answer) *Model {
	return &Model{name: name, answers: answers}
}

// Name returns the model's name.
func (m *Model) Name() llm.Name { return m.name }

// Requests returns the requests so far, in order.
func (m *Model) Requests() []llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}

// Stream yields the next answer. A caller that left before gets no answer; one that leaves in between gets
// context.Cause instead of the next part. An End without a model gets the name of this one.
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Part, error] {
	return func(yield func(llm.Part, error) bool) {
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
			return
		}
		for p, err := range m.take(r)(ctx, r) {
			if ctx.Err() != nil {
				p, err = nil, context.Cause(ctx)
			}
			if end, ok := p.(llm.End); ok && end.Model == "" {
				p = llm.End{Reason: end.Reason, Model: m.name.Model}
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// take records a request and returns the next answer.
func (m *Model) take(r llm.Request) Answer {
	r.Messages, r.Tools = slices.Clone(r.Messages), slices.Clone(r.Tools)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, r)
	if n := len(m.asked); n <= len(m.answers) {
		return m.answers[n-1]
	}
	if m.Then != nil {
		return m.Then
	}
	return Fails(&fault.Error{Kind: fault.Invalid, Final: true, Message: "the scripted model has no answer left"})
}
