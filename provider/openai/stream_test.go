package openai_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider/openai"
)

// FuzzStream feeds bytes to both APIs: whatever comes, an answer ends with End
// or in one fault, and its calls are JSON.
func FuzzStream(f *testing.F) {
	f.Add(events(chunk(role, "null"), chunk(`{"content":"a","reasoning_content":"b"}`, "null"), chunk(`{}`, "stop"), chatUsage, "[DONE]"))
	f.Add(events(chunk(piece(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`), "null"), chunk(piece(`{"function":{"arguments":":1}"}}`), "tool_calls")))
	f.Add(created + named("response.output_item.done", `,"output_index":0,"item":`+calling) + named("response.completed", `,"response":`+response("completed", spent, calling)))
	f.Add(response("completed", spent, message))
	f.Add(`{"model":"m-1","choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`)
	f.Fuzz(func(t *testing.T, stream string) {
		for _, api := range apis {
			got, err := ask(openai.New(openai.Config{API: api, Client: plays(stream)}), hello)
			if _, failed := errors.AsType[*fault.Error](err); err != nil && !failed {
				t.Errorf("%s: got error %v, want a fault", api, err)
			}
			for i, p := range got {
				if call, ok := p.(llm.ToolCall); ok && (call.ID == "" || !json.Valid(call.Arguments)) {
					t.Errorf("call of %s: got %+v, want an id and valid arguments", api, call)
				}
				if _, ok := p.(llm.End); ok != (err == nil && i == len(got)-1) {
					t.Errorf("parts of %s: got %v and error %v, want an end only as the last one", api, got, err)
				}
			}
			if err == nil && len(got) == 0 {
				t.Errorf("%s: neither an end nor a fault", api)
			}
		}
	})
}

// long is a stream of a thousand words.
func long(api openai.API) string {
	var b strings.Builder
	for range 1000 {
		if api == openai.Chat {
			b.WriteString(events(chunk(`{"content":"word "}`, "null")))
		} else {
			b.WriteString(named("response.output_text.delta", `,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"word ","logprobs":[]`))
		}
	}
	return b.String() + events(chunk(`{}`, "stop")) + named("response.completed", `,"response":`+response("completed", spent))
}

// BenchmarkStream reads a stream of a thousand words.
func BenchmarkStream(b *testing.B) {
	for _, api := range apis {
		client := plays(long(api))
		b.Run(string(api), func(b *testing.B) {
			b.ReportAllocs()
			m := openai.New(openai.Config{API: api, Client: client})
			for b.Loop() {
				if parts, err := ask(m, hello); err != nil || len(parts) < 1000 {
					b.Fatal(len(parts), err)
				}
			}
		})
	}
}
