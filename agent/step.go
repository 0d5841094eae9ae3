package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
)

// switchable are the faults for which another model may be asked.
const switchable = fault.Transient | 1<<fault.Quota

// step has a model answer.
func (r *run) step(messages []llm.Message) error {
	a := r.attempt(r.model())
	if r.state.Steps() >= r.maxSteps() {
		endless := &fault.Error{
			Kind:    fault.Invalid,
			Message: fmt.Sprintf("the turn has taken %d steps without coming to its end", r.maxSteps()),
			Rule:    "agent/steps",
		}
		return r.keep(a.errorEvent(endless))
	}
	r.reportActivity(Step)
	a.stream(r.request(messages))
	switch f := a.fault; {
	case a.err != nil:
		return a.stopOrFail()
	case f == nil:
		return a.answered()
	case f.Kind == fault.TooLong && !a.committed && !r.state.Compacted():
		return a.compact()
	}
	return a.failed()
}

// failed goes on after a fault with the next model, or ends the turn.
func (a *attempt) failed() error {
	next := a.next()
	if next != nil && !a.committed && !a.givenUp && switchable.Has(a.fault.Kind) {
		a.faulty = time.Time{} // of the next one nothing is known yet
		return a.keep(turn.Switched{From: a.model.Name().String(), To: next.Name().String(), Why: a.fault.Redacted()})
	}
	return a.keep(append(a.answerEvents(true), a.errorEvent(a.fault))...)
}

// errorEvent gives the event of a fault that ends a turn.
func (a *attempt) errorEvent(f *fault.Error) turn.Error {
	who, retries := a.model.Name(), max(0, a.last.N-1)
	a.log(slog.LevelError, "turn failed", "provider", who.Provider, "model", who.Model, "kind", f.Kind.String(), "retries", retries)
	e := turn.NewError(f, retries, a.last.Waited)
	e.Name, e.Committed = who, a.committed
	return e
}

// request gives what a model is asked.
func (r *run) request(messages []llm.Message) llm.Request {
	q := llm.Request{System: r.System, Messages: messages, MaxTokens: r.MaxTokens, Effort: r.Effort, NoStream: r.Whole}
	for _, t := range r.Tools {
		q.Tools = append(q.Tools, t.Tool)
	}
	return q
}

// model gives who is asked now.
func (r *run) model() llm.Model {
	if n := min(r.state.Switches(), len(r.Fallback)); n > 0 {
		return r.Fallback[n-1]
	}
	return r.Model
}

// next gives the model that would take over; nil: there is none.
func (r *run) next() llm.Model {
	if n := r.state.Switches(); n < len(r.Fallback) {
		return r.Fallback[n]
	}
	return nil
}

// attempt is one run of the policy with one model, and what comes of it.
type attempt struct {
	*run
	model     llm.Model
	last      retry.Try     // the last that counts
	announced int           // the last failed try of which somebody was told
	answer    llm.Collector // as far as it has come
	committed bool          // content has come
	givenUp   bool          // the gate has ended it: somebody does not want to wait any more
	fault     *fault.Error  // what it has failed of; nil: nothing
	err       error         // what has ended it besides: the reader, ctx, or whoever waits
}

func (r *run) attempt(m llm.Model) *attempt { return &attempt{run: r, model: m} }

// stream asks the model and shows what it says.
func (a *attempt) stream(q llm.Request) {
	open := func(ctx context.Context, _ int) iter.Seq2[llm.Part, error] { return a.model.Stream(ctx, q) }
	engine, leave := a.retrier()
	defer leave()
	for part, err := range retry.Stream(a.ctx, engine, llm.IsContent, open) {
		if err != nil {
			a.noteEnd(err)
			return
		}
		a.addPart(part)
		if a.left {
			a.err = errLeft
			return
		}
	}
}

// addPart adds a part to the answer and shows what streams.
func (a *attempt) addPart(p llm.Part) {
	a.answer.Add(p)
	if !a.committed && llm.IsContent(p) {
		a.committed = true
		if a.first.IsZero() {
			a.first = time.Now()
		}
	}
	switch p := p.(type) {
	case llm.Text:
		if p.Text != "" {
			_ = a.show(turn.TextDelta{Text: p.Text}) // the reader who leaves is noticed
		}
	case llm.Reasoning:
		if p.Text != "" {
			_ = a.show(turn.ReasoningDelta{Text: p.Text})
		}
	}
}

// noteEnd notes how a run of the policy has ended without an answer.
func (a *attempt) noteEnd(err error) {
	f, ok := errors.AsType[*fault.Error](err)
	switch {
	case errors.Is(err, errSwitch):
		a.fault = a.last.Fault
	case ok && a.ctx.Err() == nil:
		a.fault = f
		a.givenUp = errors.Is(err, retry.ErrGivenUp)
	default:
		a.err = err
	}
}

// answered keeps a whole answer.
func (a *attempt) answered() error { return a.keep(a.answerEvents(false)...) }

// stopOrFail ends an answer for which nobody waits any more.
func (a *attempt) stopOrFail() error {
	if a.ctx.Err() == nil || errors.Is(a.err, errLeft) || errors.Is(a.err, retry.ErrParked) {
		return a.err
	}
	return a.stopped()
}

// stopped ends a turn whose ctx is over, with what had come until then. A limit
// of somebody's that expired is a failure, all else was an abort.
func (a *attempt) stopped() error {
	cause := context.Cause(a.ctx)
	if errors.Is(cause, retry.ErrParked) {
		return cause
	}
	events := a.answerEvents(true)
	if f, ok := errors.AsType[*fault.Error](cause); ok {
		return a.keep(append(events, a.errorEvent(f))...)
	}
	return a.keep(append(events, a.sealed(turn.Aborted, events))...)
}

// answerEvents gives the events of an answer. Of one that broke off only the text is
// good for anything.
func (a *attempt) answerEvents(partial bool) []turn.Event {
	content := a.uniqueIDs(a.answer.Content())
	var events []turn.Event
	if text := content.Text(); partial {
		content = nil
		if text != "" {
			content = llm.Content{llm.Text{Text: text}}
		}
	}
	if !partial || content != nil {
		events = append(events, turn.AssistantMessage{Name: a.speaker(), Content: content, Reason: a.answer.End.Reason, Partial: partial})
	}
	return append(events, a.usageEvents()...)
}

// uniqueIDs gives calls that have no id, or one that another has already, an id of
// their own: some servers count from 0 in each answer, and results are told
// apart by nothing else.
func (r *run) uniqueIDs(content llm.Content) llm.Content {
	if len(content.Calls()) == 0 {
		return content
	}
	taken := map[string]bool{"": true}
	for _, m := range r.state.Messages() {
		for _, c := range m.Content.Calls() {
			taken[c.ID] = true
		}
	}
	content = slices.Clone(content)
	for i, b := range content {
		if c, ok := b.(llm.ToolCall); ok {
			for id, n := c.ID, len(taken); taken[c.ID]; n++ {
				c.ID = fmt.Sprintf("%s_%d", cmp.Or(id, "call"), n)
			}
			taken[c.ID], content[i] = true, c
		}
	}
	return content
}

// usageEvents gives the event of what an answer has cost.
func (a *attempt) usageEvents() []turn.Event {
	if a.answer.Usage == (llm.Usage{}) {
		return nil
	}
	return []turn.Event{turn.Usage{Name: a.speaker(), Usage: a.answer.Usage}}
}

// speaker gives who has answered, as far as the provider says.
func (a *attempt) speaker() llm.Name { return speaker(a.model, a.answer) }
