package gateway

import (
	"context"
	"errors"
	"net/http"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/ratelimit"
)

// Tenant is on whose account requests are where a gateway has several users. Its methods may be called concurrently,
// and do not block.
type Tenant interface {
	// Name identifies it.
	Name() string
	// Hold takes a place for a request that waits for its upstream, and returns what frees it; nil: all are taken.
	Hold() (release func())
	// Used counts what an answer has cost, as far as the provider states it. It is called once for an answer.
	Used(ratelimit.Charged)
}

// tenantKey is the key of a Tenant in a context.
type tenantKey struct{}

// WithTenant returns the context of a request that is on the account of a tenant.
func WithTenant(ctx context.Context, t Tenant) context.Context {
	return context.WithValue(ctx, tenantKey{}, t)
}

// tenantOf returns the tenant of a request; nil: none is known.
func tenantOf(r *http.Request) Tenant {
	t, _ := r.Context().Value(tenantKey{}).(Tenant)
	return t
}

// tenantName returns the name of the call's tenant; "": none is known.
func (c *call) tenantName() string {
	if c.tenant == nil {
		return ""
	}
	return c.tenant.Name()
}

// errNoPlace ends a request that would have to wait while as many of its tenant do as may.
var errNoPlace = errors.New("as many requests wait for their provider as the token permits")

// takePlace takes a place for the request among those of its tenant that wait, unless it has one; false: all are
// taken.
func (s *sharedRequest) takePlace() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leavePlace == nil && s.leader.tenant != nil && !s.finished {
		s.leavePlace = s.leader.tenant.Hold()
		return s.leavePlace != nil
	}
	return true
}

// endPlace frees the place. mu is held.
func (s *sharedRequest) endPlace() {
	if s.leavePlace != nil {
		s.leavePlace()
		s.leavePlace = nil
	}
}

// countUse counts what the answer has cost.
func (s *sharedRequest) countUse() {
	if t := s.leader.tenant; t != nil && s.used != (ratelimit.Charged{}) {
		t.Used(s.used)
	}
}

// ending is how a call ends whose client is to send it again: through no fault of the upstream's.
type ending struct {
	fault      *fault.Error
	status     int
	retryAfter string // seconds
}

// The endings.
var (
	closing = ending{closingFault, http.StatusServiceUnavailable, "1"}
	noPlace = ending{&fault.Error{Kind: fault.RateLimited, Message: errNoPlace.Error()}, http.StatusTooManyRequests, "30"}
)

// message is the text for the client.
func (e *ending) message() string { return "ridethrough: " + e.fault.Message + "; try again" }

// body is the answer in its place.
func (e *ending) body(d *dialect.Dialect) []byte {
	if e == &noPlace {
		return d.LimitBody(e.message())
	}
	return d.ErrorBody(e.fault, e.message())
}

// endingOf returns how a call ends with an error; nil: its shared request has found no answer.
func endingOf(err error) *ending {
	switch {
	case errors.Is(err, errClosing):
		return &closing
	case errors.Is(err, errNoPlace):
		return &noPlace
	}
	return nil
}
