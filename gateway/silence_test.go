package gateway_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// silentProvider answers nothing to the requests that arrive before a moment. It counts its requests.
type silentProvider struct {
	until time.Time
	mu    sync.Mutex
	asked []time.Time
}

func (p *silentProvider) RoundTrip(req *http.Request) (*http.Response, error) {
	now := time.Now()
	p.mu.Lock()
	p.asked = append(p.asked, now)
	silent := now.Before(p.until)
	p.mu.Unlock()
	if silent {
		<-req.Context().Done()
		return nil, context.Cause(req.Context())
	}
	resp, err := says(200, `{"type":"message","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"output_tokens":1}}`)(req)
	resp.Header.Set("Content-Type", "application/json")
	return resp, err
}

// silentUntil has it be silent from now on until a moment.
func (p *silentProvider) silentUntil(t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until = t
}

// count returns how often it was asked.
func (p *silentProvider) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

// newSilent returns a harness whose provider is silent for so long, with the gateway's usual limits.
func newSilent(t *testing.T, silent time.Duration) (*harness, *silentProvider) {
	p := &silentProvider{until: time.Now().Add(silent)}
	upstreams := everything(address("provider.test"))
	for i := range upstreams {
		upstreams[i].Limits = nil
	}
	return newHarnessWith(t, gateway.Config{Upstreams: upstreams, Policy: policy.Patient(), Base: p}), p
}

// askFor asks until there is an answer; each time the client waits for so long. It returns how often it asked.
func (w *harness) askFor(patience time.Duration, path, body string, headers ...string) (status, asked int) {
	for asked = 1; asked < 100; asked++ {
		ctx, cancel := context.WithTimeout(w.t.Context(), patience)
		resp, err := w.ask(ctx, path, body, headers...)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		cancel()
		if err == nil {
			return resp.StatusCode, asked
		}
		_ = retry.Sleep(w.t.Context(), time.Second) // as SDKs do
	}
	return 0, asked
}

func TestSilence_ResentRequestInheritsTheTimeOfTheTryBefore(t *testing.T) {
	for _, tt := range []struct {
		patience, answered time.Duration
		asked              int
	}{
		{4 * time.Minute, 10*time.Minute + 7*time.Second, 3},    // 10 min of silence, 2 s between requests, 5 s of backoff
		{199 * time.Second, 10*time.Minute + 15*time.Second, 4}, // the last try has ten seconds of its own
		{59 * time.Second, 10*time.Minute + 15*time.Second, 11},
		{11 * time.Minute, 10*time.Minute + 5*time.Second, 1}, // no re-send
	} {
		synctest.Test(t, func(t *testing.T) {
			w, p := newSilent(t, 10*time.Minute+2*time.Second)
			status, asked := w.askFor(tt.patience, "/v1/messages", whole(claude))
			if took := time.Since(w.begun); status != 200 || asked != tt.asked || took != tt.answered {
				t.Errorf("a client that waits %v got status %d after %v and %d requests, want 200 after %v and %d; the provider was asked at %v",
					tt.patience, status, took, asked, tt.answered, tt.asked, p.asked)
			}
		})
	}
}

func TestSilence_AnsweredRequestLeavesNoTimeToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, p := newSilent(t, time.Minute)
		if status, asked := w.askFor(time.Minute, "/v1/messages", whole(claude)); status != 200 || asked != 2 {
			t.Fatalf("status %d after %d requests, want 200 after 2", status, asked)
		}
		p.silentUntil(time.Now().Add(time.Minute))
		begun := time.Now()
		if _, _, err := w.get("/v1/messages", whole(claude)); err != nil || time.Since(begun) != 10*time.Minute+5*time.Second {
			t.Errorf("the same request, later, was answered after %v, %v; want after the whole limit and a backoff", time.Since(begun), err)
		}
	})
}

func TestSilence_FewAreSentIntoIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, p := newSilent(t, 40*time.Minute)
		var all sync.WaitGroup
		ask := func() {
			if resp, _, err := w.get("/v1/messages", claude); err != nil || resp.StatusCode != 200 {
				t.Errorf("a request through 40 min of silence: %v, %v", resp, err)
			}
		}
		for range 20 {
			all.Go(ask)
		}
		time.Sleep(11 * time.Minute) // the first limit of ten minutes is over
		synctest.Wait()
		known := p.count()
		for range 20 {
			all.Go(ask)
		}
		time.Sleep(9 * time.Minute)
		synctest.Wait()
		if n := p.count() - known; n < 1 || n > 10 {
			t.Errorf("%d of 40 requests were sent into the known silence in nine minutes, want one a minute", n)
		}
		all.Wait()
		if late := time.Since(p.until); late > 10*time.Minute {
			t.Errorf("the last was answered %v after the upstream was back, want within the limit on the first byte", late)
		}
	})
}

