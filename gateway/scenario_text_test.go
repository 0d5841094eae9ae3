package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

// sixtyWords is the answer of the scenarios in which a stream breaks off.
var sixtyWords = strings.Join(strings.Fields(strings.Repeat("alpha beta gamma delta ", 2)+numbersUpTo(52)), " ")

func numbersUpTo(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "word%d ", i)
	}
	return b.String()
}

// bothModels sends the requests for each model to its own simulated provider.
type bothModels map[string]*simulator.Provider

// RoundTrip implements http.RoundTripper.
func (m bothModels) RoundTrip(req *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	var body struct{ Model string }
	_ = json.Unmarshal(text, &body)
	out := req.Clone(req.Context())
	out.Body = io.NopCloser(strings.NewReader(string(text)))
	return m[body.Model].Transport().RoundTrip(out)
}

// newTextScenario starts the manual's configuration with a mode, in front of models that reply by scripts.
func newTextScenario(t *testing.T, mode gateway.CompleteMode, first, other string) (*scenario, bothModels) {
	t.Helper()
	m := bothModels{}
	for name, script := range map[string]string{primary: first, fallback: other} {
		before, then, _ := strings.Cut(script, ", then ")
		last := replies(t, then)
		m[name] = simulator.New(simulator.Script{Replies: replies(t, before), Then: last[0], Answer: sixtyWords})
		t.Cleanup(func() { _ = m[name].Close() })
	}
	c := manualConfig(t)
	c.Base, c.Upstreams[0].Complete = m, mode
	return &scenario{harness: newHarnessWith(t, c)}, m
}

// wordsOf returns what a client of Chat Completions reads, and whether it has its proper end.
func wordsOf(t *testing.T, stream string) (text string, done bool) {
	t.Helper()
	id := ""
	for frame := range strings.SplitSeq(stream, "\n\n") {
		data, ok := strings.CutPrefix(frame, "data: ")
		var chunk struct {
			ID      string
			Choices []struct{ Delta struct{ Content string } }
		}
		switch {
		case !ok:
			continue
		case data == "[DONE]":
			return text, true
		case json.Unmarshal([]byte(data), &chunk) != nil:
			t.Fatalf("chunk %q", data)
		}
		if id == "" {
			id = chunk.ID
		}
		if chunk.ID != id && chunk.ID != "" && len(chunk.Choices) > 0 {
			t.Errorf("chunk of %q in the answer %q", chunk.ID, id)
		}
		for _, c := range chunk.Choices {
			text += c.Delta.Content
		}
	}
	return text, false
}

func TestScenario_S08CutAfterFortyOfSixtyWords(t *testing.T) {
	checkCompleted(t, "cut:40:clean, then ok", "ok, then ok")
	checkCompleted(t, "cut:40, cut:15, then ok", "ok, then ok") // and its rest after fifteen
}

func TestScenario_S09SilentAfterTwentyWords(t *testing.T) {
	checkCompleted(t, "cut:20:silent, then ok", "ok, then ok")
}

func TestScenario_S14CutAndTheFallbackRefusesPrefill(t *testing.T) {
	checkCompleted(t, "cut:40, then 503", "continue:no-prefill, then continue:no-prefill")
}

// checkCompleted plays a scenario in which a stream breaks off behind content. With text the answer is whole, once;
// without, it ends in an error and never as a short success.
func checkCompleted(t *testing.T, first, other string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, m := newTextScenario(t, gateway.CompleteText, first, other)
		a := s.call(gpt, 130*time.Second)
		text, done := wordsOf(t, a.text)
		if text != sixtyWords || !done || a.status != 200 || a.err != nil || a.took > 100*time.Second {
			t.Errorf("status %d, %q, done %t, %v after %v; want all sixty words within 100 s", a.status, text, done, a.err, a.took)
		}
		if n := len(m[primary].Requests()) + len(m[fallback].Requests()); n > 8 {
			t.Errorf("%d requests, want 8 at most", n)
		}
		if again := s.call(gpt, 130*time.Second); again.status != 200 {
			t.Errorf("the next call has the status %d, %v; want a gateway that is alive", again.status, again.err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s, m := newTextScenario(t, gateway.CompleteLossless, first, other)
		a := s.call(gpt, 130*time.Second)
		if text, done := wordsOf(t, a.text); done || !strings.HasPrefix(sixtyWords, text) || a.err == nil && !strings.Contains(a.text, `"error"`) {
			t.Errorf("lossless: %q, done %t, %v; want a part and an error", text, done, a.err)
		}
		if n := len(m[primary].Requests()) + len(m[fallback].Requests()); n != 1 {
			t.Errorf("lossless: %d requests, want 1", n)
		}
	})
}

