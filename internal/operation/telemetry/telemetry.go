// Package telemetry turns the events of the gateway, and of agents' turns in the same form, into log lines,
// Prometheus metrics and, if the OTEL_ variables ask for them, OpenTelemetry spans.
//
// The events carry no prompt, answer or credential, so none can leak here. It
// decides nothing, and no request waits for it.
package telemetry

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/fleet"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/operation/metrics"
	"github.com/ridethrough/ridethrough/internal/operation/tenant"
	"github.com/ridethrough/ridethrough/turn"
)

// Config has the outputs of telemetry.
type Config struct {
	Log     *slog.Logger           // nil: no log
	Dropped func() int64           // how many lines of the log were dropped; nil: none ever is
	Version string                 // of the program
	Env     func(string) string    // for the OTEL_ variables about the export of spans; nil: no variables
	Spans   sdktrace.SpanProcessor // used instead of Env's; nil: as Env says
}

// Telemetry records events. Its methods may be called concurrently.
type Telemetry struct {
	log      *slog.Logger
	registry *metrics.Registry
	counts   *counts
	gauges   *gauges
	tenants  *tenant.Table
	traces   *traces       // nil: off
	waiting  *waitingTurns // nil: not shown
	page     http.Handler
}

// New returns a Telemetry. It is usable even with an error, which means that the requested spans cannot be
// exported.
func New(ctx context.Context, c Config) (*Telemetry, error) {
	t := &Telemetry{log: c.Log, registry: new(metrics.Registry)}
	t.counts, t.gauges = newCounts(t.registry, c.Version), newGauges(t.registry)
	t.tenants = tenant.New(t.registry)
	if c.Dropped != nil {
		t.registry.CounterFunc(namespace+"log_lines_dropped_total", "Log lines dropped because the log could not be written in time.",
			func() float64 { return float64(c.Dropped()) })
	}
	t.page = t.registry.Handler()
	spans, err := c.Spans, error(nil)
	if spans == nil && c.Env != nil {
		spans, err = batcherFor(ctx, c)
	}
	if spans != nil {
		t.traces = newTraces(ctx, spans, c)
	}
	return t, err
}

// Watch records an event of the gateway, or of a turn. It does not keep e, which is large.
func (t *Telemetry) Watch(e *gateway.Event) {
	t.counts.watch(e)
	if t.waiting != nil {
		t.waiting.watch(e)
	}
	if t.traces != nil {
		t.traces.watch(e)
	}
	if t.log != nil {
		report(t.log, e)
	}
}

// Board is the current state of the gateway: a *gateway.Gateway.
type Board interface {
	Waits() []gateway.Wait
	Upstreams() []gateway.Health
}

// Show adds gauges of the current waits and outages. It must be called at most once. h also judges outages by the
// last tries; if it is nil, only the gateway's breakers do.
func (t *Telemetry) Show(b Board, h *history.History) {
	t.registry.OnScrape(func(s *metrics.Scrape) { t.gauges.gateway(s, b, h, t.counts.bounded) })
}

// Tenants returns the accounts of tokens, which the metrics show.
func (t *Telemetry) Tenants() *tenant.Table { return t.tenants }

// ShowFleet adds gauges of the gateway's fleet. It must be called at most once.
func (t *Telemetry) ShowFleet(f *fleet.Fleet) {
	connected := t.registry.Gauges(namespace+"fleet_connected", "1 if the gateway is connected with its fleet, 0 if it is alone.")
	members := t.registry.Gauges(namespace+"fleet_replicas", "Replicas of the fleet that live, this one included.")
	t.registry.OnScrape(func(s *metrics.Scrape) {
		now := f.Status()
		s.Set(connected, oneIf(now.Connected))
		s.Set(members, float64(len(now.Members)))
	})
}

// ServeHTTP serves the metrics.
func (t *Telemetry) ServeHTTP(w http.ResponseWriter, r *http.Request) { t.page.ServeHTTP(w, r) }

const flushTime = 5 * time.Second

// Flush is Close within 5 s, even if ctx has ended. It logs a failed export.
func (t *Telemetry) Flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	_ = t.Close(ctx)
}

// Close exports the remaining spans, at most until ctx ends.
func (t *Telemetry) Close(ctx context.Context) error {
	if t.traces == nil {
		return nil
	}
	return t.traces.provider.Shutdown(ctx)
}

// Group begins the span of several turns that belong together, those of a council. parent is the traceparent of its
// caller, or "". It returns the traceparent of the turns, and a function that ends the span.
func (t *Telemetry) Group(of, id, parent string) (span string, end func(turn.Status)) {
	if t.traces == nil {
		return parent, func(turn.Status) {}
	}
	s := t.traces.start(below(parent), of, trace.SpanKindInternal, time.Now(), face.String(of), turnID.String(id))
	header := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpan(context.Background(), s), header)
	return header["traceparent"], func(status turn.Status) {
		s.SetAttributes(sealedAs.String(string(status)))
		if status == turn.Failed {
			s.SetStatus(codes.Error, "")
		}
		s.End()
	}
}

// waitingTurns counts the turns that wait, by their events.
type waitingTurns struct {
	mu    sync.Mutex
	waits map[int64]string   // the upstream of each that waits, or is tried again
	count map[string]float64 // of these, by upstream; it has all upstreams
}

// ShowWaiting adds the gauge of waiting turns, for a face without a runner of conversations. It must be called
// before the first event, and at most once.
func (t *Telemetry) ShowWaiting(face string) {
	w := &waitingTurns{waits: map[int64]string{}, count: map[string]float64{}}
	t.waiting = w
	t.registry.OnScrape(func(s *metrics.Scrape) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for upstream, n := range w.count {
			s.Set(t.gauges.waiting, n, face, upstream)
		}
	})
}

func (w *waitingTurns) watch(e *gateway.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if upstream, waited := w.waits[e.Call.ID]; waited {
		w.count[upstream]--
		delete(w.waits, e.Call.ID)
	}
	w.count[e.Call.Upstream] += 0
	if _, waits := e.Event.(turn.Retry); waits {
		w.count[e.Call.Upstream]++
		w.waits[e.Call.ID] = e.Call.Upstream
	}
}
