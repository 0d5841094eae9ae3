package dialect_test

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/ridethrough/ridethrough/dialect"
)

// FuzzRead holds our scan of a request against encoding/json.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"model":"claude","messages":[{"role":"user","content":"Hi {\"}"}],"stream":true}`))
	f.Add([]byte(`{"a":{"b":["]",1e5,null]},"stream" : false,"model":"\\"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got := dialect.OpenAIChat().Read(&url.URL{}, body)
		var want map[string]json.RawMessage
		if json.Unmarshal(body, &want) != nil {
			return
		}
		if stream := string(want["stream"]) == "true"; stream != (got.Form == dialect.Events) && !escapedKeys(body) {
			t.Errorf("%q: stream %v, want %v", body, (got.Form == dialect.Events), stream)
		}
		var model string
		_ = json.Unmarshal(want["model"], &model)
		if model = model[:min(len(model), 256)]; model != got.Model && !escapedKeys(body) {
			t.Errorf("%q: model %q, want %q", body, got.Model, model)
		}
	})
}

// escapedKeys tells whether keys may be written with escapes or invalid UTF-8,
// which no client does and our scan does not undo.
func escapedKeys(body []byte) bool {
	for _, c := range body {
		if c == '\\' || c >= 0x80 {
			return true
		}
	}
	return false
}

// FuzzSign looks for frames that no dialect can stand, and checks that a
// stream is cut into the same frames however its bytes arrive.
func FuzzSign(f *testing.F) {
	f.Add([]byte("event: content_block_start\ndata: {\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\nevent: ping\r\n\r\n"), 5)
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: [DONE]\n\n"), 1)
	f.Fuzz(func(t *testing.T, stream []byte, step int) {
		whole, piecewise := dialect.Events.Cut(stream, 0), 0
		for seen, end := 0, 0; end < len(stream) && piecewise == 0; seen = end {
			end = min(len(stream), end+1+(step&7))
			piecewise = dialect.Events.Cut(stream[:end], seen)
		}
		if whole != piecewise {
			t.Fatalf("%q: cut at %d, piecewise at %d", stream, whole, piecewise)
		}
		for _, d := range []*dialect.Dialect{dialect.Anthropic(), dialect.OpenAIChat()} {
			d.Sign(dialect.Events, stream)
			d.Whole(stream)
		}
	})
}

func BenchmarkSign(b *testing.B) {
	chunk := []byte(`data: {"id":"chatcmpl-AbC","object":"chat.completion.chunk","created":1780000000,"model":"gpt-5",` +
		`"choices":[{"index":0,"delta":{"content":" hello"},"logprobs":null,"finish_reason":null}]}` + "\n\n")
	delta := []byte("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" hello\"}}\n\n")
	for _, bb := range []struct {
		d     *dialect.Dialect
		frame []byte
	}{{dialect.OpenAIChat(), chunk}, {dialect.Anthropic(), delta}} {
		b.Run(bb.d.Name(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bb.d.Tail(dialect.Events, bb.frame)
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	prompt, _ := json.Marshal(longText)
	body := []byte(`{"model":"claude","messages":[{"role":"user","content":` + string(prompt) + `}],"stream":true}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		dialect.Anthropic().Read(&url.URL{}, body)
	}
}

// longText is a prompt of 512 KiB of ordinary words.
var longText = func() string {
	words := "The quick brown fox said: \"jump over the lazy dog\".\n"
	text := make([]byte, 0, 512<<10)
	for len(text) < cap(text)-len(words) {
		text = append(text, words...)
	}
	return string(text)
}()
