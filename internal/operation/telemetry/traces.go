package telemetry

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/turn"
)

// callBound bounds the calls that are traced concurrently; others are not traced.
const callBound = 100_000

// traces creates a span for each call, as its client sees it, or turn, with a child for each request that was sent.
type traces struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer

	mu    sync.Mutex
	calls map[int64]traced // sampled calls in progress
}

// traced is a call's span with the context for its children.
type traced struct {
	context.Context
	trace.Span
}

// newTraces returns a traces. The sampler and the batches are as the OTEL_ variables say.
func newTraces(ctx context.Context, exporter sdktrace.SpanExporter, version string, log *slog.Logger) *traces {
	who, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(serviceName.String("ridethrough"), serviceVersion.String(version)),
		resource.WithFromEnv())
	if err != nil && log != nil {
		log.Warn("OTEL_RESOURCE_ATTRIBUTES is invalid", "error", err.Error())
	}
	if log != nil {
		otel.SetErrorHandler(&errorLog{log: log})
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(who))
	return &traces{
		provider: p,
		tracer:   p.Tracer("github.com/ridethrough/ridethrough", trace.WithInstrumentationVersion(version)),
		calls:    make(map[int64]traced),
	}
}

// watch adds an event to its call's span.
func (t *traces) watch(e gateway.Event) {
	switch e.Event.(type) {
	case turn.Start, turn.Restarted:
		t.begin(e.Call)
		return
	}
	t.mu.Lock()
	c, ok := t.calls[e.Call.ID]
	if _, ended := e.Event.(turn.Sealed); ended {
		delete(t.calls, e.Call.ID)
	}
	t.mu.Unlock()
	if ok {
		t.add(c, e)
	}
}

// begin starts the span of a call, as a child of its client's.
func (t *traces) begin(c gateway.Call) {
	name := operation(c)
	if c.Model != "" {
		name += " " + c.Model
	}
	ctx, span := t.tracer.Start(within(c.Parent), name, trace.WithTimestamp(c.Began),
		trace.WithSpanKind(spanKind(c)), trace.WithAttributes(described(c)...))
	if !span.IsRecording() {
		return // not sampled
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.calls) < callBound {
		t.calls[c.ID] = traced{ctx, span}
	}
}

// within returns the context of a caller's span, by its traceparent; "": it has none.
func within(parent string) context.Context {
	ctx := context.Background()
	if parent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(http.Header{"Traceparent": {parent}}))
}

// spanKind returns the kind of a call's span: a turn runs in this process.
func spanKind(c gateway.Call) trace.SpanKind {
	if isTurn(c) {
		return trace.SpanKindInternal
	}
	return trace.SpanKindClient
}

// add adds an event to the span of its call.
func (t *traces) add(c traced, e gateway.Event) {
	at := trace.WithTimestamp(e.At)
	switch event := e.Event.(type) {
	case turn.Retry:
		delay := retryDelay.Float64(event.Verdict.Wait.Seconds())
		c.AddEvent("retry", at, trace.WithAttributes(errorType.String(kind(event.Fault)), delay))
	case turn.Switched:
		c.AddEvent("switched", at, trace.WithAttributes(append(destination(e.Call), switchedFrom.String(event.From))...))
		c.SetAttributes(destination(e.Call)...)
	case turn.Recovered:
		c.SetAttributes(retryCount.Int(event.Retries), waitedTime.Float64(event.Waited.Seconds()))
	case turn.Error:
		c.SetAttributes(retryCount.Int(event.Retries), waitedTime.Float64(event.Waited.Seconds()))
		failed(c, event.Fault)
	case turn.Sealed:
		ended(c, e, event)
		c.End(at)
	case nil:
		t.addStep(c, e)
	}
}

// ended adds how a call has ended to its span.
func ended(span trace.Span, e gateway.Event, end turn.Sealed) {
	if e.Status != 0 {
		span.SetAttributes(statusCode.Int(e.Status))
	}
	if !isTurn(e.Call) {
		return
	}
	span.SetAttributes(sealedAs.String(string(end.Status)), retryCount.Int(end.RetryCount), waitedTime.Float64(end.TotalRetryDelay.Seconds()))
	if end.TimeToFirstToken > 0 {
		span.SetAttributes(timeToFirstChunk.Float64(end.TimeToFirstToken.Seconds()))
	}
}

// addStep adds a try, or how the request shares the answer of another, to the span of its call.
func (t *traces) addStep(c traced, e gateway.Event) {
	switch {
	case e.Joined != 0:
		c.AddEvent("joined", trace.WithTimestamp(e.At), trace.WithAttributes(requestNumber.Int64(e.Joined)))
	case e.Completed.Again != 0:
		c.AddEvent("completed", trace.WithTimestamp(e.At))
	case e.Replayed != 0:
		c.AddEvent("replayed", trace.WithTimestamp(e.At), trace.WithAttributes(requestNumber.Int64(e.Replayed)))
	case e.Resent:
		c.AddEvent("resent", trace.WithTimestamp(e.At))
	case e.Detached:
		c.AddEvent("detached", trace.WithTimestamp(e.At))
	case e.Crossed != nil: // about the credential, not about the call
	case e.Queued != nil:
		c.AddEvent("queued", trace.WithTimestamp(e.At))
	case e.Admitted != 0:
		c.AddEvent("let go", trace.WithTimestamp(e.At))
	default:
		t.tried(c, e)
	}
}

// tried creates the span of a request that was sent.
func (t *traces) tried(c traced, e gateway.Event) {
	try := e.Try
	end := try.Start.Add(try.Took)
	if try.Shared {
		c.AddEvent("shared", trace.WithTimestamp(end), trace.WithAttributes(errorType.String(kind(try.Fault))))
		return
	}
	about := append(destination(e.Call), requestMethod.String(http.MethodPost))
	if try.N > 1 {
		about = append(about, resendCount.Int(try.N-1))
	}
	_, span := t.tracer.Start(c, http.MethodPost, trace.WithTimestamp(try.Start),
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(about...))
	if try.Fault != nil {
		failed(span, try.Fault)
	} else if !isTurn(e.Call) {
		c.SetAttributes(timeToFirstChunk.Float64(end.Sub(e.Call.Began).Seconds()))
	}
	span.End(trace.WithTimestamp(end))
}

// failed marks a span with its fault, without the provider's message, which may repeat a part of the prompt.
func failed(span trace.Span, f *fault.Error) {
	span.SetStatus(codes.Error, f.Label())
	span.SetAttributes(errorType.String(f.Kind.String()))
	if f.Status != 0 {
		span.SetAttributes(statusCode.Int(f.Status))
	}
}

// errorLog logs errors of the export, at most one a minute: an unreachable collector fails each batch.
type errorLog struct {
	log *slog.Logger

	mu   sync.Mutex
	last time.Time
}

// Handle logs an error, or drops it.
func (c *errorLog) Handle(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.last.IsZero() || now.Sub(c.last) >= time.Minute {
		c.last = now
		c.log.Warn("spans not exported", "error", fault.Scrub(err.Error()))
	}
}
