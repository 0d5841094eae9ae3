// Package agent runs the turns of an agent: it asks the model, runs the tools and persists the events until
// the turn is sealed. Package turn decides the next step; this package executes it.
//
// Of an agent's parts only this one asks a model again, as package retry decides, and only before the first
// content of its answer. An interrupted turn resumes from its kept events: no answer is given twice, and no
// tool that has returned its result is run again.
//
// [Ask] asks a model for one answer, without an agent.
package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/route"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/tool"
	"github.com/ridethrough/ridethrough/turn"
)

// Agent is a model with its tools and everything else that a turn needs. It is plain data: a copy may run
// many turns at the same time, if its functions are safe for that.
type Agent struct {
	Model  llm.Model
	System string      // the system prompt; "": none
	Tools  []tool.Tool // with unique names

	MaxTokens int        // as of llm.Request
	Effort    llm.Effort // as of llm.Request
	NoStream  bool       // as of llm.Request

	// Retry says when a model is asked again; zero: never. If its Sleep returns retry.ErrParked, Run ends
	// with that error and the turn stays open, to be resumed later from its kept events.
	Retry retry.Retrier

	// Breaker returns the caller at the breaker of a model's upstream, and the
	// function that releases it. nil: Retry.Breaker is that of every model.
	Breaker func(llm.Name) (b retry.Breaker, leave func())

	// SpreadWait makes a wait a little longer before it is announced, so that many do not end at the same
	// moment. It does not count against the budget. nil: the wait is as the policy says.
	SpreadWait func(time.Duration) time.Duration

	// Prior are the turn's metrics of other processes, added to those of this one.
	// Its tokens are ignored: the events have them.
	Prior turn.Metrics

	// Fallback are the models that take over in this order, each with a fresh run of the policy. The next one
	// does when the faults of a turn last longer than Patience, when the provider says that they will, or
	// when the policy gives up. Only transient faults and Quota count: another model would refuse the rest as
	// well. none: there is no fallback.
	Fallback []llm.Model
	Patience time.Duration // from the first fault of the turn, or of the model that has taken over; 0: none

	// CompleteText completes an answer that breaks off in the middle of its text: the model is asked for the
	// rest, which costs the tokens of its request again. What it answers is used if it begins by repeating the
	// end of what it has said, as it is asked to. Else, and without CompleteText, the turn fails with what had
	// arrived.
	CompleteText bool

	// Terms returns what holds at a model in place of Retry.Policy, Patience and CompleteText. nil: these hold
	// at each.
	Terms func(llm.Name) Terms

	// Persist stores events before they are yielded, those of one call together or not at all. An error ends
	// Run and leaves the turn open. Its context does not end with Run's, since the end of a stopped turn is
	// stored too. nil: nothing is stored.
	Persist func(ctx context.Context, events ...turn.Event) error

	// Rules say which tools run, and which the user is asked about. The zero Rules ask about those that write.
	Rules tool.Rules

	// Approve asks the user about a call, about one after the other, until Until of the request. It is called
	// again if the turn resumes without an answer. An error forbids the call, and the model reads its text. With
	// retry.ErrParked Run ends, and the turn stays open until a turn.ApprovalAnswered is among its events. nil: no
	// tool is run that the user is to be asked about.
	Approve      func(context.Context, turn.ApprovalRequested) (turn.Decision, error)
	ApprovalTime time.Duration // from the request to its Until; 0: it has no end

	// Steering returns the user's messages that have arrived to steer the turn. It is called before each try,
	// so that the one after a wait answers what was said in it. nil: none.
	Steering func() []turn.UserMessage

	// OnHold gets what ends the wait in which a gateway of this project holds the turn's request, for each such
	// wait, and nil when the gateway holds it no longer. nil: none.
	OnHold func(retryNow func(context.Context) error)

	OnActivity func(Activity) // reports progress, for a watchdog; nil: none
	OnReport   func(Report)   // gets the tries, waits and ends of turns, one at a time for each turn; nil: none
	MaxSteps   int            // the limit on the answers of a turn; 0: 100
}

// Terms are what holds at one model of an agent.
type Terms struct {
	Policy      policy.Policy // when it is asked again
	Patience    time.Duration // as of Agent; Forever: until the policy gives up
	Immediately fault.Set     // faults for which the next one takes over without a wait, final ones too

	CompleteText bool // as of Agent
	CompleteOff  bool // an answer that breaks off fails the turn also while no text has come, and nothing was lost by asking again
}

// Forever as a patience keeps a turn at a model until its policy gives up.
const Forever = route.Unlimited

// TermsAt returns what holds at a model.
func (a Agent) TermsAt(name llm.Name) Terms {
	if a.Terms == nil {
		return Terms{Policy: a.Retry.Policy, Patience: a.Patience, CompleteText: a.CompleteText}
	}
	return a.Terms(name)
}

// Activity is a kind of progress.
type Activity string

// The activities.
const (
	Step      Activity = "step"      // a model is asked
	ToolRun   Activity = "tool-call" // a tool is run
	Retrying  Activity = "retry"     // a wait begins
	Recovered Activity = "recovery"  // a model answers again
)