// TestComplete_PrefillOfOnesOwnServer has llama-server and Ollama continue the model's turn, with which the request ends.
func TestComplete_PrefillOfOnesOwnServer(t *testing.T) {
	chunk := func(text, finish string) string {
		return fmt.Sprintf(`data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":%q},"finish_reason":%s}]}`+"\n\n", text, finish)
	}
	line := func(text, end string) string {
		return fmt.Sprintf(`{"model":"m","message":{"role":"assistant","content":%q},"done":%s}`+"\n", text, end)
	}
	for _, row := range []struct{ api, path, media, first, second, says string }{
		{
			"openai", "/v1/chat/completions", "text/event-stream", chunk("It is a long", "null"),
			chunk(" way to go.", "null") + chunk("", `"stop"`) + "data: [DONE]\n\n", `"continue_final_message":true,"add_generation_prompt":false`,
		},
		{
			"ollama", "/api/chat", "application/x-ndjson", line("It is a long", "false"),
			line(" way to go.", "false") + line("", `true,"done_reason":"stop"`), "",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var asked []string
			h := newHarnessWith(t, gateway.Config{
				Policy:    policy.Interactive(),
				Upstreams: []gateway.Upstream{{Name: "own", API: row.api, Base: address("own.test"), NoKey: true, Complete: gateway.CompletePrefill}},
				Base: roundTrip(func(req *http.Request) (*http.Response, error) {
					body, _ := io.ReadAll(req.Body)
					if asked = append(asked, string(body)); len(asked) == 1 {
						return says(200, row.first, "Content-Type", row.media)(req)
					}
					return says(200, row.second, "Content-Type", row.media)(req)
				}),
			})
			_, text, err := h.get(row.path, gpt)
			read := strings.Join(contents.FindAllString(text, -1), "")
			read = strings.NewReplacer(`"content":"`, "", `"`, "").Replace(read)
			if read != "It is a long way to go." || err != nil || len(asked) != 2 || strings.Contains(text, `"error"`) {
				t.Fatalf("%s: got %q of %q, %v, %d requests; want the whole answer after two", row.api, read, text, err, len(asked))
			}
			if said := `{"role":"assistant","content":"It is a long"}]`; !strings.Contains(asked[1], said) || !strings.Contains(asked[1], row.says) {
				t.Errorf("%s: the second request is %s, want in it %s and %s", row.api, asked[1], said, row.says)
			}
		})
	}
}

// contents are the texts in the chunks of an answer.
var contents = regexp.MustCompile(`"content":"[^"]*"`)

// TestComplete_PrefillThatIsRefused has the error that llama-server has had for models that reason.
func TestComplete_PrefillThatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const refused = `400;body="{\"error\":{\"code\":400,\"message\":\"Assistant response prefill is incompatible with enable_thinking.\",\"type\":\"invalid_request_error\"}}"`
		s, m := newTextScenario(t, gateway.CompletePrefill, "cut:40, then "+refused, "ok, then ok")
		a := s.call(gpt, 130*time.Second)
		text, done := wordsOf(t, a.text)
		if done || text == "" || !strings.HasPrefix(sixtyWords, text) || !strings.Contains(a.text, `"error"`) {
			t.Errorf("got %q, done %t, %v; want a part and an error", text, done, a.err)
		}
		if n := len(m[primary].Requests()); n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
	})
}

