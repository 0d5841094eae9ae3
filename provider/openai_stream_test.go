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

// FuzzStream feeds bytes to both APIs: whatever comes, an answer ends with End
// or in one fault, and its calls are JSON.
func FuzzOpenAIStream(f *testing.F) {
	f.Add(openaiEvents(openaiChunk(openaiRole, "null"), openaiChunk(`{"content":"a","reasoning_content":"b"}`, "null"), openaiChunk(`{}`, "stop"), openaiChatUsage, "[DONE]"))
	f.Add(openaiEvents(openaiChunk(openaiPiece(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`), "null"), openaiChunk(openaiPiece(`{"function":{"arguments":":1}"}}`), "tool_calls")))
	f.Add(openaiCreated + openaiNamed("response.output_item.done", `,"output_index":0,"item":`+openaiCalling) + openaiNamed("response.completed", `,"response":`+openaiResponse("completed", openaiSpent, openaiCalling)))
	f.Add(openaiResponse("completed", openaiSpent, openaiMessage))
	f.Add(`{"model":"m-1","choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`)
	f.Fuzz(func(t *testing.T, stream string) {
		for _, api := range openaiApis {
			got, err := openaiAsk(provider.OpenAI(provider.Config{API: api, Client: openaiPlays(stream)}), openaiHello)
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
func openaiLong(api provider.API) string {
	var b strings.Builder
	for range 1000 {
		if api == provider.Chat {
			b.WriteString(openaiEvents(openaiChunk(`{"content":"word "}`, "null")))
		} else {
			b.WriteString(openaiNamed("response.output_text.delta", `,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"word ","logprobs":[]`))
		}
	}
	return b.String() + openaiEvents(openaiChunk(`{}`, "stop")) + openaiNamed("response.completed", `,"response":`+openaiResponse("completed", openaiSpent))
}

// BenchmarkStream reads a stream of a thousand words.
func BenchmarkOpenAIStream(b *testing.B) {
	for _, api := range openaiApis {
		client := openaiPlays(openaiLong(api))
		b.Run(string(api), func(b *testing.B) {
			b.ReportAllocs()
			m := provider.OpenAI(provider.Config{API: api, Client: client})
			for b.Loop() {
				if parts, err := openaiAsk(m, openaiHello); err != nil || len(parts) < 1000 {
					b.Fatal(len(parts), err)
				}
			}
		})
	}
}
