package provider_test

import (
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/llm"
)

// words is how many parts the answers of the benchmarks have.
const claudeWords = 1000

func claudeLong() *claudeHouse {
	delta := `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}}`
	events := append([]string{claudeStart, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`}, strings.Split(strings.Repeat(delta+"\n", claudeWords), "\n")[:claudeWords]...)
	return &claudeHouse{body: claudeStream(append(events, `{"type":"content_block_stop","index":0}`, claudeContentBlocks, claudeOver)...)}
}

// BenchmarkStream is an answer of a thousand parts.
func BenchmarkAnthropicStream(b *testing.B) {
	m := claudeLong().model(claudeClaude)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range m.Stream(b.Context(), llm.Request{Messages: []llm.Message{llm.UserMessage("Hi")}}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != claudeWords+3 {
			b.Fatal(n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/claudeWords, "ns/part")
}
