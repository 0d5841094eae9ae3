package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
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
