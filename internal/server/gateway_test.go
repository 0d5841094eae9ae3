package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/internal/operation/telemetry"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/server/live"
	"github.com/ridethrough/ridethrough/policy"
)

// gatewayServer is a server in front of a gateway in front of a provider.
type gatewayServer struct {
	*testServer
	provider *simulator.Provider
	spans    *tracetest.SpanRecorder
	told     *telemetry.Telemetry
}

func newGatewayServer(t *testing.T, script simulator.Script, c server.Config) *gatewayServer {
	r := &gatewayServer{provider: simulator.New(script), spans: tracetest.NewSpanRecorder()}
	t.Cleanup(func() { _ = r.provider.Close() })
	told, err := telemetry.New(t.Context(), telemetry.Config{Spans: r.spans})
	if err != nil {
		t.Fatalf("new telemetry: %v", err)
	}
	r.told = told
	t.Cleanup(func() { _ = told.Close(context.Background()) })
	c.Feed, c.Metrics = live.NewFeed(), told
	g, err := gateway.New(gateway.Config{
		Policy: policy.Patient(), Base: r.provider.Transport(),
		OnEvent: func(e gateway.Event) { told.Watch(&e); c.Feed.Watch(&e) },
	})
	if err != nil {
		t.Fatalf("new gateway: %v", err)
	}
	told.Show(g, nil)
	c.Gateway = g
	r.testServer = run(t, c)
	return r
}

// ask sends a prompt and returns a channel that gets its whole answer.
func (r *gatewayServer) ask(path, body string, headers ...string) <-chan string {
	got := make(chan string, 1)
	req, _ := http.NewRequestWithContext(r.Context(), "POST", "http://localhost"+path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	go func() {
		resp, err := r.client.Do(req)
		if err != nil {
			got <- err.Error()
			return
		}
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		got <- resp.Status + " " + string(text)
	}()
	return got
}

// below returns the answer of a path below /-/.
func (r *gatewayServer) below(method, path, body string) string {
	r.Helper()
	req, _ := http.NewRequestWithContext(r.Context(), method, "http://localhost/-/"+path, strings.NewReader(body))
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := r.client.Do(req)
	if err != nil {
		r.Fatalf("%s /-/%s: %v", method, path, err)
	}
	text, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	return resp.Status + " " + string(text)
}

const streamed = `{"model":"claude","stream":true,"messages":[{"role":"user","content":"hi"}]}`

func TestServer_OutageShowsInAllViews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newGatewayServer(t, simulator.Script{Outages: []simulator.Outage{{To: 100 * time.Second}}}, server.Config{})
		events, waits := r.read("/-/events"), r.read("/-/waits")
		defer events.close()
		defer waits.close()
		answer := r.ask("/v1/messages", streamed, "X-Claude-Code-Session-Id", "s-1")
		time.Sleep(110 * time.Second) // tries come after 0, 5, 15, 45 and 105 s
		if got := r.below("GET", "waits", ""); !strings.Contains(got, `"waits":[]`) {
			t.Errorf("the outage was over at the try of 105 s: %s", got)
		}
		if text := <-answer; !strings.Contains(text, "event: message_stop") {
			t.Errorf("%s", text)
		}
		synctest.Wait()
		if got, want := describeAll(bodies(t, events.seen())), "1 retry 0 in 5000; 2 retry 1 in 10000; 3 retry 2 in 30000; 4 retry 3 in 60000; 5 waiting 30000; 6 recovered after 4; "; got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
		var names []string
		for _, e := range waits.seen() {
			names = append(names, e.name)
		}
		if got := strings.Join(names, " "); !strings.HasPrefix(got, "snapshot wait wait") || !strings.HasSuffix(got, " gone") {
			t.Errorf("who follows the waits sees %s", got)
		}
		numbers := r.below("GET", "metrics", "")
		for _, line := range []string{
			`ridethrough_tries_total{face="gateway",kind="overloaded",model="claude",upstream="anthropic"} 4`,
			`ridethrough_tries_total{face="gateway",kind="none",model="claude",upstream="anthropic"} 1`,
			`ridethrough_recovered_total{face="gateway",model="claude",upstream="anthropic"} 1`,
			`ridethrough_wait_seconds_sum{face="gateway",upstream="anthropic"} 105`,
			`ridethrough_waiting_requests{face="gateway",upstream="anthropic"} 0`,
		} {
			if !strings.Contains(numbers, line) {
				t.Errorf("no %s", line)
			}
		}
	})
}

func TestServer_RetryNowEndsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newGatewayServer(t, simulator.Script{Outages: []simulator.Outage{{To: 50 * time.Second}}}, server.Config{})
		answer := r.ask("/v1/messages", streamed, "X-Claude-Code-Session-Id", "s-1")
		time.Sleep(60 * time.Second) // the next try is due in 45 s
		var got struct {
			Waits []struct {
				ID                                    int64
				State, Session, Upstream, Model, Kind string
				Held                                  bool
				Retries                               int
				RemainingMs                           int64
			}
		}
		_, text, _ := strings.Cut(r.below("GET", "waits", ""), "OK ")
		if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Waits) != 1 {
			t.Fatalf("%s: %v", text, err)
		}
		w := got.Waits[0]
		if w.ID != 1 || w.State != "waiting" || w.Session != "s-1" || w.Upstream != "anthropic" || w.Model != "claude" || w.Kind != "overloaded" ||
			!w.Held || w.Retries != 3 || w.RemainingMs <= 40_000 || w.RemainingMs > 46_000 {
			t.Errorf("%+v", w)
		}
		if text := r.below("GET", "upstreams/anthropic", ""); !strings.HasPrefix(text, "200 OK ") || !strings.Contains(text, `"name":"anthropic"`) {
			t.Errorf("%s", text)
		}
		if text := r.below("POST", "waits/1", `{"do":"now"}`); text != "200 OK {\"do\":\"now\"}\n" {
			t.Errorf("%s", text)
		}
		before := time.Now()
		if text := <-answer; !strings.Contains(text, "event: message_stop") || time.Since(before) > time.Second {
			t.Errorf("after %v: %s", time.Since(before), text)
		}
		if text := r.below("POST", "waits/1", `{"do":"now"}`); !strings.HasPrefix(text, "404") {
			t.Errorf("it waits no more: %s", text)
		}
	})
}

