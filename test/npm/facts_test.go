package npm_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

// The SDKs without a gateway: these broken answers are no
// errors to them.
func TestSDK_TakesBrokenAnswersForWholeOnes(t *testing.T) {
	const begin = "The provider is "
	for _, tt := range []struct{ call, replies, text, stop string }{
		{"openai.chat stream", "cut:3:clean", begin, ""},
		{"openai.chat stream", "empty", "", ""},
		{"openai.chat stream", "html", "", ""},
		{"openai.chat stream", "error-200", "", ""},
		{"openai.responses", "error-200", "", ""},
		{"openai.responses stream", "cut:3:clean", begin, ""},
		{"openai.responses stream", "empty", "", ""},
		{"openai.responses stream", "role-error", "", ""}, // response.failed is an event like any other
		{"anthropic.messages stream", "cut:3:clean", begin, ""},
		{"anthropic.messages stream", "empty", "", ""},
		{"anthropic.messages stream", "error-200", "", ""},
		{"google.generateContent", "error-200", "", ""},
		{"google.generateContent stream", "cut:3:clean", begin, ""},
		{"google.generateContent stream", "empty", "", ""},
		{"ollama.generate", "error-200", "", ""},
		{"ai.anthropic stream", "cut:3:clean", begin, "interrupted"},
		{"ai.openai chat stream", "cut:3:clean", begin, "interrupted"},
		{"ai.openai responses stream", "cut:3:clean", begin, "interrupted"},
		{"ai.google", "error-200", "", "other"},
		{"ai.google stream", "cut:3:clean", begin, "interrupted"},
		{"ai.google stream", "html", "", "interrupted"},
		{"ai.google textStream", "role-error", "", ""},
	} {
		t.Run(tt.call+"/"+tt.replies, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, hurried(), script(t, tt.replies))
			if got := w.bare(tt.call); got.Error != "" || got.Text != tt.text || got.Stop != tt.stop {
				t.Errorf("call result %+v", got)
			}
			w.check(0, tt.replies)
		})
	}
}

func TestOllamaSDK_RequiresTheLastLine(t *testing.T) {
	w := newFixture(t, hurried(), script(t, "cut:3:clean"))
	if got := w.bare("ollama.chat stream"); !strings.Contains(got.Error, "Did not receive done") {
		t.Errorf("call result %+v", got)
	}
}

// exhausted returns up after three retries.
func exhausted(t *testing.T) *fixture {
	t.Helper()
	p := policy.Simple()
	p.Backoff = policy.Backoff{Steps: []time.Duration{5 * time.Millisecond}}
	p.MaxWait = 100 * time.Millisecond // what another call has met costs no retry, but time
	return newFixture(t, p, simulator.Script{Then: simulator.Status{Code: 503}})
}

func TestGateway_GivingUpEndsSDKRetries(t *testing.T) {
	for _, c := range calls {
		if strings.HasPrefix(c.name, "ai.") {
			continue // see TestVercelSDK_StopsAtALastError
		}
		if c.name == "cohere.chat" {
			continue // see TestCohereSDK_AsksAgainTwice
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := exhausted(t)
			got := w.ask(c.name)
			if got.Error == "" || got.Text+got.Stop != "" || !c.streams() && got.Status != 503 {
				t.Errorf("call result %+v", got)
			}
			w.check(1, "503 503 503 503")
		})
	}
}

// Cohere's SDK knows no X-Should-Retry either. It sends a request again twice, after a second and after two.
func TestCohereSDK_AsksAgainTwice(t *testing.T) {
	t.Parallel()
	w := exhausted(t)
	got := w.ask("cohere.chat")
	if got.Error == "" || got.Text+got.Stop != "" || got.Status != 503 || w.asked.Load() != 3 {
		t.Errorf("call result %+v after %d requests; want an error with status 503 after 3", got, w.asked.Load())
	}
}

// Vercel's SDK knows no X-Should-Retry. Of what it takes for an error that may pass it asks again after two seconds,
// also where it is the first event of a stream. So it gets the last error as a 400, on which it stops.
func TestVercelSDK_StopsAtALastError(t *testing.T) {
	for name, asks := range map[string]int64{
		"ai.anthropic": 1, "ai.openai chat": 1, "ai.openai responses": 1, "ai.google": 1,
		"ai.anthropic stream": 2, "ai.openai chat stream": 2,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := exhausted(t)
			if got := w.ask(name); got.Error == "" || got.Text+got.Stop != "" {
				t.Errorf("call result %+v, want an error", got)
			}
			w.check(asks, "503 503 503 503")
		})
	}
}

// A reader of textStream sees no error inside a stream, ours included: it goes to
// onError. Where the dialect's stream is cut after the error, the cut is one.
func TestVercelSDK_TextStreamHidesErrors(t *testing.T) {
	for name, says := range map[string]bool{"ai.anthropic textStream": false, "ai.openai chat textStream": true, "ai.google textStream": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, hurried(), script(t, "cut:3"))
			if got := w.ask(name); got.Text != "The provider is " || (got.Error != "") != says {
				t.Errorf("call result %+v", got)
			}
			w.check(1, "cut:3")
		})
	}
}
