// Package council asks several models the same and has one of them make one
// answer of what they say.
//
// Each member has one budget of time over all its tries, and one retry in it
// at the most, as policy.Council has it. Two answers are enough: then the rest
// get a grace, and what has not come by then is cut off. The aggregator has a
// budget of its own. Whatever happens, what the members have answered is
// handed over.
//
// The package waits for members and decides when to wait no longer. When a
// model is asked again is for package retry to say, what is said in a turn for
// package agent, and who of those at one provider goes first for package breaker.
// The command line and the server are its users.
package council

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/policy"
)

// What holds where nothing is said.
const (
	defaultQuorum     = 2
	defaultGrace      = 30 * time.Second
	defaultCap        = 420 * time.Second
	defaultAggregator = 120 * time.Second
)

// Council is several models that are asked the same. It is plain data: a copy
// may run many times at the same time, if its functions may be called so.
//
// Of a member's World only what its model is asked with counts: Model, System,
// Tools, Approve, MaxTokens, Effort, Whole, Steps, Activity and Log. Of the
// aggregator's, Retry as well.
type Council struct {
	Members    []agent.Agent // two at least; the same model may be there more than once
	Aggregator agent.Agent   // makes one answer of theirs. Model nil: that of the first member. Retry.Policy without retries: policy.Interactive

	Budget  time.Duration // of each member over all its tries, and the deadline of each; 0: 270 s
	Reserve time.Duration // when a try has failed, more than this must be left of the budget for another; 0: 30 s
	Quorum  int           // how many answers are enough; 0: 2, which is also the least
	Grace   time.Duration // how long the rest may go on once there are so many; 0: 30 s

	AggregatorBudget time.Duration // on the clock, over all that the aggregator does; 0: 120 s
	Cap              time.Duration // of the whole. The aggregator's budget is kept free of it, so that members are cut off before; 0: 420 s

	Attempts bool // the aggregator reads in how many tries each member has answered or failed

	Breakers *breaker.Set // what those who are at one provider share, by its name: one fault of a member holds up whoever else goes through them; nil: the members of this council only
	OnEvent  func(Event)  // told of what happens, one event after the other; it must not block. nil: nobody
}

// State is where a member stands.
type State string

// The states. The last three are ends.
const (
	Asking   State = "asking"   // its model is asked
	Waiting  State = "waiting"  // for its other try, or for its turn at the gate
	Answered State = "answered" //
	Failed   State = "failed"   // of a fault, or its budget is spent
	CutOff   State = "cut-off"  // the others had answered, the cap was reached, or somebody has stopped it all
)

// ended tells whether it is an end.
func (s State) ended() bool { return s == Answered || s == Failed || s == CutOff }

// What ends members that are under way, as the cause of their contexts.
var (
	errGrace = errors.New("the others have answered")
	errCap   = errors.New("the time for the whole is over")
)

// Run asks the members and then the aggregator. The result holds what the
// members have said and how they have ended, also where there is an error:
//   - a *[Shortfall], where fewer have answered than are enough;
//   - the aggregator's *fault.Error, with words around it;
//   - context.Cause(ctx), within milliseconds, where the caller has left;
//   - and one of a council that cannot work, before anybody is asked.
func (c Council) Run(ctx context.Context, question string) (Result, error) {
	if err := c.Check(); err != nil {
		return Result{}, err
	}
	s := c.Settled().seat(question)
	s.tell(s.opened())
	s.hear(ctx)
	err := s.verdict(ctx)
	if err == nil {
		err = s.aggregate(ctx)
	}
	r := s.result()
	s.tell(Closed{Result: r, Err: err})
	return r, err
}

// Settled gives the council with what holds where nothing is said.
func (c Council) Settled() Council {
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

// Check finds what cannot work. Run begins with it.
func (c Council) Check() error {
	c = c.Settled()
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

// asked gives of a world only what its model is asked with.
func asked(w agent.Agent) agent.Agent {
	return agent.Agent{
		Model: w.Model, System: w.System, Tools: w.Tools, Approve: w.Approve, MaxTokens: w.MaxTokens, Effort: w.Effort,
		NoStream: w.NoStream, MaxSteps: w.MaxSteps, OnActivity: w.OnActivity, Log: w.Log,
	}
}
