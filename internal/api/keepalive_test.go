package api_test

import (
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/anthropic"
	"github.com/ridethrough/ridethrough/internal/api/cohere"
	"github.com/ridethrough/ridethrough/internal/api/gemini"
	"github.com/ridethrough/ridethrough/internal/api/lmstudio"
	"github.com/ridethrough/ridethrough/internal/api/ollama"
	"github.com/ridethrough/ridethrough/internal/api/openai"
)

// The clients with keepalives of their own.
var (
	claude    = api.Client{Agent: "claude-cli/2.1.329 (external, cli)", Model: `gpt "5"`}
	codex     = api.Client{Agent: "codex_cli_rs/0.101.0 (Linux)", Model: "gpt-5"}
	codexByID = api.Client{Originator: "codex_vscode", Model: "gpt-5"}
	vercel    = api.Client{Agent: "ai/6.0.0 ai-sdk/openai/3.0.0", Model: "gpt-5"}
	genaiJS   = api.Client{Agent: "node", Library: "genai-js/0.24.1"}
	firebase  = api.Client{Agent: "node", Library: "gl-js/3.0.0 fire/3.0.0"}
	vertexJS  = api.Client{Agent: "model-builder/1.12.0 grpc-node/1.12.0"}
	cohereGo  = api.Client{Agent: "github.com/cohere-ai/cohere-go/2.16.1"}
	googleJS  = api.Client{Agent: "google-genai-sdk/3.3.0 gl-node/v20.20.2", Library: "google-genai-sdk/3.3.0 gl-node/v20.20.2"}
)

// debug is what cohereGo reads and leaves aside.
const debug = "event: debug\ndata: {\"type\":\"debug\"}\n\n"

// The keepalives, as measured to pass every client.
func TestAPI_PingAndHeartbeat(t *testing.T) {
	const (
		state = "ridethrough retry 3 in 52s overloaded"
		empty = `"choices":[{"index":0,"delta":{"content":""},"finish_reason":null}]}` + "\n\n"
		text  = `"choices":[{"text":"","index":0,"logprobs":null,"finish_reason":null}]}` + "\n\n"
		ping  = "event: ping\ndata: {\"type\":\"ping\"}\n\n"
	)
	tests := []struct {
		d           *api.API
		form        api.Form
		client      api.Client
		quiet, ping string // without a state and with one
		heartbeat   string
	}{
		{anthropic.Messages(), api.Events, claude, ping, ping, "event: message_delta\ndata: {\"type\":\"keepalive\"}\n\n"},
		{anthropic.Messages(), api.Events, vercel, ping, ping, ""},
		{anthropic.Messages(), api.JSON, claude, " ", " ", ""},
		{openai.Chat(), api.Events, vercel, ": hold\n\n", ": " + state + "\n\n", `data: {"id":"","object":"chat.completion.chunk","created":0,"model":"gpt-5",` + empty},
		{openai.Chat(), api.Events, claude, ": hold\n\n", ": " + state + "\n\n", `data: {"id":"","object":"chat.completion.chunk","created":0,"model":"gpt \"5\"",` + empty},
		{openai.Chat(), api.JSON, vercel, " ", " ", ""},
		{openai.Completions(), api.Events, vercel, ": hold\n\n", ": " + state + "\n\n", `data: {"id":"","object":"text_completion","created":0,"model":"gpt-5",` + text},
		{openai.Responses(), api.Events, codex, ": hold\n\n", ": " + state + "\n\n", "event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":0}\n\n"},
		{openai.Responses(), api.Events, codexByID, ": hold\n\n", ": " + state + "\n\n", "event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":0}\n\n"},
		{openai.Responses(), api.Events, vercel, ": hold\n\n", ": " + state + "\n\n", ""},
		{openai.Responses(), api.JSON, codex, " ", " ", ""},
		{gemini.API(), api.Events, vercel, "\n\n", "\n\n", ""},
		{gemini.API(), api.Events, googleJS, "\n\n", "\n\n", ""},
		{gemini.API(), api.Events, genaiJS, "data: {}\n\n", "data: {}\n\n", ""},
		{gemini.API(), api.Events, firebase, "data: {}\n\n", "data: {}\n\n", ""},
		{gemini.API(), api.Events, vertexJS, "data: {}\n\n", "data: {}\n\n", ""},
		{gemini.Interactions(), api.Events, vercel, ": hold\n\n", ": " + state + "\n\n", ""},
		{gemini.API(), api.Array, genaiJS, " ", " ", ""},
		{gemini.API(), api.JSON, vercel, " ", " ", ""},
		{ollama.API(), api.Lines, vercel, " ", " ", ""},
		{ollama.API(), api.JSON, vercel, " ", " ", ""},
		{lmstudio.API(), api.Events, vercel, ": hold\n\n", ": " + state + "\n\n", ""},
		{cohere.API(), api.Events, vercel, ": hold\n\n", ": " + state + "\n\n", ""},
		{cohere.API(), api.Events, cohereGo, debug, debug, ""},
		{cohere.API(), api.JSON, cohereGo, " ", " ", ""},
		{lmstudio.API(), api.JSON, vercel, " ", " ", ""},
	}
	for _, tt := range tests {
		quiet, ping, beat := tt.d.Ping(tt.form, tt.client, ""), tt.d.Ping(tt.form, tt.client, state), tt.d.Heartbeat(tt.form, tt.client)
		if string(quiet) != tt.quiet || string(ping) != tt.ping || string(beat) != tt.heartbeat || (beat == nil) != (tt.heartbeat == "") {
			t.Errorf("%s, form %d, %+v: fixed ping %q, ping %q, heartbeat %q", tt.d.Name(), tt.form, tt.client, quiet, ping, beat)
		}
	}
}