func TestRun_ShutdownEndsHeldRequestsInTheirForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newGatewayServer(t, simulator.Script{Outages: []simulator.Outage{{}}}, server.Config{})
		held := r.ask("/v1/messages", streamed)
		plain := r.ask("/v1/chat/completions", `{"model":"gpt","messages":[]}`)
		time.Sleep(20 * time.Second)
		before := time.Now()
		r.stop()
		if text := <-held; !strings.HasPrefix(text, "200 OK ") || !strings.Contains(text, "event: error") || !strings.Contains(text, "overloaded_error") {
			t.Errorf("a stream: %s", text)
		}
		if text := <-plain; !strings.HasPrefix(text, "503 ") {
			t.Errorf("no stream: %s", text)
		}
		if err := <-r.ended; err != nil || time.Since(before) > 2*time.Second {
			t.Errorf("after %v: %v", time.Since(before), err)
		}
	})
}

func TestServer_TokenReachesNoProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newGatewayServer(t, simulator.Script{}, server.Config{Token: "t0ken"})
		for _, c := range []struct{ name, value, begins string }{
			{"X-Api-Key", "sk", "401 "},
			{"X-Api-Key", "t0ken", "200 "},
			{"Authorization", "Bearer t0ken", "200 "},
		} {
			if text := <-r.ask("/v1/messages", streamed, c.name, c.value); !strings.HasPrefix(text, c.begins) {
				t.Errorf("%s %s: %s", c.name, c.value, text)
			}
		}
		for _, q := range r.provider.Requests() {
			for name, values := range q.Header {
				if strings.Contains(strings.Join(values, " "), "t0ken") {
					t.Errorf("the provider sees it in %s", name)
				}
			}
		}
		if n := len(r.provider.Requests()); n != 2 {
			t.Errorf("%d requests reach the provider", n)
		}
	})
}

func TestServer_SpansCoverAllTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newGatewayServer(t, simulator.Script{Outages: []simulator.Outage{{To: 10 * time.Second}}}, server.Config{})
		<-r.ask("/v1/messages", streamed, "Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
		synctest.Wait()
		spans := tracetest.SpanStubsFromReadOnlySpans(r.spans.Ended())
		if len(spans) != 4 {
			t.Fatalf("%d spans", len(spans))
		}
		call := spans[3]
		if call.Name != "chat claude" || call.Parent.SpanID().String() != "00f067aa0ba902b7" || call.EndTime.Sub(call.StartTime) < 15*time.Second {
			t.Errorf("%+v", call)
		}
		for _, s := range spans[:3] {
			if s.Parent.SpanID() != call.SpanContext.SpanID() || s.Name != "POST" {
				t.Errorf("%+v", s)
			}
		}
	})
}

func TestServer_ExplainsRefusalWithoutKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newGatewayServer(t, simulator.Script{Then: simulator.Status{Code: 401}}, server.Config{Token: "t0ken"})
		for _, c := range []struct {
			headers  []string
			explains bool
		}{
			{[]string{"X-Api-Key", "t0ken"}, true},
			{[]string{"X-Ridethrough-Token", "t0ken"}, true},
			{[]string{"X-Ridethrough-Token", "t0ken", "X-Api-Key", "sk"}, false},
		} {
			text := <-r.ask("/v1/messages", streamed, c.headers...)
			var body struct {
				Type  string
				Error struct{ Type, Message string }
			}
			_, object, _ := strings.Cut(text, "Unauthorized ")
			if err := json.Unmarshal([]byte(object), &body); err != nil || body.Type != "error" || body.Error.Type != "authentication_error" {
				t.Errorf("%q: %s: %v", c.headers, text, err)
			}
			if strings.Contains(text, "this gateway's token") != c.explains {
				t.Errorf("%q: %s", c.headers, text)
			}
		}
	})
}

func TestServer_InvalidBodyClosesConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, in := newGatewayServer(t, simulator.Script{}, server.Config{}).raw("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\n" +
			"Transfer-Encoding: chunked\r\n\r\nzz\r\nPOST /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n")
		answer, _ := io.ReadAll(in)
		if got := string(answer); !strings.HasPrefix(got, "HTTP/1.1 400") || strings.Count(got, "HTTP/1.1") != 1 ||
			!strings.HasSuffix(got, `the request's body cannot be read: invalid byte in chunk length"}}`) {
			t.Errorf("%s", got)
		}
	})
}

func TestServer_GivenUpBeforeFirstTrySaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newGatewayServer(t, simulator.Script{}, server.Config{})
		_ = r.below("POST", "upstreams/anthropic", `{"do":"pause"}`)
		answer := r.ask("/v1/messages", `{"model":"claude"}`)
		time.Sleep(time.Second)
		_ = r.below("POST", "waits/1", `{"do":"give-up"}`)
		if text := <-answer; !strings.HasPrefix(text, "503") || !strings.Contains(text, `"ridethrough: given up by command before it was sent"`) {
			t.Errorf("%s", text)
		}
	})
}
