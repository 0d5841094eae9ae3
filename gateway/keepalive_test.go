package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

const claudeCode = "claude-cli/2.1.329 (external, cli)"

// outage is a provider that is overloaded for that long.
func outage(d time.Duration) simulator.Script {
	return simulator.Script{Outages: []simulator.Outage{{To: d}}}
}

// rhythms is the table of docs/holding.md: what a client gets while it is kept alive.
var rhythms = []struct {
	name, path, body string
	headers          []string
	kind             string // the content type that is committed
	ping, beat       string // what they begin with; beat "": none
}{
	{"Anthropic for Claude Code", "/v1/messages", claude, []string{"User-Agent", claudeCode}, "text/event-stream", "event: ping\ndata: {\"type\":\"ping\"}\n\n", "event: message_delta\ndata: {\"type\":\"keepalive\"}\n\n"},
	{"Anthropic for others", "/v1/messages", claude, []string{"User-Agent", "ai-sdk/anthropic"}, "text/event-stream", "event: ping\ndata: {\"type\":\"ping\"}\n\n", ""},
	{"OpenAI Chat", "/v1/chat/completions", gpt, nil, "text/event-stream", ": ridethrough ", "data: {\"id\":\"\","},
	{"OpenAI Responses for Codex", "/v1/responses", `{"model":"gpt-5","input":"Hi","stream":true}`, []string{"Originator", "codex_cli_rs"}, "text/event-stream", ": ridethrough ", "event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":0}\n\n"},
	{"OpenAI Responses for others", "/v1/responses", `{"model":"gpt-5","input":"Hi","stream":true}`, nil, "text/event-stream", ": ridethrough ", ""},
	{"Gemini", "/v1beta/models/gemini-3:streamGenerateContent?alt=sse", gemini, nil, "text/event-stream", "\n\n", ""},
	{"Gemini for @google/generative-ai", "/v1beta/models/gemini-3:streamGenerateContent?alt=sse", gemini, []string{"X-Goog-Api-Client", "genai-js/0.24.1"}, "text/event-stream", "data: {}\n\n", ""},
	{"Gemini as an array", "/v1beta/models/gemini-3:streamGenerateContent", gemini, nil, "application/json", " ", ""},
	{"Ollama", "/api/chat", `{"model":"llama","messages":[{"role":"user","content":"Hi"}]}`, nil, "application/x-ndjson", " ", ""},
	{"LM Studio", "/api/v1/chat", `{"model":"m","input":"Hi","stream":true}`, nil, "text/event-stream", ": ridethrough ", ""},
	{"Anthropic, whole", "/v1/messages", whole(claude), nil, "application/json", " ", ""},
	{"OpenAI, whole", "/v1/chat/completions", whole(gpt), nil, "application/json", " ", ""},
	{"Gemini, whole", "/v1/models/gemini-3:generateContent", gemini, nil, "application/json", " ", ""},
	{"Ollama, whole", "/api/generate", `{"model":"llama","prompt":"Hi","stream":false}`, nil, "application/json", " ", ""},
}

const gemini = `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}`

func TestKeepalive_SilenceIsBounded(t *testing.T) {
	for _, tt := range rhythms {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Patient(), outage(7*time.Hour+10*time.Minute))
			resp, err := w.ask(t.Context(), tt.path, tt.body, tt.headers...)
			if err != nil || resp.StatusCode != 200 || !strings.HasPrefix(resp.Header.Get("Content-Type"), tt.kind) {
				t.Fatalf("unexpected: %v %v %v", tt.name, resp, err)
			}
			defer resp.Body.Close()
			if took := time.Since(w.begun); took > 25*time.Second || took > 10*time.Second && !strings.Contains(tt.name, "whole") {
				t.Errorf("%s: the headers came after %v", tt.name, took)
			}
			lastByte, lastBeat := w.begun, w.begun
			var silence, eventless time.Duration
			pings, buf := 0, make([]byte, 1<<16)
			var n int
			for err == nil { // each write arrives by itself
				n, err = resp.Body.Read(buf)
				got, now := string(buf[:n]), time.Now()
				silence, lastByte = max(silence, now.Sub(lastByte)), now
				switch {
				case tt.beat != "" && strings.HasPrefix(got, tt.beat):
					eventless, lastBeat = max(eventless, now.Sub(lastBeat)), now
				case strings.HasPrefix(got, tt.ping) && len(got) < 100:
					pings++
				case time.Since(w.begun) < 7*time.Hour:
					t.Fatalf("%s: kept alive with %q", tt.name, got)
				}
			}
			if err != io.EOF || silence > 25*time.Second || silence > 15*time.Second && !strings.Contains(tt.name, "whole") || eventless > time.Minute {
				t.Errorf("%s: %v between bytes, %v between events, %v", tt.name, silence, eventless, err)
			}
			if pings < 2000 || time.Since(w.begun) < 7*time.Hour {
				t.Errorf("%s: %d pings in %v", tt.name, pings, time.Since(w.begun))
			}
		})
	}
}

