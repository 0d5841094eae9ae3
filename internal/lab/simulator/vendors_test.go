package simulator_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

const (
	texts       = "/v1/completions"
	responses   = "/v1/responses"
	geminiWhole = "/v1beta/models/m:generateContent"
	geminiSSE   = "/v1beta/models/m:streamGenerateContent?alt=sse"
	geminiArray = "/v1beta/models/m:streamGenerateContent"
	interaction = "/v1beta/interactions"
	ollamaChat  = "/api/chat"
	ollamaText  = "/api/generate"
	studio      = "/api/v1/chat"
	studioOld   = "/api/v0/chat/completions"

	// unstreamed is for an API that streams by default.
	unstreamed = `{"model":"m","stream":false}`
)

// frames returns the data of a stream in any form, a name before it where it has
// one.
func frames(body string) []string {
	switch {
	case strings.HasPrefix(body, "["):
		return strings.Split(strings.TrimSuffix(strings.TrimPrefix(body, "["), "]"), ",\r\n")
	case strings.HasPrefix(body, "{"):
		return strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	}
	return events(strings.ReplaceAll(body, "\r\n", "\n"))
}

// outline returns a stream in short, with what it says.
func outline(t *testing.T, body string) (kinds, text string) {
	t.Helper()
	var all []string
	var said strings.Builder
	for _, frame := range frames(body) {
		name, data, _ := strings.Cut(strings.TrimPrefix(frame, "done "), "{")
		kind, word := about(t, strings.TrimSpace(name), "{"+data)
		all = append(all, kind)
		said.WriteString(word)
	}
	return strings.Join(all, " "), said.String()
}

// about returns what a frame is, and what it says.
func about(t *testing.T, name, data string) (kind, word string) {
	t.Helper()
	if name == "[DONE]" || name == "error" || data == "{" {
		return strings.ToLower(strings.Trim(name, "[]")), ""
	}
	var f struct {
		Error      json.RawMessage
		Delta      any
		Content    string
		Message    struct{ Content string }
		Response   any
		Done       bool
		Choices    []struct{ Delta, Text, FinishReason any }
		Candidates []struct {
			Content struct{ Parts []struct{ Text string } }
		}
		UsageMetadata any
	}
	if err := json.Unmarshal([]byte(data), &f); err != nil {
		t.Fatalf("frame %q: %v", data, err)
	}
	switch {
	case name == "" && f.Error != nil:
		return "error", ""
	case name == "response.output_text.delta":
		return "delta", f.Delta.(string)
	case name == "step.delta":
		word, _ := f.Delta.(map[string]any)["text"].(string)
		return "delta", word
	case name == "message.delta":
		return "delta", f.Content
	case name != "":
		return strings.TrimPrefix(name, "response."), ""
	}
	text, last := f.Message.Content, f.Done || strings.Contains(data, `"finishReason"`) || strings.Contains(data, `"finish_reason":"`)
	if s, ok := f.Response.(string); ok {
		text = s
	}
	for _, c := range f.Candidates {
		text += c.Content.Parts[0].Text
	}
	for _, c := range f.Choices {
		s, _ := c.Text.(string)
		if delta, ok := c.Delta.(map[string]any); ok && delta["content"] != nil {
			s = delta["content"].(string)
		}
		text += s
	}
	switch {
	case last:
		return "last", text
	case text != "":
		return "delta", text
	}
	return "empty", text
}

