package telemetry_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/ridethrough/ridethrough/internal/operation/telemetry"
	"github.com/ridethrough/ridethrough/turn"
)

func TestTraces_AreSampledAsTheVariablesSay(t *testing.T) {
	const not = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
	for _, c := range []struct {
		parent, sampler string
		want            int
	}{
		{parent, "", 4},
		{not, "", 0},
		{"", "", 4},
		{"no traceparent", "", 4},
		{not, "always_on", 4},
		{parent, "always_off", 0},
		{"", "parentbased_always_off", 0},
		{parent, "parentbased_always_off", 4},
	} {
		t.Setenv("OTEL_TRACES_SAMPLER", c.sampler)
		traced := call
		traced.Parent = c.parent
		if got := len(spansOf(t, outage(traced)...)); got != c.want {
			t.Errorf("sampler %q, parent %q: got %d spans, want %d", c.sampler, c.parent, got, c.want)
		}
	}
}

func TestTraces_GroupThatIsNotSampledHasATraceparent(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	kept := tracetest.NewSpanRecorder()
	span, end := watching(t, telemetry.Config{Spans: kept}).Group("council", "c1", parent)
	end(turn.Done)
	if !strings.HasPrefix(span, "00-4bf92f3577b34da6a3ce929d0e0e4736-") || !strings.HasSuffix(span, "-00") || span[36:52] == parent[36:52] {
		t.Errorf("traceparent: got %q, want one of a new span that is not sampled", span)
	}
	if n := len(kept.Ended()); n != 0 {
		t.Errorf("spans: got %d, want 0", n)
	}
}

func TestTraces_DescribeTheProcess(t *testing.T) {
	for _, c := range []struct{ attributes, name, want string }{
		{"", "", "service.name=ridethrough,service.version=v1"},
		{"team=a b,region=eu%20west", "", "region=eu west,service.name=ridethrough,service.version=v1,team=a b"},
		{"service.name=x,service.version=2", "", "service.name=x,service.version=2"},
		{"service.name=x", "y", "service.name=y,service.version=v1"},
	} {
		t.Setenv("OTEL_RESOURCE_ATTRIBUTES", c.attributes)
		t.Setenv("OTEL_SERVICE_NAME", c.name)
		var got []string
		for _, a := range spansOf(t, outage(call)...)[0].Resource.Attributes() {
			if !strings.HasPrefix(string(a.Key), "telemetry.sdk.") {
				got = append(got, string(a.Key)+"="+a.Value.String())
			}
		}
		if got := strings.Join(got, ","); got != c.want {
			t.Errorf("resource %q, name %q: got %s, want %s", c.attributes, c.name, got, c.want)
		}
	}
}

// TestTraces_AreExportedDespiteVariablesThatAreWrong is about variables that the SDK would ignore, or panic at.
func TestTraces_AreExportedDespiteVariablesThatAreWrong(t *testing.T) {
	exports := 0
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { exports++ }))
	defer collector.Close()
	for _, c := range []struct{ name, value, want string }{
		{"OTEL_BSP_MAX_QUEUE_SIZE", "-1", "variable=OTEL_BSP_MAX_QUEUE_SIZE value=-1"},
		{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "0", "variable=OTEL_BSP_MAX_EXPORT_BATCH_SIZE value=0"},
		{"OTEL_BSP_SCHEDULE_DELAY", "5s", "variable=OTEL_BSP_SCHEDULE_DELAY value=5s"},
		{"OTEL_BSP_EXPORT_TIMEOUT", "x", "variable=OTEL_BSP_EXPORT_TIMEOUT value=x"},
		{"OTEL_TRACES_SAMPLER", "jaeger_remote", "unsupported sampler: jaeger_remote"},
		{"OTEL_RESOURCE_ATTRIBUTES", "team", "missing value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(c.name, c.value)
			var log bytes.Buffer
			env := environment(c.name+"="+c.value, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL)
			tel := watching(t, telemetry.Config{Env: env, Log: slog.New(slog.NewTextHandler(&log, nil))}, outage(call)...)
			before := exports
			if err := tel.Close(t.Context()); err != nil || exports != before+1 {
				t.Errorf("close: got %v and %d exports, want no error and 1", err, exports-before)
			}
			if !strings.Contains(log.String(), c.want) {
				t.Errorf("log: got %s, want %s in it", log.String(), c.want)
			}
		})
	}
}

func TestTraces_FailedExportIsLogged(t *testing.T) {
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "who are you", http.StatusUnauthorized) }))
	defer collector.Close()
	var log bytes.Buffer
	env := environment("OTEL_BSP_MAX_EXPORT_BATCH_SIZE=1", "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL)
	tel := watching(t, telemetry.Config{Env: env, Log: slog.New(slog.NewTextHandler(&log, nil))}, outage(call)...)
	if err := tel.Close(t.Context()); err != nil {
		t.Errorf("close: got %v, want no error", err)
	}
	if n := strings.Count(log.String(), "spans not exported"); n != 1 || !strings.Contains(log.String(), "401") {
		t.Errorf("log of four exports that fail: got %s, want one line about them with 401", log.String())
	}
}

func TestClose_EndsWithItsContext(t *testing.T) {
	release := make(chan struct{})
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer collector.Close()
	defer close(release)
	tel := watching(t, telemetry.Config{Env: environment("OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL)}, outage(call)...)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := tel.Close(ctx); err == nil {
		t.Error("close: got no error, want that of its context")
	}
}
