package telemetry_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/retry"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/operation/telemetry"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/ratelimit"
	"github.com/ridethrough/ridethrough/transport"
	"github.com/ridethrough/ridethrough/turn"
)

var (
	noon   = time.Date(2026, time.November, 2, 12, 0, 0, 0, time.UTC)
	parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	call   = gateway.Call{
		ID: 17, Session: "s-1", API: "openai-responses", Upstream: "work", Model: "gpt-5",
		Stream: true, Began: noon, Parent: parent,
	}
	busy = &fault.Error{Kind: fault.Overloaded, Status: 529, Message: "Overloaded: say hi"}
)

// outage is the story of a call: two tries fail, another's outcome is shared,
// and the fourth is answered.
func outage(c gateway.Call) []gateway.Event {
	at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	tried := func(n, s int, f *fault.Error, shared bool) gateway.Event {
		return gateway.Event{At: at(s + 1), Call: c, Try: retry.Try{N: n, Start: at(s), Took: time.Second, Fault: f, Shared: shared}}
	}
	retrying := func(n, s int) gateway.Event {
		return gateway.Event{At: at(s), Call: c, Event: waits(busy, n, 5*time.Second)}
	}
	return []gateway.Event{
		{At: at(0), Call: c, Event: turn.Start{}},
		tried(1, 0, busy, false), retrying(1, 1),
		tried(2, 6, busy, false), retrying(2, 7),
		tried(3, 12, busy, true), retrying(3, 13),
		tried(4, 18, nil, false),
		{At: at(19), Call: c, Event: turn.Recovered{Retries: 3, Waited: 15 * time.Second}},
		{At: at(20), Call: c, Event: turn.Sealed{Status: turn.Done}, Status: 200},
	}
}

// waits is the wait after a failed try.
func waits(f *fault.Error, tries int, delay time.Duration) turn.Retry {
	return turn.Retry{Wait: policy.Wait{Run: policy.Run{Tries: tries}, Fault: f, Verdict: policy.Verdict{Wait: delay}, Limit: 10}}
}

// fails is the end of a request without an answer.
func fails(f *fault.Error, stop policy.Stop, retries int, waited time.Duration) turn.Error {
	e := turn.NewError(f, retries, waited)
	e.Stop = stop
	return e
}

// leaves is the end of a request whose client has left after a fault; nil: after none.
func leaves(after error, retries int) turn.Error {
	return fails(&fault.Error{Kind: fault.Canceled, Message: "the client has left", Err: after}, "", retries, 0)
}

var sealed = turn.Sealed{Status: turn.Done}

// board is a gateway as the gauges see it.
type board struct{}

func (board) Waits() []gateway.Wait {
	return []gateway.Wait{{Call: call, Held: true}, {Call: gateway.Call{ID: 18, Upstream: "work"}}}
}

func (board) Upstreams() []gateway.Health {
	small := transport.FirstByte{LearnedKind: transport.LearnedKind{Model: "gpt-5"}, Size: "small", Limit: 130 * time.Second, Answers: 1200}
	large := small
	large.Size, large.Limit = "large", time.Minute
	headroom := func(credential, model, name string, used float64) ratelimit.Headroom {
		return ratelimit.Headroom{Key: ratelimit.Key{Credential: credential, Model: model}, Limits: []ratelimit.Limit{{Name: name, Used: used}}}
	}
	return []gateway.Health{
		{Name: "work", Learned: []transport.FirstByte{small, large}, Limits: []ratelimit.Headroom{
			headroom("a", "gpt-5", "tokens", 0.25), headroom("b", "gpt-5", "tokens", 0.75), headroom("b", "", "5h", 1),
		}},
		{Name: "spare"},
	}
}

func watching(t *testing.T, c telemetry.Config, events ...gateway.Event) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.New(t.Context(), c)
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	for _, e := range events {
		tel.Watch(&e)
	}
	return tel
}