func TestProvider_StreamsOfEveryVendor(t *testing.T) {
	const words = " delta delta delta "
	shapes := []struct{ path, media, opening, ending, failure, broken string }{
		{
			responses, "text/event-stream; charset=utf-8", "created in_progress output_item.added content_part.added",
			"output_text.done content_part.done output_item.done completed", "error", "failed",
		},
		{texts, "text/event-stream; charset=utf-8", "empty", "last done", "error", "error"},
		{geminiSSE, "text/event-stream", "empty", "last", "error", "error"},
		{geminiArray, "application/json; charset=UTF-8", "empty", "last", "error", "error"},
		{
			interaction, "text/event-stream", "interaction.created interaction.status_update step.start",
			"step.stop interaction.completed done", "error", "error",
		},
		{ollamaChat, "application/x-ndjson", "empty", "last", "error", "error"},
		{ollamaText, "application/x-ndjson", "empty", "last", "error", "error"},
		{studioOld, "text/event-stream; charset=utf-8", "empty", "last done", "error", "error"},
		{
			studio, "text/event-stream; charset=utf-8",
			"chat.start prompt_processing.start prompt_processing.progress prompt_processing.end message.start",
			"message.end chat.end", "error chat.end", "error chat.end",
		},
	}
	for _, shape := range shapes {
		for _, row := range []struct {
			reply, want, text string
			broken            bool
		}{
			{"ok", shape.opening + words + shape.ending, "one two three", false},
			{"drip:1h", shape.opening + words + shape.ending, "one two three", false},
			{"silence:1h", shape.opening + words + shape.ending, "one two three", false},
			{"error-first", shape.failure, "", false},
			{"role-error", shape.opening + " " + shape.broken, "", false},
			{"cut:0", shape.opening, "", true},
			{"cut:2", shape.opening + " delta delta", "one two ", true},
			{"cut:2:clean", shape.opening + " delta delta", "one two ", false},
			{"cut:2:done", shape.opening + " delta delta " + shape.ending, "one two ", false},
			{"empty", "", "", false},
		} {
			t.Run(shape.path+" "+row.reply, func(t *testing.T) {
				script := simulator.Script{Answer: "one two three", Replies: parse(t, row.reply)}
				bubble(t, script, func(t *testing.T, p *simulator.Provider) {
					got := ask(t, p, shape.path, streamed)
					kinds, text := outline(t, got.body)
					if kinds != row.want || text != row.text {
						t.Errorf("events: %s, %q\nwant:   %s, %q", kinds, text, row.want, row.text)
					}
					if got.status != 200 || got.header.Get("Content-Type") != shape.media || errors.Is(got.err, io.ErrUnexpectedEOF) != row.broken {
						t.Errorf("response: got %d %v and error %v, want 200, %s and broken off: %v", got.status, got.header, got.err, shape.media, row.broken)
					}
				})
			})
		}
	}
}

func TestProvider_GeminiArrayIsValidJSON(t *testing.T) {
	for _, reply := range []string{"ok", "error-first", "role-error", "cut:1:done"} {
		bubble(t, simulator.Script{Replies: parse(t, reply)}, func(t *testing.T, p *simulator.Provider) {
			if got := ask(t, p, geminiArray, "{}"); !json.Valid([]byte(got.body)) {
				t.Errorf("array of reply %s: got %s, want valid JSON", reply, got.body)
			}
		})
	}
}

// vendors are the endpoints that give one JSON body.
var vendors = []struct{ path, text string }{
	{texts, `"text":"one two"`},
	{responses, `"text":"one two"`},
	{geminiWhole, `"text":"one two"`},
	{"/v1/models/m:generateContent", `"text":"one two"`},
	{interaction, `"steps":[{"type":"model_output","content":[{"type":"text","text":"one two"}]}]`},
	{ollamaChat, `"message":{"role":"assistant","content":"one two"},"done":true`},
	{ollamaText, `"response":"one two","done":true`},
	{studioOld, `"content":"one two"`},
	{studio, `"output":[{"type":"message","content":"one two"}]`},
}