// TestComplete_PrefillIsForServersThatContinue has a fallback, and an upstream that cuts its answer, or sends nothing,
// and then refuses its key. Their modes decide which request asks for the rest. An accepted key gets two more tries.
func TestComplete_PrefillIsForServersThatContinue(t *testing.T) {
	for _, row := range []struct {
		name, one, two string // what they answer
		first, next    gateway.CompleteMode
		asked          string
		whole          bool
	}{
		{"both continue", "cut:40", "ok", gateway.CompletePrefill, gateway.CompletePrefill, "one, one prefilled, two prefilled", true},
		{"the fallback does not", "cut:40", "ok", gateway.CompletePrefill, gateway.CompleteText, "one, one prefilled, one prefilled, one prefilled", false},
		{"neither does", "cut:40", "ok", gateway.CompleteText, gateway.CompleteText, "one, one asked, two asked", true},
		{"the fallback alone does", "cut:40", "ok", gateway.CompleteText, gateway.CompletePrefill, "one, one asked, two asked", true},
		{"the answer is the fallback's, which alone does", "401", "cut:40", gateway.CompleteText, gateway.CompletePrefill, "one, two, one asked, two asked", true},
		{"the answer is the fallback's, and both do", "401", "cut:40", gateway.CompletePrefill, gateway.CompletePrefill, "one, two, one prefilled, two prefilled", true},
	} {
		synctest.Test(t, func(t *testing.T) {
			one := simulator.New(simulator.Script{Replies: replies(t, row.one), Then: replies(t, "401")[0], Answer: sixtyWords})
			two := simulator.New(simulator.Script{Replies: replies(t, row.two), Then: replies(t, "ok")[0], Answer: sixtyWords})
			defer func() { _, _ = one.Close(), two.Close() }()
			var asked []string
			at := func(name string, p *simulator.Provider) roundTrip {
				return func(req *http.Request) (*http.Response, error) {
					body, _ := io.ReadAll(req.Body)
					switch {
					case strings.Contains(string(body), "continue_final_message"):
						name += " prefilled"
					case strings.Contains(string(body), "was interrupted"):
						name += " asked"
					}
					asked = append(asked, name)
					req.Body = io.NopCloser(strings.NewReader(string(body)))
					return p.Transport().RoundTrip(req)
				}
			}
			h := newHarnessWith(t, gateway.Config{
				Policy: policy.Interactive(),
				Base: roundTrip(func(req *http.Request) (*http.Response, error) {
					if req.URL.Host == "one.test" {
						return at("one", one)(req)
					}
					return at("two", two)(req)
				}),
				Upstreams: []gateway.Upstream{
					{Name: "one", API: "openai", Base: address("one.test"), NoKey: true, Complete: row.first, Fallback: []gateway.Fallback{{To: "two", Kinds: fault.Set(0).With(fault.Auth)}}},
					{Name: "two", API: "openai", Base: address("two.test"), NoKey: true, Complete: row.next},
				},
			})
			_, stream, err := h.get("/v1/chat/completions", gpt)
			text, done := wordsOf(t, stream)
			if got := strings.Join(asked, ", "); got != row.asked {
				t.Errorf("%s: asked %s, want %s", row.name, got, row.asked)
			}
			if done != row.whole || row.whole && text != sixtyWords || !strings.HasPrefix(sixtyWords, text) {
				t.Errorf("%s: got %q, done %t, %v; want the whole answer: %t", row.name, stream, done, err, row.whole)
			}
		})
	}
}

// TestLiteLLM_TurnedOffStaysOff is LiteLLM's #19077: a request that had forbidden it was continued all the same. It
// also swallowed the failure for the second request's 400 (#27967).
func TestLiteLLM_TurnedOffStaysOff(t *testing.T) {
	for _, mode := range []gateway.CompleteMode{gateway.CompleteOff, gateway.CompleteLossless, ""} {
		synctest.Test(t, func(t *testing.T) {
			s, m := newTextScenario(t, mode, "cut:40, then ok", "ok, then ok")
			s.call(gpt, 130*time.Second)
			if n := len(m[primary].Requests()) + len(m[fallback].Requests()); n != 1 {
				t.Errorf("mode %q: %d requests, want 1", mode, n)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s, _ := newTextScenario(t, gateway.CompleteText, "cut:40, then 400", "400, then 400")
		a := s.call(gpt, 130*time.Second)
		if text, done := wordsOf(t, a.text); done || !strings.HasPrefix(sixtyWords, text) || text == "" || !strings.Contains(a.text, "error") {
			t.Errorf("a second request with a 400: %q, done %t, %v; want a part and an error", a.text, done, a.err)
		}
	})
}
