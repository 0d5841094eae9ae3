// Package tracingtest has an exporter for the tests of what makes spans.
package tracingtest

import (
	"context"
	"slices"
	"sync"

	"github.com/ridethrough/ridethrough/internal/operation/telemetry/tracing"
)

// Exporter keeps the spans that it gets. Its zero value is ready, and its methods may be called concurrently.
type Exporter struct {
	mu    sync.Mutex
	spans []tracing.Span
}

// Export keeps spans.
func (e *Exporter) Export(_ context.Context, b tracing.Batch) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spans = append(e.spans, b.Spans...)
	return nil
}

// Shutdown does nothing.
func (e *Exporter) Shutdown(context.Context) error { return nil }

// Spans returns the spans, in the order in which they ended.
func (e *Exporter) Spans() []tracing.Span {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.spans)
}