// opensOnly answers with the beginning of an answer at once and its content after a time.
type opensOnly struct{ content time.Duration }

func (o opensOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	r, w := io.Pipe()
	go func() {
		_, _ = io.WriteString(w, messageStart)
		for end := time.Now().Add(o.content); time.Now().Before(end); {
			_ = retry.Sleep(req.Context(), time.Second)
			_, _ = io.WriteString(w, "event: ping\ndata: {\"type\":\"ping\"}\n\n")
			if req.Context().Err() != nil {
				_ = w.CloseWithError(req.Context().Err())
				return
			}
		}
		_, _ = io.WriteString(w, messageHi+messageStop)
		_ = w.Close()
	}()
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: r}, nil
}

func TestSilence_TryEndsWhenTheFallbackIsDue(t *testing.T) {
	silent := &silentProvider{until: time.Now().AddDate(100, 0, 0)}
	onlyOverload := policy.Patient()
	onlyOverload.RetryOn = fault.Set(0).With(fault.Overloaded)
	tests := []struct {
		name   string
		first  http.RoundTripper
		body   string
		policy policy.Policy
		want   time.Duration
		by     string
	}{
		{"never answered", silent, claude, policy.Patient(), 10 * time.Second, "second"},
		{"never answered, not retried", silent, claude, onlyOverload, 10 * time.Second, "second"},
		{"never answered, not streamed", silent, whole(claude), policy.Patient(), 90 * time.Second, "second"},
		{"first token after 20 s", opensOnly{20 * time.Second}, claude, policy.Patient(), 10 * time.Second, "second"},
		{"first token after 9 s", opensOnly{9 * time.Second}, claude, policy.Patient(), 9 * time.Second, "first"},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			second := &silentProvider{}
			hosts := map[string]http.RoundTripper{"first.test": tt.first, "second.test": second}
			asked := map[string]int{}
			w := newHarnessWith(t, gateway.Config{
				Policy: tt.policy,
				Base: roundTrip(func(req *http.Request) (*http.Response, error) {
					asked[req.URL.Host]++
					return hosts[req.URL.Host].RoundTrip(req)
				}),
				Upstreams: []gateway.Upstream{
					{Name: "first", API: "anthropic", Base: address("first.test"), Fallback: []gateway.Fallback{{To: "second", After: 10 * time.Second}}},
					{Name: "second", API: "anthropic", Base: address("second.test"), NoKey: true},
				},
			})
			resp, text, err := w.get("/v1/messages", tt.body)
			if took := time.Since(w.begun); err != nil || resp.StatusCode != 200 || took != tt.want || asked["first.test"] != 1 || asked["second.test"] != map[string]int{"second": 1}[tt.by] {
				t.Errorf("%s: %d %q, %v after %v, requests %v; want an answer of the %s after %v", tt.name, resp.StatusCode, text, err, took, asked, tt.by, tt.want)
			}
		})
	}
}

func TestSilence_RequestBehindASilentProbeTakesTheFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent, second := &silentProvider{until: time.Now().Add(time.Hour)}, &silentProvider{}
		start := time.Now()
		w := newHarnessWith(t, gateway.Config{
			Policy: policy.Patient(),
			Base: roundTrip(func(req *http.Request) (*http.Response, error) {
				switch {
				case req.URL.Host == "second.test":
					return second.RoundTrip(req)
				case time.Since(start) < time.Second:
					return says(500, "")(req)
				}
				return silent.RoundTrip(req)
			}),
			Upstreams: []gateway.Upstream{
				{
					Name: "first", API: "anthropic", Base: address("first.test"), Fallback: []gateway.Fallback{{To: "second", After: 10 * time.Second}},
					Routes: []gateway.Route{{Models: []string{"stays"}, Fallback: []gateway.Fallback{}}},
				},
				{Name: "second", API: "anthropic", Base: address("second.test"), NoKey: true},
			},
		})
		var all sync.WaitGroup
		for range 5 { // open the host's circuit, and one of them is the silent probe
			all.Go(func() { _, _, _ = w.get("/v1/messages", strings.Replace(claude, "claude-sonnet", "stays", 1)) })
		}
		time.Sleep(8 * time.Second)
		begun := time.Now()
		if resp, text, err := w.get("/v1/messages", claude); err != nil || resp.StatusCode != 200 || time.Since(begun) != 10*time.Second {
			t.Errorf("%v %q, %v after %v; want the fallback's answer after 10 s", resp, text, err, time.Since(begun))
		}
		if second.count() != 1 {
			t.Errorf("the fallback was asked %d times, want once", second.count())
		}
		silent.silentUntil(time.Now())
		all.Wait()
	})
}

