package api_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/anthropic"
	"github.com/ridethrough/ridethrough/internal/api/openai"
	"github.com/ridethrough/ridethrough/internal/api/registry"
)

func TestOf(t *testing.T) {
	tests := []struct{ method, path, want string }{
		{"POST", "/v1/messages", "anthropic"},
		{"POST", "/anthropic/v1/messages", "anthropic"},
		{"POST", "/v1/chat/completions", "openai-chat"},
		{"POST", "/openai/deployments/gpt/chat/completions", "openai-chat"},
		{"POST", "/api/v0/chat/completions", "openai-chat"},
		{"POST", "/v1/completions", "openai-completions"},
		{"POST", "/api/v0/completions", "openai-completions"},
		{"POST", "/v1/responses", "openai-responses"},
		{"POST", "/backend-api/codex/responses", "openai-responses"},
		{"POST", "/v1/responses/compact", "openai-responses"},
		{"POST", "/v1/models/gemini-2.5-pro:generateContent", "gemini"},
		{"POST", "/v1beta/models/gemini-2.5-pro:streamGenerateContent", "gemini"},
		{"POST", "/v1beta/tunedModels/mine:generateContent", "gemini"},
		{"POST", "/v1/projects/p/locations/l/publishers/google/models/g:streamGenerateContent", "gemini"},
		{"POST", "/v1internal:streamGenerateContent", "gemini"},
		{"POST", "/v1/projects/p/locations/l/endpoints/123:generateContent", "gemini"},
		{"POST", "/v1/projects/p/locations/l/endpoints/openapi/chat/completions", "openai-chat"},
		{"POST", "/v1beta/interactions", "gemini-interactions"},
		{"POST", "/v1beta1/projects/p/locations/l/interactions", "gemini-interactions"},
		{"POST", "/v1beta/interactions/v1_a/cancel", ""},
		{"GET", "/v1beta/interactions/v1_a", ""},
		{"POST", "/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-sonnet-4@20250514:rawPredict", "anthropic-vertex"},
		{"POST", "/projects/p/locations/us-east5/publishers/anthropic/models/m:streamRawPredict", "anthropic-vertex"},
		{"POST", "/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict", ""},
		{"POST", "/v1/projects/p/locations/l/publishers/anthropic/models/a/b:rawPredict", ""},
		{"POST", "/v1/projects/p/locations/l/publishers/anthropic/models/:rawPredict", ""},
		{"POST", "/v1/projects/p/locations/l/publishers/anthropic/models/m:predict", ""},
		{"POST", "/v1/projects/p/locations/l/endpoints/123:rawPredict", ""},
		{"POST", "/v2/chat", "cohere"},
		{"POST", "/v2/rerank", ""},
		{"POST", "/api/chat", "ollama"},
		{"POST", "/api/generate", "ollama"},
		{"POST", "/api/v1/chat", "lmstudio"},
		{"POST", "/v1/messages/count_tokens", ""},
		{"POST", "/v1/messages/batches", ""},
		{"POST", "/v1/threads/thread_1/messages", ""},
		{"POST", "/v1/responses/resp_1/cancel", ""},
		{"POST", "/v1/responses/input_tokens", ""},
		{"GET", "/v1/chat/completions", ""},
		{"GET", "/v1/responses/resp_1", ""},
		{"POST", "/v1/embeddings", ""},
		{"POST", "/v1beta/models/m:countTokens", ""},
		{"POST", "/v1beta/models/m:batchGenerateContent", ""},
		{"POST", "/api/pull", ""},
		{"POST", "/api/v1/models/load", ""},
	}
	for _, tt := range tests {
		got := ""
		if d := registry.Of(tt.method, tt.path); d != nil {
			got = d.Name()
		}
		if got != tt.want {
			t.Errorf("Of(%s, %s) = %q, want %q", tt.method, tt.path, got, tt.want)
		}
	}
}

