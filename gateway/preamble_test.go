package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

const preambleType = "application/vnd.ridethrough.preamble"

func TestPreamble_ComesBeforeTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), simulator.Script{Replies: replies(t, "529,529,401")})
		resp, text, err := w.get("/v1/messages", claude, "X-Ridethrough-Accept", preambleType)
		if err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != preambleType || !strings.HasPrefix(resp.Header.Get("X-Ridethrough-Call"), "1-") {
			t.Fatalf("response %v, %v; want a preamble with the call's secret", resp, err)
		}
		var got []string
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				got = append(got, line[:min(len(line), 70)])
			}
		}
		want := []string{`{"type":"provider-retry",`, `{"type":"provider-retry",`, `{"type":"answer","status":401,`, `{"type":"error",`}
		if len(got) != len(want) {
			t.Fatalf("body\n%s\nwant %d lines", text, len(want))
		}
		for i := range want {
			if !strings.HasPrefix(got[i], want[i]) {
				t.Errorf("line %d: %s; want %s…", i, got[i], want[i])
			}
		}
	})
}

func TestPreamble_AnswerWithoutAWaitHasNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), simulator.Script{})
		resp, _, err := w.get("/v1/messages", claude, "X-Ridethrough-Accept", preambleType)
		if err != nil || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") || resp.Header.Get("X-Ridethrough-Call") != "1" {
			t.Errorf("response %v, %v; want the plain answer to call 1", resp, err)
		}
	})
}

// A provider has no use for what gateways tell each other. What is behind an address may change.
func TestPreamble_IsAskedOfGatewaysOnly(t *testing.T) {
	var asked bool
	answer := http.Response{}
	g, err := gateway.New(gateway.Config{Upstreams: everything(address("provider.test")), Base: roundTrip(func(r *http.Request) (*http.Response, error) {
		_ = r.Body.Close()
		asked = r.Header["X-Ridethrough-Accept"] != nil
		resp := answer
		resp.Body = io.NopCloser(strings.NewReader(`{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`))
		return &resp, nil
	})})
	if err != nil {
		t.Fatalf("new gateway: %v", err)
	}
	plain, ours := http.Header{"Content-Type": {"application/json"}}, http.Header{"Content-Type": {"application/json"}, "X-Ridethrough-Call": {"1"}}
	for i, step := range []struct {
		asked  bool
		status int
		header http.Header
	}{
		{true, 401, plain}, // says nothing: it may be that of a proxy before a gateway
		{true, 200, plain},
		{false, 401, plain},
		{false, 200, ours},
		{true, 503, plain},
		{true, 200, ours},
		{true, 200, plain},
		{false, 200, plain},
	} {
		answer.StatusCode, answer.Header = step.status, step.header.Clone()
		g.ServeHTTP(&recorder{header: http.Header{}}, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(`{"model":"m"}`)))
		if asked != step.asked {
			t.Errorf("request %d, after %+v: asks for a preamble: %v, want %v", i+1, step, asked, step.asked)
		}
	}
}

func TestCommand_NeedsTheSecretOfTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), outage(time.Minute))
		resp, err := w.ask(t.Context(), "/v1/messages", claude, "X-Ridethrough-Accept", preambleType)
		if err != nil {
			t.Fatalf("ask: %v", err)
		}
		defer resp.Body.Close()
		call := resp.Header.Get("X-Ridethrough-Call")
		for _, tt := range []struct {
			call, command string
			want          int
		}{{"1", "now", 404}, {"1-", "now", 404}, {"1-x", "now", 404}, {"2" + call[1:], "now", 404}, {call, "give-up", 404}, {call, "now", 204}} {
			got, _, err := w.get("/v1/messages", "", "X-Ridethrough-Command", tt.command, "X-Ridethrough-Call", tt.call)
			if err != nil || got.StatusCode != tt.want {
				t.Errorf("command %s for %q: %v, %v; want %d", tt.command, tt.call, got.StatusCode, err, tt.want)
			}
		}
		synctest.Wait()
		if got := w.outcomes(); got != "529 529" {
			t.Errorf("the provider's outcomes are %q; want a second try after the command", got)
		}
	})
}

func TestMaxWait_BoundsThePolicy(t *testing.T) {
	for header, want := range map[string]struct {
		status, tries int
		text          string
	}{
		"1m":   {200, 4, "ridethrough: gave up after 3 retries in 45s: HTTP 529: Overloaded (the request allows 1m of waiting)"},
		"100h": {200, 22, "ridethrough: gave up after 21 retries"},
		"0s":   {400, 0, "X-Ridethrough-Max-Wait: 0s; want a time above 0, such as 10m"},
		"ten":  {400, 0, "X-Ridethrough-Max-Wait: ten; want a time above 0, such as 10m"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Patient(), outage(9*time.Hour))
			resp, text, err := w.get("/v1/messages", claude, "X-Ridethrough-Max-Wait", header)
			if tries := len(w.provider.Requests()); err != nil || resp.StatusCode != want.status || tries != want.tries || !strings.Contains(text, want.text) {
				t.Errorf("max wait %s: status %d, %d tries, %v\n%s\nwant status %d, %d tries and %q", header, resp.StatusCode, tries, err, text, want.status, want.tries, want.text)
			}
		})
	}
}