func TestMetrics_OfDetachedAnswers(t *testing.T) {
	tel := watching(t, telemetry.Config{}, gateway.Event{Call: call, Detached: true}, gateway.Event{Call: call, Replayed: 1}, gateway.Event{Call: call, Replayed: 2}, gateway.Event{Call: call, Resent: true}, gateway.Event{Call: call, Queued: &ratelimit.Place{}}, gateway.Event{Call: call, Admitted: 2 * time.Second})
	for name, want := range map[string]string{"detached_total": "1", "replayed_total": "2", "resent_total": "1", "queued_total": "1"} {
		w := httptest.NewRecorder()
		tel.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if line := "ridethrough_" + name + `{face="gateway",model="gpt-5",upstream="work"} ` + want + "\n"; !strings.Contains(w.Body.String(), line) {
			t.Errorf("metrics lack %q", line)
		}
	}
}

func TestMetrics_OfCompletedAnswers(t *testing.T) {
	tel := watching(t, telemetry.Config{},
		gateway.Event{Call: call, Completed: gateway.Completed{Again: 2, Discarded: 40}},
		gateway.Event{Call: call, Completed: gateway.Completed{Again: 1, Discarded: 2, Text: true}},
		gateway.Event{Call: call, Completed: gateway.Completed{Again: 1, Text: true, Unjoined: true}})
	for name, want := range map[string]string{"completed_total": "2", "seam_missing_total": "1", "discarded_tokens_total": "42"} {
		w := httptest.NewRecorder()
		tel.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if line := "ridethrough_" + name + `{face="gateway",model="gpt-5",upstream="work"} ` + want + "\n"; !strings.Contains(w.Body.String(), line) {
			t.Errorf("metrics lack %q", line)
		}
	}
}

func TestMetrics_OfAnOutage(t *testing.T) {
	tel := watching(t, telemetry.Config{}, outage(call)...)
	tel.Show(board{}, nil)
	want := `
# HELP ridethrough_held_requests Waiting requests whose client gets keepalives.
# TYPE ridethrough_held_requests gauge
ridethrough_held_requests{face="gateway",upstream="spare"} 0
ridethrough_held_requests{face="gateway",upstream="work"} 1
# HELP ridethrough_recovered_total Requests answered after a failed try.
# TYPE ridethrough_recovered_total counter
ridethrough_recovered_total{face="gateway",model="gpt-5",upstream="work"} 1
# HELP ridethrough_retries_total Retries, by kind of the preceding fault.
# TYPE ridethrough_retries_total counter
ridethrough_retries_total{face="gateway",kind="overloaded",model="gpt-5",upstream="work"} 3
# HELP ridethrough_shared_tries_total Tries that were not sent because they shared the outcome of another request.
# TYPE ridethrough_shared_tries_total counter
ridethrough_shared_tries_total{face="gateway",kind="overloaded",model="gpt-5",upstream="work"} 1
# HELP ridethrough_tries_total Requests sent to the upstream, by kind of fault; none: answered.
# TYPE ridethrough_tries_total counter
ridethrough_tries_total{face="gateway",kind="none",model="gpt-5",upstream="work"} 1
ridethrough_tries_total{face="gateway",kind="overloaded",model="gpt-5",upstream="work"} 2
# HELP ridethrough_waiting_requests Requests waiting for their next try.
# TYPE ridethrough_waiting_requests gauge
ridethrough_waiting_requests{face="gateway",upstream="spare"} 0
ridethrough_waiting_requests{face="gateway",upstream="work"} 2
`
	names := []string{
		"ridethrough_held_requests", "ridethrough_recovered_total", "ridethrough_retries_total",
		"ridethrough_shared_tries_total", "ridethrough_tries_total", "ridethrough_waiting_requests",
	}
	if err := testutil.GatherAndCompare(scraped(t, tel), strings.NewReader(want), names...); err != nil {
		t.Errorf("gather and compare: %v", err)
	}
	for name, sum := range map[string]string{"wait_seconds": "15", "time_to_first_content_seconds": "19"} {
		w := httptest.NewRecorder()
		tel.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if line := "ridethrough_" + name + `_sum{face="gateway",upstream="work"} ` + sum + "\n"; !strings.Contains(w.Body.String(), line) {
			t.Errorf("no %q", line)
		}
	}
}

