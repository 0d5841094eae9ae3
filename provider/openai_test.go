package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// apis are the two ways to ask.
var openaiApis = []provider.API{provider.Chat, provider.Responses}

// transport is an http.RoundTripper in one function.
type openaiTransport func(*http.Request) (*http.Response, error)

func (t openaiTransport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// plays returns a client whose server answers everything with a stream.
func openaiPlays(stream string) *http.Client { return openaiServes(200, "text/event-stream", stream) }

// serves returns a client whose server has one answer.
func openaiServes(status int, kind, body string) *http.Client {
	return &http.Client{Transport: openaiTransport(func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Header: http.Header{"Content-Type": {kind}}, Request: r,
			Body: io.NopCloser(strings.NewReader(body)),
		}, nil
	})}
}

// listens returns a client that records requests, and a chat answer for it.
func openaiListens(to *http.Request, body *[]byte) *http.Client {
	return &http.Client{Transport: openaiTransport(func(r *http.Request) (*http.Response, error) {
		*to = *r
		*body, _ = io.ReadAll(r.Body)
		return openaiServes(200, "text/event-stream", "data: [DONE]\n\n").Transport.RoundTrip(r)
	})}
}

// events puts the data of events into a stream.
func openaiEvents(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}

// ask sends a request and returns the answer, with the SDK's own error as a fault.
func openaiAsk(m llm.Model, r llm.Request) (parts []llm.Part, err error) {
	for p, err := range m.Stream(context.Background(), r) {
		if err != nil {
			return parts, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

var openaiHello = llm.Request{Messages: []llm.Message{llm.UserMessage("Hello")}}

func TestOpenAI_IgnoresEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"OPENAI_API_KEY": "sk-ambient", "OPENAI_BASE_URL": "http://elsewhere.test/v1", "OPENAI_ORG_ID": "org-ambient",
		"OPENAI_PROJECT_ID": "proj-ambient", "OPENAI_ADMIN_KEY": "sk-ambient-admin", "OPENAI_CUSTOM_HEADERS": "X-Ambient: yes",
	} {
		t.Setenv(name, value)
	}
	for _, api := range openaiApis {
		var sent http.Request
		var body []byte
		_, _ = openaiAsk(provider.OpenAI(provider.Config{Model: "m", API: api, Client: openaiListens(&sent, &body)}), openaiHello)
		if sent.URL.Host != "api.openai.com" || sent.Header.Get("Authorization") != "" {
			t.Errorf("request of %s: got %s with %v, want api.openai.com without a key", api, sent.URL, sent.Header)
		}
		for name, values := range sent.Header {
			if strings.Contains(strings.Join(values, " "), "ambient") || name == "X-Ambient" {
				t.Errorf("header of %s: got %s: %s, want nothing from the environment", api, name, values)
			}
		}
	}
}

func TestOpenAI_DefaultAPI(t *testing.T) {
	tests := []struct {
		base string
		api  provider.API
		want string
	}{
		{"", "", "https://api.openai.com/v1/responses"},
		{"https://eu.api.openai.com/v1/", "", "https://eu.api.openai.com/v1/responses"},
		{"", provider.Chat, "https://api.openai.com/v1/chat/completions"},
		{"https://openrouter.ai/api/v1", "", "https://openrouter.ai/api/v1/chat/completions"},
		{"https://notapi.openai.com.evil.test/v1", "", "https://notapi.openai.com.evil.test/v1/chat/completions"},
		{"http://127.0.0.1:8000/v1", provider.Responses, "http://127.0.0.1:8000/v1/responses"},
	}
	for _, tt := range tests {
		var sent http.Request
		var body []byte
		_, _ = openaiAsk(provider.OpenAI(provider.Config{Model: "m", Key: "sk-1", BaseURL: tt.base, API: tt.api, Client: openaiListens(&sent, &body)}), openaiHello)
		if sent.URL == nil || sent.URL.String() != tt.want || sent.Header.Get("Authorization") != "Bearer sk-1" {
			t.Errorf("%s of %s: got %v with %v, want %s with the key", tt.base, tt.api, sent.URL, sent.Header, tt.want)
		}
	}
}

func TestOpenAI_BadConfigIsInvalid(t *testing.T) {
	for _, c := range []provider.Config{
		{BaseURL: "localhost:8000/v1"},
		{BaseURL: "http://%zz"},
		{API: "assistants"},
	} {
		_, err := openaiAsk(provider.OpenAI(c), openaiHello)
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Invalid || f.Provider != "openai" {
			t.Errorf("model of %+v: got error %v, want an invalid request", c, err)
		}
	}
}

func TestOpenAI_UnencodableRequestIsInvalid(t *testing.T) {
	for _, api := range openaiApis {
		m := provider.OpenAI(provider.Config{Model: "m", API: api, Client: openaiPlays("")})
		for _, r := range []llm.Request{
			{Tools: []llm.Tool{{Name: "x", Schema: json.RawMessage(`{`)}}},
			{Messages: []llm.Message{{Role: "system"}}},
		} {
			_, err := openaiAsk(m, r)
			if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Invalid {
				t.Errorf("request of %s: got error %v, want an invalid one", api, err)
			}
		}
	}
}

func TestOpenAI_FaultWrapsTheResponse(t *testing.T) {
	for _, api := range openaiApis {
		m := provider.OpenAI(provider.Config{Model: "m", API: api, Client: openaiServes(429, "application/json",
			`{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`)})
		_, err := openaiAsk(m, openaiHello)
		f, _ := errors.AsType[*fault.Error](err)
		theirs, ok := errors.AsType[*provider.ResponseError](err)
		if !ok || theirs.StatusCode != 429 || f.Kind != fault.Quota || f.Status != 429 || f.Provider != "openai" {
			t.Errorf("%s: got error %#v, want a spent quota that wraps the response", api, err)
		}
		m = provider.OpenAI(provider.Config{Model: "m", API: api, Client: openaiPlays(openaiEvents(`{"error":{"message":"gone","code":"server_error"}}`))})
		_, err = openaiAsk(m, openaiHello)
		f, _ = errors.AsType[*fault.Error](err)
		event, ok := errors.AsType[*provider.ResponseError](err)
		if !ok || len(event.Body) == 0 || f.Kind != fault.Unavailable || f.Status != 200 {
			t.Errorf("%s: got error %#v, want a failure in the stream that wraps the event", api, err)
		}
	}
}

func TestOpenAI_OddErrors(t *testing.T) {
	tests := []struct {
		status int
		kind   string
		body   string
		want   fault.Kind
	}{
		{400, "application/json", `{"error":"Model is unloaded."}`, fault.Overloaded},
		{200, "application/json", `{"error":"Unexpected endpoint or method. (POST /v1/chat/completions)"}`, fault.Invalid},
		{502, "text/html", `<html><title>502 Bad Gateway</title></html>`, fault.Unavailable},
		{200, "text/html", `<html><title>Sign in</title></html>`, fault.Unavailable},
		{401, "text/plain", `unauthorized`, fault.Auth},
		{503, "", ``, fault.Overloaded},
		{200, "text/event-stream", ``, fault.Truncated},
		{200, "application/json", ``, fault.Truncated},
		{200, "application/json", `{"id":"1","choi`, fault.Truncated},
	}
	for _, api := range openaiApis {
		for _, tt := range tests {
			for _, whole := range []bool{false, true} {
				m := provider.OpenAI(provider.Config{Model: "m", API: api, Client: openaiServes(tt.status, tt.kind, tt.body)})
				_, err := openaiAsk(m, llm.Request{NoStream: whole})
				if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != tt.want {
					t.Errorf("%s, whole %t, reply %d %s: got error %+v, want kind %v", api, whole, tt.status, tt.body, err, tt.want)
				}
			}
		}
	}
}

// diff compares parts.
func openaiDiff(t *testing.T, name string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: (-want +got)\n%s", name, d)
	}
}