func TestAPI_Comment(t *testing.T) {
	for _, tt := range []struct {
		d      *api.API
		form   api.Form
		client api.Client
		want   string
	}{
		{anthropic.Messages(), api.Events, vercel, ": answer from one\nevent: ping\ndata: {\"type\":\"ping\"}\n\n"},
		{openai.Responses(), api.Events, vercel, ": answer from one\n\n"},
		{openai.Chat(), api.JSON, vercel, ""},
		{gemini.API(), api.Events, vercel, ""},
		{gemini.API(), api.Array, vercel, ""},
		{ollama.API(), api.Lines, vercel, ""},
		{cohere.API(), api.Events, vercel, ": answer from one\n\n"},
		{cohere.API(), api.Events, cohereGo, debug},
	} {
		if got := string(tt.d.Comment(tt.form, tt.client, "answer from one")); got != tt.want {
			t.Errorf("%s in form %d to %+v: %q, want %q", tt.d.Name(), tt.form, tt.client, got, tt.want)
		}
	}
}

// The bytes of a failure after the commit, and how the connection ends.
func TestAPI_ErrorEvent(t *testing.T) {
	const responses = "event: error\n" +
		`data: {"type":"error","code":"server_error","message":"gone","param":null,"sequence_number":0,` +
		`"error":{"type":"server_error","code":"server_error","message":"gone","param":null}}` + "\n\n" +
		"event: response.failed\n" +
		`data: {"type":"response.failed","sequence_number":0,"response":{"id":"","object":"response","status":"failed",` +
		`"error":{"code":"server_error","message":"gone"},"output":[]}}` + "\n\n"
	const chat = `{"error":{"message":"gone","type":"server_error","param":null,"code":null}}`
	const google = `{"error":{"code":503,"message":"gone","status":"UNAVAILABLE"}}`
	tests := []struct {
		d      *api.API
		form   api.Form
		within bool
		want   string
		aborts bool
	}{
		{anthropic.Messages(), api.Events, false, "event: error\n" + `data: {"type":"error","error":{"type":"overloaded_error","message":"gone"}}` + "\n\n", false},
		{openai.Chat(), api.Events, false, "data: " + chat + "\n\n", true},
		{openai.Completions(), api.Events, false, "data: " + chat + "\n\n", true},
		{openai.Responses(), api.Events, false, responses, false},
		{gemini.API(), api.Events, false, "data: " + google + "\r\n\r\n", true},
		{gemini.Interactions(), api.Events, false, "event: error\n" + `data: {"error":{"message":"gone","code":"service_unavailable"},"event_type":"error"}` + "\n\n", true},
		{gemini.API(), api.Array, false, "[" + google + "]\n", true},
		{gemini.API(), api.Array, true, ",\n" + google + "]\n", true},
		{ollama.API(), api.Lines, true, `{"error":"gone"}` + "\n", false},
		{lmstudio.API(), api.Events, true, "event: error\n" + `data: {"type":"error","error":{"type":"internal_error","message":"gone","code":null,"param":null}}` + "\n\n", true},
		{anthropic.Messages(), api.JSON, false, "", true},
		{ollama.API(), api.JSON, false, "", true},
	}
	for _, tt := range tests {
		got := tt.d.ErrorEvent(tt.form, &fault.Error{Kind: fault.Overloaded}, "gone", tt.within)
		if string(got) != tt.want || tt.d.Aborts(tt.form) != tt.aborts {
			t.Errorf("%s, form %d: error event %s, aborts %v", tt.d.Name(), tt.form, got, tt.d.Aborts(tt.form))
		}
	}
}

func TestAnthropic_TransientErrorsAreOverloaded(t *testing.T) {
	for k := fault.Unknown; k < fault.Canceled; k++ {
		body := string(anthropic.Messages().ErrorBody(&fault.Error{Kind: k}, "x"))
		if got := strings.Contains(body, "overloaded_error"); got != (fault.Transient.Has(k) || k == fault.Unknown) {
			t.Errorf("error body of kind %v: %s", k, body)
		}
	}
}
