package council

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/route"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
)

// maxAnswer bounds an answer in bytes, its reasoning included. A longer one ends
// there, as at its limit of tokens.
const maxAnswer = 1 << 20

// memberRun is a member in progress.
type memberRun struct {
	*run
	number int
	agent  agent.Agent // with the model that is asked now
	route  route.Route // through its models
	permit *earlyReport
	state  turn.State   // so far: another try resumes it
	last   retry.Try    // of that model, with an outcome
	spent  turn.Metrics // at the models before it
}

func (r *run) member(i int) *memberRun {
	m := &memberRun{run: r, number: i, agent: agentOf(r.Members[i])}
	m.route.Rules = route.Rules{On: fault.Transient.With(fault.Quota), OneBudget: true, FromFault: true, LastTry: true}
	name := m.agent.Model.Name()
	for _, next := range r.Members[i].Fallback {
		at := r.Members[i].TermsAt(name)
		m.route.Hops = append(m.route.Hops, route.Hop{After: at.Patience, AtOnce: at.Immediately})
		name = next.Name()
	}
	return m
}

// answer asks the member's models, one after the other, until it has ended.
func (m *memberRun) answer(ctx context.Context) {
	m.report(turn.Start{})
	answer, err := m.askModel(ctx)
	for err != nil && m.switchModel(ctx, err) {
		answer, err = m.askModel(ctx)
	}
	m.change(m.number, func(v *Member) { m.end(ctx, v, answer, err) })
	m.reportEnd()
}

// switchModel has the next model take over after an error, while there is time for it; false: the member ends there.
func (m *memberRun) switchModel(ctx context.Context, err error) bool {
	end := route.End{Run: m.last.Run}
	left, leaves := errors.AsType[*route.Left](err)
	failed, ended := errors.AsType[*retry.Error](err)
	switch {
	case ctx.Err() != nil, m.Budget-time.Since(m.began) <= m.Reserve:
		return false
	case leaves:
		end = left.End
	case ended && failed.Last != nil:
		end.Fault, end.Stop = failed.Last, failed.Stop
	default:
		return false
	}
	if !m.route.Go(end) {
		return false
	}
	from, to := m.agent.Model, m.Members[m.number].Fallback[m.route.At-1]
	m.spent.RetryCount += max(0, m.last.N-1)
	m.spent.TotalRetryDelay += m.last.Waited
	m.agent.Model, m.last = to, retry.Try{}
	m.change(m.number, func(v *Member) { v.Name, v.State = to.Name(), Asking })
	m.report(turn.Switched{From: from.Name().String(), To: to.Name().String(), Why: end.Fault.Redacted()})
	return true
}

// askModel asks the model until it has answered or its policy gives up.
func (m *memberRun) askModel(ctx context.Context) (answer turn.AssistantMessage, err error) {
	name := m.agent.Model.Name()
	call := m.Breakers.Of(name.Provider).Caller(breaker.Scope{Model: name.Model})
	defer call.Close()
	call.FewRetries = true
	call.OnBlock = func(breaker.BlockReason) { m.change(m.number, func(v *Member) { v.State = Waiting }) }
	m.permit = &earlyReport{Caller: call}
	e := retry.Retrier{
		Policy:  m.policy(),
		Start:   m.route.Run,
		Breaker: m.permit,
		Counts:  true, // the others of the council answer
		OnTry:   m.reportTry,
		Sleep:   func(ctx context.Context, w policy.Wait) error { return m.route.Sleep(ctx, w, m.wait) },
		Rand:    m.jitter,
	}
	return retry.Do(ctx, e, func(ctx context.Context, _ int) (answer turn.AssistantMessage, err error) {
		if ctx.Err() != nil {
			return answer, context.Cause(ctx) // it comes too late
		}
		m.change(m.number, func(v *Member) { v.State, v.Tries = Asking, v.Tries+1 })
		err = m.recoverPanic(m.agent, func() (err error) { answer, err = m.ask(ctx); return err })
		return answer, err
	})
}

// end notes how the member ended. An answer after the cut comes too late.
func (m *memberRun) end(ctx context.Context, v *Member, answer turn.AssistantMessage, err error) {
	v.Usage = m.state.Spent()
	switch {
	case ctx.Err() != nil:
		v.State, v.Why = CutOff, context.Cause(ctx)
	case err == nil:
		v.State, v.Text, v.Reason = Answered, answer.Content.Text(), answer.Reason
	default:
		v.State, v.Fault = Failed, classify.Of(err, time.Now())
	}
}

