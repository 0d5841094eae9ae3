package gateway

import (
	"errors"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
)

// failover is the way of one flight through its upstreams: the one that it was
// for, then the fallbacks in their order. Where a fallback says that it will
// never answer, the flight goes home and waits there: a fallback that is out
// of credit must not end what the first upstream would have answered. The
// budget of waiting is one over all of them.
type failover struct {
	call      *call
	origin    *upstream
	settings  settings   // at the upstream where the flight is
	left      []Fallback // what is left of it
	start     policy.Run // how the run there begins
	arrived   time.Time  // at the upstream where the flight is
	switched  bool       // it has left home
	originRun policy.Run // how far the run got there
}

// newFailover makes the route of a call.
func newFailover(c *call) failover {
	r := failover{call: c, origin: c.upstream, settings: c.upstream.settings(c.parsed.Model), start: c.carried, arrived: c.arrived}
	r.left = slices.DeleteFunc(slices.Clone(r.settings.fallback), func(f Fallback) bool {
		up := c.setup.upstream(f.To)
		return up == nil || !up.api.answers(c.dialect)
	})
	return r
}

// patience gives how long the flight still waits where it is after a fault;
// false: as long as the policy says.
func (r *failover) patience(f *fault.Error) (time.Duration, bool) {
	if len(r.left) == 0 {
		return 0, false
	}
	next := r.left[0]
	switch {
	case next.Kinds.Has(f.Kind):
		return 0, true
	case next.After == 0:
		return 0, false
	}
	return next.After - time.Since(r.arrived), true
}

// nextOfSession gives the upstream where the flight goes on after a run; nil: it ends
// with the run's outcome.
func (r *failover) next(n *Note, err error) *upstream {
	stop := n.Verdict.Stop
	switch {
	case errors.Is(err, errSwitch):
		return r.advance(n)
	case stop == "" || stop == policy.GivenUp:
		return nil
	case len(r.left) > 0 && (stop != policy.Final || r.left[0].Kinds.Has(n.Fault.Kind)):
		return r.advance(n)
	case r.switched && stop == policy.Final:
		return r.returnToOrigin(n)
	}
	return nil
}

// advance goes to the next upstream of the chain.
func (r *failover) advance(n *Note) *upstream {
	if !r.switched {
		r.switched, r.originRun = true, n.Run
	}
	to := r.call.setup.upstream(r.left[0].To)
	r.left = r.left[1:]
	r.move(policy.Run{Slept: n.Run.Slept, Started: n.Run.Started}, to.settings(r.call.parsed.Model))
	return to
}

// returnToOrigin goes back to the first upstream, for good.
func (r *failover) returnToOrigin(n *Note) *upstream {
	back := r.originRun
	back.Slept = n.Run.Slept
	r.left, r.switched = nil, false
	r.move(back, r.origin.settings(r.call.parsed.Model))
	return r.origin
}

// move begins a run at another upstream.
func (r *failover) move(start policy.Run, to settings) {
	r.start, r.settings, r.arrived = start, to, time.Now()
}