func TestSafe(t *testing.T) {
	tests := []struct {
		method, path string
		want         bool
	}{
		{"GET", "/v1/models", true},
		{"HEAD", "/", true},
		{"POST", "/v1/messages/count_tokens", true},
		{"POST", "/v1/responses/input_tokens", true},
		{"POST", "/v1/embeddings", true},
		{"POST", "/api/v0/embeddings", true},
		{"POST", "/v1beta/models/m:countTokens", true},
		{"POST", "/v1beta/models/m:embedContent", true},
		{"POST", "/v1beta/models/m:batchEmbedContents", true},
		{"POST", "/api/embed", true},
		{"POST", "/api/embeddings", true},
		{"POST", "/api/show", true},
		{"POST", "/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict", true},
		{"POST", "/v2/rerank", true},
		{"POST", "/v2/embed", true},
		{"POST", "/v1/messages", false},
		{"POST", "/v1/files", false},
		{"POST", "/v1beta/models/m:asyncBatchEmbedContent", false},
		{"POST", "/api/pull", false},
		{"DELETE", "/api/delete", false},
	}
	for _, tt := range tests {
		if got := api.Safe(tt.method, tt.path); got != tt.want {
			t.Errorf("Safe(%s, %s) = %v, want %v", tt.method, tt.path, got, tt.want)
		}
	}
}

func TestAPI_ReadFindsModelAndStream(t *testing.T) {
	tests := []struct {
		body   string
		model  string
		stream bool
	}{
		{`{"model":"m","stream":true,"messages":[]}`, "m", true},
		{"{ \"messages\" : [{\"content\":\"say \\\"stream\\\": true\"}] ,\n \"model\" : \"a\\u0062\" }", "ab", false},
		{`{"messages":[{"stream":true,"model":"inner"}],"stream":false,"model":"outer"}`, "outer", false},
		{`{"stream":true,"stream":false}`, "", false},
		{`{"model":7,"stream":"true"}`, "", false},
		{`{"model":"m","messages":[{"content":"broken`, "m", false},
		{`stream: true`, "", false},
		{`{"model":"` + strings.Repeat("m", 1<<20) + `"}`, strings.Repeat("m", 256), false},
		{``, "", false},
	}
	for _, tt := range tests {
		got := anthropic.Messages().Read(&url.URL{}, []byte(tt.body))
		if got.Model != tt.model || (got.Form != api.JSON) != tt.stream {
			t.Errorf("Read(%s) = %+v, want model %q, stream %v", tt.body, got, tt.model, tt.stream)
		}
	}
}

func TestRequestScanner_StopsWhenAllIsKnown(t *testing.T) {
	tests := []struct {
		part string
		done bool
	}{
		{`{"model":"m","stream":true,`, true},
		{`{"stream":null,"messages":[],"model":7`, false}, // the number may go on
		{`{"stream":null,"messages":[],"model":7 `, true},
		{`{"model":"m","messages":[{"stream":true`, false},
		{`{"model":"m"}`, true},
		{`[]`, true},
		{` `, false},
		{``, false},
	}
	for _, tt := range tests {
		var s api.RequestScanner
		if got := s.Scan([]byte(tt.part)); got != tt.done {
			t.Errorf("Scan(%s) = %v, want %v", tt.part, got, tt.done)
		}
	}
}

func TestRequestScanner_CutsModelWithinEscape(t *testing.T) {
	var s api.RequestScanner
	s.Scan([]byte(`{"model":"` + strings.Repeat("m", 253) + `\u0061 and more"}`))
	if got, want := openai.Chat().Request(&url.URL{}, &s).Model, strings.Repeat("m", 253); got != want {
		t.Errorf("model %q, want %q", got, want)
	}
}