// defaultMaxSteps is the MaxSteps of an agent without one.
const defaultMaxSteps = 100

// errLeft ends a run whose reader has stopped iterating.
var errLeft = errors.New("the reader has left")

// Run runs a turn to its end and yields its events, each after it was persisted.
// The input begins the turn, see [turn.Begin]; without any, an open turn resumes.
// s is not changed: fold the events with [turn.State.Apply] for the new state.
//
// A provider that fails for good is no error: Run yields a [turn.Error] event and seals the turn as failed.
// When ctx is canceled it seals the turn as aborted, within milliseconds. An error comes last and means that
// the turn is still open: that of Persist, retry.ErrParked, or a mistake in the Agent. A ctx that ends with
// the cause retry.ErrParked leaves the turn open too, as does breaking off.
func (a Agent) Run(ctx context.Context, s turn.State, input ...turn.Event) iter.Seq2[turn.Event, error] {
	return func(yield func(turn.Event, error) bool) {
		r := &run{Agent: a, ctx: ctx, state: s.Clone(), yield: yield, started: time.Now(), metrics: a.Prior}
		err := a.check()
		if err == nil {
			err = r.keep(input...)
		}
		if err == nil {
			r.route = r.newRoute()
			err = r.drive()
		}
		if err != nil && !errors.Is(err, errLeft) {
			yield(nil, err)
		}
	}
}

// check returns the first mistake in the agent's configuration, or nil.
func (a Agent) check() error {
	if a.Model == nil {
		return errors.New("agent: there is no model")
	}
	seen := map[string]bool{}
	for _, t := range a.Tools {
		switch {
		case t.Name == "" || len(t.Name) > 64 || strings.ContainsFunc(t.Name, notInToolName):
			return fmt.Errorf("agent: a tool is named %q: want at most 64 letters, digits, _ and -", t.Name)
		case seen[t.Name]:
			return fmt.Errorf("agent: two tools are named %q", t.Name)
		}
		seen[t.Name] = true
	}
	return nil
}

// notInToolName reports whether a character may not be in a tool's name.
func notInToolName(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-')
}

// run is one call of Run.
type run struct {
	Agent
	ctx   context.Context
	state turn.State
	yield func(turn.Event, error) bool
	left  bool // the reader has stopped iterating: yield must not be called again

	started time.Time
	first   time.Time // the turn's first content; zero: none so far
	route   route.Route
	metrics turn.Metrics
}

// drive executes what the state needs until nothing is needed.
func (r *run) drive() error {
	for {
		var err error
		switch need := r.state.Next().(type) {
		case nil:
			return nil
		case turn.Seal:
			err = r.keep(r.sealed(need.Status, nil))
		case turn.Ask:
			err = r.unlessStopped(r.step)
		case turn.Shorten:
			err = r.unlessStopped(func() error { return r.shorten(need.Instruction) })
		case turn.Use:
			err = r.unlessStopped(func() error { return r.useTools(need.Calls) })
		}
		if err != nil {
			return err
		}
	}
}

// takeSteering adds the user's steering messages to the turn.
func (r *run) takeSteering() error {
	if r.Steering == nil {
		return nil
	}
	var messages []turn.Event
	for _, m := range r.Steering() {
		messages = append(messages, m)
	}
	return r.keep(messages...)
}

// unlessStopped calls do unless the turn has been stopped.
func (r *run) unlessStopped(do func() error) error {
	if r.ctx.Err() != nil {
		return r.stopped()
	}
	return do()
}

// stopped ends a turn whose ctx is done.
func (r *run) stopped() error { return r.attempt(r.current()).stopped() }

// sealed returns the turn's last event, after some that are not in the state yet.
func (r *run) sealed(status turn.Status, pending []turn.Event) turn.Sealed {
	m, spent := r.metrics, r.state.Spent()
	for _, e := range pending {
		if u, ok := e.(turn.Usage); ok {
			spent = spent.Add(u.Usage)
		}
	}
	m.Duration += time.Since(r.started)
	m.InputTokens, m.OutputTokens = spent.Input, spent.Output
	if m.TimeToFirstToken == 0 && !r.first.IsZero() {
		m.TimeToFirstToken = r.Prior.Duration + r.first.Sub(r.started)
	}
	return turn.Sealed{Status: status, Metrics: m}
}

// keep persists events and then yields them.
func (r *run) keep(events ...turn.Event) error {
	if len(events) == 0 {
		return nil
	}
	if r.Persist != nil {
		if err := r.Persist(context.WithoutCancel(r.ctx), events...); err != nil {
			return fmt.Errorf("persist %s: %w", turn.Type(events[0]), err)
		}
	}
	for _, e := range events {
		r.state = r.state.Apply(e)
		r.report(e)
	}
	for _, e := range events {
		if err := r.show(e); err != nil {
			return err
		}
	}
	return nil
}

// show yields an event.
func (r *run) show(e turn.Event) error {
	if r.left || !r.yield(e, nil) {
		r.left = true
		return errLeft
	}
	return nil
}

// reportActivity reports progress.
func (r *run) reportActivity(a Activity) {
	if r.OnActivity != nil {
		r.OnActivity(a)
	}
}
