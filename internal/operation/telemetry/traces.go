package telemetry

import (
	"context"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/turn"
)

// callBound bounds the calls that are traced concurrently. Others are not traced.
const callBound = 100_000

// traces creates a span for each call as its client sees it, or for each turn, with a child for each request sent.
type traces struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer

	mu    sync.Mutex
	calls map[int64]trace.Span // sampled calls in progress
}

// newTraces returns a traces whose spans go to a processor. The SDK itself reads the OTEL_ variables for the
// sampler, the resource and the limits; its errors about them go to a handler of the whole process.
func newTraces(ctx context.Context, to sdktrace.SpanProcessor, c Config) *traces {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		if c.Log != nil {
			c.Log.Warn("OpenTelemetry reports an error", "error", fault.Scrub(err.Error()))
		}
	}))
	// The provider reads the variables too and reports what is wrong with them.
	process, _ := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(serviceName.String("ridethrough"), serviceVersion.String(c.Version)), resource.WithFromEnv())
	p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(to), sdktrace.WithResource(process))
	return &traces{
		provider: p,
		tracer:   p.Tracer("github.com/ridethrough/ridethrough", trace.WithInstrumentationVersion(c.Version)),
		calls:    make(map[int64]trace.Span),
	}
}

// start begins a span at a time. parent has the parent span, if any.
func (t *traces) start(parent context.Context, name string, kind trace.SpanKind, at time.Time, about ...attribute.KeyValue) trace.Span {
	_, span := t.tracer.Start(parent, name, trace.WithTimestamp(at), trace.WithSpanKind(kind), trace.WithAttributes(about...))
	return span
}

// below returns a context with the span of a traceparent header as parent; "": none.
func below(traceparent string) context.Context {
	return propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceparent})
}

func (t *traces) watch(e *gateway.Event) {
	switch e.Event.(type) {
	case turn.Start, turn.Restarted:
		t.begin(&e.Call)
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
func (t *traces) begin(c *gateway.Call) {
	name := operation(c)
	if c.Model != "" {
		name += " " + c.Model
	}
	span := t.start(below(c.Parent), name, spanKind(c), c.Began, described(c)...)
	if !span.IsRecording() { // it is not sampled
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.calls) < callBound {
		t.calls[c.ID] = span
	}
}

func spanKind(c *gateway.Call) trace.SpanKind {
	if isTurn(c) {
		return trace.SpanKindInternal
	}
	return trace.SpanKindClient
}

func (t *traces) add(c trace.Span, e *gateway.Event) {
	at := trace.WithTimestamp(e.At)
	switch event := e.Event.(type) {
	case turn.Retry:
		delay := retryDelay.Float64(event.Verdict.Wait.Seconds())
		c.AddEvent("retry", at, trace.WithAttributes(errorType.String(kind(event.Fault)), delay))
	case turn.Switched:
		c.AddEvent("switched", at, trace.WithAttributes(append(destination(&e.Call), switchedFrom.String(event.From))...))
		c.SetAttributes(destination(&e.Call)...)
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

func ended(span trace.Span, e *gateway.Event, end turn.Sealed) {
	if e.Status != 0 {
		span.SetAttributes(statusCode.Int(e.Status))
	}
	if !isTurn(&e.Call) {
		return
	}
	span.SetAttributes(sealedAs.String(string(end.Status)), retryCount.Int(end.RetryCount), waitedTime.Float64(end.TotalRetryDelay.Seconds()))
	if end.TimeToFirstToken > 0 {
		span.SetAttributes(timeToFirstChunk.Float64(end.TimeToFirstToken.Seconds()))
	}
}

// addStep adds a try, or how the request shares the answer of another, to the span of its call.
func (t *traces) addStep(c trace.Span, e *gateway.Event) {
	at := trace.WithTimestamp(e.At)
	switch {
	case e.Joined != 0:
		c.AddEvent("joined", at, trace.WithAttributes(requestNumber.Int64(e.Joined)))
	case e.Completed.Again != 0:
		c.AddEvent("completed", at)
	case e.Replayed != 0:
		c.AddEvent("replayed", at, trace.WithAttributes(requestNumber.Int64(e.Replayed)))
	case e.Unshared != nil:
		c.AddEvent("unshared", at)
	case e.Resent:
		c.AddEvent("resent", at)
	case e.Detached:
		c.AddEvent("detached", at)
	case e.Crossed != nil: // about the credential, not about the call
	case e.Queued != nil:
		c.AddEvent("queued", at)
	case e.Admitted != 0:
		c.AddEvent("admitted", at)
	default:
		t.tried(c, e)
	}
}

func (t *traces) tried(c trace.Span, e *gateway.Event) {
	try := e.Try
	end := try.Start.Add(try.Took)
	if try.Shared {
		c.AddEvent("shared", trace.WithTimestamp(end), trace.WithAttributes(errorType.String(kind(try.Fault))))
		return
	}
	about := append(destination(&e.Call), requestMethod.String(http.MethodPost))
	if try.N > 1 {
		about = append(about, resendCount.Int(try.N-1))
	}
	span := t.start(trace.ContextWithSpan(context.Background(), c), http.MethodPost, trace.SpanKindClient, try.Start, about...)
	if try.Fault != nil {
		failed(span, try.Fault)
	} else if !isTurn(&e.Call) {
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
