// Package route is the failover of packages gateway and agent: it decides when a
// call leaves the upstream or the model that it is at for the next one.
//
// A call leaves when its patience ends, at once for the faults that say so, and when its policy gives up. The
// gateway and the agent differ in some rules; each difference is a field of [Rules] with its reason.
package route

import (
	"context"
	"math"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
)

// Unlimited as Hop.After keeps a call where it is until its policy gives up.
const Unlimited time.Duration = math.MaxInt64

// Rules are what holds for all hops of a route.
type Rules struct {
	// On are the faults for which the next one takes over, even if they are final.
	// 0: all but the final ones. An agent names them, since another model would
	// refuse the same request; a gateway's upstreams differ in their account too.
	On fault.Set

	// OneBudget carries the waiting over to the next policy. A gateway's client has
	// one budget, whichever upstream answers; each model of an agent has its own.
	OneBudget bool

	// FromFault has patience count from the first fault, not from the arrival. The client of a gateway counts
	// from its request; an agent's turn takes long without any fault.
	FromFault bool

	// LastTry has the end of patience followed by one more try, and a wait that the
	// provider wants beyond it skipped. A turn that has come far with a model had
	// better stay with it; a gateway's client is no better off with another try.
	LastTry bool

	// Return sends a call on when a later one fails for good, and from the last one
	// back to the first: an upstream out of credit must not end what the first would
	// have answered. It does not go back where the first has failed for good itself.
	// The models of an agent are its owner's, and a final fault of one is the turn's.
	Return bool
}

// Hop is the way from one upstream or model to the next.
type Hop struct {
	After  time.Duration // the patience: how long the call may stay; 0: not at all after a fault
	AtOnce fault.Set     // faults for which it leaves at once, even if they are final
}

// Route is the way of one call. It is for one goroutine.
type Route struct {
	Rules
	Hops  []Hop      // from each one to the next; none: the call stays
	At    int        // where the call is; 0: at the first
	Run   policy.Run // the start of the policy's run there
	Since time.Time  // when patience began; zero: with the next fault

	atFirst policy.Run // how far the run at the first got
	final   bool       // it failed there for good
}

// Left is the error of [Route.Sleep] when the call leaves.
type Left struct{ End }

// Error implements error.
func (*Left) Error() string { return "the next one takes over" }

// End is how a run of the policy ended without an answer.
type End struct {
	Run   policy.Run
	Fault *fault.Error
	Stop  policy.Stop // "": patience has ended
}

// Last reports whether no other one follows.
func (r *Route) Last() bool { return r.At >= len(r.Hops) }

// Bound returns as much of a wait as patience allows. It reports whether the call leaves at the end of it.
func (r *Route) Bound(w policy.Wait, now time.Time) (bounded policy.Wait, leaves bool) {
	d, leaves := r.bound(w.Fault, w.Verdict, now)
	shorten(&w, d)
	return w, leaves
}

// bound returns how much of a wait after a fault patience allows, and whether the call leaves at the end of that.
func (r *Route) bound(f *fault.Error, v policy.Verdict, now time.Time) (d time.Duration, leaves bool) {
	if r.Since.IsZero() {
		r.Since = now
	}
	if r.Last() {
		return v.Wait, false
	}
	hop := r.Hops[r.At]
	if r.On != 0 && !r.On.Has(f.Kind) && !hop.AtOnce.Has(f.Kind) {
		return v.Wait, false
	}
	left := hop.After - now.Sub(r.Since)
	switch {
	case hop.AtOnce.Has(f.Kind):
		return 0, true
	case hop.After == Unlimited:
		return v.Wait, false
	case r.LastTry && (left <= 0 || v.Hinted && v.Wait > left):
		return 0, true
	case r.LastTry:
		return min(v.Wait, left), false
	case left > v.Wait:
		return v.Wait, false
	}
	return max(0, left), true
}

// FailedForGood reports whether the call has moved on because the first one refused it for good.
func (r *Route) FailedForGood() bool { return r.final }

// Leaves returns when patience ends and the call leaves; zero: it stays.
func (r *Route) Leaves() time.Time {
	if r.Last() || r.Since.IsZero() || r.Hops[r.At].After == Unlimited {
		return time.Time{}
	}
	return r.Since.Add(r.Hops[r.At].After)
}

// shorten has a wait end earlier.
func shorten(w *policy.Wait, to time.Duration) {
	w.Due = w.Due.Add(to - w.Verdict.Wait)
	w.Verdict.Wait = to
}

// Sleep is the Sleep of a retry.Retrier. It sleeps as much as patience allows by
// the function it is given, and returns a *[Left] when the call leaves.
func (r *Route) Sleep(ctx context.Context, w policy.Wait, sleep func(context.Context, policy.Wait) error) error {
	begun, whole := time.Now(), w.Verdict.Wait
	bounded, leaves := r.bound(w.Fault, w.Verdict, begun)
	if !leaves || bounded > 0 {
		shorten(&w, bounded)
		if err := sleep(ctx, w); err != nil || !leaves || time.Since(begun) < bounded {
			return err // it was woken early: the try is made here
		}
	}
	shorten(&w, whole)
	return Leave(w, time.Since(begun))
}

// Leave returns the error of a Sleep in which the call leaves after a part of the wait.
func Leave(w policy.Wait, waited time.Duration) *Left {
	return &Left{End{Run: w.EndedEarly(w.Verdict.Wait - waited), Fault: w.Fault}}
}

// Go moves the call on after the end of a run; false: the call ends there too.
func (r *Route) Go(e End) bool {
	switch {
	case r.takesOver(e):
		r.forward(e)
	case r.Return && r.At > 0 && e.Stop == policy.Final && !r.final:
		r.back(e)
	default:
		return false
	}
	if r.Since = (time.Time{}); !r.FromFault {
		r.Since = time.Now()
	}
	return true
}

// takesOver reports whether the next one takes over after the end of a run. A
// command to give up is meant for all of them.
func (r *Route) takesOver(e End) bool {
	switch {
	case r.Last(), e.Stop == policy.GivenUp:
		return false
	case e.Stop == "" || r.Hops[r.At].AtOnce.Has(e.Fault.Kind):
		return true
	case r.On != 0:
		return r.On.Has(e.Fault.Kind)
	}
	return e.Stop != policy.Final || r.Return && r.At > 0
}

// forward moves the call to the next one.
func (r *Route) forward(e End) {
	if r.At == 0 {
		r.atFirst, r.final = e.Run, e.Stop == policy.Final
	}
	r.At++
	if r.Run = (policy.Run{}); r.OneBudget {
		r.Run = policy.Run{Slept: e.Run.Slept, Started: e.Run.Started}
	}
}

// back moves the call to the first one, for good.
func (r *Route) back(e End) {
	r.At, r.Hops = 0, nil
	r.Run = r.atFirst
	r.Run.Slept = e.Run.Slept
}
