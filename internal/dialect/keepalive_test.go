package dialect_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/dialect"
)

var all = []*dialect.Dialect{
	dialect.Anthropic(), dialect.OpenAIChat(), dialect.OpenAICompletions(), dialect.OpenAIResponses(),
	dialect.Gemini(), dialect.Ollama(), dialect.LMStudio(),
}

// The clients with keepalives of their own.
var (
	claude    = dialect.Client{Agent: "claude-cli/2.1.329 (external, cli)", Model: `gpt "5"`}
	codex     = dialect.Client{Agent: "codex_cli_rs/0.101.0 (Linux)", Model: "gpt-5"}
	codexByID = dialect.Client{Originator: "codex_vscode", Model: "gpt-5"}
	vercel    = dialect.Client{Agent: "ai/6.0.0 ai-sdk/openai/3.0.0", Model: "gpt-5"}
)

// The keepalives, as measured to pass every client.
func TestDialect_PingAndHeartbeat(t *testing.T) {
	const (
		state = "ridethrough retry 3 in 52s overloaded"
		empty = `"choices":[{"index":0,"delta":{"content":""},"finish_reason":null}]}` + "\n\n"
		text  = `"choices":[{"text":"","index":0,"logprobs":null,"finish_reason":null}]}` + "\n\n"
		ping  = "event: ping\ndata: {\"type\":\"ping\"}\n\n"
	)
	tests := []struct {
		d           *dialect.Dialect
		form        dialect.Form
		client      dialect.Client
		quiet, ping string // without a state and with one
		heartbeat   string
	}{
		{dialect.Anthropic(), dialect.Events, claude, ping, ping, "event: message_delta\ndata: {\"type\":\"keepalive\"}\n\n"},
		{dialect.Anthropic(), dialect.Events, vercel, ping, ping, ""},
		{dialect.Anthropic(), dialect.JSON, claude, " ", " ", ""},
		{dialect.OpenAIChat(), dialect.Events, vercel, ": hold\n\n", ": " + state + "\n\n", `data: {"id":"","object":"chat.completion.chunk","created":0,"model":"gpt-5",` + empty},
		{dialect.OpenAIChat(), dialect.Events, claude, ": hold\n\n", ": " + state + "\n\n", `data: {"id":"","object":"chat.completion.chunk","created":0,"model":"gpt \"5\"",` + empty},
		{dialect.OpenAIChat(), dialect.JSON, vercel, " ", " ", ""},
		{dialect.OpenAICompletions(), dialect.Events, vercel, ": hold\n\n", ": " + state + "\n\n", `data: {"id":"","object":"text_completion","created":0,"model":"gpt-5",` + text},
		{dialect.OpenAIResponses(), dialect.Events, codex, ": hold\n\n", ": " + state + "\n\n", "event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":0}\n\n"},
		{dialect.OpenAIResponses(), dialect.Events, codexByID, ": hold\n\n", ": " + state + "\n\n", "event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":0}\n\n"},
		{dialect.OpenAIResponses(), dialect.Events, vercel, ": hold\n\n", ": " + state + "\n\n", ""},
		{dialect.OpenAIResponses(), dialect.JSON, codex, " ", " ", ""},
		{dialect.Gemini(), dialect.Events, vercel, "\n\n", "\n\n", ""},
		{dialect.Gemini(), dialect.Array, vercel, " ", " ", ""},
		{dialect.Gemini(), dialect.JSON, vercel, " ", " ", ""},
		{dialect.Ollama(), dialect.Lines, vercel, " ", " ", ""},
		{dialect.Ollama(), dialect.JSON, vercel, " ", " ", ""},
		{dialect.LMStudio(), dialect.Events, vercel, ": hold\n\n", ": " + state + "\n\n", ""},
		{dialect.LMStudio(), dialect.JSON, vercel, " ", " ", ""},
	}
	for _, tt := range tests {
		quiet, ping, beat := tt.d.Ping(tt.form, ""), tt.d.Ping(tt.form, state), tt.d.Heartbeat(tt.form, tt.client)
		if string(quiet) != tt.quiet || string(ping) != tt.ping || string(beat) != tt.heartbeat || (beat == nil) != (tt.heartbeat == "") {
			t.Errorf("%s, form %d, %+v: fixed ping %q, ping %q, heartbeat %q", tt.d.Name(), tt.form, tt.client, quiet, ping, beat)
		}
	}
}

