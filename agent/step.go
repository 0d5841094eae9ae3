package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/preamble"
	"github.com/ridethrough/ridethrough/internal/route"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/tool"
	"github.com/ridethrough/ridethrough/turn"
)

// step has a model answer.
func (r *run) step() error {
	a := r.attempt(r.current())
	if most := cmp.Or(r.MaxSteps, defaultMaxSteps); r.state.Steps() >= most {
		tooMany := &fault.Error{
			Kind:    fault.Invalid,
			Message: fmt.Sprintf("the turn has taken %d steps without coming to its end", most),
			Rule:    "agent/steps",
		}
		return r.keep(a.errorEvent(tooMany))
	}
	r.reportActivity(Step)
	a.stream()
	switch f := a.fault; {
	case a.err != nil:
		return a.stopOrFail()
	case f == nil && !a.committed && a.answer.End.Reason == llm.Refusal && r.leavesAtOnce(fault.Refused):
		a.fault, a.stop = &fault.Error{Kind: fault.Refused, Message: "the model refused to answer", Rule: "agent/refusal"}, policy.Final
		return a.failed()
	case f == nil:
		return a.keep(a.answerEvents(false)...)
	case f.Kind == fault.TooLong && !a.committed && !r.state.Compacted() && !r.leavesAtOnce(f.Kind):
		return a.compact()
	}
	return a.failed()
}

// failed moves the turn to the next model after a fault, or ends it.
func (a *attempt) failed() error {
	if !a.committed && a.route.Go(route.End{Run: a.last.Run, Fault: a.fault, Stop: a.stop}) {
		return a.keep(append(a.usageEvents(), turn.Switched{From: a.model.Name().String(), To: a.current().Name().String(), Why: a.fault.Redacted()})...)
	}
	return a.keep(append(a.answerEvents(true), a.errorEvent(a.fault))...)
}

// errorEvent returns the event of a fault that ends a turn.
func (a *attempt) errorEvent(f *fault.Error) turn.Error {
	e := turn.NewError(f, max(0, a.last.N-1)+a.heldRetries, a.last.Waited)
	e.Name, e.Stop = a.model.Name(), a.stop
	switch {
	case a.committed:
		e.Stop = policy.Committed
	case a.stop == policy.RetryAfterTooLong, f.Kind == fault.Quota && a.stop == policy.Final && !f.Final:
		e.RetryAfter = f.RetryAfter(time.Now())
	}
	return e
}

// request returns what a model is asked.
func (r *run) request(model llm.Name) llm.Request {
	question, _ := r.state.Next().(turn.Ask) // messages that steer do not change the need
	q := llm.Request{System: r.System, Messages: r.state.ShownTo(model, question.Messages), MaxTokens: r.MaxTokens, Effort: r.Effort, NoStream: r.NoStream}
	for _, t := range r.Tools {
		if r.Rules.Of(t) != tool.Deny {
			q.Tools = append(q.Tools, t.Tool)
		}
	}
	return q
}

// newRoute returns the route of a turn through its models.
func (r *run) newRoute() route.Route {
	way := route.Route{
		Rules: route.Rules{On: fault.Transient.With(fault.Quota), FromFault: true, LastTry: true},
		At:    min(r.state.Switches(), len(r.Fallback)),
		Run:   r.Retry.Start, Since: r.Retry.Start.Started,
	}
	for i := range r.Fallback {
		at := r.TermsAt(r.modelAt(i).Name())
		way.Hops = append(way.Hops, route.Hop{After: at.Patience, AtOnce: at.Immediately})
	}
	return way
}

// current returns the model that is asked now.
func (r *run) current() llm.Model { return r.modelAt(r.route.At) }

// modelAt returns the model at a place of the route.
func (r *run) modelAt(i int) llm.Model {
	if i > 0 {
		return r.Fallback[i-1]
	}
	return r.Model
}

// leavesAtOnce reports whether the next model takes over without a wait after a fault.
func (r *run) leavesAtOnce(k fault.Kind) bool {
	return !r.route.Last() && r.route.Hops[r.route.At].AtOnce.Has(k)
}