func TestProvider_JSONOfEveryVendor(t *testing.T) {
	for _, v := range vendors {
		for _, row := range []struct {
			reply                  string
			valid, failure, broken bool
		}{
			{"ok", true, false, false},
			{"error-first", true, true, false},
			{"role-error", true, true, false},
			{"error-200", true, true, false},
			{"cut:2", false, false, true},
			{"cut:2:clean", false, false, false},
			{"empty", false, false, false},
		} {
			bubble(t, simulator.Script{Answer: "one two", Replies: parse(t, row.reply)}, func(t *testing.T, p *simulator.Provider) {
				got := ask(t, p, v.path, unstreamed)
				valid, failure := json.Valid([]byte(got.body)), strings.HasPrefix(got.body, `{"error":`)
				if got.status != 200 || valid != row.valid || failure != row.failure || errors.Is(got.err, io.ErrUnexpectedEOF) != row.broken {
					t.Errorf("%s %s: got %+v, want status 200, valid: %v, error: %v, broken off: %v", v.path, row.reply, got, row.valid, row.failure, row.broken)
				}
				if row.reply == "ok" && !strings.Contains(got.body, v.text) {
					t.Errorf("answer of %s: got %s, want %s in it", v.path, got.body, v.text)
				}
			})
		}
	}
}