func TestDialect_KeepalivesAreWholeFramesWithoutContent(t *testing.T) {
	for _, d := range all {
		for _, c := range []dialect.Client{claude, codex} {
			for _, frame := range [][]byte{d.Ping(dialect.Events, ""), d.Ping(dialect.Events, "retry 3"), d.Heartbeat(dialect.Events, c)} {
				if dialect.Events.FrameLen(frame, 0) != len(frame) {
					t.Errorf("%s: %q is not a whole frame", d.Name(), frame)
				}
				if d == dialect.Anthropic() && strings.Contains(string(frame), "message_delta") {
					continue // its own clients know that it says nothing
				}
				if kind := d.FrameKind(dialect.Events, frame); kind != dialect.Opening {
					t.Errorf("%s: frame %q has kind %s", d.Name(), frame, kindNames[kind])
				}
			}
		}
	}
}

// The bytes of a failure after the commit, and how the connection ends.
func TestDialect_ErrorEvent(t *testing.T) {
	const responses = "event: error\n" +
		`data: {"type":"error","code":"server_error","message":"gone","param":null,"sequence_number":0,` +
		`"error":{"type":"server_error","code":"server_error","message":"gone","param":null}}` + "\n\n" +
		"event: response.failed\n" +
		`data: {"type":"response.failed","sequence_number":0,"response":{"id":"","object":"response","status":"failed",` +
		`"error":{"code":"server_error","message":"gone"},"output":[]}}` + "\n\n"
	const chat = `{"error":{"message":"gone","type":"server_error","param":null,"code":null}}`
	const google = `{"error":{"code":503,"message":"gone","status":"UNAVAILABLE"}}`
	tests := []struct {
		d      *dialect.Dialect
		form   dialect.Form
		within bool
		want   string
		aborts bool
	}{
		{dialect.Anthropic(), dialect.Events, false, "event: error\n" + `data: {"type":"error","error":{"type":"overloaded_error","message":"gone"}}` + "\n\n", false},
		{dialect.OpenAIChat(), dialect.Events, false, "data: " + chat + "\n\n", true},
		{dialect.OpenAICompletions(), dialect.Events, false, "data: " + chat + "\n\n", true},
		{dialect.OpenAIResponses(), dialect.Events, false, responses, false},
		{dialect.Gemini(), dialect.Events, false, "data: " + google + "\r\n\r\n", true},
		{dialect.Gemini(), dialect.Array, false, "[" + google + "]\n", true},
		{dialect.Gemini(), dialect.Array, true, ",\n" + google + "]\n", true},
		{dialect.Ollama(), dialect.Lines, true, `{"error":"gone"}` + "\n", false},
		{dialect.LMStudio(), dialect.Events, true, "event: error\n" + `data: {"type":"error","error":{"type":"internal_error","message":"gone","code":null,"param":null}}` + "\n\n", true},
		{dialect.Anthropic(), dialect.JSON, false, "", true},
		{dialect.Ollama(), dialect.JSON, false, "", true},
	}
	for _, tt := range tests {
		got := tt.d.ErrorEvent(tt.form, &fault.Error{Kind: fault.Overloaded}, "gone", tt.within)
		if string(got) != tt.want || tt.d.Aborts(tt.form) != tt.aborts {
			t.Errorf("%s, form %d: error event %s, aborts %v", tt.d.Name(), tt.form, got, tt.d.Aborts(tt.form))
		}
	}
}

func TestDialect_ErrorsOfEveryKindAreFailures(t *testing.T) {
	forms := map[*dialect.Dialect][]dialect.Form{dialect.Gemini(): {dialect.Events, dialect.Array}, dialect.Ollama(): {dialect.Lines}}
	for _, d := range all {
		for k := fault.Unknown; k <= fault.Canceled; k++ {
			f, words := &fault.Error{Kind: k}, "gave up\n\nafter \"all\""
			if body := d.ErrorBody(f, words); d.BodyKind(body) != dialect.Failure || !json.Valid(body) {
				t.Errorf("%s: error body of kind %v is no failure: %s", d.Name(), k, body)
			}
			for _, form := range append(forms[d], dialect.Events)[:max(1, len(forms[d]))] {
				event := d.ErrorEvent(form, f, words, false)
				if n := form.FrameLen(event, 0); n == 0 || d.FrameKind(form, event[:n]) != dialect.Failure {
					t.Errorf("%s: error event of kind %v is no failure: %q", d.Name(), k, event)
				}
			}
		}
	}
}

func TestAnthropic_TransientErrorsAreOverloaded(t *testing.T) {
	for k := fault.Unknown; k < fault.Canceled; k++ {
		body := string(dialect.Anthropic().ErrorBody(&fault.Error{Kind: k}, "x"))
		if got := strings.Contains(body, "overloaded_error"); got != (fault.Transient.Has(k) || k == fault.Unknown) {
			t.Errorf("error body of kind %v: %s", k, body)
		}
	}
}