// TestMetrics_OfAModelThatFails is about three failed tries of one model beside answers of another.
func TestMetrics_OfAModelThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := history.Open("", slog.New(slog.DiscardHandler))
		tel := watching(t, telemetry.Config{})
		tel.Show(board{}, h)
		tries := func(model string, n int, f *fault.Error) {
			for range n {
				h.Watch(&gateway.Event{At: time.Now(), Call: gateway.Call{ID: 1, Upstream: "work", Model: model}, Try: retry.Try{N: 1, Start: time.Now(), Fault: f}})
			}
		}
		check := func(when, model string, outage, degraded int) {
			t.Helper()
			w := httptest.NewRecorder()
			tel.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
			for _, line := range []string{fmt.Sprintf("upstream_outage{face=\"gateway\",upstream=\"work\"} %d\n", outage), fmt.Sprintf("upstream_degraded{face=\"gateway\",upstream=\"work\"} %d\n", degraded), model} {
				if !strings.Contains(w.Body.String(), "\nridethrough_"+line) {
					t.Errorf("metrics %s lack %q", when, line)
				}
			}
			if fails := strings.Contains(w.Body.String(), "\nridethrough_model_outage{"); fails != (model != "") {
				t.Errorf("metrics %s: a model is named: %t, want %t", when, fails, model != "")
			}
		}
		tries("large", 3, busy)
		check("after three failures", `model_outage{face="gateway",model="large",upstream="work"} 1`, 1, 0)
		tries("small", 6, nil)
		check("after six answers of another model", `model_outage{face="gateway",model="large",upstream="work"} 1`, 0, 1)
		tries("large", 1, nil)
		check("when the model answers again", "", 0, 0)
	})
}

func TestMetrics_OfSilence(t *testing.T) {
	silent := func(code string) gateway.Event {
		return gateway.Event{At: noon, Call: call, Try: retry.Try{N: 1, Start: noon, Took: time.Minute, Fault: &fault.Error{Kind: fault.Timeout, Code: code}}}
	}
	tel := watching(t, telemetry.Config{}, silent(fault.Silence), silent(fault.SilentTry), silent(fault.SilentTry), silent(""))
	tel.Show(board{}, nil)
	want := `
# HELP ridethrough_first_byte_limit_seconds The learned limit on the first byte of an answer, the longest by size of the request.
# TYPE ridethrough_first_byte_limit_seconds gauge
ridethrough_first_byte_limit_seconds{face="gateway",model="gpt-5",upstream="work"} 130
# HELP ridethrough_silent_tries_total Tries that ended because nothing of an answer came in time.
# TYPE ridethrough_silent_tries_total counter
ridethrough_silent_tries_total{face="gateway",model="gpt-5",upstream="work"} 3
`
	if err := testutil.GatherAndCompare(scraped(t, tel), strings.NewReader(want), "ridethrough_first_byte_limit_seconds", "ridethrough_silent_tries_total"); err != nil {
		t.Errorf("gather and compare: %v", err)
	}
}

func TestMetrics_OfLimits(t *testing.T) {
	tel := watching(t, telemetry.Config{})
	tel.Show(board{}, nil)
	want := `
# HELP ridethrough_ratelimit_remaining_ratio The share that is left of a limit that the upstream states, from 0 to 1, the least of all credentials.
# TYPE ridethrough_ratelimit_remaining_ratio gauge
ridethrough_ratelimit_remaining_ratio{face="gateway",limit="5h",model="",upstream="work"} 0
ridethrough_ratelimit_remaining_ratio{face="gateway",limit="tokens",model="gpt-5",upstream="work"} 0.25
`
	if err := testutil.GatherAndCompare(scraped(t, tel), strings.NewReader(want), "ridethrough_ratelimit_remaining_ratio"); err != nil {
		t.Errorf("gather and compare: %v", err)
	}
}

func TestMetrics_NamesPassLint(t *testing.T) {
	failed := gateway.Event{Call: call, Event: fails(busy, policy.Exhausted, 0, time.Second)}
	broke := gateway.Event{Call: call, Event: fails(busy, policy.Committed, 0, 0)}
	tel := watching(t, telemetry.Config{Version: "v1"}, append(outage(call), failed, broke,
		gateway.Event{Call: call, Event: leaves(nil, 0)}, gateway.Event{Call: call, Event: turn.Switched{}},
		gateway.Event{Call: call, Try: retry.Try{N: 1, Fault: &fault.Error{Kind: fault.Timeout, Code: fault.Silence}}})...)
	tel.Show(board{}, nil)
	problems, err := testutil.GatherAndLint(scraped(t, tel))
	if err != nil || len(problems) > 0 {
		t.Errorf("lint of the metrics: %v, %v, want no problems", problems, err)
	}
	families, err := scraped(t, tel).Gather()
	if err != nil {
		t.Fatalf("gather: %v", err)
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "ridethrough_") {
			t.Errorf("metric %s, want the prefix ridethrough_", f.GetName())
		}
		for _, l := range f.GetMetric()[0].GetLabel() {
			if name := l.GetName(); !strings.Contains(" face upstream model kind limit ", " "+name+" ") && f.GetName() != "ridethrough_build_info" {
				t.Errorf("%s has the label %s", f.GetName(), name)
			}
		}
	}
	if len(families) != 20 {
		t.Errorf("%d metric families, want 20", len(families))
	}
}

