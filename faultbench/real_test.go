package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	main "github.com/ridethrough/ridethrough/faultbench"
)

// provider is a provider that wants a key and knows one field and one beta less than it is asked for.
func provider(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var asked struct {
		Model  string
		Stream bool
		Later  *json.RawMessage `json:"conform_later"`
	}
	_ = json.Unmarshal(body, &asked)
	w.Header().Set("Request-Id", "req_7")
	w.Header().Set("Content-Type", "application/json")
	refuse := func(status int, kind, words string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"type":"error","error":{"type":%q,"message":%q}}`, kind, words)
	}
	switch beta := r.Header.Get("Anthropic-Beta"); {
	case r.Method == "HEAD":
	case r.Header.Get("X-Api-Key") != "sk-ant-good":
		refuse(401, "authentication_error", "invalid x-api-key")
	case r.URL.Path == "/v1/models":
		io.WriteString(w, `{"data":[{"id":"claude-x"}]}`)
	case asked.Model == "":
		refuse(400, "invalid_request_error", "model: Field required")
	case r.URL.Path == "/v1/messages/count_tokens":
		io.WriteString(w, `{"input_tokens":7}`)
	case beta != "":
		refuse(400, "invalid_request_error", "Unexpected value(s) `"+beta+"` for the `anthropic-beta` header")
	case asked.Later != nil:
		refuse(400, "invalid_request_error", "conform_later: Extra inputs are not permitted")
	case asked.Stream:
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "event: message_start\ndata: {}\n\nevent: message_stop\ndata: {}\n\n")
	default:
		io.WriteString(w, `{"type":"message"}`)
	}
}

// realResults returns the checks of a gateway with its own provider that end in one way.
func realResults(t *testing.T, gateway http.HandlerFunc, key string, end main.Status) string {
	server := httptest.NewServer(gateway)
	defer server.Close()
	var names []string
	for r := range main.Run(t.Context(), server.URL, main.Options{Key: key}) {
		if r.Status == end {
			names = append(names, r.Check)
		}
	}
	return strings.Join(names, " ")
}

func TestRun_RealProvider(t *testing.T) {
	if diff := cmp.Diff("reachable head errors", realResults(t, provider, "", main.OK)); diff != "" {
		t.Errorf("checks that pass without a key (-want +got):\n%s", diff)
	}
	const all = "reachable head models beta-headers body stream errors response-headers count-tokens"
	if diff := cmp.Diff(all, realResults(t, provider, "sk-ant-good", main.OK)); diff != "" {
		t.Errorf("checks that pass with a key (-want +got):\n%s", diff)
	}
}

func TestRun_FreeChecksAskForNoAnswer(t *testing.T) {
	realResults(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"role"`) {
			t.Errorf("a check without a key asked for an answer: got %s %s, want a request that is refused", r.URL.Path, body)
		}
		r.Header.Set("X-Api-Key", "sk-ant-good") // the gateway has a key of its own
		provider(w, r)
	}, "", main.OK)
}

func TestRun_RealProviderBehindBrokenGateway(t *testing.T) {
	for _, tt := range []struct {
		name, fails string
		change      func(w http.ResponseWriter, r *http.Request) http.ResponseWriter
	}{
		{"betas dropped", "beta-headers", func(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
			r.Header.Del("Anthropic-Beta")
			return w
		}},
		{"fields dropped", "body", func(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(strings.NewReader(strings.ReplaceAll(string(body), `,"conform_later":[]`, "")))
			return w
		}},
		{"pages for errors", "reachable models errors response-headers count-tokens", func(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
			if r.Method == "HEAD" || r.Header.Get("Anthropic-Beta") != "" {
				return w
			}
			body, _ := io.ReadAll(r.Body)
			if r.Body = io.NopCloser(strings.NewReader(string(body))); strings.Contains(string(body), "tools") {
				return w
			}
			io.WriteString(w, "<html>")
			return nil
		}},
	} {
		got := realResults(t, func(w http.ResponseWriter, r *http.Request) {
			if w = tt.change(w, r); w != nil {
				provider(w, r)
			}
		}, "sk-ant-good", main.Fails)
		if diff := cmp.Diff(tt.fails, got); diff != "" {
			t.Errorf("checks that a gateway with %q fails (-want +got):\n%s", tt.name, diff)
		}
	}
}