// learn has the gateway learn that its provider answers at once.
func (w *harness) learn(n int) {
	for range n {
		if resp, _, err := w.get("/v1/messages", claude); err != nil || resp.StatusCode != 200 {
			w.t.Fatalf("a request to a provider that answers: %v, %v", resp, err)
		}
	}
}

func TestSilence_LearnedLimitEndsATry(t *testing.T) {
	tests := []struct {
		name   string
		limits *gateway.Limits
		want   string
		after  time.Duration
	}{
		{"usual limits", nil, "no first byte in 1m0s, the learned limit", time.Minute},
		{"fixed limit", &gateway.Limits{FirstByte: 20 * time.Second}, "no first byte in 20s", 20 * time.Second},
		{"fixed and learned", &gateway.Limits{FirstByte: 20 * time.Second, Learned: true}, "no first byte in 20s", 20 * time.Second},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			p := &silentProvider{}
			up := gateway.Upstream{Name: "anthropic", API: "anthropic", Base: address("provider.test"), Limits: tt.limits}
			w := newHarnessWith(t, gateway.Config{Upstreams: []gateway.Upstream{up}, Policy: policy.Patient(), Base: p})
			w.learn(1100)
			if err := w.gateway.Use(gateway.Config{Upstreams: []gateway.Upstream{up}, Policy: policy.Patient(), Base: p, OnEvent: w.watch}); err != nil {
				t.Fatalf("use: %v", err) // what was learned stays
			}
			p.silentUntil(time.Now().Add(time.Second))
			begun := time.Now()
			resp, _, err := w.get("/v1/messages", claude)
			if took := time.Since(begun); err != nil || resp.StatusCode != 200 || took != tt.after+5*time.Second {
				t.Errorf("%s: %v, %v after %v; want an answer after %v and a backoff of 5s", tt.name, resp, err, took, tt.after)
			}
			var got []string
			for _, e := range w.all {
				if f := e.Try.Fault; f != nil {
					got = append(got, f.Message)
				}
			}
			if len(got) != 1 || got[0] != tt.want {
				t.Errorf("%s: faults %q, want %q", tt.name, got, tt.want)
			}
			learned := w.gateway.Upstreams()[0].Learned
			if known := len(learned) == 1 && learned[0].Model == "claude-sonnet" && learned[0].Limit == time.Minute; known != (tt.limits == nil || tt.limits.Learned) {
				t.Errorf("%s: learned %+v", tt.name, learned)
			}
		})
	}
}

func TestSilence_NothingIsLearnedOfWholeAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := newSilent(t, 0)
		if _, _, err := w.get("/v1/messages", whole(claude)); err != nil {
			t.Fatalf("get: %v", err)
		}
		for _, u := range w.gateway.Upstreams() {
			if len(u.Learned) != 0 {
				t.Errorf("of an answer that takes as long as its length %+v was learned, want nothing", u.Learned)
			}
		}
	})
}