func TestMetrics_SeriesAreBounded(t *testing.T) {
	tel := watching(t, telemetry.Config{})
	for i := range 1000 {
		tel.Watch(&gateway.Event{Event: turn.Start{}, Call: gateway.Call{Upstream: "work", Model: fmt.Sprintf("%s%d\xff", strings.Repeat("m", i%100), i)}})
	}
	tel.Watch(&gateway.Event{Event: turn.Start{}, Call: gateway.Call{Upstream: "work", Model: "other"}})
	n, err := testutil.GatherAndCount(scraped(t, tel), "ridethrough_requests_total")
	if n != 51 || err != nil {
		t.Errorf("%d series for 1000 models, %v", n, err)
	}
	want := "# HELP ridethrough_requests_total Requests received.\n# TYPE ridethrough_requests_total counter\n"
	if err := testutil.GatherAndCompare(scraped(t, tel), strings.NewReader(want), "ridethrough_requests_total"); !strings.Contains(err.Error(), `{face="gateway",model="other",upstream="work"} 951`) {
		t.Errorf("gather and compare: %v", err)
	}
}

func TestTelemetry_IsSafeForConcurrentUse(t *testing.T) {
	tel := watching(t, telemetry.Config{Spans: tracetest.NewSpanRecorder(), Log: slog.New(slog.DiscardHandler)})
	tel.Show(board{}, nil)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			c := call
			c.ID, c.Model = int64(i), fmt.Sprint("m", i)
			for _, e := range outage(c) {
				tel.Watch(&e)
			}
			tel.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		})
	}
	all.Wait()
	if n, err := testutil.GatherAndCount(scraped(t, tel), "ridethrough_recovered_total"); n != 20 || err != nil {
		t.Errorf("recovered_total has %d series, %v, want 20", n, err)
	}
}

// scraped returns what Prometheus' own reader makes of the metrics.
func scraped(t *testing.T, tel *telemetry.Telemetry) prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		w := httptest.NewRecorder()
		tel.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		parser := expfmt.NewTextParser(model.LegacyValidation)
		families, err := parser.TextToMetricFamilies(w.Body)
		if err != nil {
			t.Errorf("metrics: %v", err)
		}
		return slices.SortedFunc(maps.Values(families), func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) }), err
	})
}

// spansOf returns the spans of a story.
func spansOf(t *testing.T, events ...gateway.Event) tracetest.SpanStubs {
	t.Helper()
	kept := tracetest.NewSpanRecorder()
	watching(t, telemetry.Config{Spans: kept, Version: "v1"}, events...)
	return tracetest.SpanStubsFromReadOnlySpans(kept.Ended())
}

// attributes writes a span's attributes, in the order in which they were set.
func attributes(s tracetest.SpanStub) string {
	var all []string
	for _, a := range s.Attributes {
		all = append(all, fmt.Sprintf("%s=%s", a.Key, a.Value.String()))
	}
	return strings.Join(all, " ")
}

