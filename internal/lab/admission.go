package lab

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/ratelimit"
	"github.com/ridethrough/ridethrough/retry"
)

// admitted is a call's place at the limits that the provider states. As a breaker it first waits for room below
// them, as the gateway does.
type admitted struct {
	retry.Breaker
	run    *run
	limits *ratelimit.Table
	room   ratelimit.Call
}

// admit returns the place of a caller's call at the limits that its gateway knows.
func (r *run) admit(from *caller, limits *ratelimit.Table, b retry.Breaker) *admitted {
	p := &admitted{Breaker: b, run: r, limits: limits}
	p.room = ratelimit.Call{Key: ratelimit.Key{Upstream: "lab", Credential: "key", Model: "model"}, Request: sized{from, !from.other && r.Others.Number > 0}}
	return p
}

// Acquire waits for room, and then for the breaker.
func (p *admitted) Acquire(ctx context.Context) (retry.Permit, error) {
	if err := p.limits.Acquire(ctx, &p.room); err != nil {
		return nil, err
	}
	return p.Breaker.Acquire(ctx)
}

// answered records the limits that an answer states, and what it has cost.
func (p *admitted) answered(h http.Header, q request, err error) {
	if f, refused := errors.AsType[*fault.Error](err); refused {
		p.limits.Observe(&p.room, f.Status, h)
		p.limits.Failed(&p.room, f)
		return
	}
	p.limits.Observe(&p.room, http.StatusOK, h)
	if err == nil {
		p.limits.Used(&p.room, p.run.charged(q))
	}
}

// charged returns the usage of an answer, including what was read from the cache: as Anthropic reports it where the
// limit is a bucket, otherwise as OpenAI does.
func (r *run) charged(q request) ratelimit.Charged {
	for _, o := range r.Outages {
		if o.Kind == config.Bucket {
			return ratelimit.Charged{Input: q.tokens - q.cached, Cached: q.cached}
		}
	}
	return ratelimit.Charged{Input: q.tokens}
}

func (p *admitted) close() { p.limits.Close(&p.room) }

const bytesPerToken = 4

type sized struct {
	*caller
	agent bool
}

func (c sized) Flow() (name string, agent bool) { return strconv.Itoa(c.id), c.agent }
func (c sized) Bytes() int64                    { return int64(bytesPerToken * (float64(c.Tokens) + c.grown)) }
func (c sized) MaxTokens() int64                { return 0 }
func (c sized) Waits(ratelimit.Place)           {}
