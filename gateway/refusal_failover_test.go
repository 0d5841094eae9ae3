package gateway_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
)

// streams answers with these events.
func streams(events string) roundTrip { return says(200, events, "Content-Type", "text/event-stream") }

const (
	refusedByAnthropic = messageStart + "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\"},\"usage\":{\"output_tokens\":1}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	refusedByChat = `data: {"choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":null}]}` + "\n\n" +
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}` + "\n\ndata: [DONE]\n\n"
	refusedWhole    = `{"choices":[{"message":{"role":"assistant","content":null},"finish_reason":"content_filter"}]}`
	refusedByGemini = `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":3}}`
)

// TestFailover_RefusalIsAskedOfAnotherModel is about answers without content in which a model or a filter refuses.
func TestFailover_RefusalIsAskedOfAnotherModel(t *testing.T) {
	const chat, gemini = "/v1/chat/completions", "/v1beta/models/large:generateContent"
	chatRequest := strings.Replace(gpt, "gpt-5", "large", 1)
	claudeRequest := strings.Replace(claude, "claude-sonnet", "large", 1)
	late := `data: {"choices":[{"index":0,"delta":{"content":"Once"},"finish_reason":null}]}` + "\n\n" + refusedByChat
	refused := fault.Set(0).With(fault.Refused)
	tests := []struct {
		name, api, path, body string
		large, small          roundTrip
		kinds                 fault.Set
		asked, text           string
	}{
		{"anthropic", "anthropic", "/v1/messages", claudeRequest, streams(refusedByAnthropic), streams(messageStart + messageHi + messageStop), refused, "large small", "Hi"},
		{"chat", "openai", chat, chatRequest, streams(refusedByChat), answers, refused, "large small", "Hi"},
		{"chat, whole", "openai", chat, whole(chatRequest), says(200, refusedWhole, "Content-Type", "application/json"), answers, refused, "large small", "Hi"},
		{"gemini", "gemini", gemini, `{}`, says(200, refusedByGemini, "Content-Type", "application/json"), says(200, `{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}`), refused, "large small", "Hi"},
		{"interactions", "gemini", "/v1beta/interactions", `{"model":"large","input":"Hi","stream":true}`, streams(interactionRefused), streams(interaction), refused, "large small", "Hi"},
		{"not listed", "openai", chat, chatRequest, streams(refusedByChat), answers, busy, "large", "content_filter"},
		{"after content", "openai", chat, chatRequest, streams(late), answers, refused, "large", "Once"},
		{"refused by both", "openai", chat, chatRequest, streams(refusedByChat), streams(strings.Replace(refusedByChat, "{}", `{"role":"x"}`, 1)), refused, "large small", refusedByChat},
		{"refused by both, whole", "openai", chat, whole(chatRequest), says(200, refusedWhole, "Content-Type", "application/json"), says(200, strings.Replace(refusedWhole, "assistant", "x", 1), "Content-Type", "application/json"), refused, "large small", refusedWhole},
		{"refused by both, for other things first", "openai", chat, chatRequest, says(429, `{"error":{"code":"insufficient_quota"}}`), streams(refusedByChat), fault.Set(0).With(fault.Quota), "large small", refusedByChat},
		{"the other does not exist", "openai", chat, chatRequest, streams(refusedByChat), says(404, `{"error":{"code":"model_not_found"}}`), refused, "large small", refusedByChat},
		{"the same, whole", "openai", chat, whole(chatRequest), says(200, refusedWhole, "Content-Type", "application/json"), says(404, `{"error":{"code":"model_not_found"}}`), refused, "large small", refusedWhole},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			w, m := newModels(t, tt.api, map[string]roundTrip{"large": tt.large, "small": tt.small}, gateway.Fallback{To: "one", Model: "small", Kinds: tt.kinds})
			resp, text, err := w.get(tt.path, tt.body)
			if err != nil || resp.StatusCode != 200 || !strings.Contains(text, tt.text) || resp.Header.Get("X-Should-Retry") != "" {
				t.Errorf("%s: status %d, headers %v, %q, %v; want 200 with %q", tt.name, resp.StatusCode, resp.Header, text, err, tt.text)
			}
			if got := strings.Join(m.asked(), " "); got != tt.asked {
				t.Errorf("%s: asked for %s, want %s", tt.name, got, tt.asked)
			}
		})
	}
}

// TestFailover_RefusalIsKeptWhole is about a refusal whose connection is gone when the fallback has failed.
func TestFailover_RefusalIsKeptWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusal, end, _ := strings.Cut(refusedByChat, "data: [DONE]")
		large := func(*http.Request) (*http.Response, error) {
			r, w := io.Pipe()
			go func() {
				_, _ = io.WriteString(w, refusal)
				time.Sleep(time.Second)
				gone := time.AfterFunc(time.Second, func() { _ = w.CloseWithError(errors.New("connection reset by peer")) })
				_, _ = io.WriteString(w, "data: [DONE]"+end)
				gone.Stop()
				_ = w.Close()
			}()
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: r}, nil
		}
		small := func(req *http.Request) (*http.Response, error) {
			time.Sleep(5 * time.Second)
			return says(404, `{"error":{"code":"model_not_found"}}`)(req)
		}
		w, _ := newModels(t, "openai", map[string]roundTrip{"large": large, "small": small}, gateway.Fallback{To: "one", Model: "small", Kinds: fault.Set(0).With(fault.Refused)})
		resp, text, err := w.get("/v1/chat/completions", strings.Replace(gpt, "gpt-5", "large", 1))
		if err != nil || resp.StatusCode != 200 || text != refusedByChat {
			t.Errorf("status %d, %q, %v; want the whole refusal", resp.StatusCode, text, err)
		}
	})
}

// TestFailover_CommentNamesWhoAnswers is about answers whose headers went out while they were waited for.
func TestFailover_CommentNamesWhoAnswers(t *testing.T) {
	const comment, ping = ": ridethrough answer from one, model small\n", "event: ping\ndata: {\"type\":\"ping\"}\n\n"
	for _, tt := range []struct{ api, path, body, want string }{
		{"anthropic", "/v1/messages", strings.Replace(claude, "claude-sonnet", "large", 1), comment + ping},
		{"openai", "/v1/chat/completions", strings.Replace(gpt, "gpt-5", "large", 1), comment + "\n"},
		{"gemini", "/v1beta/models/large:streamGenerateContent?alt=sse", `{}`, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			events := map[string]string{
				"anthropic": messageStart + messageHi + messageStop,
				"openai":    `data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n",
				"gemini":    `data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}` + "\r\n\r\n",
			}[tt.api]
			answer := map[string]roundTrip{"small": streams(events)}
			w, _ := newModels(t, tt.api, answer, gateway.Fallback{To: "one", Model: "small", After: 30 * time.Second})
			resp, text, err := w.get(tt.path, tt.body)
			if err != nil || resp.Header.Get("X-Ridethrough-Model") != "" || strings.Count(text, ": ridethrough answer") != strings.Count(tt.want, comment) {
				t.Errorf("%s: headers %v, %q, %v; want one comment %q and no header", tt.api, resp.Header, text, err, tt.want)
			}
			if !strings.HasSuffix(text, tt.want+events) {
				t.Errorf("%s: %q, want %q before the answer", tt.api, text, tt.want)
			}
			if end := w.all[len(w.all)-1]; end.Call.Upstream != "one" || end.Call.Model != "small" || end.Status != http.StatusOK {
				t.Errorf("%s: the last event is %+v, want one of the model small", tt.api, end)
			}
		})
	}
}
