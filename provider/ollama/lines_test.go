package ollama_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider/ollama"
)

// FuzzLines feeds bytes: whatever comes, an answer ends with End or in one
// fault, and its calls are JSON.
func FuzzLines(f *testing.F) {
	f.Add(line(`"content":"a","thinking":"b"`) + "\n" + done)
	f.Add(line(`"content":"","tool_calls":[{"id":"c1","function":{"index":0,"name":"f","arguments":{"b":1,"a":"<"}}}]`) + "\n" + done + "\n")
	f.Add(`{"error":"server busy"}`)
	f.Fuzz(func(t *testing.T, lines string) {
		got, err := ask(ollama.New(ollama.Config{Client: plays(lines)}), hello)
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
func FuzzAddress(f *testing.F) {
	for _, base := range []string{"", "0.0.0.0", "[::]:8080", "gpu/ollama", "https://ollama.com", "::1", ":", "http://", "a://b"} {
		f.Add(base)
	}
	f.Fuzz(func(t *testing.T, base string) {
		_, err := ask(ollama.New(ollama.Config{BaseURL: base, Client: plays(done)}), hello)
		if f, failed := errors.AsType[*fault.Error](err); err != nil && (!failed || f.Kind != fault.Invalid) {
			t.Errorf("base %q: got error %#v, want an invalid request", base, err)
		}
	})
}

// BenchmarkStream reads an answer of a thousand words.
func BenchmarkStream(b *testing.B) {
	client := plays(append(strings.Split(strings.Repeat(line(`"content":"word "`)+"\n", 1000), "\n")[:1000], done)...)
	m := ollama.New(ollama.Config{Client: client})
	b.ReportAllocs()
	for b.Loop() {
		if parts, err := ask(m, hello); err != nil || len(parts) != 1002 {
			b.Fatal(len(parts), err)
		}
	}
}