func TestTraces_TriesAreChildrenOfTheCall(t *testing.T) {
	spans := spansOf(t, outage(call)...)
	if len(spans) != 4 {
		t.Fatalf("%d spans: the call and three requests that were sent", len(spans))
	}
	root := spans[3]
	if root.Name != "chat gpt-5" || root.Parent.SpanID().String() != "00f067aa0ba902b7" || root.SpanContext.TraceID().String() != "4bf92f3577b34da6a3ce929d0e0e4736" {
		t.Errorf("%s, child of %s", root.Name, root.Parent.SpanID())
	}
	if !root.StartTime.Equal(noon) || !root.EndTime.Equal(noon.Add(20*time.Second)) {
		t.Errorf("from %v to %v", root.StartTime, root.EndTime)
	}
	want := "gen_ai.operation.name=chat gen_ai.provider.name=openai gen_ai.request.stream=true ridethrough.request=17 ridethrough.upstream=work " +
		"gen_ai.request.model=gpt-5 gen_ai.conversation.id=s-1 gen_ai.response.time_to_first_chunk=19 ridethrough.retries=3 ridethrough.waited=15 http.response.status_code=200"
	if got := attributes(root); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	for i, want := range []string{
		"ridethrough.upstream=work gen_ai.request.model=gpt-5 http.request.method=POST error.type=overloaded http.response.status_code=529",
		"ridethrough.upstream=work gen_ai.request.model=gpt-5 http.request.method=POST http.request.resend_count=1 error.type=overloaded http.response.status_code=529",
		"ridethrough.upstream=work gen_ai.request.model=gpt-5 http.request.method=POST http.request.resend_count=3",
	} {
		if got := attributes(spans[i]); got != want || spans[i].Parent.SpanID() != root.SpanContext.SpanID() {
			t.Errorf("try %d: %s", i, got)
		}
	}
	if s := spans[1]; !s.StartTime.Equal(noon.Add(6*time.Second)) || !s.EndTime.Equal(noon.Add(7*time.Second)) {
		t.Errorf("a try from %v to %v", s.StartTime, s.EndTime)
	}
}

func TestTraces_FailuresHaveStatusAndKind(t *testing.T) {
	gemini := gateway.Call{ID: 1, API: "gemini", Upstream: "g", Began: noon}
	for _, c := range []struct {
		event gateway.Event
		want  string
	}{
		{gateway.Event{Event: fails(busy, policy.Exhausted, 3, time.Minute)}, "ridethrough.retries=3 ridethrough.waited=60 error.type=overloaded http.response.status_code=529"},
		{gateway.Event{Event: leaves(nil, 0)}, "error.type=canceled"},
		{gateway.Event{Event: turn.Switched{From: "a", To: "g"}}, "ridethrough.upstream=g"},
		{gateway.Event{Joined: 7}, "ridethrough.upstream=g"},
	} {
		c.event.Call = gemini
		spans := spansOf(t, gateway.Event{Event: turn.Start{}, Call: gemini}, c.event, gateway.Event{Event: sealed, Call: gemini, At: noon.Add(1)})
		if len(spans) != 1 || spans[0].Name != "generate_content" || !strings.HasSuffix(attributes(spans[0]), c.want) {
			t.Errorf("%+v: spans %+v, want one that ends in %s", c.event.Event, spans, c.want)
		}
	}
}

// TestTraces_NameTheModelOfTheFallback is about a request that fails over to another model of its upstream.
func TestTraces_NameTheModelOfTheFallback(t *testing.T) {
	small := call
	small.Model = "gpt-5-mini"
	spans := spansOf(t, gateway.Event{Event: turn.Start{}, Call: call},
		gateway.Event{Event: turn.Switched{From: "work", To: "work/gpt-5-mini"}, Call: small},
		gateway.Event{Event: sealed, Call: small, At: noon.Add(1)})
	if got := attributes(spans[0]); !strings.Contains(got, "ridethrough.upstream=work gen_ai.request.model=gpt-5-mini ") {
		t.Errorf("attributes %s, want the upstream work and the model gpt-5-mini", got)
	}
}

func TestTraces_OmitProviderMessages(t *testing.T) {
	spans := spansOf(t, append(outage(call), gateway.Event{Event: turn.Start{}, Call: call},
		gateway.Event{Call: call, Event: fails(busy, policy.Exhausted, 0, 0)}, gateway.Event{Event: sealed, Call: call})...)
	if text := fmt.Sprintf("%+v", spans); strings.Contains(text, "say hi") {
		t.Errorf("spans contain the provider's message: %s", text)
	}
}