// wait reports a wait and sleeps.
func (m *memberRun) wait(ctx context.Context, w policy.Wait) error {
	m.report(turn.Retry{Name: m.agent.Model.Name(), Wait: w})
	m.change(m.number, func(v *Member) {
		v.State, v.Fault, v.Wait, v.Hinted = Waiting, w.Fault, w.Verdict.Wait, w.Verdict.Hinted
	})
	return retry.Sleep(ctx, w.Verdict.Wait)
}

// policy returns the member's policy: its wait is between 1 and 2 seconds.
func (m *memberRun) policy() policy.Policy {
	p := policy.Council(m.Budget)
	p.MinRemaining = m.Reserve
	p.Backoff.Jitter = policy.Jitter{Down: 1. / 3, Up: 1. / 3}
	return p
}

// jitter places the wait. The models of one provider divide the second evenly, so that not all ask again at
// once; a single one waits 1.5 seconds. Members with the same model wait for each other at the breaker.
func (m *memberRun) jitter() float64 {
	mine := m.agent.Model.Name()
	var models []string
	for _, w := range m.Members {
		if name := w.Model.Name(); name.Provider == mine.Provider && !slices.Contains(models, name.Model) {
			models = append(models, name.Model)
		}
	}
	at := slices.Index(models, mine.Model)
	if at < 0 { // it has taken over for another
		return 0.5
	}
	return (float64(at) + 0.5) / float64(len(models))
}

// recoverPanic calls do and returns a panic of a model or a tool as a fault: the other members continue.
func (r *run) recoverPanic(w agent.Agent, do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if r.Log != nil {
				r.Log.Error("a model of a council panicked", "model", w.Model.Name().String(), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			}
			err = &fault.Error{Kind: fault.Unknown, Message: fmt.Sprintf("panic: %v", p), Rule: "council/panic"}
		}
	}()
	return do()
}

// ask makes one try. A turn of several steps resumes where it was: no tool that has
// returned its result runs again. A failed step leaves nothing.
func (m *memberRun) ask(ctx context.Context) (last turn.AssistantMessage, err error) {
	var begin []turn.Event
	if m.state.Next() == nil {
		begin = turn.Begin("", m.question)
	}
	var text []byte // so far
	size := 0       // of it and the reasoning
	for e, err := range m.agent.Run(ctx, m.state, begin...) {
		if err != nil {
			return last, err
		}
		switch e := e.(type) {
		case turn.Error:
			return last, e.Fault
		case turn.Sealed:
			return last, checkAnswer(ctx, last, e)
		case turn.TextDelta:
			m.permit.Report(nil)
			text, size = append(text, e.Text...), size+len(e.Text)
		case turn.ReasoningDelta:
			m.permit.Report(nil)
			size += len(e.Text)
		case turn.AssistantMessage:
			if e.Partial {
				continue
			}
			m.permit.Report(nil)
			last, text, size = e, nil, 0
		}
		if size > maxAnswer {
			whole := llm.Text{Text: strings.ToValidUTF8(string(text[:min(len(text), maxAnswer)]), "")}
			last = turn.AssistantMessage{Content: llm.Content{whole}, Reason: llm.Length}
			return last, checkAnswer(ctx, last, turn.Sealed{Status: turn.Done})
		}
		m.state = m.state.Apply(e)
	}
	return last, context.Cause(ctx)
}

// checkAnswer returns the fault of the answer of a turn that is over; nil: none.
func checkAnswer(ctx context.Context, last turn.AssistantMessage, end turn.Sealed) error {
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

// earlyReport reports a success to the breaker with the first content: others need
// not wait for the rest of a long answer.
type earlyReport struct {
	*breaker.Caller
	permit retry.Permit // nil: it has been reported
}

// Acquire implements retry.Breaker.
func (p *earlyReport) Acquire(ctx context.Context) (retry.Permit, error) {
	pass, err := p.Caller.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	p.permit = pass
	return p, nil
}

// Report implements retry.Permit. It reports once.
func (p *earlyReport) Report(f *fault.Error) *fault.Error {
	if p.permit != nil {
		f = p.permit.Report(f)
		p.permit = nil
	}
	return f
}
