// Package council asks several models the same question and has one of them combine their answers.
//
// Each member has one budget of time over all its tries, and at most one retry in it, by policy.Council. Two
// answers are a quorum: then the other members get a grace period, after which they are cut off. The
// aggregator has a budget of its own. The result always has the members' answers.
//
// The package decides how long to wait for members. Package retry decides when a model is asked again,
// package agent runs the turns, and package breaker decides which caller of a provider goes first. Its users
// are the command line and the server.
package council

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/policy"
)

// The defaults of a Council.
const (
	defaultQuorum     = 2
	defaultGrace      = 30 * time.Second
	defaultCap        = 420 * time.Second
	defaultAggregator = 120 * time.Second
)

// Council is several models that are asked the same question. It is plain data and
// may run many times concurrently, if its functions may be called concurrently.
//
// Of a member's Agent only these fields count: Model, System, Tools, Rules, Approve, MaxTokens, Effort, NoStream,
// MaxSteps, OnActivity, Fallback, Patience and Terms; a member's policy is policy.Council at each of its models.
// Of the aggregator's, Retry as well.
type Council struct {
	Members    []agent.Agent // two at least; the same model may be there more than once
	Aggregator agent.Agent   // merges their answers. Model nil: that of the first member. Retry.Policy without retries: policy.Interactive

	Budget  time.Duration // of each member over all its tries and models, and the deadline of each try; 0: 270 s
	Reserve time.Duration // when a try has failed, more than this must be left of the budget for another; 0: 30 s
	Quorum  int           // the number of answers that suffice; 0: 2, which is also the least
	Grace   time.Duration // how long the other members may continue after the quorum; 0: 30 s

	AggregatorBudget time.Duration // on the clock, over all that the aggregator does; 0: 120 s
	Cap              time.Duration // of the whole. The aggregator's budget is kept free of it, so that members are cut off before; 0: 420 s

	ShowTries bool // the aggregator reads how many tries each member made

	Breakers *breaker.Set // by the name of a provider, shared with its other callers; nil: shared by the members of this council only
	OnEvent  func(Event)  // called for each event, one at a time; it must not block. nil: none

	// OnReport gets the tries, waits and ends of each member, by its number from 0, and of the aggregator, whose
	// number is that of the members: each has a turn of its own. It is called concurrently. nil: none.
	OnReport func(member int, r agent.Report)
	Log      *slog.Logger // of panics; nil: none
}

// State is the state of a member.
type State string

// The states. The last three are ends.
const (
	Asking   State = "asking"   // its model is asked
	Waiting  State = "waiting"  // for its other try, or at the breaker
	Answered State = "answered" // in time
	Failed   State = "failed"   // with a fault, or its budget is spent
	CutOff   State = "cut-off"  // by the end of the grace period, by the cap, or by the caller
)

// ended reports whether the state is final.
func (s State) ended() bool { return s == Answered || s == Failed || s == CutOff }

// The causes that end the contexts of members in progress.
var (
	errGrace = errors.New("the others have answered")
	errCap   = errors.New("the time for the whole is over")
)

// Run asks the members and then the aggregator. The result has the members'
// answers and states also with an error, which is one of these:
//   - one with [ErrQuorum] in it, if fewer have answered than the quorum;
//   - the aggregator's *fault.Error, wrapped;
//   - context.Cause(ctx), within milliseconds, after the end of ctx;
//   - that of [Council.Check], before any model is asked.
func (c Council) Run(ctx context.Context, question string) (Result, error) {
	if err := c.Check(); err != nil {
		return Result{}, err
	}
	s := c.WithDefaults().newRun(question)
	s.emit(Event{Started: &s.Council})
	s.askMembers(ctx)
	var err error
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case count(s.members, Answered) < s.Quorum:
		err = &quorumError{s.members, s.Quorum}
	default:
		err = s.aggregate(ctx)
	}
	r := s.result(err)
	s.emit(Event{Ended: &r, Err: err})
	return r, err
}

// WithDefaults returns the council with its defaults filled in.
func (c Council) WithDefaults() Council {
	c.Budget = cmp.Or(c.Budget, policy.CouncilBudget)
	c.Reserve = cmp.Or(c.Reserve, policy.Council(0).MinRemaining)
	c.Quorum = cmp.Or(c.Quorum, defaultQuorum)
	c.Grace = cmp.Or(c.Grace, defaultGrace)
	c.Cap = cmp.Or(c.Cap, defaultCap)
	c.AggregatorBudget = cmp.Or(c.AggregatorBudget, defaultAggregator)
	if c.Breakers == nil {
		c.Breakers = &breaker.Set{}
	}
	if c.Aggregator.Model == nil && len(c.Members) > 0 {
		c.Aggregator.Model = c.Members[0].Model
	}
	if c.Aggregator.Retry.Policy.Retries == 0 {
		c.Aggregator.Retry.Policy = policy.Interactive()
	}
	return c
}

// Check returns a mistake in the council, or nil. Run begins with it.
func (c Council) Check() error {
	c = c.WithDefaults()
	switch {
	case len(c.Members) < defaultQuorum:
		return fmt.Errorf("council: want at least two members, and there are %d", len(c.Members))
	case c.Quorum < defaultQuorum || c.Quorum > len(c.Members):
		return fmt.Errorf("council: a quorum of %d; want from 2 to %d, the number of members", c.Quorum, len(c.Members))
	case min(c.Budget, c.Reserve, c.Grace, c.AggregatorBudget) < 0:
		return errors.New("council: a time is below 0")
	case c.Cap <= c.AggregatorBudget:
		return fmt.Errorf("council: the cap of %v leaves the members nothing beside the aggregator's %v", c.Cap, c.AggregatorBudget)
	}
	for i, m := range c.Members {
		if m.Model == nil {
			return fmt.Errorf("council: member %d has no model", i+1)
		}
	}
	return nil
}

// agentOf returns an agent with only the fields that count for a member while it asks one model.
func agentOf(w agent.Agent) agent.Agent {
	return agent.Agent{
		Model: w.Model, System: w.System, Tools: w.Tools, Rules: w.Rules, Approve: w.Approve, MaxTokens: w.MaxTokens, Effort: w.Effort,
		NoStream: w.NoStream, MaxSteps: w.MaxSteps, OnActivity: w.OnActivity,
	}
}
