package ratelimit_test

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/clock"
	"github.com/ridethrough/ridethrough/ratelimit"
)

// still is a clock that a test moves.
type still struct {
	clock.Machine
	now time.Time
}

func (c *still) Now() time.Time { return c.now }

// provider limits requests and tokens a minute and states what is left, as OpenAI does.
type provider struct {
	mu       sync.Mutex
	requests account
	tokens   account
	latency  time.Duration
	late     bool
	refused  []time.Time
	answered int
	state    func(h http.Header) // nil: as it is
}

// account is one of its limits: it refills little by little, or all at once if it is fixed.
type account struct {
	limit, left float64
	at          time.Time
	fixed       bool
}

func (a *account) refill(now time.Time) {
	since := now.Sub(a.at)
	switch {
	case a.at.IsZero():
		a.left, a.at = a.limit, now
	case a.fixed && since >= time.Minute:
		a.left, a.at = a.limit, now
	case !a.fixed:
		a.left, a.at = min(a.limit, a.left+a.limit*since.Minutes()), now
	}
}

func (a *account) reset(now time.Time) time.Duration {
	if a.fixed {
		return a.at.Add(time.Minute).Sub(now)
	}
	return time.Duration((1 - a.left/a.limit) * float64(time.Minute))
}

func (a *account) header(h http.Header, name string, now time.Time) {
	h.Set("x-ratelimit-limit-"+name, strconv.FormatFloat(a.limit, 'f', 0, 64))
	h.Set("x-ratelimit-remaining-"+name, strconv.FormatFloat(math.Floor(a.left), 'f', 0, 64))
	h.Set("x-ratelimit-reset-"+name, a.reset(now).Round(time.Millisecond).String())
}

// answer charges a request.
func (p *provider) answer(tokens float64) (status int, h http.Header) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() {
		p.mu.Unlock()
		time.Sleep(p.latency)
		p.mu.Lock()
		if p.late { // it states what is left when it answers, not when it was asked
			p.stated(h)
		}
	}()
	now := time.Now()
	p.requests.refill(now)
	p.tokens.refill(now)
	status = http.StatusOK
	if p.requests.left < 1 || p.tokens.left < tokens {
		status = http.StatusTooManyRequests
		p.refused = append(p.refused, now)
	} else {
		p.requests.left--
		p.tokens.left -= tokens
		p.answered++
	}
	h = http.Header{}
	p.stated(h)
	return status, h
}

func (p *provider) stated(h http.Header) {
	now := time.Now()
	p.requests.refill(now)
	p.tokens.refill(now)
	p.requests.header(h, "requests", now)
	p.tokens.header(h, "tokens", now)
	if p.state != nil {
		p.state(h)
	}
}

// request is one request of a test.
type request struct {
	flow       string
	agent      bool
	bytes, max int64
	waited     func(ratelimit.Place)
}

func (r *request) Flow() (name string, agent bool) { return r.flow, r.agent }
func (r *request) Bytes() int64                    { return r.bytes }
func (r *request) MaxTokens() int64                { return r.max }
func (r *request) Waits(p ratelimit.Place) {
	if r.waited != nil {
		r.waited(p)
	}
}

// ask sends a request of a flow until it is answered, and returns how long it waited for room. A refused one is
// tried again after a second.
func ask(ctx context.Context, t *ratelimit.Table, p *provider, flow string, tokens float64) (waited time.Duration) {
	return send(ctx, t, p, &request{flow: flow, bytes: int64(4 * tokens)}, tokens)
}

// send is ask for any request.
func send(ctx context.Context, t *ratelimit.Table, p *provider, r *request, tokens float64) (waited time.Duration) {
	c := &ratelimit.Call{Key: key, Request: r}
	for {
		began := time.Now()
		if t.Acquire(ctx, c) != nil {
			return waited
		}
		waited += time.Since(began)
		status, h := p.answer(tokens)
		t.Observe(c, status, h)
		if status != http.StatusOK {
			t.Failed(c, errLimited)
		} else {
			t.Used(c, ratelimit.Charged{Input: tokens})
			t.Close(c)
			return waited
		}
		time.Sleep(time.Second)
	}
}

// The faults of a try.
var (
	errLimited = &fault.Error{Kind: fault.RateLimited, Status: http.StatusTooManyRequests}
	errBusy    = &fault.Error{Kind: fault.Overloaded, Status: http.StatusServiceUnavailable}
)

var key = ratelimit.Key{Upstream: "openai", Credential: "c", Model: "gpt-5"}