func TestAPI_ReadFindsForm(t *testing.T) {
	tests := []struct {
		url, body, model string
		form             api.Form
	}{
		{"/v1/messages", `{"model":"m","stream":true}`, "m", api.Events},
		{"/v1/messages", `{"model":"m"}`, "m", api.JSON},
		{"/v1/completions", `{"model":"m","stream":true}`, "m", api.Events},
		{"/v1/responses", `{"model":"m","stream":true}`, "m", api.Events},
		{"/api/v1/chat", `{"model":"m","stream":true}`, "m", api.Events},
		{"/api/v1/chat", `{"model":"m"}`, "m", api.JSON},
		{"/api/chat", `{"model":"m"}`, "m", api.Lines},
		{"/api/chat", `{"model":"m","stream":null}`, "m", api.Lines},
		{"/api/chat", `{"model":"m","stream":true}`, "m", api.Lines},
		{"/api/generate", `{"model":"m","stream":false}`, "m", api.JSON},
		{"/v1/models/m:generateContent", `{}`, "m", api.JSON},
		{"/v1/models/m:generateContent?alt=sse", `{}`, "m", api.JSON},
		{"/v1beta/models/m:streamGenerateContent?alt=sse", `{"model":"other"}`, "m", api.Events},
		{"/v1beta/models/m:streamGenerateContent?key=k&alt=sse", `{}`, "m", api.Events},
		{"/v1beta/models/m:streamGenerateContent", `{"stream":false}`, "m", api.Array},
		{"/v1beta/models/m:streamGenerateContent?alt=json", `{}`, "m", api.Array},
		{"/v1beta/tunedModels/mine:streamGenerateContent", `{}`, "mine", api.Array},
		{"/v1/projects/p/locations/l/endpoints/123:streamGenerateContent?alt=sse", `{"model":"other"}`, "123", api.Events},
		{"/v1/projects/p/locations/l/publishers/anthropic/models/m@1:rawPredict", `{"stream":false}`, "m@1", api.JSON},
		{"/v1/projects/p/locations/l/publishers/anthropic/models/m@1:streamRawPredict", `{"stream":true}`, "m@1", api.Events},
		{"/openai/deployments/d/chat/completions?api-version=1", `{"model":"gpt","stream":true}`, "d", api.Events},
		{"/openai/deployments/d/completions?api-version=1", `{"prompt":"Hi"}`, "d", api.JSON},
		{"/openai/v1/chat/completions", `{"model":"gpt"}`, "gpt", api.JSON},
		{"/v1beta/interactions", `{"model":"m","input":"Hi","stream":true}`, "m", api.Events},
		{"/v1beta/interactions", `{"agent":"a","input":"Hi","background":true}`, "", api.JSON},
		{"/v2/chat", `{"model":"command-a","stream":true}`, "command-a", api.Events},
		{"/v1internal:streamGenerateContent?alt=sse", `{"model":"m","request":{}}`, "m", api.Events},
	}
	for _, tt := range tests {
		u, _ := url.Parse(tt.url)
		got := registry.Of("POST", u.Path).Read(u, []byte(tt.body))
		if got.Model != tt.model || got.Form != tt.form {
			t.Errorf("Read(%s, %s) = %+v, want model %q in form %d", tt.url, tt.body, got, tt.model, tt.form)
		}
	}
}

