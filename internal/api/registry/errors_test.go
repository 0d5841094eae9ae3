package registry_test

import (
	"net/http"
	"testing"

	"github.com/ridethrough/ridethrough/internal/api/registry"
)

func TestErrorsOf_FormOfThePath(t *testing.T) {
	for _, tt := range []struct{ path, header, want string }{
		{"/v1/messages", "", "anthropic"},
		{"/v1/messages/count_tokens", "", "anthropic"},
		{"/claude/v1/messages/batches/b_1/results", "", "anthropic"},
		{"/v1/models", "Anthropic-Version", "anthropic"},
		{"/v1/models", "X-Goog-Api-Key", "gemini"},
		{"/v1/models", "", ""},
		{"/v1beta/models", "", "gemini"},
		{"/v1/models/gemini-3:countTokens", "", "gemini"},
		{"/v1/chat/completions/c_1", "", "openai-chat"},
		{"/team/v1/chat/completions", "", "openai-chat"},
		{"/api/v1/chat/completions", "", "openai-chat"},
		{"/v1/responses/r_1/input_items", "", "openai-responses"},
		{"/v1/embeddings", "", "openai-chat"},
		{"/v2/rerank", "", "cohere"},
		{"/api/v1/chat", "", "lmstudio"},
		{"/api/v1/models/load", "", "lmstudio"},
		{"/api/chat", "", "ollama"},
		{"/api/show", "", "ollama"},
		{"/local/api/tags", "", "ollama"},
		{"/api/ps", "", "ollama"},
		{"/api/version", "", "ollama"},
		{"/api/embed", "", "ollama"},
		{"/api/blobs/sha256:29fd", "", "ollama"},
		{"/model/anthropic.claude/converse", "", "bedrock-converse"},
		{"/v1/files", "", ""},
		{"/", "", ""},
		{"", "", ""},
	} {
		got, a := "", registry.ErrorsOf(tt.path, http.Header{tt.header: {"1"}})
		if a != nil {
			got = a.Name()
		}
		if got != tt.want {
			t.Errorf("%s with header %q: got %q, want %q", tt.path, tt.header, got, tt.want)
		}
	}
}
