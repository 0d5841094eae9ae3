// Package telemetry tells operators what happens at the gateway: lines of a
// log, numbers for Prometheus, and spans for OpenTelemetry where its usual
// variables ask for them.
//
// It is fed by the gateway's events, which carry no prompt, answer or
// credential, so that none can get out here. It decides nothing and nobody
// waits for it.
package telemetry

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/ridethrough/ridethrough/gateway"
)

// Config says what is told, and where.
type Config struct {
	Log     *slog.Logger          // nil: no lines
	Version string                // of the program; ""
	Env     func(string) string   // says whether spans are exported: the OTEL_ variables; nil: they are not
	Spans   sdktrace.SpanExporter // takes the spans, whatever Env says; nil: as Env says
}

// Telemetry tells what it is told. Its methods may be called by many
// goroutines at the same time.
type Telemetry struct {
	log      *slog.Logger
	registry *prometheus.Registry
	metrics  *metrics
	traces   *traces // nil: nobody asks for them
	page     http.Handler
}

// New returns a Telemetry. Its error says that spans are asked for and cannot be
// exported; all else works then.
func New(ctx context.Context, c Config) (*Telemetry, error) {
	t := &Telemetry{log: c.Log, registry: prometheus.NewRegistry()}
	t.metrics = newMetrics(t.registry, c.Version)
	t.page = promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
	exporter, err := c.Spans, error(nil)
	if exporter == nil && c.Env != nil {
		exporter, err = exporterFor(ctx, c.Env)
	}
	if exporter != nil {
		t.traces = newTraces(ctx, exporter, c.Version, c.Log)
	}
	return t, err
}

// Watch is told of what happens at the gateway: it is for gateway.Config.
func (t *Telemetry) Watch(e gateway.Event) {
	t.metrics.watch(e)
	if t.traces != nil {
		t.traces.watch(e)
	}
	if t.log != nil {
		report(t.log, e)
	}
}

// Board shows how things are now: a *gateway.Gateway.
type Board interface {
	Waits() []gateway.Wait
	Upstreams() []gateway.Health
}

// Show adds what can only be asked for to the numbers: who waits, and which
// upstreams fail. It is called once.
func (t *Telemetry) Show(b Board) { t.registry.MustRegister(newGauges(b)) }

// ServeHTTP answers with the numbers in the form that the reader asks for.
func (t *Telemetry) ServeHTTP(w http.ResponseWriter, r *http.Request) { t.page.ServeHTTP(w, r) }

// Gather returns the numbers as they are now.
func (t *Telemetry) Gather() prometheus.Gatherer { return t.registry }

// Close exports what is left of the spans. It ends with ctx at the latest.
func (t *Telemetry) Close(ctx context.Context) error {
	if t.traces == nil {
		return nil
	}
	return t.traces.provider.Shutdown(ctx)
}