func TestKeepalive_SilentTryIsKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := simulator.Script{Replies: []simulator.Reply{simulator.Silence{For: 20 * time.Minute}}}
		w := newHarness(t, policy.Patient(), slow)
		resp, text, err := w.get("/v1/messages", claude)
		if n := strings.Count(text, "\n\nevent: ping\n"); err != nil || n < 119 || n > 121 || !strings.Contains(text, "message_stop") || time.Since(w.begun) != 20*time.Minute {
			t.Errorf("status %d, %d pings, error %v, after %v; want a ping every 10 s and the answer", resp.StatusCode, n, err, time.Since(w.begun))
		}
	})
}

func TestKeepalive_NoPingForAnAnswerWithinTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), simulator.Script{Replies: []simulator.Reply{simulator.Silence{For: 9 * time.Second}}})
		if _, text, err := w.get("/v1/messages", claude); err != nil || strings.Contains(text, "ping\"}\n\nevent: ping") {
			t.Errorf("body %q, error %v; want the answer alone", text, err)
		}
	})
}

// TestKeepalive_StatusAfterTheCommitIsAnErrorEvent is what docs/holding.md says about the price of the commit.
func TestKeepalive_StatusAfterTheCommitIsAnErrorEvent(t *testing.T) {
	ends := map[string]struct {
		event string // how the error begins
		cut   bool   // the connection is cut behind it
	}{
		"Anthropic for Claude Code":        {"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\"", false},
		"Anthropic for others":             {"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\"", false},
		"OpenAI Chat":                      {"data: {\"error\":{", true},
		"OpenAI Responses for Codex":       {"event: error\n", false},
		"OpenAI Responses for others":      {"event: error\n", false},
		"Gemini for @google/generative-ai": {"data: {\"error\":{\"code\":400,", true},
		"Gemini":                           {"data: {\"error\":{\"code\":400,", true},
		"Gemini as an array":               {"[{\"error\":{\"code\":400,", true},
		"Ollama":                           {"{\"error\":\"", false},
		"LM Studio":                        {"event: error\n", true},
	}
	for _, tt := range rhythms {
		want, streamed := ends[tt.name]
		if !streamed && !strings.Contains(tt.name, "whole") {
			t.Errorf("%s: the stream is not checked", tt.name)
		}
		for _, slow := range []time.Duration{9 * time.Second, 2 * time.Minute} {
			if !streamed {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				w := newHarnessOf(t, policy.Patient(), roundTrip(func(req *http.Request) (*http.Response, error) {
					time.Sleep(slow)
					return says(400, `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: too large"}}`, "Request-Id", "req_1")(req)
				}))
				resp, text, err := w.get(tt.path, tt.body, tt.headers...)
				if slow < 10*time.Second {
					if err != nil || resp.StatusCode != 400 || resp.Header.Get("Request-Id") != "req_1" {
						t.Errorf("%s: an error after %v has status %d and headers %v, %v; want the provider's", tt.name, slow, resp.StatusCode, resp.Header, err)
					}
					return
				}
				at := strings.Index(text, want.event)
				if resp.StatusCode != 200 || resp.Header.Get("Request-Id") != "" || at < 0 || !strings.Contains(text[max(0, at):], "max_tokens: too large") || (err != nil) != want.cut {
					t.Errorf("%s: an error after %v has status %d, body %q, %v; want 200, keepalives, %q with the provider's words, then a cut: %v", tt.name, slow, resp.StatusCode, text[max(0, len(text)-400):], err, want.event, want.cut)
				}
				if n := strings.Count(text[:max(0, at)], tt.ping); n < 9 {
					t.Errorf("%s: %d keepalives before the error, want one every ten seconds", tt.name, n)
				}
				var refused bool
				for _, e := range w.events {
					if f, ok := e.(turn.Error); ok && f.Fault.Status == 400 {
						refused = true
					}
				}
				if !refused {
					t.Errorf("%s: no event has the provider's status: %+v", tt.name, w.events)
				}
			})
		}
	}
}

