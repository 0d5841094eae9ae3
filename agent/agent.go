// Package agent drives a turn against the world: it asks the model, runs the
// tools and keeps what must last, until the turn is sealed. What comes next is
// for package turn to say; this package does it.
//
// This is the one place of an agent where a model is asked again, and only
// before the first content of its answer, as package retry decides. What lies
// below tries once; what lies above sees events. A turn that is interrupted
// anywhere goes on from its kept events: no answer is said twice and no tool
// that has given its result is run again.
//
// [Ask] is for those who want one answer and no agent.
package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/tool"
	"github.com/ridethrough/ridethrough/turn"
)

// Agent is what a turn needs of the outside. It is plain data: a copy may
// drive many turns at the same time, if its functions may be called so.
type Agent struct {
	Model  llm.Model
	System string      // standing orders to the model; "": none
	Tools  []tool.Tool // what the model may call; names are unique

	MaxTokens int        // as of llm.Request
	Effort    llm.Effort // as of llm.Request
	Whole     bool       // as of llm.Request

	// Retry says when a model is asked again; zero: never. Its Wait may return
	// retry.ErrParked: then Run ends with that error and the turn stays open, to
	// go on later from its kept events.
	Retry retry.Retrier

	// Breaker gives the place at the gate of the upstream that a model is at, and
	// what gives it back. nil: Retry's Gate is that of every model.
	Breaker func(llm.Name) (g retry.Breaker, leave func())

	// SpreadWait makes a wait a little longer before anybody is told of it, so that
	// many do not fall due at the same moment. It does not count against the
	// budget. nil: it is as the policy says.
	SpreadWait func(time.Duration) time.Duration

	// Prior is what the turn has taken in other processes: it is added to what
	// it takes here. Tokens are known from the events, and not looked at.
	Prior turn.Metrics

	// Fallback are the models that take over, in this order, each with a fresh
	// run of the policy, when the faults of one turn last for longer than
	// Patience, or the provider says that they will, or the policy gives up
	// before. Only faults count that pass by
	// themselves or are the account's (Quota): another model would refuse the
	// rest as well. none: there is no fallback.
	Fallback []llm.Model
	Patience time.Duration // from the turn's first fault, and again from the first of each model that has taken over; 0: at once

	// Persist makes events last. It is called before they are shown; those of one
	// call are kept together or not at all. An error ends the run and leaves the
	// turn open. It has no deadline, and goes on when somebody has stopped the
	// turn: that has to be kept as well. nil: nothing lasts.
	Persist func(ctx context.Context, events ...turn.Event) error

	// Approve is asked before a tool that writes is run; an error, whose words
	// the model gets to read, forbids it. It is asked about one call after the
	// other. nil: what writes is not run.
	Approve func(ctx context.Context, call llm.ToolCall) error

	// Steering gives what the user has said meanwhile to steer the turn. It is asked
	// before each question to a model. nil: nothing.
	Steering func() []turn.UserMessage

	OnActivity func(Activity) // is told that something goes on, for whoever watches for standstill; nil: nobody
	Log        *slog.Logger   // of retries and what ends a turn, without a word of the conversation; nil: none
	MaxSteps   int            // the most answers in a turn; 0: 100
}

// Activity is what goes on.
type Activity string

// The activities.
const (
	Step      Activity = "step"      // a model is asked
	ToolRun   Activity = "tool-call" // a tool is run
	Retrying  Activity = "retry"     // a wait begins
	Recovered Activity = "recovery"  // a model answers again
)

// defaultMaxSteps is how many answers a turn may have where nothing is said.
const defaultMaxSteps = 100

// errLeft: whoever ranged over the events has broken off.
var errLeft = errors.New("the reader has left")

