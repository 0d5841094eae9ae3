package llm_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/llm"
)

var everything = llm.Content{
	llm.Reasoning{Text: "hm", Signature: "s1"},
	llm.Text{Text: "Let me look."},
	llm.ToolCall{ID: "1", Name: "read", Arguments: json.RawMessage(`{"path":"a"}`), Signature: "s2"},
	llm.ToolResult{ID: "1", Name: "read", Output: "no such file", Failed: true},
}

func TestContent_JSONRoundTrip(t *testing.T) {
	text, err := json.Marshal(llm.Message{Role: llm.Assistant, Content: everything, By: llm.Name{Provider: "p", Model: "m"}})
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	var back llm.Message
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatalf("unmarshal: %v", err)
	}
	if diff := cmp.Diff(everything, back.Content); diff != "" {
		t.Errorf("content after a round trip (-want +got):\n%s", diff)
	}
}

func TestContent_UnknownBlockIsAnError(t *testing.T) {
	for _, text := range []string{`[{"type":"video"}]`, `[{}]`, `{"type":"text"}`, `[1]`} {
		var c llm.Content
		if err := json.Unmarshal([]byte(text), &c); err == nil {
			t.Errorf("unmarshal %s: no error, want one", text)
		}
	}
	if _, err := json.Marshal(llm.Content{nil}); err == nil {
		t.Error("marshal of a nil block: no error, want one")
	}
}

func TestCollector_AssemblesParts(t *testing.T) {
	tests := []struct {
		name  string
		parts []llm.Part
		want  llm.Content
	}{
		{"nothing", nil, nil},
		{"empty texts", []llm.Part{llm.Text{}, llm.Reasoning{}}, nil},
		{"text", []llm.Part{llm.Text{Text: "a"}, llm.Usage{Output: 1}, llm.Text{Text: "b"}}, llm.Content{llm.Text{Text: "ab"}}},
		{
			"a signature ends a run of reasoning",
			[]llm.Part{llm.Reasoning{Text: "a"}, llm.Reasoning{Text: "b", Signature: "1"}, llm.Reasoning{Text: "c"}, llm.Text{Text: "d"}},
			llm.Content{llm.Reasoning{Text: "ab", Signature: "1"}, llm.Reasoning{Text: "c"}, llm.Text{Text: "d"}},
		},
		{"a signature alone", []llm.Part{llm.Reasoning{Signature: "1"}}, llm.Content{llm.Reasoning{Signature: "1"}}},
		{
			"calls between texts",
			[]llm.Part{llm.Text{Text: "a"}, llm.ToolCall{ID: "1"}, llm.ToolCall{ID: "2"}, llm.Text{Text: "b"}},
			llm.Content{llm.Text{Text: "a"}, llm.ToolCall{ID: "1"}, llm.ToolCall{ID: "2"}, llm.Text{Text: "b"}},
		},
	}
	for _, tt := range tests {
		var c llm.Collector
		for _, p := range tt.parts {
			c.Add(p)
		}
		if diff := cmp.Diff(tt.want, c.Content()); diff != "" {
			t.Errorf("%s: content (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestIsContent(t *testing.T) {
	for _, p := range []llm.Part{llm.Text{Text: "a"}, llm.Reasoning{Text: "a"}, llm.Reasoning{Signature: "a"}, llm.ToolCall{}, llm.Usage{}} {
		if !llm.IsContent(p) {
			t.Errorf("IsContent(%#v) = false, want true", p)
		}
	}
	for _, p := range []llm.Part{llm.Text{}, llm.Reasoning{}, llm.End{}, nil} {
		if llm.IsContent(p) {
			t.Errorf("IsContent(%#v) = true, want false", p)
		}
	}
}

func BenchmarkCollect(b *testing.B) {
	b.ReportAllocs()
	var c llm.Collector
	var p llm.Part = llm.Text{Text: "word "}
	for b.Loop() {
		c.Add(p)
	}
}
