package gateway

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/route"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/transport"
)

// destination is where a request is sent: an upstream, and the model that it is asked for there.
type destination struct {
	*upstream
	model string
	again bool // it is the upstream of an earlier one, with another model
}

// label names a destination among others: the upstream's name, and the model if that is not the request's.
func (d destination) label(asked string) string {
	if d.model == asked {
		return d.Name
	}
	return d.Name + "/" + d.model
}

// failover is the route of a shared request: the upstream that it is for, then
// the fallbacks that answer its dialect, in their order. One that has the prompt
// in its cache may come first.
type failover struct {
	route.Route
	origin   destination
	others   []destination // from each hop
	settings settings      // where the request is
	refusal  *refusal      // nil: the first upstream has not failed for good
}

// refusal is how the first upstream has failed for good, which the client gets if no fallback answers.
type refusal struct {
	resp *http.Response // nil: without a response
	err  error
	last policy.Wait
}

func newFailover(c *call) failover {
	f := failover{origin: destination{upstream: c.upstream, model: c.parsed.Model}}
	f.settings = c.upstream.settings(c.parsed.Model)
	f.Rules = route.Rules{OneBudget: true, Return: true}
	if f.Since = c.arrived; c.carried != nil {
		f.Run = c.carried.Run
	}
	for _, to := range f.settings.fallback {
		d := destination{upstream: c.setup.upstream(to.To), model: cmp.Or(to.Model, c.parsed.Model)}
		if d.upstream != nil && d.api.answers(c.dialect, c.endpoint.path) && f.adds(&d) {
			f.others, f.Hops = append(f.others, d), append(f.Hops, to.hop())
		}
	}
	f.visit(c)
	return f
}

// stayAt returns the way of a request that stays where it is.
func stayAt(d destination, run policy.Run) failover {
	f := failover{origin: d, settings: d.settings(d.model)}
	f.Rules, f.Run, f.Since = route.Rules{OneBudget: true, Return: true}, run, time.Now()
	return f
}

// adds reports whether a destination is new, and notes whether its upstream is.
func (f *failover) adds(d *destination) bool {
	for _, before := range append([]destination{f.origin}, f.others...) {
		if before.upstream == d.upstream {
			if before.model == d.model {
				return false
			}
			d.again = true
		}
	}
	return true
}

// hop returns the fallback as the hop that leads to it.
func (f Fallback) hop() route.Hop {
	h := route.Hop{After: f.After, AtOnce: f.Kinds}
	if h.After == 0 {
		h.After = route.Unlimited
	}
	return h
}

// next returns where the request goes after the end of a run; nil: it ends too.
func (f *failover) next(e route.End) *destination {
	if !f.Go(e) {
		return nil
	}
	to := &f.origin
	if f.At > 0 {
		to = &f.others[f.At-1]
	}
	f.settings = to.settings(to.model)
	return to
}

// has reports whether there is a fallback, behind the upstream where the request is or before.
func (f *failover) has() bool { return len(f.Hops) > 0 }

// asksOthers reports whether the next one is asked for what the model refuses to answer here.
func (f *failover) asksOthers() bool { return !f.Last() && f.Hops[f.At].AtOnce.Has(fault.Refused) }

// keep keeps the outcome of the first upstream if that has failed for good, and else closes its response.
func (f *failover) keep(resp *http.Response, err error, last policy.Wait) {
	if f.At == 1 && f.FailedForGood() {
		f.refusal = &refusal{resp, err, last}
		return
	}
	closeResponse(resp)
}

// outcome returns what the client gets after the last run: its outcome, or the first upstream's if that has
// failed for good and no other has answered. The second one is true then.
func (f *failover) outcome(resp *http.Response, err error, last policy.Wait) (refusal, bool) {
	first := f.refusal
	if f.refusal = nil; first == nil {
		return refusal{resp, err, last}, false
	}
	if first.last.Verdict.Stop == "" || last.Verdict.Stop == "" || last.Verdict.Stop == policy.GivenUp {
		closeResponse(first.resp)
		return refusal{resp, err, last}, false
	}
	closeResponse(resp)
	first.last.Run.Tries, first.last.Waited = 0, last.Waited // the tries are counted with those of the others
	if errors.Is(first.last.Fault, transport.ErrRefusal) {
		first.last.Fault, first.last.Verdict.Stop = nil, "" // it is an answer
		first.resp.Header.Del(shouldRetryHeader)
	}
	return *first, true
}

// closeResponse closes a response that is not read; nil: none.
func closeResponse(resp *http.Response) {
	if resp != nil {
		_ = resp.Body.Close()
	}
}
