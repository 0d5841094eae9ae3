package provider_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/llm"
)

// asked returns what a model sends for a request, as JSON with its members in order.
func geminiAsked(t *testing.T, model string, r llm.Request) string {
	t.Helper()
	h := &geminiHouse{body: geminiStream(geminiChunk(`{"text":"a"}`, "STOP"))}
	if _, err := geminiCollect(t.Context(), h.model(model), r); err != nil {
		t.Fatalf("collect: %v", err)
	}
	return geminiCanonical(t, h.asked)
}

func geminiCanonical(t *testing.T, text string) string {
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

// own and foreign are answers of this provider's model and of another's.
func geminiOwn(blocks ...llm.Block) llm.Message { return llm.AssistantMessage(geminiBy, blocks...) }

func geminiForeign(blocks ...llm.Block) llm.Message {
	return llm.AssistantMessage(llm.Name{Provider: "openai", Model: "gpt"}, blocks...)
}

var geminiSchema = []byte(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`)

// ending ends a request without settings.
const geminiEnding = `],"generationConfig":{}}`

func TestGemini_RequestBody(t *testing.T) {
	const hi = `{"parts":[{"text":"Hi"}],"role":"user"}`
	call := llm.ToolCall{ID: "f1", Name: "read", Arguments: []byte(`{"path":"a"}`), Signature: "EqQ="}
	tests := []struct {
		name string
		r    llm.Request
		want string
	}{
		{"a question", llm.Request{Messages: []llm.Message{llm.UserMessage("Hi")}}, `{"contents":[` + hi + geminiEnding},
		{
			"orders, tools, a bound and an effort",
			llm.Request{
				System: "Be brief.", Messages: []llm.Message{llm.UserMessage("Hi")}, MaxTokens: 99, Effort: llm.Low,
				Tools: []llm.Tool{{Name: "now"}, {Name: "read", Description: "Reads <a> file.", Schema: geminiSchema}},
			},
			`{"systemInstruction":{"parts":[{"text":"Be brief."}],"role":"user"},"contents":[` + hi + `],` +
				`"generationConfig":{"maxOutputTokens":99,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"LOW"}},` +
				`"tools":[{"functionDeclarations":[{"name":"now"},{"name":"read","description":"Reads <a> file.","parametersJsonSchema":` + string(geminiSchema) + `}]}]}`,
		},
		{
			"a step with tools",
			llm.Request{Messages: []llm.Message{
				llm.UserMessage("Hi"), llm.UserMessage("Read."), geminiOwn(
					llm.Reasoning{Text: "hm"}, llm.Reasoning{Text: "so", Signature: "AAAA"}, llm.Text{Text: "I read."}, llm.Reasoning{Signature: "BBBB"},
					call, llm.ToolCall{ID: "made_X", Name: "now"},
				),
				llm.UserMessage("Wait!"), llm.ToolMessage(llm.ToolResult{ID: "f1", Name: "read", Output: "text"}, llm.ToolResult{ID: "made_X", Name: "now", Output: "broken", Failed: true}), llm.UserMessage("Go on."),
			}},
			`{"contents":[{"parts":[{"text":"Hi"},{"text":"Read."}],"role":"user"},` +
				`{"parts":[{"text":"so","thought":true,"thoughtSignature":"AAAA"},{"text":"I read.","thoughtSignature":"BBBB"},` +
				`{"functionCall":{"id":"f1","name":"read","args":{"path":"a"}},"thoughtSignature":"EqQ="},{"functionCall":{"name":"now"}}],"role":"model"},` +
				`{"parts":[{"functionResponse":{"id":"f1","name":"read","response":{"output":"text"}}},{"functionResponse":{"name":"now","response":{"error":"broken"}}}],"role":"user"},` +
				`{"parts":[{"text":"Wait!"},{"text":"Go on."}],"role":"user"}` + geminiEnding,
		},
		{
			"another provider's answer",
			llm.Request{Messages: []llm.Message{
				llm.UserMessage("Hi"), geminiForeign(llm.Reasoning{Text: "hm", Signature: "AAAA"}, llm.ToolCall{ID: "a", Name: "read", Arguments: []byte(`"{\"x"`), Signature: "BBBB"}, llm.ToolCall{ID: "b", Name: "now"}),
				llm.ToolMessage(llm.ToolResult{ID: "a", Output: "no"}), llm.ToolMessage(llm.ToolResult{ID: "b", Output: "noon"}),
			}},
			`{"contents":[` + hi + `,{"parts":[{"functionCall":{"name":"read","args":{"arguments":"{\"x"}},"thoughtSignature":"c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="},` +
				`{"functionCall":{"name":"now"}}],"role":"model"},` +
				`{"parts":[{"functionResponse":{"name":"read","response":{"output":"no"}}},{"functionResponse":{"name":"now","response":{"output":"noon"}}}],"role":"user"}` + geminiEnding,
		},
		{
			"nothing said",
			llm.Request{Messages: []llm.Message{llm.UserMessage("Hi"), geminiOwn(llm.Reasoning{Signature: "AAAA"}), llm.UserMessage(""), geminiForeign(llm.Reasoning{Text: "hm"}, llm.Text{})}},
			`{"contents":[` + hi + geminiEnding,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(geminiCanonical(t, tt.want), geminiAsked(t, geminiPro, tt.r)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestGemini_Effort(t *testing.T) {
	tests := []struct {
		model  string
		effort llm.Effort
		want   string
	}{
		{geminiPro, "", `{"generationConfig":{}}`},
		{geminiPro, llm.High, `{"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"HIGH"}}}`},
		{"gemini-2.5-flash", llm.Medium, `{"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":8192}}}`},
		{"gemini-2.5-flash", "extreme", `{"generationConfig":{}}`},
		{"gemini-2.0-flash", llm.High, `{"generationConfig":{}}`},
	}
	for _, tt := range tests {
		if got := geminiAsked(t, tt.model, llm.Request{Effort: tt.effort}); got != geminiCanonical(t, tt.want) {
			t.Errorf("request of %s with effort %s: got %s, want %s", tt.model, tt.effort, got, tt.want)
		}
	}
}

func TestGemini_SignatureForForeignCalls(t *testing.T) {
	r := llm.Request{Messages: []llm.Message{llm.UserMessage("Hi"), geminiForeign(llm.ToolCall{ID: "a", Name: "now"}), llm.ToolMessage(llm.ToolResult{ID: "a", Name: "now"})}}
	want := `{"contents":[{"parts":[{"text":"Hi"}],"role":"user"},{"parts":[{"functionCall":{"name":"now"}}],"role":"model"},` +
		`{"parts":[{"functionResponse":{"name":"now","response":{"output":""}}}],"role":"user"}` + geminiEnding
	if diff := cmp.Diff(geminiCanonical(t, want), geminiAsked(t, "gemini-2.5-pro", r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzGeminiStream(f *testing.F) {
	f.Add(geminiStream(geminiChunk(`{"text":"a"}`, "STOP")))
	f.Add(geminiStream(geminiChunk(`{"functionCall":{"name":"a","args":{"x":[1]}}}`, "")))
	f.Add(geminiStream(`{"error":{"code":503}}`))
	f.Add(geminiStream(`{"candidates":{"a":1}}`))
	f.Add(geminiStream(`{"candidates":[null]}`))
	f.Fuzz(func(t *testing.T, body string) {
		h := &geminiHouse{body: body}
		ended, failed := 0, 0
		for p, err := range h.model(geminiPro).Stream(t.Context(), llm.Request{}) {
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
		if ended+failed != 1 || h.count != 1 {
			t.Error("no end, or asked twice")
		}
	})
}
