package tracing

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Batch is spans that are exported together, and what made them.
type Batch struct {
	Resource       []Attribute // about the process
	Scope, Version string      // of the code that made the spans
	Spans          []Span
}

// Exporter sends spans to a collector.
type Exporter interface {
	// Export returns when the spans have arrived, or an error if they have not, or ctx has ended.
	Export(ctx context.Context, b Batch) error
	// Shutdown frees what the exporter has. No Export follows.
	Shutdown(ctx context.Context) error
}

// Tracer makes spans. Its methods may be called concurrently.
type Tracer struct {
	sampler sampler
	events  int // that a span keeps
	batcher *batcher
}

// New returns a tracer of this program in a version that sends its spans to an exporter, as the variables of env say; nil:
// none are set. The error is about variables that are not as they should be: their defaults apply. An export that fails
// is reported, from one goroutine.
func New(env func(string) string, to Exporter, version string, report func(error)) (*Tracer, error) {
	if env == nil {
		env = func(string) string { return "" }
	}
	s := settings{env: env}
	b := &batcher{
		to: to, report: report, stopping: make(chan struct{}), done: make(chan struct{}), full: make(chan struct{}, 1),
		what:    Batch{Resource: s.resource(version), Scope: "github.com/ridethrough/ridethrough", Version: version},
		size:    s.number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512),
		bound:   s.number("OTEL_BSP_MAX_QUEUE_SIZE", 2048),
		delay:   s.milliseconds("OTEL_BSP_SCHEDULE_DELAY", 5*time.Second),
		timeout: s.milliseconds("OTEL_BSP_EXPORT_TIMEOUT", 30*time.Second),
	}
	t := &Tracer{sampler: s.sampler(), events: s.number("OTEL_SPAN_EVENT_COUNT_LIMIT", 128), batcher: b}
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	go b.run(ctx)
	return t, errors.Join(s.errs...)
}

// Shutdown exports the remaining spans. It returns when ctx ends at the latest, and what is not sent then is lost.
func (t *Tracer) Shutdown(ctx context.Context) error {
	b := t.batcher
	b.stop.Do(func() { close(b.stopping) })
	var err error
	select {
	case <-b.done:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	b.cancel()
	return errors.Join(err, b.to.Shutdown(ctx))
}

// Recording is a span that has not ended. One that is not sampled keeps nothing. Its methods may be called concurrently.
type Recording struct {
	tracer *Tracer

	mu    sync.Mutex
	span  Span
	ended bool
}

// Start begins a span at a time; parent may be zero.
func (t *Tracer) Start(parent Context, name string, kind Kind, at time.Time, about ...Attribute) *Recording {
	self := Context{TraceID: parent.TraceID}
	if !parent.IsValid() {
		parent = Context{}
		binary.NativeEndian.PutUint64(self.TraceID[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(self.TraceID[8:], 1+rand.Uint64N(1<<64-1))
	}
	binary.NativeEndian.PutUint64(self.SpanID[:], 1+rand.Uint64N(1<<64-1))
	self.Sampled = t.sampler.samples(parent, self.TraceID)
	r := &Recording{tracer: t, span: Span{Context: self, Parent: parent, Name: name, Kind: kind, Start: at}}
	r.Set(about...)
	return r
}

// Context returns the context for the span's children.
func (r *Recording) Context() Context { return r.span.Context }

// record changes the span, unless it is not sampled or has ended.
func (r *Recording) record(change func(*Span)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.span.Sampled && !r.ended {
		change(&r.span)
	}
}

// Set sets attributes.
func (r *Recording) Set(all ...Attribute) {
	r.record(func(s *Span) {
		for _, a := range all {
			s.Attributes = set(s.Attributes, a)
		}
	})
}

// Event adds an event. The oldest one goes if there are too many.
func (r *Recording) Event(name string, at time.Time, about ...Attribute) {
	r.record(func(s *Span) {
		if len(s.Events) == r.tracer.events {
			s.Events = slices.Delete(s.Events, 0, 1)
			s.DroppedEvents++
		}
		s.Events = append(s.Events, Event{name, at, about})
	})
}

// Fail marks the span as failed.
func (r *Recording) Fail(description string) {
	r.record(func(s *Span) { s.Failed, s.Description = true, description })
}

// End ends the span and has it exported.
func (r *Recording) End(at time.Time) {
	r.record(func(s *Span) {
		s.End, r.ended = at, true
		r.tracer.batcher.add(*s)
	})
}
