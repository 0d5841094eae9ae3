package telemetry

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/ridethrough/ridethrough/internal/operation/metrics"
)

// Families describes all metrics of t.
func (t *Telemetry) Families() []metrics.Family { return t.registry.Families() }

// NewExporter returns the exporter that env describes. to is the way to the collector; nil: as env says.
func NewExporter(ctx context.Context, env func(string) string, to http.RoundTripper) (sdktrace.SpanExporter, error) {
	c, err := newCollector(env, "ridethrough/1")
	if err != nil {
		return nil, err
	}
	if to != nil {
		c.client.Transport = to
	}
	return otlptrace.New(ctx, c)
}
