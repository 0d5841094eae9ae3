package lab

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/operation/config"
)

// upstream is the simulated provider of a scenario.
type upstream struct {
	sim     *simulation
	tokens  int // of a call
	service config.Service
	bucket  bucket // of its own capacity
	outages []*outage
	rand    *rand.Rand // for partial outages
	faults  map[refusal]*fault.Error
}

// outage is an outage with its state.
type outage struct {
	config.Outage
	bucket bucket // of a limited capacity
	minute int64  // of a rate limit: the minute in which spent counts
	spent  int    // tokens
}

// refusal is the answer to a refused call: a status, and Retry-After in seconds.
type refusal struct{ status, retryAfter int }

func newUpstream(sim *simulation, s config.Scenario) *upstream {
	u := &upstream{
		sim: sim, tokens: s.Callers.Tokens, service: s.Upstream,
		bucket: bucket{rate: s.Upstream.Rate}, rand: rand.New(rand.NewPCG(s.Seed, 0)), faults: map[refusal]*fault.Error{},
	}
	for _, o := range s.Outages {
		u.outages = append(u.outages, &outage{Outage: o, bucket: bucket{rate: o.Rate}})
	}
	return u
}

// never is a time, in nanoseconds, that no run reaches.
const never = 365 * 24 * float64(time.Hour)

// ask sends one request. luck, in [0, 1), decides how long its answer takes.
func (u *upstream) ask(ctx context.Context, luck float64) error {
	r, slower := u.decide(u.sim.elapsed)
	takes := u.service.Refuses
	if r.status == 0 {
		takes = time.Duration(min((0.5+luck)*slower*float64(u.service.Takes), never))
	}
	if _, err := u.sim.SleepOrWake(ctx, takes, nil); err != nil {
		return err
	}
	if r.status == 0 {
		return nil
	}
	return u.fault(r)
}

// decide returns the refusal of a request that arrives now, or how much slower than usual its answer is.
func (u *upstream) decide(now time.Duration) (r refusal, slower float64) {
	slower = 1
	for _, o := range u.outages {
		if now < o.From || now >= o.From+o.For {
			continue
		}
		if o.Kind == config.BrownOut {
			slower *= o.Slower
		}
		if r, ok := u.refuses(o, now); ok {
			return r, 1
		}
	}
	if u.bucket.rate > 0 && !u.bucket.take(now) {
		return refusal{status: 529}, 1
	}
	return refusal{}, slower
}

// refuses reports whether an outage refuses a request that arrives now.
func (u *upstream) refuses(o *outage, now time.Duration) (r refusal, ok bool) {
	r.status = o.Status
	switch o.Kind {
	case config.Total:
		return r, true
	case config.Partial:
		return r, u.rand.Float64() < o.Share
	case config.Flapping:
		return r, (now-o.From)%(o.Down+o.Up) < o.Down
	case config.Limited:
		return r, !o.bucket.take(now)
	case config.RateLimit:
		r.retryAfter, ok = o.spend(now, u.tokens)
		return r, ok
	}
	return r, false
}

// spend counts the tokens of a call in the current minute. A call that exceeds
// the limit is refused until the next minute, in whole seconds as in a header.
func (o *outage) spend(now time.Duration, tokens int) (retryAfter int, refused bool) {
	if minute := int64(now / time.Minute); minute != o.minute {
		o.minute, o.spent = minute, 0
	}
	if o.spent+tokens <= o.Tokens {
		o.spent += tokens
		return 0, false
	}
	left := time.Minute - now%time.Minute
	return int((left + time.Second - 1) / time.Second), true
}

// fault classifies a refusal as in production. Equal refusals are classified once.
func (u *upstream) fault(r refusal) *fault.Error {
	f := u.faults[r]
	if f == nil {
		header := http.Header{"Content-Type": {"application/json"}}
		if r.retryAfter > 0 {
			header.Set("Retry-After", strconv.Itoa(r.retryAfter))
		}
		f = classify.FromResponse(r.status, header, []byte(errorBody(r.status)), u.sim.Now())
		u.faults[r] = f
	}
	clone := *f
	return &clone
}

// errorBody returns the body of a refusal in the form of Anthropic's API.
func errorBody(status int) string {
	kind, message := "api_error", http.StatusText(status)
	switch status {
	case 429:
		kind, message = "rate_limit_error", "This request would exceed your organization's rate limit"
	case 529:
		kind, message = "overloaded_error", "Overloaded"
	}
	return `{"type":"error","error":{"type":"` + kind + `","message":"` + message + `"}}`
}

// bucket is a token bucket. Its burst is the rate of one second.
type bucket struct {
	rate, spent float64
	at          time.Duration
}

// take takes a token and reports whether there was one.
func (b *bucket) take(now time.Duration) bool {
	b.spent = max(0, b.spent-(now-b.at).Seconds()*b.rate)
	b.at = now
	if b.spent+1 > max(1, b.rate) {
		return false
	}
	b.spent++
	return true
}
