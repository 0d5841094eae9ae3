package preamble_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/preamble"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// gateway answers requests in memory.
type gateway func(*http.Request) *http.Response

func (g gateway) RoundTrip(r *http.Request) (*http.Response, error) { return g(r), nil }

// says returns a response with a preamble.
func says(body io.Reader) *http.Response {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {preamble.Type}}, Body: io.NopCloser(body)}
}

// hold is what a watchdog does while a gateway holds the request.
func hold() func() { return func() {} }

func request() *http.Request {
	return httptest.NewRequest("POST", "http://gateway.test/v1/messages", nil)
}

func TestWriter_IsReadByCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := llm.Name{Provider: "anthropic", Model: "m"}
		told := []turn.Event{
			turn.Retry{Name: name, Upstream: "spare", Wait: policy.Wait{
				Run: policy.Run{Tries: 2}, Fault: &fault.Error{Kind: fault.Overloaded, Status: 529, Message: "busy"},
				Verdict: policy.Verdict{Wait: 10 * time.Second}, Due: time.Now().Add(10 * time.Second), Limit: policy.Unlimited,
			}},
			turn.Waiting{Name: name, Upstream: "spare", Retry: 2, Remaining: 3 * time.Second},
			turn.Recovered{Name: name, Upstream: "spare", Retries: 2, Waited: 15 * time.Second},
		}
		out := httptest.NewRecorder()
		w := &preamble.Writer{ResponseWriter: out}
		w.Begin("7-secret")
		for _, e := range told {
			w.Tell(e)
		}
		if w.Header().Set("Request-Id", "req_1"); w.Header().Get("Content-Type") == preamble.Type {
			t.Error("the answer's headers have the type of the preamble")
		}
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "the answer\n")

		var heard []string
		c := preamble.Caller{
			Budget: func() time.Duration { return 90 * time.Second },
			OnEvent: func(e turn.Event, _ *preamble.Hold) {
				if e != nil {
					heard = append(heard, e.(interface{ String() string }).String())
				}
			},
		}
		resp, err := c.Send(gateway(func(r *http.Request) *http.Response {
			if got := r.Header.Get(preamble.MaxWait); got != "1m30s" || !preamble.Accepted(r.Header) {
				t.Errorf("the request has the headers %v; want the budget of 1m30s", r.Header)
			}
			return out.Result()
		}), request(), hold)
		if err != nil {
			t.Fatalf("Send: %v", err)
		}
		text, err := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusTeapot || resp.Header.Get("Request-Id") != "req_1" || string(text) != "the answer\n" || err != nil {
			t.Errorf("answer %d %v %q, %v; want the one behind the preamble", resp.StatusCode, resp.Header, text, err)
		}
		for i, e := range told {
			if want := e.(interface{ String() string }).String(); i >= len(heard) || heard[i] != want {
				t.Errorf("event %d of %q; want %s", i, heard, want)
			}
		}
	})
}

func TestCaller_GatewayThatEndsIsTriedAgain(t *testing.T) {
	const retry = `{"type":"provider-retry","provider":"p","model":"m","attempt":0,"delayMs":600000,"message":"busy","kind":"overloaded","reason":"schedule"}` + "\n"
	for name, body := range map[string]io.Reader{
		"a clean end": strings.NewReader(retry), "half a line": strings.NewReader(retry[:40]), "silence": nil,
		"a line without end": strings.NewReader(strings.Repeat("x", 2<<20)),
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			c := preamble.Caller{OnEvent: func(turn.Event, *preamble.Hold) {}}
			silences := gateway(func(*http.Request) *http.Response { return says(body) })
			if name == "silence" {
				in, out := io.Pipe()
				go func() { _, _ = io.WriteString(out, retry) }()
				silences = func(*http.Request) *http.Response {
					resp := says(nil)
					resp.Body = in
					return resp
				}
			}
			resp, err := c.Send(silences, request(), hold)
			if f := classify.Of(err, time.Now()); resp != nil || err == nil || !f.Retryable() {
				t.Errorf("%s: %v, %v; want a fault that is worth another try", name, resp, err)
			}
			if took := time.Since(begun); name == "silence" && (took != time.Minute || c.TakeWaited() != time.Minute) {
				t.Errorf("silence: ended after %v; want a minute, counted as waited", took)
			}
		})
	}
}

