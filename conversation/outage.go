package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/store"
)

// Runners tell each other which models are down, by entries of the store: a
// runner about to try a model that another has just found down takes that fault as
// its own. So a provider that is down is not asked more often because there
// are more runners. What else is down with a model is for each runner's breaker to
// say: one that answers must not wait for another.
const (
	factPrefix = "down."
	fresh      = 15 * time.Second // for so long another runner's finding is as good as one's own
)

// outageReport is that a model is down.
type outageReport struct {
	Host    string    `json:"host"` // that has found it
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"`
	Status  int       `json:"status,omitzero"`
	Code    string    `json:"code,omitzero"`
	Message string    `json:"message"`
}

// outages are the models that runners have found down.
type outages struct {
	mu    sync.Mutex
	facts map[string]store.Entry // by key
}

// followOutages keeps up with what runners find, until ctx ends.
func (h *Runner) followOutages(ctx context.Context) error {
	for f, err := range h.Store.Watch(ctx) {
		if err != nil {
			return err
		}
		if strings.HasPrefix(f.Key, factPrefix) {
			h.outages.set(f)
		}
	}
	return nil
}

func (o *outages) set(f store.Entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.facts == nil {
		o.facts = map[string]store.Entry{}
	}
	if f.Value == nil {
		delete(o.facts, f.Key)
		return
	}
	o.facts[f.Key] = f
}

// downKey names the fact about a model, whose name may have any characters.
func downKey(name llm.Name) string { return factPrefix + jobID(name.Provider, name.Model) }

// of returns what is known of a model; false: nothing.
func (o *outages) of(name llm.Name) (found outageReport, f store.Entry, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f, ok = o.facts[downKey(name)]
	return found, f, ok && json.Unmarshal(f.Value, &found) == nil
}

// sharedFault returns the fault that another runner has just had of a model; nil:
// none has.
func (h *Runner) sharedFault(name llm.Name) *fault.Error {
	found, _, ok := h.outages.of(name)
	if !ok || found.Host == h.id || time.Since(found.At) > fresh {
		return nil
	}
	return &fault.Error{
		Kind: fault.KindOf(found.Kind), Status: found.Status, Code: found.Code, Message: found.Message,
		Provider: name.Provider, Rule: "session/shared",
	}
}

// shareOutcome tells the other runners how a try has gone; nil: it was answered. An
// outage is told of only once this runner's own breaker is sure of it: one bad
// answer is none.
func (h *Runner) shareOutcome(ctx context.Context, name llm.Name, f *fault.Error) {
	_, fact, known := h.outages.of(name)
	fact.Key = downKey(name)
	switch {
	case f == nil && known:
		fact.Value = nil
	case f != nil && f.Rule != "session/shared" && fault.Transient.Has(f.Kind) && h.Breakers.Of(name.Provider).Degraded():
		fact.Value, _ = json.Marshal(outageReport{ // strings and numbers always have a form in JSON
			Host: h.id, At: time.Now(), Kind: f.Kind.String(), Status: f.Status, Code: f.Code, Message: f.Redacted(),
		})
	default:
		return
	}
	now, err := h.Store.Put(ctx, fact, 2*fresh)
	switch {
	case err == nil:
		h.outages.set(now)
	case !errors.Is(err, store.ErrConflict) && ctx.Err() == nil: // another runner has published it
		h.Log.Warn("telling of an outage", "provider", name.Provider, "model", name.Model, "error", err)
	}
}

// sharedCaller is a turn's place at a provider's breaker, which runners share.
type sharedCaller struct {
	*breaker.Caller
	h     *Runner
	name  llm.Name
	urged atomic.Bool // a user wants the next try to be one, whatever others have found
}

// RetryNow lets the next try go, as that of breaker.Caller does.
func (p *sharedCaller) Now() {
	p.urged.Store(true)
	p.Caller.RetryNow()
}

// Acquire admits a try, or returns the fault that another runner has just met.
func (p *sharedCaller) Acquire(ctx context.Context) (retry.Permit, error) {
	pass, err := p.Caller.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	if p.urged.Swap(false) {
		return &sharedPermit{pass, ctx, p, time.Now()}, nil
	}
	if f := p.h.sharedFault(p.name); f != nil {
		pass.Report(f)
		return nil, f
	}
	return &sharedPermit{pass, ctx, p, time.Now()}, nil
}

// sharedPermit is the permission for a try.
type sharedPermit struct {
	retry.Permit
	ctx   context.Context
	place *sharedCaller
	began time.Time
}

// Leave tells how the try has gone.
func (p *sharedPermit) Report(f *fault.Error) {
	p.Permit.Report(f)
	if f == nil || f.Kind != fault.Canceled {
		p.place.h.measure(Event{Type: Tried, Name: p.place.name, Fault: f, Took: time.Since(p.began)})
	}
	p.place.h.shareOutcome(context.WithoutCancel(p.ctx), p.place.name, f)
}