// attempt is one run of the policy with one model, and its outcome.
type attempt struct {
	*run
	model       llm.Model
	last        retry.Try                  // the last that counts
	announced   int                        // the number of the last failed try whose wait was announced
	counted     int                        // that of the last one whose wait a try has followed
	answer      llm.Collector              // as much of it as has arrived
	asked       llm.Request                // of the last try
	committed   bool                       // content has arrived
	continued   int                        // how often it has broken off and was asked for again, or its rest
	lost        llm.Usage                  // of the answers that were dropped
	fault       *fault.Error               // why it failed; nil: it did not
	stop        policy.Stop                // why it was not tried again; "": the next model takes over
	heldRetries int                        // those of a gateway that has held a try
	patienceEnd *time.Timer                // ends the wait of such a gateway; nil: nothing does
	lastTry     atomic.Pointer[route.Left] // why the model is left when the try fails that patience has ended that wait with; nil: it has not
	slept       time.Duration              // of the policy's budget
	cancel      context.CancelCauseFunc    // ends the tries
	err         error                      // what else ended it: the reader, ctx, or Sleep
}

func (r *run) attempt(m llm.Model) *attempt { return &attempt{run: r, model: m} }

// stream asks the model and yields its deltas.
func (a *attempt) stream() {
	caller := &preamble.Caller{Budget: a.waitLeft, OnEvent: a.onHold} // as a gateway that holds the request is to know it
	open := func(ctx context.Context, _ int) iter.Seq2[llm.Part, error] {
		if a.err = a.takeSteering(); a.err != nil {
			return noTry(a.err)
		}
		a.asked = a.request(a.model.Name())
		return a.model.Stream(preamble.With(ctx, caller), a.asked)
	}
	resume := func() retry.Rest[llm.Part] { return a.resume(caller, open) }
	retrier, leave := a.retrier()
	defer leave()
	retrier.Held = caller.TakeWaited
	ctx, cancel := context.WithCancelCause(a.ctx)
	defer cancel(nil)
	a.cancel = cancel
	for part, err := range retry.StreamWithRest(ctx, retrier, llm.IsContent, open, resume) {
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

// noTry stands for a try that is not made, since an error ends Run. It says nothing about the provider.
func noTry(err error) iter.Seq2[llm.Part, error] {
	return func(yield func(llm.Part, error) bool) {
		yield(nil, &fault.Error{Kind: fault.Canceled, Message: "the turn cannot go on", Err: err, Rule: "agent/steering"})
	}
}

// addPart adds a part to the answer and yields its delta.
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
			_ = a.show(turn.TextDelta{Text: p.Text}) // a reader that left is noticed later
		}
	case llm.Reasoning:
		if p.Text != "" {
			_ = a.show(turn.ReasoningDelta{Text: p.Text})
		}
	}
}

// noteEnd notes how a run of the policy ended without an answer.
func (a *attempt) noteEnd(err error) {
	left, leaves := errors.AsType[*route.Left](err)
	end, ended := errors.AsType[*retry.Error](err)
	switch {
	case a.err != nil: // it ended the run
	case leaves:
		a.fault = left.Fault
	case ended && end.Last != nil && a.ctx.Err() == nil:
		a.fault, a.stop = end.Last, end.Stop
	default:
		a.err = err
	}
}

// stopOrFail ends an answer that was stopped, or returns the error that ends Run.
func (a *attempt) stopOrFail() error {
	if a.ctx.Err() == nil || errors.Is(a.err, errLeft) || errors.Is(a.err, retry.ErrParked) {
		return a.err
	}
	return a.stopped()
}

// stopped ends a turn whose ctx is done, with what had arrived. The caller's limit
// that expired, as a fault, is a failure; everything else is an abort.
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

// answerEvents returns the events of an answer. Of a partial one only the text is of use.
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
		events = append(events, turn.AssistantMessage{Name: speaker(a.model, a.answer), Content: content, Reason: a.answer.End.Reason, Partial: partial, Continued: a.continued})
	}
	return append(events, a.usageEvents()...)
}

// uniqueIDs sets an ID for calls without one, and for those whose ID another call
// has: some servers count from 0 in each answer, and a result names only the ID.
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

// usageEvents returns the event of an answer's usage, with that of what was dropped before it; none if there is no usage.
func (a *attempt) usageEvents() []turn.Event {
	all := a.lost.Add(a.answer.Usage)
	if all == (llm.Usage{}) {
		return nil
	}
	return []turn.Event{turn.Usage{Name: speaker(a.model, a.answer), Usage: all}}
}
