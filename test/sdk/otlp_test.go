package sdk_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/telemetry"
	"github.com/ridethrough/ridethrough/turn"
)

// TestOTLP_IsTheMessageOfTheProtocol reads an export as a collector does, with the package that brings gRPC.
func TestOTLP_IsTheMessageOfTheProtocol(t *testing.T) {
	var got collector.ExportTraceServiceRequest
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = proto.Unmarshal(body, &got)
		}
		if err != nil {
			t.Errorf("read an export: %v", err)
		}
	}))
	defer s.Close()
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": s.URL}
	tel, err := telemetry.New(t.Context(), telemetry.Config{Env: func(name string) string { return env[name] }})
	if err != nil {
		t.Fatalf("new telemetry: %v", err)
	}
	call := gateway.Call{ID: 1, Model: "claude"}
	tel.Watch(&gateway.Event{Call: call, Event: turn.Start{}})
	tel.Watch(&gateway.Event{Call: call, Event: turn.Sealed{}})
	if err := tel.Close(t.Context()); err != nil {
		t.Fatalf("close: %v", err)
	}
	spans := got.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()
	if len(spans) != 1 || spans[0].GetName() != "chat claude" || len(got.ProtoReflect().GetUnknown()) > 0 {
		t.Errorf("export: got %v, want one span named chat claude", &got)
	}
}
