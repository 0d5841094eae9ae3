package lab

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/clock"
	"github.com/ridethrough/ridethrough/internal/operation/config"
)

type upstream struct {
	sim     *simulation
	service config.Service
	bucket  bucket // of its own capacity
	outages []*outage
	dated   bool       // answers have their time, as the callers' clocks may be wrong
	rand    *rand.Rand // for partial outages
	faults  map[refusal]*fault.Error
}

type request struct {
	luck   float64 // in [0, 1): how long its answer takes
	tokens float64 // that it costs
	cached float64 // of these, read from the provider's cache

	taken func() // called when it has its turn at a server
}

type outage struct {
	config.Outage
	bucket bucket // of a limited capacity
	limit  *limit // of tokens; nil: it is another kind
	slots  slots
}

type refusal struct {
	status, retryAfter int
	limit              *limit // that was exceeded; nil: none
}

func newUpstream(sim *simulation, s config.Scenario) *upstream {
	u := &upstream{
		sim: sim, service: s.Upstream, dated: s.Fleet.Skew > 0,
		bucket: bucket{rate: s.Upstream.Rate}, rand: rand.New(rand.NewPCG(s.Seed, 0)), faults: map[refusal]*fault.Error{},
	}
	for _, o := range s.Outages {
		one := &outage{Outage: o, bucket: bucket{rate: o.Rate}}
		if o.CountsTokens() {
			one.limit = &limit{Outage: o, sim: sim}
		}
		one.slots.free = o.Slots
		u.outages = append(u.outages, one)
	}
	return u
}

// never is a time, in nanoseconds, that no run reaches.
const never = 365 * 24 * float64(time.Hour)

func (u *upstream) ask(ctx context.Context, q request) (http.Header, error) {
	r, slower := u.decide(u.sim.elapsed, q)
	if o := u.server(u.sim.elapsed); o != nil && r.status == 0 {
		leave, err := u.enter(ctx, o, q)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	takes := u.service.Refuses
	if r.status == 0 {
		takes = time.Duration(min((0.5+q.luck)*slower*float64(u.service.Takes), never))
	}
	if _, err := u.sim.SleepOrWake(ctx, takes, nil); err != nil {
		return nil, err
	}
	if r.status == 0 {
		return u.stated(nil), nil
	}
	f := u.fault(r)
	return u.stated(r.limit), f
}

// stated returns headers that state the limits. exceeded is the limit that refuses the request, or nil.
func (u *upstream) stated(exceeded *limit) (h http.Header) {
	now := u.sim.elapsed
	for _, o := range u.outages {
		if o.limit != nil && o.lasts(now) {
			if h == nil {
				h = http.Header{}
				if u.dated {
					h["Date"] = []string{u.sim.Now().Format(http.TimeFormat)}
				}
			}
			o.limit.state(h, now, o.limit == exceeded)
		}
	}
	return h
}

// used returns the used share of the tokens that limits per minute allow; 0 without a limit.
func (u *upstream) used() float64 {
	used, allowed := 0.0, 0.0
	for _, o := range u.outages {
		if o.limit != nil && o.Kind != config.Window {
			used += o.limit.all
			allowed += o.limit.allowed()
		}
	}
	if allowed == 0 {
		return 0
	}
	return used / allowed
}

func (o *outage) lasts(now time.Duration) bool { return now >= o.From && now < o.From+o.For }

// decide returns the refusal of a request that arrives now, or by how much its answer is slowed down.
func (u *upstream) decide(now time.Duration, q request) (r refusal, slower float64) {
	slower = 1
	for _, o := range u.outages {
		if !o.lasts(now) {
			continue
		}
		if o.Kind == config.BrownOut {
			slower *= o.Slower
		}
		if r, ok := u.refuses(o, now, q); ok {
			return r, 1
		}
	}
	if u.bucket.rate > 0 && !u.bucket.take(now) {
		return refusal{status: 529}, 1
	}
	return refusal{}, slower
}

func (u *upstream) refuses(o *outage, now time.Duration, q request) (r refusal, ok bool) {
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
	case config.RateLimit, config.Bucket, config.Window:
		tokens := q.tokens
		if o.Kind == config.Bucket {
			tokens -= q.cached
		}
		if o.limit.take(now, tokens) {
			return r, false
		}
		r.limit, r.retryAfter = o.limit, int((o.limit.opens(now, tokens)-now+time.Second-1)/time.Second)
		return r, true
	}
	return r, false
}

// fault classifies a refusal as in production. Equal refusals are classified once, except those of a window, which
// state the time of its end.
func (u *upstream) fault(r refusal) *fault.Error {
	if r.limit != nil && r.limit.Kind == config.Window {
		return u.classify(r)
	}
	f := u.faults[r]
	if f == nil {
		f = u.classify(r)
		u.faults[r] = f
	}
	clone := *f
	return &clone
}

func (u *upstream) classify(r refusal) *fault.Error {
	header := http.Header{"Content-Type": {"application/json"}}
	if r.retryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(r.retryAfter))
	}
	if r.limit != nil && r.limit.Kind == config.Window {
		r.limit.state(header, u.sim.elapsed, true)
	}
	return classify.FromResponse(r.status, header, []byte(errorBody(r.status)), u.sim.Now())
}

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

type bucket struct {
	rate, spent float64
	at          time.Duration
}

func (b *bucket) take(now time.Duration) bool {
	b.spent = max(0, b.spent-(now-b.at).Seconds()*b.rate)
	b.at = now
	if b.spent+1 > max(1, b.rate) {
		return false
	}
	b.spent++
	return true
}

// slots are those of a server with limited concurrency. Further calls wait in the order of their arrival.
type slots struct {
	free  int
	queue []chan struct{}
}

// server returns the outage that limits the upstream's concurrency, or nil.
func (u *upstream) server(now time.Duration) *outage {
	for _, o := range u.outages {
		if o.Kind == config.Slots && o.lasts(now) {
			return o
		}
	}
	return nil
}

// enter waits for a slot, and then for the prompt to be read. leave frees the slot.
func (u *upstream) enter(ctx context.Context, o *outage, q request) (leave func(), err error) {
	leave = func() { u.leave(o) }
	if err := u.turn(ctx, o); err != nil {
		return nil, err
	}
	q.taken()
	if _, err := u.sim.SleepOrWake(ctx, time.Duration((q.tokens-q.cached)/o.Reads*float64(time.Second)), nil); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

func (u *upstream) turn(ctx context.Context, o *outage) error {
	if o.slots.free > 0 {
		o.slots.free--
		return nil
	}
	wake := make(chan struct{}, 1)
	o.slots.queue = append(o.slots.queue, wake)
	_, err := u.sim.SleepOrWake(ctx, clock.Forever, wake)
	if at := slices.Index(o.slots.queue, wake); at >= 0 {
		o.slots.queue = slices.Delete(o.slots.queue, at, at+1)
	} else if err != nil {
		u.leave(o) // its turn came as it left
	}
	return err
}

func (u *upstream) leave(o *outage) {
	if len(o.slots.queue) == 0 {
		o.slots.free++
		return
	}
	next := o.slots.queue[0]
	o.slots.queue = o.slots.queue[1:]
	next <- struct{}{}
	u.sim.Woke(next)
}