func TestTraces_ExporterFollowsTheEnvironment(t *testing.T) {
	for _, c := range []struct{ env, err string }{
		{"", ""},
		{"OTEL_SERVICE_NAME=x", ""},
		{"OTEL_TRACES_EXPORTER=none OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", ""},
		{"OTEL_SDK_DISABLED=true OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", ""},
		{"OTEL_TRACES_EXPORTER=zipkin", `no exporter "zipkin"`},
		{"OTEL_TRACES_EXPORTER=otlp OTEL_EXPORTER_OTLP_PROTOCOL=grpc", `"grpc" is not supported`},
	} {
		env := func(name string) string {
			for pair := range strings.FieldsSeq(c.env) {
				if k, v, _ := strings.Cut(pair, "="); k == name {
					return v
				}
			}
			return ""
		}
		tel, err := telemetry.New(t.Context(), telemetry.Config{Env: env})
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("New with %s: got error %v, want %q", c.env, err, c.err)
		}
		tel.Watch(&gateway.Event{Call: call, Event: waits(busy, 1, 0)}) // an error leaves the rest in order
		if err := tel.Close(t.Context()); err != nil {
			t.Errorf("Close with %s: got error %v, want none", c.env, err)
		}
	}
}

// lines returns what is logged of events, one text for each line.
func lines(t *testing.T, events ...gateway.Event) []string {
	t.Helper()
	var out bytes.Buffer
	watching(t, telemetry.Config{Log: slog.New(slog.NewJSONHandler(&out, nil))}, events...)
	var all []string
	for line := range strings.Lines(out.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("unmarshal: %v", err)
		}
		delete(m, "time")
		text, _ := json.Marshal(m)
		all = append(all, string(text))
	}
	return all
}