func TestProvider_ErrorsOfEveryVendor(t *testing.T) {
	for _, row := range []struct {
		path, body, reply string
		status            int
		want              string
	}{
		{geminiWhole, "{}", "503", 503, `{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}`},
		{geminiSSE, "{}", "429", 429, `{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}`},
		{geminiArray, "[", "ok", 400, ""},
		{interaction, plain, "503", 503, `{"error":{"message":"The service is overloaded. Please try again later.","code":"service_unavailable"}}`},
		{interaction, "{}", "ok", 400, `{"error":{"message":"Either 'model' or 'agent' is required.","code":"invalid_request"}}`},
		{interaction, "[", "ok", 400, ""},
		{"/v1beta/elsewhere", "{}", "ok", 404, `{"error":{"code":404,"message":"Invalid URL (POST /v1beta/elsewhere)","status":"NOT_FOUND"}}`},
		{ollamaChat, plain, "503", 503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`},
		{ollamaChat, plain, "429", 429, `{"error":"too many concurrent requests"}`},
		{ollamaText, `{}`, "ok", 400, `{"error":"model is required"}`},
		{ollamaText, `[]`, "ok", 400, ""},
		{studio, plain, "503", 503, `{"error":{"type":"internal_error","message":"Model is unloaded."}}`},
		{studio, `{}`, "ok", 400, `{"error":{"type":"invalid_request","message":"\"model\" is required"}}`},
		{studio, `[]`, "ok", 400, ""},
		{studioOld, plain, "503", 503, `{"error":"Model is unloaded."}`},
		{responses, `{}`, "ok", 400, `{"error":{"message":"Missing required parameter: 'model'.","type":"invalid_request_error","param":null,"code":null}}`},
		{responses, `[]`, "ok", 400, ""},
	} {
		bubble(t, simulator.Script{Replies: parse(t, row.reply)}, func(t *testing.T, p *simulator.Provider) {
			got := ask(t, p, row.path, row.body)
			if got.status != row.status || row.want != "" && got.body != row.want || !json.Valid([]byte(got.body)) {
				t.Errorf("%s %s %s:\ngot  %d %s\nwant %d %s", row.path, row.body, row.reply, got.status, got.body, row.status, row.want)
			}
		})
	}
}

func TestProvider_StatusesOfEveryVendor(t *testing.T) {
	for code := 400; code < 600; code++ {
		bubble(t, simulator.Script{Then: simulator.Status{Code: code}}, func(t *testing.T, p *simulator.Provider) {
			for _, v := range vendors {
				got := ask(t, p, v.path, plain)
				if !json.Valid([]byte(got.body)) || got.status != code || !strings.HasPrefix(got.body, `{"error":`) {
					t.Errorf("%s with reply %d: got %+v, want an error in JSON with that status", v.path, code, got)
				}
			}
		})
	}
}

func TestProvider_GeminiRetryDelayInBody(t *testing.T) {
	for reply, want := range map[string]string{
		"429;retry-after=7":                       `"retryDelay":"7s"`,
		"429;retry-after=soon, 429;retry-after=7": `"status":"RESOURCE_EXHAUSTED"}}`,
	} {
		bubble(t, simulator.Script{Replies: parse(t, reply)}, func(t *testing.T, p *simulator.Provider) {
			got := ask(t, p, geminiSSE, "{}")
			if !strings.Contains(got.body, want) || !json.Valid([]byte(got.body)) {
				t.Errorf("reply %s: got %s, want valid JSON with %s", reply, got.body, want)
			}
		})
	}
}

func TestProvider_SideEndpointsOfEveryVendor(t *testing.T) {
	bubble(t, simulator.Script{Then: simulator.Status{Code: 529}}, func(t *testing.T, p *simulator.Provider) {
		for _, row := range []struct{ method, path, want string }{
			{"GET", "/v1/models/gpt-9", `"id":"gpt-9"`},
			{"POST", "/v1/embeddings", `"object":"embedding"`},
			{"POST", "/v1/responses/input_tokens", `"input_tokens":4`},
			{"POST", "/v1beta/models/m:countTokens", `"totalTokens":4`},
			{"POST", "/v1/models/m:embedContent", `"values":[`},
			{"POST", "/v1beta/models/m:batchEmbedContents", `"embeddings":[`},
			{"GET", "/v1beta/models", `"name":"models/gemini-simulator"`},
			{"GET", "/v1beta/models/m", `"name":"models/m"`},
			{"GET", "/api/tags", `"models":[`},
			{"GET", "/api/ps", `"models":[`},
			{"GET", "/api/version", `"version":`},
			{"POST", "/api/show", `"capabilities":["completion"]`},
			{"POST", "/api/embed", `"embeddings":[[`},
			{"GET", "/api/v1/models", `"loaded_instances":[`},
			{"GET", "/api/v0/models", `"state":"loaded"`},
			{"GET", "/api/v0/models/m", `"id":"m"`},
			{"POST", "/api/v0/embeddings", `"object":"embedding"`},
		} {
			req, err := http.NewRequestWithContext(t.Context(), row.method, "http://simulator"+row.path, strings.NewReader(plain))
			if err != nil {
				t.Fatalf("new request with context: %v", err)
			}
			if got := do(p.Client(), req); got.status != 200 || !strings.Contains(got.body, row.want) || !json.Valid([]byte(got.body)) {
				t.Errorf("%s %s: got %+v, want status 200 and JSON with %s", row.method, row.path, got, row.want)
			}
		}
	})
}

func TestProvider_GeminiKeySelectsGeminiModels(t *testing.T) {
	bubble(t, simulator.Script{}, func(t *testing.T, p *simulator.Provider) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://simulator/v1/models", nil)
		if err != nil {
			t.Fatalf("new request with context: %v", err)
		}
		req.Header.Set("x-goog-api-key", "test")
		if got := do(p.Client(), req); !strings.HasPrefix(got.body, `{"models":[{"name":"models/`) {
			t.Errorf("models with a key of Gemini: got %+v, want Gemini's list", got)
		}
	})
}

func TestProvider_ResponsesEventsAreNumbered(t *testing.T) {
	for reply, events := range map[string]int{
		"ok": 11, "role-error": 5, "error-first": 1, "cut:2:error": 7, `think:a+say:"b c"+call:d{}+call:e+mixed`: 19,
	} {
		script := simulator.Script{Answer: "one two three", Replies: parse(t, reply)}
		bubble(t, script, func(t *testing.T, p *simulator.Provider) {
			all := frames(ask(t, p, responses, streamed).body)
			for i, frame := range all {
				_, data, _ := strings.Cut(frame, " ")
				var e struct {
					Number int `json:"sequence_number"`
				}
				if err := json.Unmarshal([]byte(data), &e); err != nil || e.Number != i {
					t.Errorf("%s: event %d: %s, %v", reply, i, frame, err)
				}
			}
			if len(all) != events {
				t.Errorf("%s: %d events", reply, len(all))
			}
		})
	}
}
