package sdk_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/ridethrough/ridethrough/internal/operation/telemetry/otlp"
)

// TestOTLP_SaysWhatTheSDKSays exports spans with the SDK's exporter and with ours.
func TestOTLP_SaysWhatTheSDKSays(t *testing.T) {
	got := collected(t, func(url string) (sdktrace.SpanExporter, error) {
		return otlp.New(func(name string) string { return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": url}[name] }, "")
	})
	want := collected(t, func(url string) (sdktrace.SpanExporter, error) {
		return otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(url+"/v1/traces"))
	})
	if !proto.Equal(got, want) {
		t.Errorf("the exporters differ:\ngot  %s\nwant %s", protojson.Format(got), protojson.Format(want))
	}
	if n := len(want.GetResourceSpans()); n != 1 {
		t.Errorf("the SDK's exporter sent the spans of %d resources, want 1", n)
	}
}

// collected returns what a collector gets of an exporter.
func collected(t *testing.T, exporter func(url string) (sdktrace.SpanExporter, error)) *collector.ExportTraceServiceRequest {
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
	e, err := exporter(s.URL)
	if err != nil {
		t.Fatalf("the exporter: %v", err)
	}
	if err = e.ExportSpans(t.Context(), everySpan()); err == nil {
		err = e.Shutdown(t.Context())
	}
	if err != nil {
		t.Fatalf("export: %v", err)
	}
	return &got
}

// everySpan returns spans that use every field and every kind of attribute.
func everySpan() []sdktrace.ReadOnlySpan {
	state, _ := trace.ParseTraceState("vendor=opaque")
	self := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, TraceState: state})
	of := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{3}, Remote: true})
	all := []attribute.KeyValue{
		attribute.String("text", "über 529"), attribute.String("empty", ""), attribute.Bool("yes", true), attribute.Bool("no", false),
		attribute.Int("count", -3), attribute.Int("none", 0), attribute.Float64("seconds", 2.5), attribute.Float64("zero", 0),
		attribute.BoolSlice("bools", []bool{true, false}), attribute.Int64Slice("ints", []int64{0, 7}), attribute.Float64Slice("floats", []float64{0.5}),
		attribute.StringSlice("texts", []string{"a", ""}), attribute.StringSlice("no texts", nil),
	}
	at := time.Unix(1_700_000_000, 5)
	r := resource.NewWithAttributes("https://opentelemetry.io/schemas/1.37.0", attribute.String("service.name", "ridethrough"))
	scope := instrumentation.Scope{Name: "tracer", Version: "v1", SchemaURL: "https://opentelemetry.io/schemas/1.36.0", Attributes: attribute.NewSet(attribute.Int("n", 1))}
	return tracetest.SpanStubs{
		{
			Name: "chat claude", SpanContext: self, Parent: of, SpanKind: trace.SpanKindClient, StartTime: at, EndTime: at.Add(time.Hour),
			Attributes: all, DroppedAttributes: 1, DroppedEvents: 2, DroppedLinks: 3, Resource: r, InstrumentationScope: scope,
			Events: []sdktrace.Event{{Name: "retry", Time: at, Attributes: all, DroppedAttributeCount: 4}, {}},
			Links:  []sdktrace.Link{{SpanContext: of, Attributes: all, DroppedAttributeCount: 5}},
			Status: sdktrace.Status{Code: codes.Error, Description: "HTTP 529"},
		},
		{Name: "unset", SpanContext: self, SpanKind: trace.SpanKindInternal, Resource: r, InstrumentationScope: scope},
		{Name: "ok", SpanContext: self, SpanKind: trace.SpanKindServer, Resource: r, InstrumentationScope: scope, Status: sdktrace.Status{Code: codes.Ok}},
	}.Snapshots()
}