// A client that states how long it would wait gets the limit that ended the waiting sooner, also when it asks again.
func TestMaxWait_AboveThePolicyNamesTheLimit(t *testing.T) {
	for name, tt := range map[string]struct {
		limit func(*policy.Policy)
		reply string
		want  []string
	}{
		"max-total-wait": {func(p *policy.Policy) { p.MaxWait = 12 * time.Second }, "529", []string{
			"gave up after 1 retry in 5s: HTTP 529: Overloaded (the gateway's policy allows 12s of waiting)",
			"the same request has just been given up: HTTP 529: Overloaded (the gateway's policy allows 12s of waiting)",
		}},
		"the first wait": {func(p *policy.Policy) { p.MaxWait = 3 * time.Second }, "529", []string{
			"ridethrough: HTTP 529: Overloaded (the gateway's policy allows 3s of waiting)",
		}},
		"retries": {func(p *policy.Policy) { p.Retries = 2 }, "529", []string{
			"gave up after 2 retries in 15s: HTTP 529: Overloaded (the gateway's policy allows 2 retries)",
		}},
		"max-retry-after": {func(p *policy.Policy) { p.MaxRetryAfter = time.Minute }, "429;retry-after=600", []string{
			"(the gateway's policy waits 1m at most where the provider asks for a wait)",
		}},
		"quota": {func(p *policy.Policy) { p.Quota.Wait = policy.QuotaStop }, "window:30m", []string{
			"(the quota of the gateway's policy allows no such wait)",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := policy.Patient()
				tt.limit(&p)
				w := newHarness(t, p, simulator.Script{Outages: []simulator.Outage{{To: 9 * time.Hour, Reply: replies(t, tt.reply)[0]}}})
				for _, want := range tt.want {
					if _, text, err := w.get("/v1/messages", claude, "X-Ridethrough-Max-Wait", "1h"); err != nil || !strings.Contains(text, want) {
						t.Errorf("%s: got %s, %v; want %q", name, text, err, want)
					}
				}
				if _, text, err := w.get("/v1/messages", claude); err != nil || strings.Contains(text, "policy") {
					t.Errorf("%s, a client that states nothing: got %s, %v; want no limit named", name, text, err)
				}
			})
		})
	}
}

// TestMaxWait_EndIsNotRemembered is about a client that asks again with a new budget: it is its own decision.
func TestMaxWait_EndIsNotRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), outage(50*time.Second))
		for range 2 {
			_, _, _ = w.get("/v1/messages", claude, "X-Ridethrough-Max-Wait", "1m")
		}
		if got := w.outcomes(); got != "529 529 529 529 529 ok" {
			t.Errorf("the provider's outcomes are %q; want the second request to wait anew", got)
		}
	})
}

func TestStop_IsAHeaderOfTheLastWord(t *testing.T) {
	once := policy.Policy{Retries: 1, Backoff: policy.Backoff{Steps: []time.Duration{time.Second}}}
	for script, want := range map[string]string{"529,529": "exhausted", "401": "final", "ok": ""} {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, once, simulator.Script{Replies: replies(t, script)})
			resp, _, _ := w.get("/v1/messages", whole(claude))
			if got := resp.Header.Get("X-Ridethrough-Stop"); got != want {
				t.Errorf("%s: X-Ridethrough-Stop is %q; want %q", script, got, want)
			}
		})
	}
}

// TestLoop_ByAnotherNameEndsAtOnce is about an upstream that leads back to the gateway.
func TestLoop_ByAnotherNameEndsAtOnce(t *testing.T) {
	for _, gateways := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			var pipes []*simulator.Pipe
			for range gateways {
				pipes = append(pipes, simulator.NewPipe())
			}
			served := make([]*harness, gateways)
			for i := range gateways {
				to := &http.Transport{DialContext: pipes[(i+1)%gateways].DialContext}
				served[i] = newHarnessWith(t, gateway.Config{Upstreams: everything(address("provider.test")), Policy: policy.Patient(), Base: to})
				server := &http.Server{Handler: served[i].gateway}
				done := make(chan struct{})
				go func() { _ = server.Serve(pipes[i]); close(done) }()
				t.Cleanup(func() { to.CloseIdleConnections(); _ = server.Close(); <-done; time.Sleep(time.Second) })
			}
			begun := time.Now()
			resp, err := served[0].ask(t.Context(), "/v1/messages", claude)
			if err != nil {
				t.Fatalf("ask: %v", err)
			}
			defer resp.Body.Close()
			text, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != http.StatusLoopDetected || !strings.Contains(string(text), "leads back to this gateway") || time.Since(begun) > time.Second {
				t.Errorf("%d gateways: after %v: %s\n%s\nwant 508 at once", gateways, time.Since(begun), resp.Status, text)
			}
			synctest.Wait()
			served[0].failure()
		})
	}
}