func TestAPI_AnswerForm(t *testing.T) {
	const array = "/v1beta/models/m:streamGenerateContent"
	tests := []struct {
		url, kind, begin string
		want             api.Form
	}{
		{"/v1/messages", "text/event-stream; charset=utf-8", "", api.Events},
		{"/v1/messages", "Text/Event-Stream", "event: m", api.Events},
		{"/v1/messages", "application/json", "event: message_start", api.Events},
		{"/v1/messages", "", "data: {}", api.Events},
		{"/v1/messages", "text/plain", ": hold", api.Events},
		{"/v1/messages", "application/json", `{"type":"message"`, api.JSON},
		{"/v1/messages", "application/json", `[{`, api.JSON},
		{"/v1/messages", "text/html", `<html>`, api.JSON},
		{"/v1/chat/completions", "application/x-ndjson", `{"id":"c"}` + "\n", api.JSON},
		{"/api/chat", "application/x-ndjson", `{"model":"m"`, api.Lines},
		{"/api/chat", "application/x-ndjson", `<html>`, api.JSON},
		{"/api/chat", "application/json; charset=utf-8", `{"model":"m","done":true}`, api.JSON},
		{"/api/chat", "application/json", `{"model":"m","done":false}` + "\n{", api.Lines},
		{"/api/chat", "application/json", `{"error":"model not found"}` + "\n", api.JSON},
		{array, "application/json; charset=UTF-8", "[{\n", api.Array},
		{array, "application/json", " \n[", api.Array},
		{array, "application/json", `{"error":{}}`, api.JSON},
		{array + "?alt=sse", "text/event-stream", "data: ", api.Events},
		{array + "?alt=sse", "application/json", "data: {", api.Events},
		{"/v1beta/models/m:generateContent", "application/json", "[{", api.JSON},
	}
	for _, tt := range tests {
		u, _ := url.Parse(tt.url)
		if got := registry.Of("POST", u.Path).AnswerForm(u, tt.kind, []byte(tt.begin)); got != tt.want {
			t.Errorf("AnswerForm(%s, %s, %q) = %d, want %d", tt.url, tt.kind, tt.begin, got, tt.want)
		}
	}
}

func TestAPI_ReadFindsMemory(t *testing.T) {
	long := strings.Repeat("x", 1000)
	tests := []struct {
		url, body string
		leans     bool
	}{
		{"/v1/messages", `{"model":"m","stream":true,"thread":{"type":"continue","previous_message_id":"msg_1"}}`, true},
		{"/v1/messages", `{"thread":{"previous_message_id":"msg_\"}1","type": "continue"},"model":"m","stream":true}`, true},
		{"/v1/messages", `{"thread":{"type":"create"},"model":"m","stream":true}`, false},
		{"/v1/messages", `{"thread":"continue","model":"m"}`, false},
		{"/v1/messages", `{"thread":null,"model":"m"}`, false},
		{"/v1/messages", `{"messages":[{"content":"\"thread\":{\"type\":\"continue\"}","thread":{"type":"continue"}}]}`, false},
		{"/v1/messages", `{"diagnostics":{"previous_message_id":"msg_1"},"model":"m"}`, false},
		{"/v1/messages", `{"previous_response_id":"r"}`, false},
		{"/v1/projects/p/locations/l/publishers/anthropic/models/m:rawPredict", `{"thread":{"type":"continue"}}`, true},
		{"/v1/responses", `{"model":"m","stream":true,"input":"` + long + `","previous_response_id":"` + long + `"}`, true},
		{"/v1/responses", `{"previous_response_\u0069d":"r","model":"m"}`, true},
		{"/v1/responses", `{"previous_response_id":"","conversation":null,"model":"m"}`, false},
		{"/v1/responses", `{"conversation":{"id":"conv_1"}}`, true},
		{"/v1/responses", `{"conversation":"conv_1"}`, true},
		{"/v1/chat/completions", `{"previous_response_id":"r","conversation":"c"}`, false},
		{"/v1beta/interactions", `{"model":"m","previous_interaction_id":"v1_a"}`, true},
		{"/api/v1/chat", `{"model":"m","previous_response_id":"resp_1"}`, true},
	}
	for _, tt := range tests {
		u, _ := url.Parse(tt.url)
		a := registry.Of("POST", u.Path)
		byBytes := a.Scanner()
		for i := range tt.body {
			byBytes.Scan([]byte(tt.body[i : i+1]))
		}
		if whole, parts := a.Read(u, []byte(tt.body)), a.Request(u, &byBytes); whole.Leans != tt.leans || parts != whole {
			t.Errorf("%s %.200s: leans %v and, read byte by byte, %+v; want %v", tt.url, tt.body, whole.Leans, parts, tt.leans)
		}
	}
}
