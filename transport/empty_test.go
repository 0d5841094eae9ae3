package transport_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

// emptyAnswer is how one API ends an answer without content: %TOKENS% is the number of output tokens.
type emptyAnswer struct {
	wire         string
	stream, body string
	other        string // the stream with another reason than a plain stop; "": none
}

const anthropicStop = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":%TOKENS%}}`

var emptyAnswers = []emptyAnswer{
	{
		"anthropic", start + event("message_delta", anthropicStop) + stop,
		`{"type":"message","content":[],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":%TOKENS%}}`,
		start + event("message_delta", strings.Replace(anthropicStop, "end_turn", "max_tokens", 1)) + stop,
	},
	{
		"openai-chat",
		`data: {"choices":[{"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n" +
			`data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n" +
			`data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":%TOKENS%}}` + "\n\ndata: [DONE]\n\n",
		`{"choices":[{"message":{"role":"assistant","content":null},"finish_reason":"stop"}],"usage":{"completion_tokens":%TOKENS%}}`,
		`data: {"choices":[{"delta":{},"finish_reason":"content_filter"}],"usage":{"completion_tokens":0}}` + "\n\ndata: [DONE]\n\n",
	},
	{
		"openai-completions",
		`data: {"choices":[{"text":"","finish_reason":"stop"}],"usage":{"completion_tokens":%TOKENS%}}` + "\n\ndata: [DONE]\n\n",
		`{"choices":[{"text":"","finish_reason":"stop"}],"usage":{"completion_tokens":%TOKENS%}}`,
		`data: {"choices":[{"text":"","finish_reason":"length"}],"usage":{"completion_tokens":0}}` + "\n\ndata: [DONE]\n\n",
	},
	{
		"openai-responses",
		event("response.created", `{"type":"response.created","response":{"status":"in_progress"}}`) +
			event("response.completed", `{"type":"response.completed","response":{"status":"completed","output":[],"usage":{"output_tokens":%TOKENS%}}}`),
		`{"object":"response","status":"completed","error":null,"output":[],"usage":{"output_tokens":%TOKENS%}}`,
		event("response.incomplete", `{"type":"response.incomplete","response":{"status":"incomplete","output":[],"usage":{"output_tokens":0}}}`),
	},
	{
		"gemini",
		`data: {"candidates": [{"content": {"role": "model"},"finishReason": "STOP"}],"usageMetadata": {"candidatesTokenCount": %TOKENS%}}` + "\r\n\r\n",
		`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"candidatesTokenCount":%TOKENS%}}`,
		`data: {"candidates": [{"finishReason": "SAFETY"}],"usageMetadata": {"promptTokenCount": 9}}` + "\r\n\r\n",
	},
	{
		"gemini array", `[{"candidates": [{"finishReason": "STOP"}],"usageMetadata": {"thoughtsTokenCount": %TOKENS%}}` + "\n]\n",
		`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"thoughtsTokenCount":%TOKENS%}}`, "",
	},
	{
		"ollama", `{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":7,"eval_count":%TOKENS%}` + "\n",
		`{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","eval_count":%TOKENS%}`,
		`{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"load"}` + "\n",
	},
	{
		"lmstudio", event("chat.end", `{"type":"chat.end","result":{"output":[],"stats":{"total_output_tokens":%TOKENS%}}}`),
		`{"output":[],"stats":{"total_output_tokens":%TOKENS%}}`, "",
	},
}

// api returns the API.
func (e emptyAnswer) api(t *testing.T) wire {
	t.Helper()
	for _, w := range wires {
		if w.name == e.wire {
			return w
		}
	}
	t.Fatalf("no API is called %s", e.wire)
	return wire{}
}

// inForms calls f with the reply of a given number of output tokens, streamed and not.
func (e emptyAnswer) inForms(t *testing.T, tokens string, f func(t *testing.T, form string, w wire, empty reply)) {
	w := e.api(t)
	for form, text := range map[string]string{"streamed": e.stream, "not streamed": e.body} {
		r := ok(strings.ReplaceAll(text, "%TOKENS%", tokens))
		if form == "streamed" {
			r.kind = w.kind
		}
		synctest.Test(t, func(t *testing.T) { f(t, e.wire+", "+form, w, r) })
	}
}

func TestTransport_EmptyAnswerIsAskedForOnceMore(t *testing.T) {
	for _, e := range emptyAnswers {
		e.inForms(t, "0", func(t *testing.T, name string, w wire, empty reply) {
			good := w.stream(w.open + w.say + w.end)
			if got := w.sent(t, &upstream{replies: []reply{empty, good}}); got.text != good.body || got.tries != 2 {
				t.Errorf("%s, then an answer: got %q after %d tries, want the answer after 2", name, got.text, got.tries)
			}
			got := w.sent(t, &upstream{replies: []reply{overload, empty, overload, empty, good}})
			if got.text != empty.body || got.err != nil || got.status != 200 || got.tries != 4 {
				t.Errorf("%s, twice: got %d %q, %v after %d tries, want the second one after 4", name, got.status, got.text, got.err, got.tries)
			}
		})
	}
}

func TestTransport_AnswerOfFewTokensIsAskedForOnceMore(t *testing.T) {
	for _, e := range emptyAnswers {
		e.inForms(t, "2", func(t *testing.T, name string, w wire, empty reply) {
			if got := w.sent(t, &upstream{replies: []reply{empty}}); got.text != empty.body || got.err != nil || got.tries != 2 {
				t.Errorf("%s, two tokens: got %q, %v after %d tries, want it after 2", name, got.text, got.err, got.tries)
			}
		})
	}
}

func TestTransport_EmptyAnswerForAnotherReasonIsReturned(t *testing.T) {
	for _, e := range emptyAnswers {
		if e.other == "" {
			continue
		}
		w := e.api(t)
		if got := w.sent(t, &upstream{replies: []reply{w.stream(e.other)}}); got.text != e.other || got.err != nil || got.tries != 1 {
			t.Errorf("%s: got %q, %v after %d tries, want it after 1", e.wire, got.text, got.err, got.tries)
		}
	}
}

func TestTransport_EmptyAnswerAtTheLastTryKeepsItsStatus(t *testing.T) {
	for _, e := range emptyAnswers {
		e.inForms(t, "0", func(t *testing.T, name string, w wire, empty reply) {
			never := policy.Policy{Retries: 1, RetryOn: 1 << 31} // decides, and lets nothing pass
			resp, err := (&transport.Transport{Base: &upstream{replies: []reply{empty}}, Retry: retry.Retrier{Policy: never}}).RoundTrip(w.request(t))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			text, err := io.ReadAll(resp.Body)
			if resp.StatusCode != http.StatusOK || string(text) != empty.body || err != nil {
				t.Errorf("%s: got %d %q, %v, want the empty answer with status 200", name, resp.StatusCode, text, err)
			}
		})
	}
}
