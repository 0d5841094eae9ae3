package gemini_test

import (
	"slices"
	"testing"

	"github.com/ridethrough/ridethrough/llm"
)

// words is how many parts the answers of the benchmarks have.
const words = 1000

func long() *house {
	return &house{body: stream(append(slices.Repeat([]string{chunk(`{"text":"word "}`, "")}, words), chunk(`{"text":""}`, "STOP"))...)}
}

// BenchmarkStream is an answer of a thousand parts.
func BenchmarkStream(b *testing.B) {
	m := long().model(pro)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range m.Stream(b.Context(), llm.Request{Messages: []llm.Message{llm.UserMessage("Hi")}}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != words+2 {
			b.Fatal(n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/words, "ns/part")
}
