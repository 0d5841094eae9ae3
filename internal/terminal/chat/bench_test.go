package chat_test

import (
	"testing"

	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/llm/llmtest"
)

// BenchmarkFolder_List lists ten closed conversations.
func BenchmarkFolder_List(b *testing.B) {
	f := folder(b.TempDir(), llmtest.Says("hi"))
	for range 10 {
		conv, err := f.New(b.Context(), defaults)
		if err == nil {
			err = conv.Do(b.Context(), tui.Send{ID: "1", Text: "hello"})
		}
		if err == nil {
			err = conv.Close()
		}
		if err != nil {
			b.Fatalf("create conversation: %v", err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range f.List(b.Context()) {
			if err != nil {
				b.Fatalf("List: %v", err)
			}
			n++
		}
		if n != 10 {
			b.Fatalf("List: got %d conversations, want 10", n)
		}
	}
}

// BenchmarkFolder_Open opens and closes a conversation.
func BenchmarkFolder_Open(b *testing.B) {
	f := folder(b.TempDir(), llmtest.Says("hi"))
	conv, err := f.New(b.Context(), defaults)
	if err == nil {
		err = conv.Do(b.Context(), tui.Send{ID: "1", Text: "hello"})
	}
	if err == nil {
		err = conv.Close()
	}
	if err != nil {
		b.Fatalf("create conversation: %v", err)
	}
	b.ReportAllocs()
	for b.Loop() {
		same, err := f.Open(b.Context(), conv.ID())
		if err == nil {
			err = same.Close()
		}
		if err != nil {
			b.Fatalf("Open, Close: %v", err)
		}
	}
}
