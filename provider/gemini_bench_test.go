package provider_test

import (
	"slices"
	"testing"

	"github.com/ridethrough/ridethrough/llm"
)

// words is how many parts the answers of the benchmarks have.
const geminiWords = 1000

func geminiLong() *geminiHouse {
	return &geminiHouse{body: geminiStream(append(slices.Repeat([]string{geminiChunk(`{"text":"word "}`, "")}, geminiWords), geminiChunk(`{"text":""}`, "STOP"))...)}
}

// BenchmarkStream is an answer of a thousand parts.
func BenchmarkGeminiStream(b *testing.B) {
	m := geminiLong().model(geminiPro)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range m.Stream(b.Context(), llm.Request{Messages: []llm.Message{llm.UserMessage("Hi")}}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != geminiWords+2 {
			b.Fatal(n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/geminiWords, "ns/part")
}
