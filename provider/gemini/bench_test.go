package gemini_test

import (
	"net/http"
	"slices"
	"testing"

	"google.golang.org/genai"

	"github.com/ridethrough/ridethrough/llm"
)

// words is how many parts the answers of the benchmarks have.
const words = 1000

func long() *house {
	return &house{body: stream(append(slices.Repeat([]string{chunk(`{"text":"word "}`, "")}, words), chunk(`{"text":""}`, "STOP"))...)}
}

// BenchmarkStream is an answer of a thousand parts: model is ours, sdk is the
// SDK alone, which is the floor.
func BenchmarkStream(b *testing.B) {
	b.Run("model", func(b *testing.B) {
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
	})
	b.Run("sdk", func(b *testing.B) {
		client, err := genai.NewClient(b.Context(), &genai.ClientConfig{Backend: genai.BackendGeminiAPI, APIKey: "k", HTTPClient: &http.Client{Transport: long()}})
		if err != nil {
			b.Fatalf("new client: %v", err)
		}
		b.ReportAllocs()
		for b.Loop() {
			for _, err := range client.Models.GenerateContentStream(b.Context(), pro, genai.Text("Hi"), nil) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/words, "ns/part")
	})
}
