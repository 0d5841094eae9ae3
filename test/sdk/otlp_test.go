package sdk_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/ridethrough/ridethrough/internal/operation/telemetry/otlp"
	"github.com/ridethrough/ridethrough/internal/operation/telemetry/tracing"
)

// TestOTLP_SaysWhatTheSDKSays exports the same spans with the SDK's exporter and with ours.
func TestOTLP_SaysWhatTheSDKSays(t *testing.T) {
	got := collected(t, func(ctx context.Context, url string) error {
		e, err := otlp.New(func(name string) string { return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": url}[name] }, "")
		if err != nil {
			return err
		}
		return errors.Join(e.Export(ctx, ourSpans()), e.Shutdown(ctx))
	})
	want := collected(t, func(ctx context.Context, url string) error {
		e, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(url+"/v1/traces"))
		if err != nil {
			return err
		}
		return errors.Join(e.ExportSpans(ctx, theirSpans()), e.Shutdown(ctx))
	})
	if !proto.Equal(got, want) {
		t.Errorf("the exporters differ:\ngot  %s\nwant %s", protojson.Format(got), protojson.Format(want))
	}
	if n := len(want.GetResourceSpans()); n != 1 {
		t.Errorf("the SDK's exporter sent the spans of %d resources, want 1", n)
	}
}

// collected returns what a collector gets of an export.
func collected(t *testing.T, export func(ctx context.Context, url string) error) *collector.ExportTraceServiceRequest {
	t.Helper()
	var got collector.ExportTraceServiceRequest
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = proto.Unmarshal(body, &got)
		}
		if err != nil {
			t.Errorf("the collector got what it cannot read: %v", err)
		}
	}))
	defer s.Close()
	if err := export(t.Context(), s.URL); err != nil {
		t.Fatalf("export: %v", err)
	}
	return &got
}

var at = time.Unix(1_700_000_000, 5)

// ourSpans returns spans that use every field and every kind of attribute.
func ourSpans() tracing.Batch {
	key := func(k tracing.Key) tracing.Key { return k }
	all := []tracing.Attribute{
		key("text").Text("über 529"), key("empty").Text(""), key("yes").Bool(true), key("no").Bool(false),
		key("count").Int(-3), key("none").Int64(0), key("seconds").Seconds(2500 * time.Millisecond), key("zero").Seconds(0),
	}
	self := tracing.Context{TraceID: tracing.TraceID{1}, SpanID: tracing.SpanID{2}, Sampled: true}
	return tracing.Batch{
		Resource: []tracing.Attribute{key("service.name").Text("ridethrough")}, Scope: "tracer", Version: "v1",
		Spans: []tracing.Span{
			{
				Context: self, Parent: tracing.Context{TraceID: self.TraceID, SpanID: tracing.SpanID{3}, Remote: true},
				Name: "chat claude", Kind: tracing.Client, Start: at, End: at.Add(time.Hour), Attributes: all,
				Events: []tracing.Event{{Name: "retry", Time: at, Attributes: all}, {}}, DroppedEvents: 2, Failed: true, Description: "HTTP 529",
			},
			{Context: self, Name: "bare", Kind: tracing.Internal},
		},
	}
}

// theirSpans returns the same spans as the SDK has them.
func theirSpans() []sdktrace.ReadOnlySpan {
	self := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	of := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{3}, Remote: true})
	all := []attribute.KeyValue{
		attribute.String("text", "über 529"), attribute.String("empty", ""), attribute.Bool("yes", true), attribute.Bool("no", false),
		attribute.Int("count", -3), attribute.Int("none", 0), attribute.Float64("seconds", 2.5), attribute.Float64("zero", 0),
	}
	r := resource.NewSchemaless(attribute.String("service.name", "ridethrough"))
	scope := instrumentation.Scope{Name: "tracer", Version: "v1"}
	return tracetest.SpanStubs{
		{
			Name: "chat claude", SpanContext: self, Parent: of, SpanKind: trace.SpanKindClient, StartTime: at, EndTime: at.Add(time.Hour),
			Attributes: all, DroppedEvents: 2, Resource: r, InstrumentationScope: scope,
			Events: []sdktrace.Event{{Name: "retry", Time: at, Attributes: all}, {}},
			Status: sdktrace.Status{Code: codes.Error, Description: "HTTP 529"},
		},
		{Name: "bare", SpanContext: self, SpanKind: trace.SpanKindInternal, Resource: r, InstrumentationScope: scope},
	}.Snapshots()
}

// TestTraceparent_IsReadAsTheSDKReadsIt compares with the SDK's propagator.
func TestTraceparent_IsReadAsTheSDKReadsIt(t *testing.T) {
	const id, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for _, header := range []string{
		"00-" + id + "-" + span + "-01", "00-" + id + "-" + span + "-00", "00-" + id + "-" + span + "-02", "01-" + id + "-" + span + "-01-later",
		"00-" + id + "-" + span + "-01-later", "ff-" + id + "-" + span + "-01", "00-" + id + "-" + span, "00-" + id + "-0000000000000000-01",
		"00-00000000000000000000000000000000-" + span + "-01", "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + span + "-01", "0-" + id + "-" + span + "-01", "", "---",
	} {
		want := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(t.Context(), propagation.MapCarrier{"traceparent": header}))
		got := tracing.ParseTraceparent(header)
		if got.TraceID.String() != want.TraceID().String() || got.SpanID.String() != want.SpanID().String() || got.Sampled != want.IsSampled() || got.Remote != want.IsRemote() {
			t.Errorf("traceparent %q: got %+v, want as the SDK %+v", header, got, want)
		}
	}
}
