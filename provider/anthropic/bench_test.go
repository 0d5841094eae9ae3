package anthropic_test

import (
	"net/http"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/ridethrough/ridethrough/llm"
)

// words is how many parts the answers of the benchmarks have.
const words = 1000

func long() *house {
	delta := `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}}`
	events := append([]string{start, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`}, strings.Split(strings.Repeat(delta+"\n", words), "\n")[:words]...)
	return &house{body: stream(append(events, `{"type":"content_block_stop","index":0}`, contentBlocks, over)...)}
}

// BenchmarkStream is an answer of a thousand parts: model is ours, sdk is the
// SDK alone, which is the floor.
func BenchmarkStream(b *testing.B) {
	b.Run("model", func(b *testing.B) {
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
	})
	b.Run("sdk", func(b *testing.B) {
		client := sdk.NewClient(option.WithoutEnvironmentDefaults(), option.WithoutOpenTelemetry(), option.WithMaxRetries(0),
			option.WithHTTPClient(&http.Client{Transport: long()}))
		params := sdk.MessageNewParams{Model: claude, MaxTokens: 99, Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("Hi"))}}
		b.ReportAllocs()
		for b.Loop() {
			events := client.Messages.NewStreaming(b.Context(), params)
			for events.Next() {
				_ = events.Current()
			}
			if err := events.Err(); err != nil {
				b.Fatalf("stream: %v", err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/words, "ns/part")
	})
}