func TestSilence_TwentyMinutesWithTheClientsOwnTimeouts(t *testing.T) {
	for i, tt := range []struct {
		name     string
		patience time.Duration // without a byte
		path     string
		body     string
		headers  []string
	}{
		{"Gemini CLI", 60 * time.Second, "/v1beta/models/gemini-3:streamGenerateContent?alt=sse", gemini, []string{"User-Agent", "GeminiCLI/0.61.0"}},
		{"Claude Code 2.1.197", 300 * time.Second, "/v1/messages", claude, []string{"User-Agent", "claude-cli/2.1.197"}},
		{"Claude Code 2.1.330", 360 * time.Second, "/v1/messages", claude, []string{"User-Agent", "claude-cli/2.1.330"}},
		{"Codex", 300 * time.Second, "/v1/responses", `{"model":"gpt-5","input":"Hi","stream":true}`, []string{"Originator", "codex_cli_rs"}},
		{"opencode", 300 * time.Second, "/v1/chat/completions", gpt, []string{"User-Agent", "opencode/1.18.33"}},
	} {
		for _, learned := range []bool{false, true} {
			if learned && i > 0 && testing.Short() {
				continue // a limit is learned from a thousand answers
			}
			synctest.Test(t, func(t *testing.T) {
				p := simulator.New(simulator.Script{})
				t.Cleanup(func() { _ = p.Close() })
				var silent time.Time
				asked := 0
				upstreams := everything(address("provider.test"))
				for i := range upstreams {
					upstreams[i].Limits = nil
				}
				w := newHarnessWith(t, gateway.Config{Upstreams: upstreams, Policy: policy.Patient(), Base: roundTrip(func(req *http.Request) (*http.Response, error) {
					if time.Now().Before(silent) {
						asked++
						<-req.Context().Done()
						return nil, context.Cause(req.Context())
					}
					return p.Transport().RoundTrip(req)
				})})
				for range map[bool]int{true: 1050}[learned] {
					_, _, _ = w.get(tt.path, tt.body, tt.headers...)
				}
				begun := time.Now()
				silent = begun.Add(20 * time.Minute)
				requests, lost := w.silentClient(tt.patience, tt.path, tt.body, tt.headers...)
				if took := time.Since(begun); lost != nil || requests != 1 || took > 31*time.Minute {
					t.Errorf("%s, learned %v: %d requests, %v, after %v; want an answer to the first one within the limit after 20 min", tt.name, learned, requests, lost, took)
				}
				if learned && (asked < 3 || time.Since(begun) > 27*time.Minute) {
					t.Errorf("%s: the provider was asked %d times in its silence, and answered after %v", tt.name, asked, time.Since(begun))
				}
			})
		}
	}
}

// silentClient asks, and asks again whenever no byte has come for so long. It returns how often it has asked.
func (w *harness) silentClient(patience time.Duration, path, body string, headers ...string) (requests int, err error) {
	for requests = 1; requests <= 10; requests++ {
		ctx, cancel := context.WithCancel(w.t.Context())
		watch := time.AfterFunc(patience, cancel)
		var resp *http.Response
		if resp, err = w.ask(ctx, path, body, headers...); err == nil {
			for buf := make([]byte, 4<<10); err == nil; {
				watch.Reset(patience)
				_, err = resp.Body.Read(buf)
			}
			resp.Body.Close()
		}
		watch.Stop()
		cancel()
		if err == io.EOF {
			return requests, nil
		}
	}
	return requests, err
}

// A provider that sends comments and nothing else has a client without us wait for ever. With us its try fails after
// ten minutes, and the next one is answered.
func TestGateway_CommentsAloneAreNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		provider := roundTrip(func(req *http.Request) (*http.Response, error) {
			if asked++; asked == 2 {
				return streams(completion("gpt-5"))(req)
			}
			body, w := io.Pipe()
			go func() {
				for err := error(nil); err == nil; time.Sleep(10 * time.Second) {
					_, err = io.WriteString(w, ": OPENROUTER PROCESSING\n\n")
				}
			}()
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, Request: req}, nil
		})
		upstream := gateway.Upstream{Name: "openai", API: "openai", Base: address("provider.test")}
		begun := time.Now()
		w := serve(newGateway(t, gateway.Config{Upstreams: []gateway.Upstream{upstream}, Policy: policy.Patient(), Base: provider}), "/v1/chat/completions", gpt, "")
		if took := time.Since(begun); !strings.Contains(w.String(), "[DONE]") || took < 10*time.Minute || took > 11*time.Minute {
			t.Errorf("with us: %q after %v, want the answer after 10m", w, took)
		}
		alone, _ := provider(httptest.NewRequest("POST", "/", nil))
		begun = time.Now()
		defer time.AfterFunc(8*time.Hour, func() { _ = alone.Body.Close() }).Stop()
		if text, _ := io.ReadAll(alone.Body); strings.Contains(string(text), "data:") || time.Since(begun) < 8*time.Hour {
			t.Errorf("without us: %d bytes after %v, want comments for eight hours", len(text), time.Since(begun))
		}
		time.Sleep(time.Minute)
	})
}
