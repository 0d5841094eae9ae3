package telemetry_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/ridethrough/ridethrough/internal/operation/telemetry"
)

// environment returns what an environment of such variables answers.
func environment(all ...string) func(string) string {
	return func(name string) string {
		for _, one := range all {
			if k, v, _ := strings.Cut(one, "="); k == name {
				return v
			}
		}
		return ""
	}
}

var spans = tracetest.SpanStubs{{Name: "chat claude", StartTime: time.Unix(1, 0), EndTime: time.Unix(2, 0)}}.Snapshots()

// export sends spans to a collector.
func export(t *testing.T, collector http.HandlerFunc, env ...string) error {
	t.Helper()
	s := httptest.NewServer(collector)
	defer s.Close()
	e := exporter(t, nil, append(env, "OTEL_EXPORTER_OTLP_ENDPOINT="+s.URL)...)
	defer e.Shutdown(t.Context())
	return e.ExportSpans(t.Context(), spans)
}

func TestExport_FollowsTheEnvironment(t *testing.T) {
	var got *http.Request
	var body []byte
	err := export(t, func(_ http.ResponseWriter, r *http.Request) {
		got = r
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Errorf("body: %v, want gzip", err)
			return
		}
		body, _ = io.ReadAll(z)
	}, "OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20k, x-team = a", "OTEL_EXPORTER_OTLP_COMPRESSION=gzip")
	if err != nil {
		t.Fatalf("Export: %v", err)
	}
	if got.Method != "POST" || got.URL.Path != "/v1/traces" {
		t.Errorf("request %s %s, want POST /v1/traces", got.Method, got.URL.Path)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer k", "X-Team": "a", "User-Agent": "ridethrough/1", "Content-Type": "application/x-protobuf",
	} {
		if v := got.Header.Get(name); v != want {
			t.Errorf("header %s: got %q, want %q", name, v, want)
		}
	}
	if !bytes.Contains(body, []byte("chat claude")) {
		t.Errorf("body %q, want a span named chat claude", body)
	}
}

func TestExport_ABusyCollectorIsAskedAgain(t *testing.T) {
	asked := 0
	answer := func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		e := exporter(t, roundTrip(answer))
		if err := e.ExportSpans(t.Context(), spans); err != nil || asked != 3 {
			t.Errorf("Export: %v after %d requests, want success after 3", err, asked)
		}
	})
}

func TestExport_ARefusalIsFinal(t *testing.T) {
	for _, c := range []struct {
		answer http.HandlerFunc
		want   string
	}{
		{func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "who are you", http.StatusUnauthorized) }, "401"},
		{func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(307)
		}, "307"},
		// ExportTraceServiceResponse with a partial success: a rejected span, and why.
		{func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "\x0a\x0a\x08\x01\x12\x06no key") }, "did not take all spans: no key"},
	} {
		asked := 0
		err := export(t, func(w http.ResponseWriter, r *http.Request) { asked++; c.answer(w, r) })
		if err == nil || !strings.Contains(err.Error(), c.want) || asked != 1 {
			t.Errorf("Export: error %v after %d requests, want %q after 1", err, asked, c.want)
		}
	}
}

func TestExport_AnAnswerThatIsNoMessageIsASuccess(t *testing.T) {
	for _, body := range []string{"", "{}", "<html>", "\x0a", "\x0a\xff\xff\xff\xff\x0f", "\x0a\x02\x08\x00", strings.Repeat("x", 1<<20)} {
		if err := export(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }); err != nil {
			t.Errorf("answer %.20q: got error %v, want none", body, err)
		}
	}
}

func TestExport_EndsWithItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		e := exporter(t, roundTrip(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }), "OTEL_EXPORTER_OTLP_TIMEOUT=2500")
		err := e.ExportSpans(t.Context(), spans)
		if took := time.Since(began); err == nil || took > 2500*time.Millisecond {
			t.Errorf("Export: error %v after %v, want one within 2.5 s", err, took)
		}
	})
}

func TestExporter_RefusesVariablesThatAreWrong(t *testing.T) {
	for _, c := range []struct{ env, want string }{
		{"PROTOCOL=grpc", `PROTOCOL: "grpc" is not supported`},
		{"COMPRESSION=zstd", `COMPRESSION: "zstd" is not supported`},
		{"TIMEOUT=10s", `TIMEOUT: "10s" is not a number of milliseconds`},
		{"TIMEOUT=-1", `TIMEOUT: "-1"`},
		{"HEADERS=key", "HEADERS: want name=value"},
		{"HEADERS=a=%zz", "HEADERS: want name=value"},
		{"ENDPOINT=collector:4318", "ENDPOINT: not an http"},
		{"ENDPOINT=ftp://u:secret@h", "ENDPOINT: not an http"},
		{"CERTIFICATE=/nowhere.pem", "CERTIFICATE: open /nowhere.pem"},
		{"CLIENT_CERTIFICATE=/nowhere.pem", "CLIENT_CERTIFICATE: open /nowhere.pem"},
	} {
		_, err := telemetry.NewExporter(t.Context(), environment("OTEL_EXPORTER_OTLP_"+c.env), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("new exporter with %s: got error %v, want %q", c.env, err, c.want)
		}
	}
}

// exporter returns the exporter of an environment. to is the way to its collector, for virtual time; nil: HTTP.
func exporter(t *testing.T, to http.RoundTripper, env ...string) sdktrace.SpanExporter {
	t.Helper()
	e, err := telemetry.NewExporter(t.Context(), environment(env...), to)
	if err != nil {
		t.Fatalf("new exporter: %v", err)
	}
	return e
}

type roundTrip http.HandlerFunc

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	f(w, r)
	return w.Result(), context.Cause(r.Context())
}