func TestKeepalive_CoversSilenceAfterTheHeaders(t *testing.T) {
	for _, before := range []int{0, 1} { // faults before it
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			w := newHarnessOf(t, policy.Patient(), roundTrip(func(req *http.Request) (*http.Response, error) {
				if tries++; tries <= before {
					return &http.Response{StatusCode: 529, Body: http.NoBody}, nil
				}
				r, pipe := io.Pipe()
				go func() {
					_, _ = io.WriteString(pipe, messageStart)
					time.Sleep(20 * time.Minute)
					_, _ = io.WriteString(pipe, messageHi+messageStop)
					_ = pipe.Close()
				}()
				return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: r}, nil
			}))
			resp, err := w.ask(t.Context(), "/v1/messages", claude)
			if err != nil {
				t.Fatalf("ask: %v", err)
			}
			defer resp.Body.Close()
			if took := time.Since(w.begun); took != 10*time.Second {
				t.Errorf("after %d faults it is committed after %v, want 10 s", before, took)
			}
			text, err := io.ReadAll(resp.Body)
			if got := string(text); err != nil || strings.Count(got, "event: ping") < 115 || !strings.HasSuffix(got, messageStart+messageHi+messageStop) {
				t.Errorf("got %q, error %v", got, err)
			}
		})
	}
}

func TestKeepalive_CommitsAfterTenSecondsOrTwoFaults(t *testing.T) {
	tests := []struct {
		replies string
		commits time.Duration
	}{
		{"529;retry-after=60", 10 * time.Second},
		{"529;retry-after=3, 529;retry-after=60", 5 * time.Second}, // Patient's first wait is 5 s
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Patient(), simulator.Script{Replies: replies(t, tt.replies)})
			resp, err := w.ask(t.Context(), "/v1/messages", claude)
			if err != nil {
				t.Fatalf("ask: %v", err)
			}
			if took := time.Since(w.begun); took != tt.commits || resp.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
				t.Errorf("%s: committed after %v, %v", tt.replies, took, resp.Header)
			}
			_, _ = io.ReadAll(resp.Body)
			resp.Body.Close()
		})
	}
}

func TestKeepalive_ShortFaultKeepsTheUpstreamsHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), simulator.Script{Replies: replies(t, "529, 400")})
		resp, _, _ := w.get("/v1/messages", claude)
		if resp.StatusCode != 400 || resp.Header.Get("Request-Id") == "" || resp.Header.Get("X-Ridethrough-Retries") != "1" {
			t.Errorf("status %d, headers %v", resp.StatusCode, resp.Header)
		}
	})
}

func TestKeepalive_FirstEventFollowsTheLastPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), outage(time.Hour))
		_, text, err := w.get("/v1/messages", claude, "User-Agent", claudeCode)
		if err != nil {
			t.Fatalf("get: %v", err)
		}
		held, answer, ok := strings.Cut(text, "event: message_start")
		if !ok || strings.Contains(answer, "keepalive") || strings.Count(text, "event: message_start") != 1 {
			t.Errorf("the answer is %q", answer)
		}
		held = strings.Replace(held, ": ridethrough answer from anthropic\n", "", 1)
		for frame := range strings.SplitSeq(strings.TrimSuffix(held, "\n\n"), "\n\n") {
			if !strings.HasPrefix(frame, "event: ping\n") && !strings.Contains(frame, `{"type":"keepalive"}`) {
				t.Fatalf("kept alive with %q", frame)
			}
		}
	})
}

func TestKeepalive_CommentsDescribeTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), outage(2*time.Minute))
		_, text, _ := w.get("/v1/chat/completions", gpt)
		for _, want := range []string{": ridethrough retry 2 in 10s overloaded\n\n", ": ridethrough retry 4 in 50s overloaded\n\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in %q", want, text[:min(len(text), 2000)])
			}
		}
	})
}

func TestKeepalive_ExhaustionSendsTheDialectsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), outage(48*time.Hour))
		_, text, err := w.get("/v1/messages", claude)
		const want = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"," +
			"\"message\":\"ridethrough: gave up after 21 retries in 7h31m45s: HTTP 529: Overloaded\"}}\n\n"
		if err != nil || !strings.HasSuffix(text, want) {
			t.Errorf("ends in %q, %v", text[max(0, len(text)-300):], err)
		}
		if n := len(w.provider.Requests()); n != 22 {
			t.Errorf("%d requests", n)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Simple(), outage(time.Hour))
		_, text, err := w.get("/v1/chat/completions", gpt)
		if err == nil || strings.Contains(text, "[DONE]") || !strings.Contains(text, "gave up after 3 retries in 7s") {
			t.Errorf("body %q, error %v", text, err)
		}
	})
}

func TestKeepalive_ExhaustionBeforeCommitKeepsTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Simple(), outage(time.Hour))
		resp, text, err := w.get("/v1/messages", whole(claude))
		if err != nil || resp.StatusCode != 529 || resp.Header.Get("X-Should-Retry") != "false" || !strings.Contains(text, "overloaded_error") {
			t.Errorf("status %d, headers %v, body %q, error %v; want no error, status 529, X-Should-Retry \"false\", body with \"overloaded_error\"", resp.StatusCode, resp.Header, text, err)
		}
	})
}
