package gateway_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
)

// The scenarios are those of failoverbench, methodology 0.1: a model that fails, and another one of the same
// provider as its fallback. The gateway has the configuration of the manual.
const (
	primary  = "gpt-5"
	fallback = "gpt-5-mini"
)

// scenario is a gateway with the manual's configuration in front of a provider whose first model fails.
type scenario struct {
	*harness
	provider *models
}

// newScenario starts it in the test's bubble.
func newScenario(t *testing.T, fails roundTrip) *scenario {
	s := &scenario{provider: &models{t: t, answer: map[string]roundTrip{primary: fails, fallback: streams(completion(fallback))}}}
	c := manualConfig(t)
	c.Base = s.provider
	s.harness = newHarnessWith(t, c)
	return s
}

// manualConfig returns the manual's example of a fallback that is another model of the same provider.
func manualConfig(t *testing.T) gateway.Config {
	t.Helper()
	manual, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	for _, block := range strings.Split(string(manual), "```yaml\n")[1:] {
		example, _, _ := strings.Cut(block, "```")
		if !strings.Contains(example, "{to: openai, model: "+fallback) {
			continue
		}
		parsed, err := config.Parse("configuration.md", []byte(example))
		if err != nil {
			t.Fatalf("parse: %v", err)
		}
		c, err := parsed.Gateway(func(string) string { return "the-key-of-the-gateway" })
		if err != nil {
			t.Fatalf("gateway: %v", err)
		}
		return c
	}
	t.Fatal("the manual has no such example")
	return gateway.Config{}
}

// completion is a model's whole answer, streamed.
func completion(model string) string {
	chunk := `data: {"id":"c","object":"chat.completion.chunk","model":"` + model + `","choices":[`
	return chunk + `{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n" +
		chunk + `{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}` + "\n\n" +
		chunk + `{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" +
		chunk + `],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}}` + "\n\ndata: [DONE]\n\n"
}

// wholeCompletion is the fallback's answer where no stream is asked for.
const wholeCompletion = `{"model":"` + fallback + `","choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}],"usage":{"total_tokens":9}}`

// reply is how one call of a client went.
type reply struct {
	status int
	header http.Header
	text   string
	err    error
	took   time.Duration
}

// by reports whether the answer is a model's, whole.
func (a reply) by(model string) bool {
	return a.status == 200 && a.err == nil && strings.HasSuffix(a.text, completion(model))
}

// call sends a request for the first model, with the deadline of a client.
func (s *scenario) call(body string, deadline time.Duration) (a reply) {
	ctx, cancel := context.WithTimeout(s.t.Context(), deadline)
	defer cancel()
	begun := time.Now()
	defer func() { a.took = time.Since(begun) }()
	resp, err := s.ask(ctx, "/v1/chat/completions", body, "Authorization", "Bearer the-key-of-the-client")
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{status: resp.StatusCode, header: resp.Header, text: string(text), err: err}
}

// tries returns when a model was asked, counted from the begin. Each request must have the gateway's key.
func (s *scenario) tries(model string) (at []time.Duration) {
	for _, r := range s.provider.sent {
		if r.header.Get("Authorization") != "Bearer the-key-of-the-gateway" {
			s.t.Errorf("a request with the credential %q", r.header.Get("Authorization"))
		}
		if r.model == model {
			at = append(at, r.at.Sub(s.begun))
		}
	}
	return at
}

// expect calls once, and checks who answers, after how long, and how often the first model is asked.
func (s *scenario) expect(model string, within time.Duration, tries int) reply {
	s.t.Helper()
	a := s.call(gpt, 130*time.Second)
	asked := map[string]int{primary: 0, fallback: 1}[model]
	if !a.by(model) || a.took > within {
		s.t.Errorf("status %d, %q, %v after %v; want the answer of %s within %v", a.status, a.text, a.err, a.took, model, within)
	}
	if first, other := s.tries(primary), s.tries(fallback); len(first) > tries || len(other) != asked {
		s.t.Errorf("asked %s at %v and %s at %v; want at most %d tries and %d", primary, first, fallback, other, tries, asked)
	}
	if end := s.all[len(s.all)-1]; end.Call.Upstream != "openai" || end.Call.Model != model || end.Status != 200 {
		s.t.Errorf("the last event is about %s %s with status %d; want openai, %s, 200", end.Call.Upstream, end.Call.Model, end.Status, model)
	}
	return a
}

// first fails a number of times, then the model answers.
func first(n int, fails roundTrip) roundTrip {
	return func(req *http.Request) (*http.Response, error) {
		if n--; n >= 0 {
			return fails(req)
		}
		return streams(completion(primary))(req)
	}
}

// refuses answers with an error of OpenAI's.
func refuses(status int, message string, header ...string) roundTrip {
	return says(status, `{"error":{"message":"`+message+`","type":"server_error","param":null,"code":null}}`, append(header, "Content-Type", "application/json")...)
}

const forever = 1 << 30

func TestScenario_S01RateLimitWithRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScenario(t, first(1, refuses(429, "Rate limit reached", "Retry-After", "2")))
		s.expect(primary, 5*time.Second, 2)
		if at := s.tries(primary); len(at) != 2 || at[1] < 1800*time.Millisecond {
			t.Errorf("tries at %v, want the second one after 1.8 s and more", at)
		}
	})
}