func TestLog_OneLinePerTransition(t *testing.T) {
	at := gateway.Call{ID: 17, Upstream: "work", Model: "gpt-5"}
	stop := func(s policy.Stop, f *fault.Error) gateway.Event {
		return gateway.Event{At: noon, Call: at, Event: fails(f, s, 2, 22*time.Second)}
	}
	far := &fault.Error{Kind: fault.RateLimited, Status: 429, Message: "slow", Wait: 3 * time.Hour}
	silent := &fault.Error{Kind: fault.Timeout, Code: fault.Silence, Message: "no first byte in 2m10s, the learned limit"}
	window := &ratelimit.Crossing{Key: ratelimit.Key{Upstream: "work"}, Level: 0.95, Limit: ratelimit.Limit{Name: "5h", Used: 0.961, Reset: noon.Add(2 * time.Hour)}}
	gone := &fault.Error{Kind: fault.Unavailable, Err: errors.New("refused sk-ant-api03-aaaaaaaaaaaa")}
	for _, c := range []struct {
		event gateway.Event
		want  string
	}{
		{gateway.Event{Event: turn.Start{}}, ""},
		{gateway.Event{Try: retry.Try{N: 1}}, ""},
		{gateway.Event{Event: sealed}, ""},
		{gateway.Event{Event: sealed, Note: api.AtLimit}, `"level":"WARN","model":"gpt-5","msg":"answer is less than it looks","note":"at-limit","request":17,"upstream":"work","why":"probably cut at max_output_tokens, though it says completed"`},
		{gateway.Event{Event: leaves(nil, 0)}, ""},
		{stop("", busy), ""},
		{gateway.Event{Event: leaves(busy, 1)}, `"error":"HTTP 529: Overloaded: say hi","kind":"overloaded","level":"INFO","model":"gpt-5","msg":"client left","request":17,"retries":1`},
		{gateway.Event{Event: leaves(busy, 0)}, `"client left","request":17,"retries":0`},
		{gateway.Event{Detached: true}, `"level":"INFO","model":"gpt-5","msg":"client left, answer is read on"`},
		{gateway.Event{Completed: gateway.Completed{Again: 2, Discarded: 40}}, `"again":2,"discardedTokens":40,"level":"INFO","model":"gpt-5","msg":"completed an answer that had broken off"`},
		{gateway.Event{Completed: gateway.Completed{Again: 2, Unjoined: true}}, `"level":"WARN","model":"gpt-5","msg":"answer broke off, and what came then did not continue its text"`},
		{gateway.Event{Unshared: &gateway.Unshared{Err: errors.New("no room")}}, `"error":"no room","level":"WARN","model":"gpt-5","msg":"answer for a client that has left is at this gateway only"`},
		{gateway.Event{Unshared: &gateway.Unshared{Replica: "gw-2"}}, `"level":"WARN","model":"gpt-5","msg":"sent again, since the answer that an identical request had left is at another gateway","replica":"gw-2"`},
		{gateway.Event{Replayed: 7}, `"level":"INFO","model":"gpt-5","msg":"given the answer that an identical request had left","replayed":7`},
		{gateway.Event{Queued: &ratelimit.Place{Ahead: 3, In: 12 * time.Second, Limit: ratelimit.Limit{Unit: ratelimit.Requests, Limit: 50}}}, `"level":"INFO","model":"gpt-5","msg":"waits for room below a limit of the upstream","request":17,"upstream":"work","why":"3 ahead, 0 of 50 requests/min left, about 12 s"`},
		{gateway.Event{Admitted: time.Minute}, ""},
		{gateway.Event{At: noon, Crossed: window}, `"level":"INFO","limit":"5h","msg":"limit of the upstream is nearly used up","reset":"2h0m0s","upstream":"work","used":"96%"`},
		{gateway.Event{Joined: 7}, `"joined":7,"level":"INFO","model":"gpt-5","msg":"joined an identical request in progress"`},
		{gateway.Event{Event: turn.Switched{From: "a", Why: "HTTP 404: no such model"}}, `"error":"HTTP 404: no such model","from":"a","level":"WARN","model":"gpt-5","msg":"failover to another upstream or model"`},
		{stop(policy.Committed, busy), `"msg":"answer broke off"`},
		{gateway.Event{Event: waits(busy, 1, 5*time.Second)}, `{"attempt":1,"delay":"5s","error":"HTTP 529: Overloaded: say hi","kind":"overloaded","level":"WARN"`},
		{gateway.Event{Event: waits(gone, 1, 0)}, `"do":"check that the provider is reachable, or set another address with --upstream work=URL","error":"refused ***"`},
		{gateway.Event{Event: waits(silent, 1, 0)}, `"do":"if the model usually takes longer, set limits.first-byte of the upstream work, or after of its fallback","error":"no first byte in 2m10s, the learned limit"`},
		{stop(policy.GivenUp, busy), `"level":"WARN","model":"gpt-5","msg":"given up by command"`},
		{stop(policy.Final, &fault.Error{Kind: fault.Auth, Status: 401}), `"level":"INFO","model":"gpt-5","msg":"request refused","request":17,"status":401`},
		{stop(policy.Exhausted, busy), `"do":"send the request again later, or choose a longer --policy"`},
		{stop(policy.RetryAfterTooLong, far), `"do":"send the request again in 3h, as the provider asks"`},
	} {
		c.event.Call = at
		got := lines(t, c.event)
		if c.want == "" && len(got) != 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
			t.Errorf("lines of %+v: %q, want %s", c.event, got, c.want)
		}
	}
	if got := lines(t, outage(call)...); len(got) != 4 || !strings.Contains(got[3], `"provider recovered","request":17,"retries":3,"session":"s-1"`) {
		t.Errorf("an outage: %q", got)
	}
}

func BenchmarkWatch_AnsweredAtOnce(b *testing.B) {
	tel, err := telemetry.New(b.Context(), telemetry.Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatalf("new: %v", err)
	}
	events := []gateway.Event{
		{Event: turn.Start{}, Call: call},
		{Call: call, Try: retry.Try{N: 1, Start: noon, Took: time.Second}},
		{Event: sealed, Call: call, Status: 200},
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, e := range events {
			tel.Watch(&e)
		}
	}
}

func TestTelemetry_CountsDroppedLogLines(t *testing.T) {
	dropped := int64(7)
	tel, err := telemetry.New(t.Context(), telemetry.Config{Dropped: func() int64 { return dropped }})
	if err != nil {
		t.Fatalf("New: got %v, want no error", err)
	}
	for _, want := range []int64{7, 9} {
		dropped = want
		const name = "ridethrough_log_lines_dropped_total"
		text := fmt.Sprintf("# HELP %[1]s Log lines dropped because the log could not be written in time.\n# TYPE %[1]s counter\n%[1]s %[2]d\n", name, want)
		if err := testutil.GatherAndCompare(scraped(t, tel), strings.NewReader(text), name); err != nil {
			t.Errorf("metric with %d dropped lines: %v", want, err)
		}
	}
}
