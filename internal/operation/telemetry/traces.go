package telemetry

import (
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/telemetry/tracing"
	"github.com/ridethrough/ridethrough/turn"
)

// callBound bounds the calls that are traced concurrently; others are not traced.
const callBound = 100_000

// traces creates a span for each call, as its client sees it, or turn, with a child for each request that was sent.
type traces struct {
	tracer *tracing.Tracer

	mu    sync.Mutex
	calls map[int64]*tracing.Recording // sampled calls in progress
}

// newTraces returns a traces. The sampler and the batches are as the OTEL_ variables say.
func newTraces(to tracing.Exporter, c Config) *traces {
	failures := &errorLog{log: c.Log}
	t, err := tracing.New(c.Env, to, c.Version, failures.add)
	if err != nil && c.Log != nil {
		c.Log.Warn("a variable for spans is invalid, its default applies", "error", err.Error())
	}
	return &traces{tracer: t, calls: make(map[int64]*tracing.Recording)}
}

// watch adds an event to its call's span.
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
	span := t.tracer.Start(tracing.ParseTraceparent(c.Parent), name, spanKind(c), c.Began, described(c)...)
	if !span.Context().Sampled {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.calls) < callBound {
		t.calls[c.ID] = span
	}
}

// spanKind returns the kind of a call's span: a turn runs in this process.
func spanKind(c *gateway.Call) tracing.Kind {
	if isTurn(c) {
		return tracing.Internal
	}
	return tracing.Client
}

// add adds an event to the span of its call.
func (t *traces) add(c *tracing.Recording, e *gateway.Event) {
	switch event := e.Event.(type) {
	case turn.Retry:
		delay := retryDelay.Seconds(event.Verdict.Wait)
		c.Event("retry", e.At, errorType.Text(kind(event.Fault)), delay)
	case turn.Switched:
		c.Event("switched", e.At, append(destination(&e.Call), switchedFrom.Text(event.From))...)
		c.Set(destination(&e.Call)...)
	case turn.Recovered:
		c.Set(retryCount.Int(event.Retries), waitedTime.Seconds(event.Waited))
	case turn.Error:
		c.Set(retryCount.Int(event.Retries), waitedTime.Seconds(event.Waited))
		failed(c, event.Fault)
	case turn.Sealed:
		ended(c, e, event)
		c.End(e.At)
	case nil:
		t.addStep(c, e)
	}
}

// ended adds how a call has ended to its span.
func ended(span *tracing.Recording, e *gateway.Event, end turn.Sealed) {
	if e.Status != 0 {
		span.Set(statusCode.Int(e.Status))
	}
	if !isTurn(&e.Call) {
		return
	}
	span.Set(sealedAs.Text(string(end.Status)), retryCount.Int(end.RetryCount), waitedTime.Seconds(end.TotalRetryDelay))
	if end.TimeToFirstToken > 0 {
		span.Set(timeToFirstChunk.Seconds(end.TimeToFirstToken))
	}
}

// addStep adds a try, or how the request shares the answer of another, to the span of its call.
func (t *traces) addStep(c *tracing.Recording, e *gateway.Event) {
	switch {
	case e.Joined != 0:
		c.Event("joined", e.At, requestNumber.Int64(e.Joined))
	case e.Completed.Again != 0:
		c.Event("completed", e.At)
	case e.Replayed != 0:
		c.Event("replayed", e.At, requestNumber.Int64(e.Replayed))
	case e.Unshared != nil:
		c.Event("unshared", e.At)
	case e.Resent:
		c.Event("resent", e.At)
	case e.Detached:
		c.Event("detached", e.At)
	case e.Crossed != nil: // about the credential, not about the call
	case e.Queued != nil:
		c.Event("queued", e.At)
	case e.Admitted != 0:
		c.Event("let go", e.At)
	default:
		t.tried(c, e)
	}
}

// tried creates the span of a request that was sent.
func (t *traces) tried(c *tracing.Recording, e *gateway.Event) {
	try := e.Try
	end := try.Start.Add(try.Took)
	if try.Shared {
		c.Event("shared", end, errorType.Text(kind(try.Fault)))
		return
	}
	about := append(destination(&e.Call), requestMethod.Text(http.MethodPost))
	if try.N > 1 {
		about = append(about, resendCount.Int(try.N-1))
	}
	span := t.tracer.Start(c.Context(), http.MethodPost, tracing.Client, try.Start, about...)
	if try.Fault != nil {
		failed(span, try.Fault)
	} else if !isTurn(&e.Call) {
		c.Set(timeToFirstChunk.Seconds(end.Sub(e.Call.Began)))
	}
	span.End(end)
}

// failed marks a span with its fault, without the provider's message, which may repeat a part of the prompt.
func failed(span *tracing.Recording, f *fault.Error) {
	span.Fail(f.Label())
	span.Set(errorType.Text(f.Kind.String()))
	if f.Status != 0 {
		span.Set(statusCode.Int(f.Status))
	}
}

// errorLog logs errors of the export, at most one a minute: an unreachable collector fails each batch.
type errorLog struct {
	log  *slog.Logger // nil: none
	last time.Time
}

// add logs an error, or drops it.
func (c *errorLog) add(err error) {
	if now := time.Now(); c.log != nil && (c.last.IsZero() || now.Sub(c.last) >= time.Minute) {
		c.last = now
		c.log.Warn("spans not exported", "error", fault.Scrub(err.Error()))
	}
}
