package llmtest

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
)

// Model is a language model that answers as it was told, each request with the
// next answer. Its methods may run concurrently.
type Model struct {
	Then Answer // when the answers are used up; nil: a final fault that says so

	name    llm.Name
	answers []Answer

	mu    sync.Mutex
	asked []llm.Request
}

// New gives a model that answers in this order.
func New(name llm.Name, answers ...Answer) *Model {
	return &Model{name: name, answers: answers}
}

// Name gives the name that it was made with.
func (m *Model) Name() llm.Name { return m.name }

// Requests gives what it was asked, in order.
func (m *Model) Requests() []llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}

// Stream gives the next answer. Who has left before is not answered; who leaves
// on the way gets context.Cause in place of the next part. An End that names no
// model is given the name of this one.
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

// take puts a request on record and gives the answer whose turn it is.
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
