package gateway

import (
	"errors"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// route is the way of one flight through its upstreams: the one that it was
// for, then the fallbacks in their order. Where a fallback says that it will
// never answer, the flight goes home and waits there: a fallback that is out
// of credit must not end what the first upstream would have answered. The
// budget of waiting is one over all of them.
type route struct {
	call    *call
	home    *upstream
	terms   terms      // at the upstream where the flight is
	chain   []Fallback // what is left of it
	start   policy.Run // how the run there begins
	arrived time.Time  // at the upstream where the flight is
	away    bool       // it has left home
	atHome  policy.Run // how far the run got there
}

// newRoute makes the route of a call.
func newRoute(c *call) route {
	r := route{call: c, home: c.upstream, terms: c.upstream.terms(c.asked.Model), start: c.before, arrived: c.arrived}
	r.chain = slices.DeleteFunc(slices.Clone(r.terms.fallback), func(f Fallback) bool {
		up := c.setup.named(f.To)
		return up == nil || !up.api.answers(c.dialect)
	})
	return r
}

// patience gives how long the flight still waits where it is after a fault;
// false: as long as the policy says.
func (r *route) patience(f *fault.Error) (time.Duration, bool) {
	if len(r.chain) == 0 {
		return 0, false
	}
	next := r.chain[0]
	switch {
	case next.Kinds.Has(f.Kind):
		return 0, true
	case next.After == 0:
		return 0, false
	}
	return next.After - time.Since(r.arrived), true
}

// next gives the upstream where the flight goes on after a run; nil: it ends
// with the run's outcome.
func (r *route) next(n *retry.Note, err error) *upstream {
	stop := n.Verdict.Stop
	switch {
	case errors.Is(err, errSwitch):
		return r.step(n)
	case stop == "" || stop == givenUp:
		return nil
	case len(r.chain) > 0 && (stop != policy.Final || r.chain[0].Kinds.Has(n.Fault.Kind)):
		return r.step(n)
	case r.away && stop == policy.Final:
		return r.goHome(n)
	}
	return nil
}

// step goes to the next upstream of the chain.
func (r *route) step(n *retry.Note) *upstream {
	if !r.away {
		r.away, r.atHome = true, n.Run
	}
	to := r.call.setup.named(r.chain[0].To)
	r.chain = r.chain[1:]
	r.move(policy.Run{Slept: n.Run.Slept, Started: n.Run.Started}, to.terms(r.call.asked.Model))
	return to
}

// goHome goes back to the first upstream, for good.
func (r *route) goHome(n *retry.Note) *upstream {
	back := r.atHome
	back.Slept = n.Run.Slept
	r.chain, r.away = nil, false
	r.move(back, r.home.terms(r.call.asked.Model))
	return r.home
}

// move begins a run at another upstream.
func (r *route) move(start policy.Run, t terms) {
	r.start, r.terms, r.arrived = start, t, time.Now()
}
