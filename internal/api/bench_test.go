package api_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/anthropic"
	"github.com/ridethrough/ridethrough/internal/api/gemini"
	"github.com/ridethrough/ridethrough/internal/api/lmstudio"
	"github.com/ridethrough/ridethrough/internal/api/ollama"
	"github.com/ridethrough/ridethrough/internal/api/openai"
)

// BenchmarkLaterFrameKind reads content in the midst of an answer, as each API sends it.
func BenchmarkLaterFrameKind(b *testing.B) {
	for _, bb := range []struct {
		name  string
		d     *api.API
		f     api.Form
		frame string
	}{
		{"anthropic", anthropic.Messages(), api.Events, "event: content_block_delta\n" +
			`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" hello"}}` + "\n\n"},
		{"openai-chat", openai.Chat(), api.Events, chunk(`{"content":" hello"}`)},
		{"openai-chat/4KiB", openai.Chat(), api.Events, chunk(`{"content":"` + strings.ReplaceAll(longText[:4<<10], "\n", " ") + `"}`)},
		{"openai-responses", openai.Responses(), api.Events, "event: response.output_text.delta\n" +
			`data: {"type":"response.output_text.delta","sequence_number":9,"item_id":"msg_1","output_index":0,"content_index":0,"delta":" hello"}` + "\n\n"},
		{"gemini", gemini.API(), api.Events, `data: {"candidates": [{"content": {"parts": [{"text": " hello"}],"role": "model"},"index": 0}],` +
			`"usageMetadata": {"promptTokenCount": 8,"totalTokenCount": 8},"modelVersion": "gemini-2.5-flash","responseId": "AbC"}` + "\r\n\r\n"},
		{"gemini/array", gemini.API(), api.Array, ",\r\n" + `{"candidates": [{"content": {"parts": [{"text": " hello"}],"role": "model"},"index": 0}]}`},
		{"ollama", ollama.API(), api.Lines, `{"model":"llama3.2","created_at":"2026-11-01T07:00:00.1Z","message":{"role":"assistant","content":" hello"},"done":false}` + "\n"},
		{"lmstudio", lmstudio.API(), api.Events, "event: message.delta\n" + `data: {"type":"message.delta","content":" hello"}` + "\n\n"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			frame := []byte(bb.frame)
			b.ReportAllocs()
			for b.Loop() {
				if bb.d.LaterFrameKind(bb.f, frame) != api.Content {
					b.Fatal("no content")
				}
			}
		})
	}
}

// chunk is one of Chat Completions as OpenAI sends it.
func chunk(delta string) string {
	return `data: {"id":"chatcmpl-AbC","object":"chat.completion.chunk","created":1780000000,"model":"gpt-5",` +
		`"choices":[{"index":0,"delta":` + delta + `,"logprobs":null,"finish_reason":null}]}` + "\n\n"
}

// BenchmarkFrameKind reads a chunk where it matters whether it shows anything.
func BenchmarkFrameKind(b *testing.B) {
	frame := []byte(chunk(`{"content":" hello"}`))
	b.ReportAllocs()
	for b.Loop() {
		openai.Chat().FrameKind(api.Events, frame)
	}
}

// BenchmarkBodyKind reads an answer that is not streamed, as OpenAI sends it, and BenchmarkOutput whether it is empty.
func BenchmarkBodyKind(b *testing.B) {
	body := []byte(completion)
	b.ReportAllocs()
	for b.Loop() {
		if openai.Chat().BodyKind(body) != api.Content {
			b.Fatal("no content")
		}
	}
}

func BenchmarkTally(b *testing.B) {
	body := []byte(completion)
	b.ReportAllocs()
	for b.Loop() {
		var tally api.Tally
		if tally.Add(openai.Chat(), api.JSON, body); tally.Output() != api.SomeOutput {
			b.Fatal("no output")
		}
	}
}

const completion = `{
  "id": "chatcmpl-AbC", "object": "chat.completion", "created": 1780000000, "model": "gpt-5",
  "choices": [
    {
      "index": 0,
      "message": {"role": "assistant", "content": "Hello! How can I assist you today?", "refusal": null, "annotations": []},
      "logprobs": null,
      "finish_reason": "stop"
    }
  ],
  "usage": {
    "prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29,
    "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0}
  },
  "service_tier": "default"
}
`

func BenchmarkRead(b *testing.B) {
	prompt, _ := json.Marshal(longText)
	body := []byte(`{"model":"claude","messages":[{"role":"user","content":` + string(prompt) + `}],"stream":true}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		anthropic.Messages().Read(&url.URL{}, body)
	}
}

// BenchmarkFrameLen looks for the end of an element that comes in small pieces.
func BenchmarkFrameLen(b *testing.B) {
	image := []byte(`[{"candidates": [{"content": {"parts": [{"inlineData": {"mimeType": "image/png","data": "` +
		string(make([]byte, 512<<10)) + `"}}]}}]}`)
	b.SetBytes(int64(len(image)))
	b.ReportAllocs()
	for b.Loop() {
		for seen, end := 0, 0; end < len(image); seen = end {
			end = min(len(image), end+4<<10)
			api.Array.FrameLen(image[:end], seen)
		}
	}
}

// longText is a prompt of 512 KiB of ordinary words.
var longText = func() string {
	words := "The quick brown fox for error jumps over the lazy dog.\n"
	text := make([]byte, 0, 512<<10)
	for len(text) < cap(text)-len(words) {
		text = append(text, words...)
	}
	return string(text)
}()

// BenchmarkCompletion_Shown follows a text of half a megabyte at most, as a client is sent it.
func BenchmarkCompletion_Shown(b *testing.B) {
	frame := []byte(chunk(`{"content":" word"}`))
	b.ReportAllocs()
	a := api.NewCompletion(openai.Chat(), api.Events)
	for n := 0; b.Loop(); n++ {
		if n > 0 && n%100_000 == 0 {
			a = api.NewCompletion(openai.Chat(), api.Events)
		}
		a.Shown(frame)
	}
}
