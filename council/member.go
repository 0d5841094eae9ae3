package council

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
)

// answerBound is how long what a member says may get, in bytes, its reasoning
// included. It is broken off there, as at its bound in tokens.
const answerBound = 1 << 20

// member is one that is under way.
type member struct {
	*sitting
	number int
	world  agent.Agent
	place  *place
	state  turn.State // what has been done so far: another try goes on from there
}

func (s *sitting) member(i int) *member {
	return &member{sitting: s, number: i, world: asked(s.Members[i])}
}

// sit has the member answer, or end in another way.
func (m *member) sit(ctx context.Context) {
	name := m.world.Model.Name()
	call := m.Breakers.Of(name.Provider).Caller(breaker.Scope{Model: name.Model})
	defer call.Close()
	call.FewRetries = true
	call.OnBlock = func(breaker.BlockReason) { m.change(m.number, func(v *Voice) { v.State = Waiting }) }
	m.place = &place{Caller: call}
	e := retry.Retrier{
		Policy:  m.policy(),
		Breaker: m.place,
		OnWait:  m.onWait,
		Sleep:   func(ctx context.Context, w policy.Wait) error { return retry.Sleep(ctx, w.Verdict.Wait) },
		Rand:    m.dice,
	}
	said, err := retry.Do(ctx, e, func(ctx context.Context, _ int) (said turn.AssistantMessage, err error) {
		if ctx.Err() != nil {
			return said, context.Cause(ctx) // it comes too late
		}
		m.change(m.number, func(v *Voice) { v.State, v.Tries = Asking, v.Tries+1 })
		err = safely(m.world, func() (err error) { said, err = m.ask(ctx); return err })
		return said, err
	})
	m.change(m.number, func(v *Voice) { m.end(ctx, v, said, err) })
}

// end notes how the member has ended. An answer of one that was cut off comes
// too late, by whatever it took.
func (m *member) end(ctx context.Context, v *Voice, said turn.AssistantMessage, err error) {
	v.Usage = m.state.Spent()
	switch {
	case ctx.Err() != nil:
		v.State, v.Why = CutOff, context.Cause(ctx)
	case err == nil:
		v.State, v.Text, v.Reason = Answered, said.Content.Text(), said.Reason
	default:
		v.State, v.Fault = Failed, classify.Of(err, time.Now())
	}
}

// onWait shows a wait.
func (m *member) onWait(w policy.Wait) {
	m.change(m.number, func(v *Voice) {
		v.State, v.Fault, v.Wait, v.Hinted = Waiting, w.Fault, w.Verdict.Wait, w.Verdict.Hinted
	})
}

// policy gives the member's: its wait lies between 1 and 2 seconds.
func (m *member) policy() policy.Policy {
	p := policy.Council(m.Budget)
	p.MinRemaining = m.Reserve
	p.Backoff.Jitter = policy.Jitter{Down: 1. / 3, Up: 1. / 3}
	return p
}

// dice places the wait. The models of one provider share out the second among
// them, so that it is not asked by all again at once: one alone waits for 1.5
// seconds. Those who ask for the same model wait for each other at the gate.
func (m *member) dice() float64 {
	mine := m.world.Model.Name()
	var models []string
	for _, w := range m.Members {
		if name := w.Model.Name(); name.Provider == mine.Provider && !slices.Contains(models, name.Model) {
			models = append(models, name.Model)
		}
	}
	at := slices.Index(models, mine.Model)
	return (float64(at) + 0.5) / float64(len(models))
}

// safely does what a model or a tool may panic in: that takes nobody else's
// answer with it.
func safely(w agent.Agent, do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if w.Log != nil {
				w.Log.Error("a model of a council panicked", "model", w.Model.Name().String(), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			}
			err = &fault.Error{Kind: fault.Unknown, Message: fmt.Sprintf("panic: %v", p), Rule: "council/panic"}
		}
	}()
	return do()
}

// ask makes one try. A turn of several steps goes on where it was: no tool is
// run again that has given its result. Of a step that has failed nothing is
// left.
func (m *member) ask(ctx context.Context) (last turn.AssistantMessage, err error) {
	var begin []turn.Event
	if m.state.Next() == nil {
		begin = turn.Begin("", m.question)
	}
	var heard draft
	for e, err := range m.world.Run(ctx, m.state, begin...) {
		if err != nil {
			return last, err
		}
		switch e := e.(type) {
		case turn.Error:
			return last, e.Fault
		case turn.Sealed:
			return last, conclude(ctx, last, e)
		case turn.TextDelta, turn.ReasoningDelta:
			m.place.Report(nil)
			if heard.add(e); heard.bytes > answerBound {
				last = heard.message()
				return last, conclude(ctx, last, turn.Sealed{Status: turn.Done})
			}
		case turn.AssistantMessage:
			if e.Partial {
				continue
			}
			m.place.Report(nil)
			last, heard = e, draft{}
		}
		m.state = m.state.Apply(e)
	}
	return last, context.Cause(ctx)
}

// draft is what has come of an answer under way.
type draft struct {
	text  []byte
	bytes int // with the reasoning
}

func (d *draft) add(e turn.Event) {
	switch e := e.(type) {
	case turn.TextDelta:
		d.bytes += len(e.Text)
		d.text = append(d.text, e.Text...)
	case turn.ReasoningDelta:
		d.bytes += len(e.Text)
	}
}

// message gives it as an answer that has reached its bound.
func (d *draft) message() turn.AssistantMessage {
	text := strings.ToValidUTF8(string(d.text[:min(len(d.text), answerBound)]), "")
	return turn.AssistantMessage{Content: llm.Content{llm.Text{Text: text}}, Reason: llm.Length}
}

// conclude tells what is wrong with the answer of a turn that is over.
func conclude(ctx context.Context, last turn.AssistantMessage, end turn.Sealed) error {
	switch {
	case end.Status != turn.Done:
		return context.Cause(ctx)
	case last.Reason == llm.Refusal:
		return &fault.Error{Kind: fault.Refused, Message: "the model will not answer", Rule: "council/refusal"}
	case strings.TrimSpace(last.Content.Text()) == "":
		return &fault.Error{Kind: fault.Unknown, Message: "the answer is empty", Rule: "council/empty"}
	}
	return nil
}

// place is a member's place at its gate. Its pass goes back with the first
// content: others need not wait for the rest of a long answer.
type place struct {
	*breaker.Caller
	pass retry.Permit // nil: it is back
}

// Enter is of retry.Breaker.
func (p *place) Acquire(ctx context.Context) (retry.Permit, error) {
	pass, err := p.Caller.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	p.pass = pass
	return p, nil
}

// Leave gives the pass back, once.
func (p *place) Report(f *fault.Error) {
	if p.pass != nil {
		p.pass.Report(f)
		p.pass = nil
	}
}
