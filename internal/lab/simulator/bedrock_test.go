package simulator_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

const (
	bedrockModel = "/model/us.anthropic.claude-sonnet-4-5-20250929-v1:0/"
	invoke       = `{"anthropic_version":"bedrock-2023-05-31","max_tokens":9000,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"user","content":"Hi"}]}`
	converse     = `{"messages":[{"role":"user","content":[{"text":"Hi"}]}],"additionalModelRequestFields":{"thinking":{"type":"enabled"}}}`
)

// askBedrock returns the response of a provider and its body.
func askBedrock(t *testing.T, s simulator.Script, verb, body string) (*http.Response, []byte) {
	t.Helper()
	p := simulator.New(s)
	t.Cleanup(func() { _ = p.Close() })
	resp, err := p.Client().Post("http://provider.test"+bedrockModel+verb, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatalf("ask: %v", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("read the answer: %v", err)
	}
	return resp, answer
}

// awsNames returns the names of a stream's events; those of a model's own are in brackets.
func awsNames(t *testing.T, stream []byte) string {
	t.Helper()
	var all []string
	for r := bytes.NewReader(stream); r.Len() > 0; {
		m, err := eventstream.NewDecoder().Decode(r, nil)
		if err != nil {
			t.Fatalf("decode a message: %v", err)
		}
		var chunk struct{ Bytes []byte }
		if err := json.Unmarshal(m.Payload, &chunk); err != nil {
			t.Fatalf("read its payload: %v", err)
		}
		name := fmt.Sprint(m.Headers.Get(":event-type"), m.Headers.Get(":exception-type"))
		if chunk.Bytes != nil {
			var event struct{ Type string }
			if err := json.Unmarshal(chunk.Bytes, &event); err != nil {
				t.Fatalf("read its event: %v", err)
			}
			name = "(" + event.Type + ")"
		}
		if name = strings.ReplaceAll(strings.ReplaceAll(name, "<nil>", ""), " ", ""); len(all) == 0 || all[len(all)-1] != name {
			all = append(all, name)
		}
	}
	return strings.Join(all, " ")
}

func TestBedrock_Streams(t *testing.T) {
	said := simulator.Say{Reasoning: "Well then", Text: "Hi there", Calls: []simulator.Call{{Name: "look", Arguments: `{"at":"it"}`}}}
	tests := []struct{ verb, body, reply, want string }{
		{"invoke-with-response-stream", invoke, "", "(message_start) (content_block_start) (content_block_delta) (content_block_stop) " +
			"(content_block_start) (content_block_delta) (content_block_stop) (content_block_start) (content_block_delta) (content_block_stop) (message_delta) (message_stop)"},
		{"converse-stream", converse, "", "messageStart contentBlockDelta contentBlockStop contentBlockDelta contentBlockStop " +
			"contentBlockStart contentBlockDelta contentBlockStop messageStop metadata"},
		{"converse-stream", converse, "error-first", "serviceUnavailableException"},
		{"converse-stream", converse, "role-error", "messageStart serviceUnavailableException"},
		{"invoke-with-response-stream", invoke, "cut:1:error", "(message_start) (content_block_start) (content_block_delta) serviceUnavailableException"},
	}
	for _, tt := range tests {
		script := simulator.Script{Then: said}
		if tt.reply != "" {
			script = simulator.Script{Replies: parse(t, tt.reply)}
		}
		resp, body := askBedrock(t, script, tt.verb, tt.body)
		if got := awsNames(t, body); got != tt.want || resp.Header.Get("Content-Type") != "application/vnd.amazon.eventstream" {
			t.Errorf("%s, %s: %s %s, want %s", tt.verb, tt.reply, resp.Header.Get("Content-Type"), got, tt.want)
		}
	}
}

func TestBedrock_WholeAnswers(t *testing.T) {
	said := simulator.Say{Reasoning: "Well then", Text: "Hi there", Calls: []simulator.Call{{Name: "look", Arguments: `{"at":"it"}`}}}
	tests := []struct{ verb, body, want string }{
		{"invoke", invoke, `"stop_reason":"tool_use"`},
		{"converse", converse, `{"text":"Hi there"},{"toolUse":{"input":{"at":"it"},"name":"look","toolUseId":"tooluse_000001_0"}}],"role":"assistant"}},"stopReason":"tool_use"`},
		{"count-tokens", converse, `{"inputTokens":`},
	}
	for _, tt := range tests {
		resp, body := askBedrock(t, simulator.Script{Then: said}, tt.verb, tt.body)
		if !json.Valid(body) || !strings.Contains(string(body), tt.want) || resp.Header.Get("X-Amzn-Requestid") == "" {
			t.Errorf("%s: %s, want %s in it", tt.verb, body, tt.want)
		}
	}
}

func TestBedrock_Errors(t *testing.T) {
	tests := []struct {
		reply, body string
		status      int
		kind        string
	}{
		{"429", converse, 429, "ThrottlingException"},
		{"503", converse, 503, "ServiceUnavailableException"},
		{"500", converse, 500, "InternalServerException"},
		{"424", converse, 424, "ModelErrorException"},
		{"error-200", converse, 200, "ServiceUnavailableException"},
		{"quota", converse, 429, "ThrottlingException"},
		{"too-long", converse, 400, "ValidationException"},
		{"key-echo", converse, 403, "UnrecognizedClientException"},
		{"ok", `{"messages":[]}`, 400, "ValidationException"},
		{"ok", `{`, 400, "ValidationException"},
	}
	for _, tt := range tests {
		resp, body := askBedrock(t, simulator.Script{Replies: parse(t, tt.reply)}, "converse", tt.body)
		var said struct{ Message string }
		if err := json.Unmarshal(body, &said); err != nil || said.Message == "" || resp.StatusCode != tt.status || resp.Header.Get("X-Amzn-Errortype") != tt.kind {
			t.Errorf("%s: %d %q %s, want %d %s", tt.reply, resp.StatusCode, resp.Header.Get("X-Amzn-Errortype"), body, tt.status, tt.kind)
		}
	}
	if resp, body := askBedrock(t, simulator.Script{}, "invoke", `{"messages":[]}`); resp.StatusCode != 400 || !strings.Contains(string(body), "anthropic_version") {
		t.Errorf("a body without its version: %d %s", resp.StatusCode, body)
	}
}