// An upstream that says no more than that it holds the request, or that it does so for long, keeps no caller beyond the
// wait that it allows and one try.
func TestCaller_HoldEndsWithTheBudget(t *testing.T) {
	const (
		retry = `{"type":"provider-retry","provider":"p","model":"m","attempt":0,"delayMs":36000000,"message":"busy","kind":"overloaded","reason":"schedule"}` + "\n"
		short = `{"type":"provider-retry","provider":"p","model":"m","attempt":0,"delayMs":60000,"message":"busy","kind":"overloaded","reason":"schedule"}` + "\n"
	)
	for _, tt := range []struct {
		name, told string
		budget     time.Duration
		want       time.Duration
	}{
		{"nothing is told", "\n", 5 * time.Minute, 15 * time.Minute},
		{"a wait of ten hours", retry, 5 * time.Minute, 15 * time.Minute},
		{"a wait of a minute", short, 5 * time.Minute, 11 * time.Minute},
		{"no limit", "\n", 0, 24 * time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			c := preamble.Caller{Budget: func() time.Duration { return tt.budget }, OnEvent: func(turn.Event, *preamble.Hold) {}}
			in, out := io.Pipe()
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, err := io.WriteString(out, tt.told)
				for err == nil && time.Since(begun) < 24*time.Hour {
					time.Sleep(10 * time.Second)
					_, err = io.WriteString(out, "\n")
				}
				_ = out.Close()
			}()
			resp, err := c.Send(gateway(func(*http.Request) *http.Response {
				resp := says(nil)
				resp.Body = in
				return resp
			}), request(), hold)
			if took := time.Since(begun); resp != nil || err == nil || took < tt.want || took > tt.want+10*time.Second {
				t.Errorf("%s: %v, %v after %v; want an error after %v", tt.name, resp, err, took, tt.want)
			}
			<-done
		})
	}
}

// What is for gateways goes to an address that may be one, and to a provider's own only once it has shown that it is.
func TestPeer_ProvidersGetNoHeadersForGateways(t *testing.T) {
	shows := func(status int, call string) *http.Response {
		resp := &http.Response{StatusCode: status, Header: http.Header{}}
		if call != "" {
			resp.Header[preamble.Call] = []string{call}
		}
		return resp
	}
	for address, maybe := range map[string]bool{
		"https://api.anthropic.com": false, "https://bedrock-runtime.us-east-1.amazonaws.com": false, "https://openrouter.ai/api": false,
		"https://mine.openai.azure.com": false, "https://us-east5-aiplatform.googleapis.com": false, "http://127.0.0.1:11434": false,
		"https://llm.example.com": true, "http://127.0.0.1:8080": true, "https://balancer-1.us-east-1.elb.amazonaws.com": true,
	} {
		to, err := url.Parse(address)
		if err != nil {
			t.Fatalf("parse: %v", err)
		}
		var p preamble.Peer
		if got := p.MayBeGateway(to); got != maybe {
			t.Errorf("%s, before its first answer: %v, want %v", address, got, maybe)
		}
		for _, step := range []struct {
			answer *http.Response
			want   bool
		}{{shows(503, ""), maybe}, {shows(200, ""), false}, {shows(200, "7"), true}, {shows(502, ""), true}} {
			if p.Note(step.answer); p.MayBeGateway(to) != step.want {
				t.Errorf("%s, after %d with %v: want %v", address, step.answer.StatusCode, step.answer.Header, step.want)
			}
		}
	}
}
