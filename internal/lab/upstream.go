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

// upstream answers and refuses as the scenario says.
type upstream struct {
	world  *simulation
	tokens int // that a call costs
	serves config.Service
	own    bucket // of what it takes in when nothing is wrong
	cuts   []*cut
	chance *rand.Rand // of partial outages
	faults map[refusal]*fault.Error
}

// cut is an outage under way.
type cut struct {
	config.Outage
	bucket bucket // of a limited capacity
	minute int64  // of a rate limit: which one spent counts in
	spent  int
}

// refusal is what a refused call is told: a status, and how many seconds it
// is to wait.
type refusal struct{ status, wait int }

func newUpstream(w *simulation, s config.Scenario) *upstream {
	u := &upstream{
		world: w, tokens: s.Callers.Tokens, serves: s.Upstream,
		own: bucket{rate: s.Upstream.Rate}, chance: rand.New(rand.NewPCG(s.Seed, 0)), faults: map[refusal]*fault.Error{},
	}
	for _, o := range s.Outages {
		u.cuts = append(u.cuts, &cut{Outage: o, bucket: bucket{rate: o.Rate}})
	}
	return u
}

// never is a time, in nanoseconds, after which no play goes on.
const never = 365 * 24 * float64(time.Hour)

// ask is one request. luck in [0, 1) says how long its answer takes.
func (u *upstream) ask(ctx context.Context, luck float64) error {
	no, slower := u.decide(u.world.at)
	takes := u.serves.Refuses
	if no.status == 0 {
		takes = time.Duration(min((0.5+luck)*slower*float64(u.serves.Takes), never))
	}
	if _, err := u.world.SleepOrWake(ctx, takes, nil); err != nil {
		return err
	}
	if no.status == 0 {
		return nil
	}
	return u.fault(no)
}

// decide says whether a request that comes at this time is refused, and how
// much slower its answer is if it is not.
func (u *upstream) decide(at time.Duration) (no refusal, slower float64) {
	slower = 1
	for _, c := range u.cuts {
		if at < c.From || at >= c.From+c.For {
			continue
		}
		if c.Kind == config.BrownOut {
			slower *= c.Slower
		}
		if no, ok := u.refuses(c, at); ok {
			return no, 1
		}
	}
	if u.own.rate > 0 && !u.own.take(at) {
		return refusal{status: 529}, 1
	}
	return refusal{}, slower
}

// refuses tells whether an outage refuses a request.
func (u *upstream) refuses(c *cut, at time.Duration) (no refusal, ok bool) {
	no.status = c.Status
	switch c.Kind {
	case config.Total:
		return no, true
	case config.Partial:
		return no, u.chance.Float64() < c.Share
	case config.Flapping:
		return no, (at-c.From)%(c.Down+c.Up) < c.Down
	case config.Limited:
		return no, !c.bucket.take(at)
	case config.RateLimit:
		no.wait, ok = c.meter(at, u.tokens)
		return no, ok
	}
	return no, false
}

// meter counts a call's tokens into the present minute. One that does not fit
// is refused until the next, in whole seconds as headers have them.
func (c *cut) meter(at time.Duration, tokens int) (wait int, refused bool) {
	if minute := int64(at / time.Minute); minute != c.minute {
		c.minute, c.spent = minute, 0
	}
	if c.spent+tokens <= c.Tokens {
		c.spent += tokens
		return 0, false
	}
	left := time.Minute - at%time.Minute
	return int((left + time.Second - 1) / time.Second), true
}

// fault names a refusal as it would be named in production, from the answer.
// Like answers are read once.
func (u *upstream) fault(no refusal) *fault.Error {
	f := u.faults[no]
	if f == nil {
		header := http.Header{"Content-Type": {"application/json"}}
		if no.wait > 0 {
			header.Set("Retry-After", strconv.Itoa(no.wait))
		}
		f = classify.FromResponse(no.status, header, []byte(words(no.status)), u.world.Now())
		u.faults[no] = f
	}
	each := *f
	return &each
}

// words is the body of a refusal, in the form of Anthropic's API.
func words(status int) string {
	kind, message := "api_error", http.StatusText(status)
	switch status {
	case 429:
		kind, message = "rate_limit_error", "This request would exceed your organization's rate limit"
	case 529:
		kind, message = "overloaded_error", "Overloaded"
	}
	return `{"type":"error","error":{"type":"` + kind + `","message":"` + message + `"}}`
}

// bucket lets through so many per second, and at most those of one second at
// once.
type bucket struct {
	rate, spent float64
	at          time.Duration
}

// take takes one, if there is one.
func (b *bucket) take(at time.Duration) bool {
	b.spent = max(0, b.spent-(at-b.at).Seconds()*b.rate)
	b.at = at
	if b.spent+1 > max(1, b.rate) {
		return false
	}
	b.spent++
	return true
}
