package anthropic_test

import (
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/llm"
)

// words is how many parts the answers of the benchmarks have.
const words = 1000

func long() *house {
	delta := `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}}`
	events := append([]string{start, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`}, strings.Split(strings.Repeat(delta+"\n", words), "\n")[:words]...)
	return &house{body: stream(append(events, `{"type":"content_block_stop","index":0}`, contentBlocks, over)...)}
}

// BenchmarkStream is an answer of a thousand parts.
func BenchmarkStream(b *testing.B) {
	m := long().model(claude)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range m.Stream(b.Context(), llm.Request{Messages: []llm.Message{llm.UserMessage("Hi")}}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != words+3 {
			b.Fatal(n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/words, "ns/part")
}