func TestScenario_S02RateLimitForEver(t *testing.T) {
	for _, header := range [][]string{nil, {"Retry-After", "2"}, {"Retry-After", "60"}} {
		synctest.Test(t, func(t *testing.T) {
			s := newScenario(t, first(forever, refuses(429, "Rate limit reached", header...)))
			s.expect(fallback, 20*time.Second, 5)
			early := 0
			for _, at := range s.tries(primary) {
				if at <= 3*time.Second {
					early++
				}
			}
			if early > 4 {
				t.Errorf("%d tries in 3 s, want at most 4", early)
			}
		})
	}
}

func TestScenario_S03ServerErrorOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newScenario(t, first(1, refuses(500, "Internal error"))).expect(primary, 5*time.Second, 2)
	})
}

func TestScenario_S04UnavailableForEver(t *testing.T) {
	for _, status := range []int{500, 503} {
		synctest.Test(t, func(t *testing.T) {
			newScenario(t, first(forever, refuses(status, "The server had an error"))).expect(fallback, 20*time.Second, 5)
		})
	}
}

func TestScenario_S05ResetBeforeHeaders(t *testing.T) {
	reset := func(*http.Request) (*http.Response, error) { return nil, errors.New("read: connection reset by peer") }
	synctest.Test(t, func(t *testing.T) { newScenario(t, first(1, reset)).expect(primary, 5*time.Second, 2) })
	synctest.Test(t, func(t *testing.T) { newScenario(t, first(forever, reset)).expect(fallback, 20*time.Second, 5) })
}

func TestScenario_S06AcceptedAndNeverAnswered(t *testing.T) {
	silent := func(req *http.Request) (*http.Response, error) {
		<-req.Context().Done()
		return nil, context.Cause(req.Context())
	}
	synctest.Test(t, func(t *testing.T) { newScenario(t, silent).expect(fallback, 15*time.Second, 1) })
	synctest.Test(t, func(t *testing.T) { // what is not streamed comes whole: silence says less
		s := newScenario(t, silent)
		s.provider.answer[fallback] = says(200, wholeCompletion, "Content-Type", "application/json")
		if a := s.call(whole(gpt), 130*time.Second); a.status != 200 || strings.TrimLeft(a.text, " ") != wholeCompletion || a.took > 100*time.Second || len(s.tries(primary)) != 1 {
			t.Errorf("status %d, %q, %v after %v and tries at %v; want the answer of %s within 100 s after one", a.status, a.text, a.err, a.took, s.tries(primary), fallback)
		}
	})
}

func TestScenario_S07FirstTokenAfterTwentySeconds(t *testing.T) {
	slowHeaders := func(req *http.Request) (*http.Response, error) {
		if err := retry.Sleep(req.Context(), 20*time.Second); err != nil {
			return nil, err
		}
		return streams(completion(primary))(req)
	}
	slowContent := func(req *http.Request) (*http.Response, error) {
		head, rest, _ := strings.Cut(completion(primary), "\n\n")
		r, w := io.Pipe()
		go func() {
			_, _ = io.WriteString(w, head+"\n\n")
			err := retry.Sleep(req.Context(), 20*time.Second)
			_, _ = io.WriteString(w, rest)
			_ = w.CloseWithError(err)
		}()
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: r}, nil
	}
	for _, slow := range []roundTrip{slowHeaders, slowContent} {
		synctest.Test(t, func(t *testing.T) { newScenario(t, slow).expect(fallback, 15*time.Second, 1) })
	}
}

func TestScenario_S10InvalidJSONInAnEvent(t *testing.T) {
	broken := strings.Replace(completion(primary), "data: [DONE]", "data: {\"choices\":[{\"delta\":\n\ndata: [DONE]", 1)
	synctest.Test(t, func(t *testing.T) {
		s := newScenario(t, streams(broken))
		if a := s.call(gpt, 20*time.Second); a.status != 200 || a.err != nil || a.text != broken || len(s.tries(primary)) != 1 {
			t.Errorf("status %d, %q, %v; want what the provider has sent", a.status, a.text, a.err)
		}
	})
}

