package session

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/engine"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gate"
	"github.com/ridethrough/ridethrough/retry"
)

// Hosts tell each other which providers are down, by facts of the engine: who
// is about to try one that another host has just found down takes that for his
// own finding. So a provider that is down is not asked more often because there
// are more hosts.
const (
	factPrefix = "down."
	fresh      = 15 * time.Second // for so long another host's finding is as good as one's own
)

// finding is that a provider is down.
type finding struct {
	Host    string    `json:"host"` // that has found it
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"`
	Status  int       `json:"status,omitzero"`
	Code    string    `json:"code,omitzero"`
	Message string    `json:"message"`
}

// outages are the providers that hosts have found down.
type outages struct {
	mu    sync.Mutex
	facts map[string]engine.Fact // by key
}

// follow keeps up with what hosts find, until ctx ends.
func (h *Host) follow(ctx context.Context) error {
	for f, err := range h.Engine.Watch(ctx) {
		if err != nil {
			return err
		}
		if strings.HasPrefix(f.Key, factPrefix) {
			h.outages.set(f)
		}
	}
	return nil
}

func (o *outages) set(f engine.Fact) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.facts == nil {
		o.facts = map[string]engine.Fact{}
	}
	if f.Value == nil {
		delete(o.facts, f.Key)
		return
	}
	o.facts[f.Key] = f
}

// of gives what is known of a provider; false: nothing.
func (o *outages) of(provider string) (found finding, f engine.Fact, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f, ok = o.facts[factPrefix+provider]
	return found, f, ok && json.Unmarshal(f.Value, &found) == nil
}

// elsewhere gives the fault that another host has just found at a provider;
// nil: none has.
func (h *Host) elsewhere(provider string) *fault.Error {
	found, _, ok := h.outages.of(provider)
	if !ok || found.Host == h.id || time.Since(found.At) > fresh {
		return nil
	}
	return &fault.Error{
		Kind: fault.KindOf(found.Kind), Status: found.Status, Code: found.Code, Message: found.Message,
		Provider: provider, Rule: "session/shared",
	}
}

// found tells the other hosts how a try has gone; nil: it was answered. An
// outage is told of only once this host's own gate is sure of it: one bad
// answer is none.
func (h *Host) found(ctx context.Context, provider string, f *fault.Error) {
	_, fact, known := h.outages.of(provider)
	fact.Key = factPrefix + provider
	switch {
	case f == nil && known:
		fact.Value = nil
	case f != nil && f.Rule != "session/shared" && fault.Transient.Has(f.Kind) && h.Gates.Of(provider).Troubled():
		fact.Value, _ = json.Marshal(finding{ // strings and numbers always have a form in JSON
			Host: h.id, At: time.Now(), Kind: f.Kind.String(), Status: f.Status, Code: f.Code, Message: f.Shown(),
		})
	default:
		return
	}
	now, err := h.Engine.Put(ctx, fact, 2*fresh)
	switch {
	case err == nil:
		h.outages.set(now)
	case !errors.Is(err, engine.ErrConflict) && ctx.Err() == nil: // somebody else has told of it
		h.Log.Warn("telling of an outage", "provider", provider, "error", err)
	}
}

// place is a turn's place at a provider's gate, which hosts share.
type place struct {
	*gate.Call
	h        *Host
	provider string
}

// Enter lets a try go, or gives the fault that somebody has just had.
func (p *place) Enter(ctx context.Context) (retry.Pass, error) {
	pass, err := p.Call.Enter(ctx)
	if err != nil {
		return nil, err
	}
	if f := p.h.elsewhere(p.provider); f != nil {
		pass.Leave(f)
		return nil, f
	}
	return &passed{pass, ctx, p}, nil
}

// passed is the permission for a try.
type passed struct {
	retry.Pass
	ctx   context.Context
	place *place
}

// Leave tells how the try has gone.
func (p *passed) Leave(f *fault.Error) {
	p.Pass.Leave(f)
	p.place.h.found(context.WithoutCancel(p.ctx), p.place.provider, f)
}
