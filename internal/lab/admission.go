package lab

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/ratelimit"
	"github.com/ridethrough/ridethrough/retry"
)

// admitted is the place of a call at the limits that the provider states. It is a breaker that first waits for room
// below them, as the gateway does.
type admitted struct {
	retry.Breaker
	run    *run
	limits *ratelimit.Table
	room   ratelimit.Call
}

// admit returns the place of a caller's call at the limits that its gateway knows.
func (r *run) admit(from *caller, limits *ratelimit.Table, b retry.Breaker) *admitted {
	p := &admitted{Breaker: b, run: r, limits: limits}
	p.room = ratelimit.Call{Adaptive: r.strategy.Adaptive, Key: ratelimit.Key{Upstream: "lab", Credential: "key", Model: "model"}, Request: sized{from, !from.other && r.Others.Number > 0}}
	return p
}

// Acquire waits for room, and then for the breaker.
func (p *admitted) Acquire(ctx context.Context) (retry.Permit, error) {
	if err := p.limits.Acquire(ctx, &p.room); err != nil {
		return nil, err
	}
	return p.Breaker.Acquire(ctx)
}

// began notes that an answer has begun after a time; nil: no limits are learned.
func (p *admitted) began(took time.Duration) {
	if p != nil {
		p.limits.Tried(&p.room, ratelimit.Began, took)
	}
}

// answered notes what an answer states, and what it has cost.
func (p *admitted) answered(h http.Header, q request, err error) {
	status := http.StatusOK
	if f, refused := errors.AsType[*fault.Error](err); refused {
		status = f.Status
	}
	p.limits.Observe(&p.room, status, h)
	switch {
	case err == nil:
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || status == statusOverloaded:
		p.limits.Tried(&p.room, ratelimit.Overloaded, 0)
	default:
		p.limits.Tried(&p.room, ratelimit.Failed, 0)
	}
	if err == nil {
		p.limits.Used(&p.room, p.run.charged(q))
	}
}

// statusOverloaded is Anthropic's.
const statusOverloaded = 529

// charged returns the usage of an answer, as Anthropic states it where the limit is a bucket, and otherwise as OpenAI:
// with what was read from the cache.
func (r *run) charged(q request) ratelimit.Charged {
	for _, o := range r.Outages {
		if o.Kind == config.Bucket {
			return ratelimit.Charged{Input: q.tokens - q.cached, Cached: q.cached}
		}
	}
	return ratelimit.Charged{Input: q.tokens}
}

// close ends the call.
func (p *admitted) close() { p.limits.Close(&p.room) }

// bytesPerToken is how long a token is, about.
const bytesPerToken = 4

// sized is a caller's request, as package ratelimit sees it.
type sized struct {
	*caller
	agent bool
}

func (c sized) Flow() (name string, agent bool) { return strconv.Itoa(c.id), c.agent }
func (c sized) Bytes() int64                    { return int64(bytesPerToken * (float64(c.Tokens) + c.grown)) }
func (c sized) MaxTokens() int64                { return 0 }
func (c sized) Waits(ratelimit.Place)           {}
