package chat_test

import (
	"testing"

	"github.com/ridethrough/ridethrough/llm/llmtest"
)

// A list of ten conversations that are closed.
func BenchmarkList(b *testing.B) {
	f := folder(b.TempDir(), llmtest.Says("hi"))
	for range 10 {
		talk, err := f.New(b.Context(), made)
		if err == nil {
			_, err = talk.Say(b.Context(), "", "hello")
		}
		if err == nil {
			err = talk.Close()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range f.List(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 10 {
			b.Fatal(n)
		}
	}
}

// Opening a conversation that is there, and closing it.
func BenchmarkOpen(b *testing.B) {
	f := folder(b.TempDir(), llmtest.Says("hi"))
	talk, err := f.New(b.Context(), made)
	if err == nil {
		_, err = talk.Say(b.Context(), "", "hello")
	}
	if err == nil {
		err = talk.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		same, err := f.Open(b.Context(), talk.ID())
		if err == nil {
			err = same.Close()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