func TestScenario_S11NoTerminator(t *testing.T) {
	bare := strings.TrimSuffix(completion(primary), "data: [DONE]\n\n")
	synctest.Test(t, func(t *testing.T) {
		s := newScenario(t, streams(bare))
		if a := s.call(gpt, 20*time.Second); a.status != 200 || a.err != nil || a.text != bare || a.took > 8*time.Second || len(s.tries(primary)) != 1 {
			t.Errorf("status %d, %q, %v after %v; want the whole answer with its usage within 8 s", a.status, a.text, a.err, a.took)
		}
	})
}

func TestScenario_S12ContextLength(t *testing.T) {
	long := says(400, `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, "Content-Type", "application/json")
	synctest.Test(t, func(t *testing.T) { newScenario(t, long).expect(fallback, time.Second, 1) })
	synctest.Test(t, func(t *testing.T) {
		s := newScenario(t, long)
		s.provider.answer[fallback] = long
		if a := s.call(gpt, 20*time.Second); a.status != 400 || !strings.Contains(a.text, "context_length_exceeded") || len(s.tries(primary)) != 1 || len(s.tries(fallback)) != 1 {
			t.Errorf("status %d, %q after tries at %v and %v; want the provider's 400 after one of each", a.status, a.text, s.tries(primary), s.tries(fallback))
		}
	})
}

func TestScenario_S13ContentPolicy(t *testing.T) {
	refused := says(400, `{"error":{"message":"Your request was rejected as a result of our safety system.","type":"invalid_request_error","param":null,"code":"content_policy_violation"}}`, "Content-Type", "application/json")
	synctest.Test(t, func(t *testing.T) {
		s := newScenario(t, refused)
		if a := s.call(gpt, 20*time.Second); a.status != 400 || !strings.Contains(a.text, "rejected as a result of our safety system") || len(s.provider.sent) != 1 {
			t.Errorf("status %d, %q after %d requests; want the provider's own 400 after one", a.status, a.text, len(s.provider.sent))
		}
	})
}

func TestScenario_S15OutageOfAMinute(t *testing.T) {
	const calls, every, outage, back = 20, 4 * time.Second, time.Minute, 30 * time.Second
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		s := newScenario(t, func(req *http.Request) (*http.Response, error) {
			if time.Since(begun) < outage {
				return refuses(503, "The server is overloaded")(req)
			}
			return streams(completion(primary))(req)
		})
		all := make([]reply, calls)
		var clients sync.WaitGroup
		for i := range all {
			clients.Go(func() {
				time.Sleep(time.Duration(i) * every)
				all[i] = s.call(gpt, 20*time.Second)
			})
		}
		clients.Wait()
		var recovered time.Duration
		for i, a := range all {
			arrived := time.Duration(i) * every
			ended := arrived + a.took
			switch {
			case a.by(primary) && recovered == 0:
				recovered = ended
			case !a.by(primary) && !a.by(fallback):
				t.Errorf("call %d, at %v: status %d, %q, %v; want an answer", i, arrived, a.status, a.text, a.err)
			case a.by(fallback) && recovered != 0 && arrived >= recovered:
				t.Errorf("call %d, at %v, is answered by %s, after %s was back at %v", i, arrived, fallback, primary, recovered)
			}
		}
		if recovered < outage || recovered > outage+back {
			t.Errorf("%s is back after %v, want between %v and %v", primary, recovered, outage, outage+back)
		}
	})
}

func TestScenario_S16TheAnswerNamesTheFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScenario(t, first(forever, refuses(503, "The server is overloaded")))
		a := s.expect(fallback, 20*time.Second, 5)
		if !strings.Contains(a.text, ": ridethrough answer from openai, model "+fallback+"\n") || !strings.Contains(a.text, `"total_tokens":9`) {
			t.Errorf("%q; want a comment that names the model %s, and its usage", a.text, fallback)
		}
		failed := map[string]int{}
		var switched []string
		for _, e := range s.all {
			if e.Try.N > 0 {
				failed[e.Call.Model] += map[bool]int{true: 1}[e.Try.Fault != nil]
			}
			if e, ok := e.Event.(turn.Switched); ok {
				switched = append(switched, e.From+" to "+e.To)
			}
		}
		if got := strings.Join(switched, ", "); failed[primary] != len(s.tries(primary)) || failed[fallback] != 0 || got != "openai to openai/"+fallback {
			t.Errorf("failed tries by model %v, switched %s; want %d of %s and one switch", failed, got, len(s.tries(primary)), primary)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newScenario(t, first(forever, refuses(503, "The server is overloaded")))
		s.provider.answer[fallback] = says(200, wholeCompletion, "Content-Type", "application/json")
		a := s.call(whole(gpt), 20*time.Second)
		if h := a.header; a.text != wholeCompletion || h.Get("X-Ridethrough-Upstream") != "openai" || h.Get("X-Ridethrough-Model") != fallback {
			t.Errorf("headers %v, %q; want the upstream openai, the model %s and its answer", h, a.text, fallback)
		}
	})
}
