package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/store"
)

// Runners share which models are down, by entries of the store. A runner about to try a model that another
// has just found down takes that fault as its own. So more runners do not mean more requests in an outage.
// Entries are per model: whether others of the provider are down too, each runner's breaker decides.
const (
	outagesBelow = "down"           // their entries are
	fresh        = 15 * time.Second // how long another runner's report counts
)

// outageReport is the value of an entry: a model is down. It has no message, which may quote a prompt.
type outageReport struct {
	Host   string    `json:"host"` // the id of the runner that reports it
	At     time.Time `json:"at"`
	Kind   string    `json:"kind"`
	Status int       `json:"status,omitzero"`
	Code   string    `json:"code,omitzero"`
}

// outages are the models that runners have found down.
type outages struct {
	mu      sync.Mutex
	entries map[string]store.Entry // by key
}

// followOutages keeps the outages up to date until ctx ends.
func (r *Runner) followOutages(ctx context.Context) error {
	for f, err := range r.Store.Watch(ctx, outagesBelow) {
		if err != nil {
			return err
		}
		r.outages.set(f)
	}
	return nil
}

func (o *outages) set(f store.Entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if f.Value == nil {
		delete(o.entries, f.Key)
		return
	}
	o.entries[f.Key] = f
}

// downKey is the key of a model's entry: a model's name may have any characters.
func downKey(name llm.Name) string { return outagesBelow + "." + jobID(name.Provider, name.Model) }

// of returns the report about a model and its entry, and whether there is one.
func (o *outages) of(name llm.Name) (found outageReport, f store.Entry, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f, ok = o.entries[downKey(name)]
	return found, f, ok && json.Unmarshal(f.Value, &found) == nil
}

// sharedFault returns the fault of a model that another runner has just met, or nil.
func (r *Runner) sharedFault(name llm.Name) *fault.Error {
	found, _, ok := r.outages.of(name)
	if !ok || found.Host == r.id || time.Since(found.At) > fresh {
		return nil
	}
	return &fault.Error{
		Kind: fault.KindOf(found.Kind), Status: found.Status, Code: found.Code,
		Provider: name.Provider, Rule: "conversation/shared",
	}
}

// shareOutcome reports the outcome of a try to the other runners; nil: it passed. An
// outage is reported once this runner's own breaker has found it: a single fault is not an outage.
func (r *Runner) shareOutcome(ctx context.Context, name llm.Name, f *fault.Error) {
	_, entry, known := r.outages.of(name)
	entry.Key = downKey(name)
	switch {
	case f == nil && known:
		entry.Value = nil
	case f != nil && fault.Transient.Has(f.Kind) && r.Breakers.Of(name.Provider).Degraded():
		entry.Value, _ = json.Marshal(outageReport{ // strings and numbers always have a form in JSON
			Host: r.id, At: time.Now(), Kind: f.Kind.String(), Status: f.Status, Code: f.Code,
		})
	default:
		return
	}
	now, err := r.Store.Put(ctx, entry, 2*fresh)
	switch {
	case err == nil:
		r.outages.set(now)
	case !errors.Is(err, store.ErrConflict) && ctx.Err() == nil: // another runner has published it
		r.Log.Warn("outage not shared with other runners", "provider", name.Provider, "model", name.Model, "error", err)
	}
}

// sharedCaller is a caller of a provider's breaker to which the faults that other
// runners have found are shared faults, too.
type sharedCaller struct {
	*breaker.Caller
	worker *worker
	name   llm.Name
	urged  atomic.Bool // the next try goes out, whatever other runners have found
}

// RetryNow lets the next try go, as that of breaker.Caller does.
func (c *sharedCaller) RetryNow() {
	c.urged.Store(true)
	c.Caller.RetryNow()
}

// Acquire admits a try, or returns the fault that another runner has just met.
func (c *sharedCaller) Acquire(ctx context.Context) (retry.Permit, error) {
	var permit retry.Permit
	err := c.worker.pausable(ctx, func(ctx context.Context) (err error) {
		permit, err = c.Caller.Acquire(ctx)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case c.urged.Swap(false):
		return discreetPermit{permit}, nil
	}
	if f := c.worker.runner.sharedFault(c.name); f != nil {
		permit.Report(f)
		return nil, f
	}
	return discreetPermit{permit}, nil
}

// discreetPermit reports a fault without its message: other conversations get it, and it may quote a prompt.
type discreetPermit struct{ retry.Permit }

// Report implements retry.Permit.
func (p discreetPermit) Report(f *fault.Error) *fault.Error {
	judged := p.Permit.Report(f.WithoutMessage())
	if judged == nil {
		return nil
	}
	whole := *judged
	whole.Message, whole.Body, whole.Err = f.Message, f.Body, f.Err
	return &whole
}
