package provider_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// FuzzLines feeds bytes: whatever comes, an answer ends with End or in one
// fault, and its calls are JSON.
func FuzzOllamaLines(f *testing.F) {
	f.Add(ollamaLine(`"content":"a","thinking":"b"`) + "\n" + ollamaDone)
	f.Add(ollamaLine(`"content":"","tool_calls":[{"id":"c1","function":{"index":0,"name":"f","arguments":{"b":1,"a":"<"}}}]`) + "\n" + ollamaDone + "\n")
	f.Add(`{"error":"server busy"}`)
	f.Fuzz(func(t *testing.T, lines string) {
		got, err := ollamaAsk(provider.Ollama(provider.Config{Client: ollamaPlays(lines)}), ollamaHello)
		if _, failed := errors.AsType[*fault.Error](err); err != nil && !failed {
			t.Errorf("error %v of unexpected type or kind", err)
		}
		for i, p := range got {
			if call, ok := p.(llm.ToolCall); ok && (call.ID == "" || !json.Valid(call.Arguments)) {
				t.Errorf("call %+v", call)
			}
			if _, ok := p.(llm.End); ok != (err == nil && i == len(got)-1) {
				t.Errorf("parts %v, error %v", got, err)
			}
		}
		if err == nil && len(got) == 0 {
			t.Error("neither an end nor a fault")
		}
	})
}

// FuzzAddress reads anything as an address: one that is accepted can be asked.
func FuzzOllamaAddress(f *testing.F) {
	for _, base := range []string{"", "0.0.0.0", "[::]:8080", "gpu/ollama", "https://ollama.com", "::1", ":", "http://", "a://b"} {
		f.Add(base)
	}
	f.Fuzz(func(t *testing.T, base string) {
		_, err := ollamaAsk(provider.Ollama(provider.Config{BaseURL: base, Client: ollamaPlays(ollamaDone)}), ollamaHello)
		if f, failed := errors.AsType[*fault.Error](err); err != nil && (!failed || f.Kind != fault.Invalid) {
			t.Errorf("base %q: got error %#v, want an invalid request", base, err)
		}
	})
}

// BenchmarkStream reads an answer of a thousand words.
func BenchmarkOllamaStream(b *testing.B) {
	client := ollamaPlays(append(strings.Split(strings.Repeat(ollamaLine(`"content":"word "`)+"\n", 1000), "\n")[:1000], ollamaDone)...)
	m := provider.Ollama(provider.Config{Client: client})
	b.ReportAllocs()
	for b.Loop() {
		if parts, err := ollamaAsk(m, ollamaHello); err != nil || len(parts) != 1002 {
			b.Fatal(len(parts), err)
		}
	}
}
