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
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/fleet"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/operation/metrics"
	"github.com/ridethrough/ridethrough/internal/operation/telemetry/tracing"
	"github.com/ridethrough/ridethrough/internal/operation/tenant"
)

// Config has the outputs of telemetry.
type Config struct {
	Log     *slog.Logger        // nil: no log
	Dropped func() int64        // how many lines of the log were dropped; nil: none ever is
	Version string              // of the program
	Env     func(string) string // for the OTEL_ variables, which configure spans; nil: none are set
	Spans   tracing.Exporter    // used instead of Env's; nil: as Env says
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

// New returns a Telemetry. It is usable even with an error, which means that the
// requested spans cannot be exported.
func New(ctx context.Context, c Config) (*Telemetry, error) {
	t := &Telemetry{log: c.Log, registry: new(metrics.Registry)}
	t.counts, t.gauges = newCounts(t.registry, c.Version), newGauges(t.registry)
	t.tenants = tenant.New(t.registry)
	if c.Dropped != nil {
		t.registry.CounterFunc(namespace+"log_lines_dropped_total", "Log lines dropped because the log could not be written in time.",
			func() float64 { return float64(c.Dropped()) })
	}
	t.page = t.registry.Handler()
	exporter, err := c.Spans, error(nil)
	if exporter == nil && c.Env != nil {
		exporter, err = exporterFor(c.Env, c.Version)
	}
	if exporter != nil {
		t.traces = newTraces(exporter, c)
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

// Show adds gauges of the current waits and outages to the metrics. It must be called at most once. h judges
// outages by the last tries too; nil: the gateway's breakers judge alone.
func (t *Telemetry) Show(b Board, h *history.History) {
	t.registry.OnScrape(func(s *metrics.Scrape) { t.gauges.gateway(s, b, h, t.counts.bounded) })
}

// Tenants returns the accounts of tokens, which the metrics show.
func (t *Telemetry) Tenants() *tenant.Table { return t.tenants }

// ShowFleet adds gauges of the fleet of which the gateway is a replica. It must be called at most once.
func (t *Telemetry) ShowFleet(f *fleet.Fleet) {
	connected := t.registry.Gauges(namespace+"fleet_connected", "1 if the gateway is connected with its fleet, 0 if it is alone.")
	members := t.registry.Gauges(namespace+"fleet_replicas", "Replicas of the fleet that live, this one included.")
	t.registry.OnScrape(func(s *metrics.Scrape) {
		now := f.Status()
		s.Set(connected, float64(oneIf(now.Connected)))
		s.Set(members, float64(len(now.Members)))
	})
}

// ServeHTTP serves the metrics.
func (t *Telemetry) ServeHTTP(w http.ResponseWriter, r *http.Request) { t.page.ServeHTTP(w, r) }

// flushTime is how long the export of the last spans may take.
const flushTime = 5 * time.Second

// Flush is Close within 5 s, though ctx has ended. An export that fails is logged.
func (t *Telemetry) Flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	_ = t.Close(ctx)
}

// Close exports the remaining spans. It returns when ctx ends at the latest.
func (t *Telemetry) Close(ctx context.Context) error {
	if t.traces == nil {
		return nil
	}
	return t.traces.tracer.Shutdown(ctx)
}