// Run drives a turn to its end and yields what happens, each event after it
// was kept. The input begins the turn, see [turn.Begin]; without any, a turn
// that is under way goes on. s is not changed: fold the events with
// [turn.State.Apply] to have what comes out.
//
// A provider that fails for good is no error here: an [turn.Error] event says
// so, and the turn is sealed as failed. Somebody stopping it by ctx seals it
// as aborted, at any moment and within milliseconds. An error, which comes
// last, means that the turn is still open: of Keep, retry.ErrParked, or of a
// World that cannot work. A ctx that ends with the cause retry.ErrParked is
// such a case too: the turn is handed back as it is. Breaking off leaves the
// turn open as well.
func (w Agent) Run(ctx context.Context, s turn.State, input ...turn.Event) iter.Seq2[turn.Event, error] {
	return func(yield func(turn.Event, error) bool) {
		r := &run{Agent: w, ctx: ctx, state: s.Clone(), yield: yield, started: time.Now(), start: w.Retry.Start, metrics: w.Prior}
		r.faulty = r.start.Started
		err := w.check()
		if err == nil {
			err = r.keep(input...)
		}
		if err == nil {
			err = r.drive()
		}
		if err != nil && !errors.Is(err, errLeft) {
			yield(nil, err)
		}
	}
}

// check finds what cannot work.
func (w Agent) check() error {
	if w.Model == nil {
		return errors.New("agent: there is no model")
	}
	seen := map[string]bool{}
	for _, t := range w.Tools {
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

// notInToolName tells whether no provider takes a letter in a tool's name.
func notInToolName(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-')
}

// run is one call of Run.
type run struct {
	Agent
	ctx   context.Context
	state turn.State
	yield func(turn.Event, error) bool
	left  bool // yield has said so: it must not be called again

	started time.Time
	first   time.Time  // the turn's first content; zero: none yet
	faulty  time.Time  // the turn's first fault with this model; zero: none yet
	start   policy.Run // of the next run of the policy: a stored one goes on once
	metrics turn.Metrics
}

// drive does what the state needs until nothing is needed.
func (r *run) drive() error {
	for {
		var err error
		switch need := r.state.Next().(type) {
		case nil:
			return nil
		case turn.Seal:
			err = r.seal(need.Status)
		case turn.Ask:
			err = r.unlessStopped(r.ask)
		case turn.Use:
			err = r.unlessStopped(func() error { return r.useTools(need.Calls) })
		}
		if err != nil {
			return err
		}
	}
}

// ask hears what the user has said meanwhile and has a model answer.
func (r *run) ask() error {
	if r.Steering != nil {
		var said []turn.Event
		for _, m := range r.Steering() {
			said = append(said, m)
		}
		if err := r.keep(said...); err != nil {
			return err
		}
	}
	question, _ := r.state.Next().(turn.Ask) // what was said does not change the need
	return r.step(question.Messages)
}

// unlessStopped does something unless the turn has been stopped.
func (r *run) unlessStopped(do func() error) error {
	if r.ctx.Err() != nil {
		return r.stopped()
	}
	return do()
}

// stopped ends a turn whose ctx is over.
func (r *run) stopped() error { return r.attempt(r.model()).stopped() }

// seal ends the turn.
func (r *run) seal(status turn.Status) error { return r.keep(r.sealed(status, nil)) }

// sealed gives the turn's last event, for when these events are kept as well.
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
	r.log(slog.LevelInfo, "turn sealed", "status", status, "retries", m.RetryCount, "waited", m.TotalRetryDelay)
	return turn.Sealed{Status: status, Metrics: m}
}

// keep makes events last and then shows them.
func (r *run) keep(events ...turn.Event) error {
	if len(events) == 0 {
		return nil
	}
	if r.Persist != nil {
		if err := r.Persist(context.WithoutCancel(r.ctx), events...); err != nil {
			return fmt.Errorf("keeping %s: %w", turn.Type(events[0]), err)
		}
	}
	for _, e := range events {
		r.state = r.state.Apply(e)
	}
	for _, e := range events {
		if err := r.show(e); err != nil {
			return err
		}
	}
	return nil
}

// show hands an event on.
func (r *run) show(e turn.Event) error {
	if r.left || !r.yield(e, nil) {
		r.left = true
		return errLeft
	}
	return nil
}

// reportActivity tells that something goes on.
func (r *run) reportActivity(a Activity) {
	if r.OnActivity != nil {
		r.OnActivity(a)
	}
}

func (r *run) log(level slog.Level, message string, args ...any) {
	if r.Log != nil {
		r.Log.Log(r.ctx, level, message, args...)
	}
}

// maxSteps gives how many answers the turn may have.
func (w Agent) maxSteps() int { return cmp.Or(w.MaxSteps, defaultMaxSteps) }
