package gateway

import (
	"github.com/ridethrough/ridethrough/internal/route"
)

// failover is the route of a shared request: the upstream that it is for, then
// the fallbacks that answer its dialect, in their order.
type failover struct {
	route.Route
	model    string
	origin   *upstream
	others   []*upstream // from each hop
	settings settings    // at the upstream where the request is
}

func newFailover(c *call) failover {
	f := failover{model: c.parsed.Model, origin: c.upstream, settings: c.upstream.settings(c.parsed.Model)}
	f.Rules = route.Rules{OneBudget: true, Return: true}
	f.Run, f.Since = c.carried.Run, c.arrived
	for _, to := range f.settings.fallback {
		if up := c.setup.upstream(to.To); up != nil && up.api.answers(c.dialect) {
			f.others, f.Hops = append(f.others, up), append(f.Hops, to.hop())
		}
	}
	return f
}

// hop returns the fallback as the hop that leads to it.
func (f Fallback) hop() route.Hop {
	h := route.Hop{After: f.After, AtOnce: f.Kinds}
	if h.After == 0 {
		h.After = route.Unlimited
	}
	return h
}

// next returns the upstream where the request goes after the end of a run; nil: it ends too.
func (f *failover) next(e route.End) *upstream {
	if !f.Go(e) {
		return nil
	}
	to := f.origin
	if f.At > 0 {
		to = f.others[f.At-1]
	}
	f.settings = to.settings(f.model)
	return to
}
