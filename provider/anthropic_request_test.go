package provider_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/llm"
)

// asked returns what a model sends for a request, as JSON with its members in order.
func claudeAsked(t *testing.T, model string, r llm.Request) string {
	t.Helper()
	h := &claudeHouse{body: claudeStream(claudeStart, claudeContentBlocks, claudeOver)}
	if _, err := claudeCollect(t.Context(), h.model(model), r); err != nil {
		t.Fatalf("collect: %v", err)
	}
	return claudeCanonical(t, h.asked)
}

func claudeCanonical(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("request %s: %v", text, err)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatalf("encode: %v", err)
	}
	return b.String()
}

// own and foreign are answers with calls, of this provider's model and of another's.
func claudeOwn(blocks ...llm.Block) llm.Message { return llm.AssistantMessage(claudeBy, blocks...) }

func claudeForeign(blocks ...llm.Block) llm.Message {
	return llm.AssistantMessage(llm.Name{Provider: "openai", Model: "gpt"}, blocks...)
}

var (
	claudeCall       = llm.ToolCall{ID: "call.1/x", Name: "read", Arguments: []byte(`{"path":"a"}`)}
	claudeToolResult = llm.ToolResult{ID: "call.1/x", Name: "read", Output: "text"}
	claudeSchema     = []byte(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`)
)

func TestAnthropic_RequestBody(t *testing.T) {
	const ending = `,"model":"claude-opus-4-8","stream":true}`
	tests := []struct {
		name string
		r    llm.Request
		want string
	}{
		{
			"a question",
			llm.Request{Messages: []llm.Message{llm.UserMessage("Hi")}},
			`{"max_tokens":32000,"messages":[{"role":"user","content":[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]}]` + ending,
		},
		{
			"orders, tools and a bound",
			llm.Request{
				System: "Be brief.", Messages: []llm.Message{llm.UserMessage("Hi")}, MaxTokens: 99,
				Tools: []llm.Tool{{Name: "now"}, {Name: "read", Description: "Reads <a> file.", Schema: claudeSchema}},
			},
			`{"max_tokens":99,"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],` +
				`"tools":[{"name":"now","input_schema":{"type":"object","properties":{}}},{"name":"read","description":"Reads <a> file.",` +
				`"input_schema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false},"cache_control":{"type":"ephemeral"}}],` +
				`"messages":[{"role":"user","content":[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]}]` + ending,
		},
		{
			"a step with tools",
			llm.Request{Messages: []llm.Message{
				llm.UserMessage("Hi"), llm.UserMessage("Read."),
				claudeOwn(llm.Reasoning{Text: "hm", Signature: "EqQ="}, llm.Reasoning{Signature: "redacted:xyz"}, llm.Reasoning{Text: "unsigned"}, llm.Text{Text: "So"}, claudeCall, llm.ToolCall{ID: "b", Name: "now"}),
				llm.ToolMessage(claudeToolResult, llm.ToolResult{ID: "b", Name: "now", Failed: true}), llm.UserMessage("Go on."),
			}},
			`{"max_tokens":32000,"messages":[` +
				`{"role":"user","content":[{"type":"text","text":"Hi"},{"type":"text","text":"Read.","cache_control":{"type":"ephemeral"}}]},` +
				`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"EqQ="},{"type":"redacted_thinking","data":"xyz"},{"type":"text","text":"So"},` +
				`{"type":"tool_use","id":"call_bfb11148358a4d937ba738aca9a473f9","name":"read","input":{"path":"a"}},{"type":"tool_use","id":"b","name":"now","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_bfb11148358a4d937ba738aca9a473f9","content":[{"type":"text","text":"text"}]},` +
				`{"type":"tool_result","tool_use_id":"b","is_error":true},{"type":"text","text":"Go on.","cache_control":{"type":"ephemeral"}}]}]` + ending,
		},
		{
			"another provider's answer",
			llm.Request{Messages: []llm.Message{
				llm.UserMessage("Hi"), claudeForeign(llm.Reasoning{Text: "hm", Signature: "rs_1"}, llm.ToolCall{ID: "a", Name: "read", Arguments: []byte(`"{\"x"`), Signature: "s"}), llm.ToolMessage(llm.ToolResult{ID: "a", Output: "no"}),
			}},
			`{"max_tokens":32000,"messages":[{"role":"user","content":[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]},` +
				`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"read","input":{"arguments":"{\"x"}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"no"}],"cache_control":{"type":"ephemeral"}}]}]` + ending,
		},
		{
			"nothing said",
			llm.Request{System: " ", Messages: []llm.Message{llm.UserMessage("Hi"), claudeOwn(llm.Text{Text: "\n"}), llm.UserMessage(""), claudeForeign(llm.Reasoning{Text: "hm"}), llm.UserMessage("There?")}},
			`{"max_tokens":32000,"messages":[{"role":"user","content":[{"type":"text","text":"Hi"},{"type":"text","text":"There?","cache_control":{"type":"ephemeral"}}]}]` + ending,
		},
		{
			"what the user says before the results",
			llm.Request{Messages: []llm.Message{llm.UserMessage("Hi"), claudeOwn(claudeCall), llm.UserMessage("Wait!"), llm.ToolMessage(claudeToolResult)}},
			`{"max_tokens":32000,"messages":[{"role":"user","content":[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]},` +
				`{"role":"assistant","content":[{"type":"tool_use","id":"call_bfb11148358a4d937ba738aca9a473f9","name":"read","input":{"path":"a"}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_bfb11148358a4d937ba738aca9a473f9","content":[{"type":"text","text":"text"}]},{"type":"text","text":"Wait!","cache_control":{"type":"ephemeral"}}]}]` + ending,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(claudeCanonical(t, tt.want), claudeAsked(t, claudeClaude, tt.r)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnthropic_Effort(t *testing.T) {
	hi := []llm.Message{llm.UserMessage("Hi")}
	tests := []struct {
		model    string
		r        llm.Request
		thinking string
	}{
		{"claude-opus-4-8", llm.Request{Messages: hi}, ``},
		{"claude-opus-4-8", llm.Request{Messages: hi, Effort: llm.High}, `"output_config":{"effort":"high"},"thinking":{"display":"summarized","type":"adaptive"}`},
		{"claude-sonnet-5", llm.Request{Messages: hi, Effort: llm.Low}, `"output_config":{"effort":"low"},"thinking":{"display":"summarized","type":"adaptive"}`},
		{"claude-haiku-4-5", llm.Request{Messages: hi, Effort: llm.Low}, `"thinking":{"budget_tokens":2048,"type":"enabled"}`},
		{"claude-sonnet-4-5-20250929", llm.Request{Messages: hi, Effort: llm.High}, `"thinking":{"budget_tokens":24000,"type":"enabled"}`},
		{"claude-sonnet-4-20250514", llm.Request{Messages: hi, Effort: llm.High, MaxTokens: 4000}, `"thinking":{"budget_tokens":3000,"type":"enabled"}`},
		{"glm-5", llm.Request{Messages: hi, Effort: llm.Medium}, `"thinking":{"budget_tokens":8192,"type":"enabled"}`},
		{"claude-haiku-4-5", llm.Request{Messages: hi, Effort: llm.High, MaxTokens: 1500}, `"thinking":{"budget_tokens":1125,"type":"enabled"}`},
		{"claude-haiku-4-5", llm.Request{Messages: hi, Effort: llm.High, MaxTokens: 500}, ``},
		{"claude-haiku-4-5", llm.Request{Messages: []llm.Message{hi[0], claudeForeign(claudeCall), llm.ToolMessage(claudeToolResult)}, Effort: llm.Low}, ``},
		{"claude-haiku-4-5", llm.Request{Messages: []llm.Message{hi[0], claudeOwn(llm.Reasoning{Text: "hm", Signature: "s"}, claudeCall), llm.ToolMessage(claudeToolResult)}, Effort: llm.Low}, `"thinking":{"budget_tokens":2048,"type":"enabled"}`},
	}
	for _, tt := range tests {
		var got struct {
			OutputConfig any `json:"output_config,omitempty"`
			Thinking     any `json:"thinking,omitempty"`
		}
		if err := json.Unmarshal([]byte(claudeAsked(t, tt.model, tt.r)), &got); err != nil {
			t.Fatalf("unmarshal: %v", err)
		}
		if text, _ := json.Marshal(got); string(text) != "{"+tt.thinking+"}" {
			t.Errorf("thinking of %s with %v: got %s, want {%s}", tt.model, tt.r, text, tt.thinking)
		}
	}
}

func FuzzAnthropicStream(f *testing.F) {
	f.Add(claudeStream(claudeStart, claudeContentBlocks, claudeOver))
	f.Add(claudeStream(claudeStart, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"n","input":{}}}`, `{"type":"content_block_stop","index":0}`, claudeOver))
	f.Add("event: error\ndata: {\"type\":\"error\"}\n\n")
	f.Fuzz(func(t *testing.T, body string) {
		h := &claudeHouse{body: "event: x\n\n" + body}
		ended, failed := 0, 0
		for p, err := range h.model(claudeClaude).Stream(t.Context(), llm.Request{}) {
			if ended+failed > 0 {
				t.Fatal("a part after the end")
			}
			switch p := p.(type) {
			case llm.End:
				ended++
			case llm.ToolCall:
				if !json.Valid(p.Arguments) || p.ID == "" {
					t.Errorf("part %+v", p)
				}
			case nil:
				failed++
			}
			if (p == nil) == (err == nil) {
				t.Errorf("part %v, error %v", p, err)
			}
		}
		if ended+failed != 1 {
			t.Error("no end")
		}
	})
}
