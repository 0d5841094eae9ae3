package ollama_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ollama/ollama/api"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/simulator"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider/ollama"
)

// script gives the replies in words.
func script(t *testing.T, words string) simulator.Script {
	t.Helper()
	replies, err := simulator.Parse(words)
	if err != nil {
		t.Fatal(err)
	}
	return simulator.Script{Replies: replies, Answer: "one two three"}
}

func TestEachFaultOnTheWireIsNamedAfterOneRequest(t *testing.T) {
	tests := []struct {
		words string
		want  fault.Kind
		wait  time.Duration
	}{
		{"429;retry-after=7", fault.RateLimited, 7 * time.Second},
		{"500", fault.Unavailable, 0},
		{"503", fault.Overloaded, 0},
		{"401", fault.Auth, 0},
		{"403", fault.Refused, 0},
		{"404", fault.Invalid, 0},
		{"413", fault.TooLong, 0},
		{"refused", fault.Unavailable, 0},
		{"reset", fault.Unavailable, 0},
		{"empty", fault.Truncated, 0},
		{"error-200", fault.Overloaded, 0},
		{"error-first", fault.Overloaded, 0},
		{"role-error", fault.Overloaded, 0},
		{"cut:0", fault.Truncated, 0},
		{"cut:0:clean", fault.Truncated, 0},
		{"cut:2", fault.Truncated, 0},
		{"cut:2:clean", fault.Truncated, 0},
	}
	for _, tt := range tests {
		for _, whole := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				p := simulator.New(script(t, tt.words))
				defer p.Close()
				m := ollama.New(ollama.Config{Model: "simulator", Base: "provider.test", Client: p.Client()})
				_, err := ask(m, llm.Request{Messages: hello.Messages, Whole: whole})
				f, _ := errors.AsType[*fault.Error](err)
				if f == nil || f.Kind != tt.want || f.Hint(time.Now()) != tt.wait || f.Provider != "ollama" || len(p.Requests()) != 1 {
					t.Errorf("whole %t: %s: %#v after %d requests", whole, tt.words, err, len(p.Requests()))
				}
			})
		}
	}
}

func TestBreakingOffLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // waits for what is left behind
		p := simulator.New(script(t, "drip:1s"))
		defer p.Close()
		for range ollama.New(ollama.Config{Model: "m", Client: p.Client()}).Stream(t.Context(), hello) {
			break
		}
	})
}

func TestWhoLeavesGetsTheirCause(t *testing.T) {
	mine := errors.New("enough")
	for _, words := range []string{"silence", "drip:1m"} {
		synctest.Test(t, func(t *testing.T) {
			p := simulator.New(script(t, words))
			defer p.Close()
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(90*time.Second, func() { cancel(mine) })
			var err error
			for _, err = range ollama.New(ollama.Config{Model: "m", Client: p.Client()}).Stream(ctx, hello) {
			}
			if err != mine {
				t.Errorf("%s: %v", words, err)
			}
		})
	}
}

// FuzzLines feeds bytes: whatever comes, an answer ends with End or in one
// fault, and its calls are JSON.
func FuzzLines(f *testing.F) {
	f.Add(line(`"content":"a","thinking":"b"`) + "\n" + done)
	f.Add(line(`"content":"","tool_calls":[{"id":"c1","function":{"index":0,"name":"f","arguments":{"b":1,"a":"<"}}}]`) + "\n" + done + "\n")
	f.Add(`{"error":"server busy"}`)
	f.Fuzz(func(t *testing.T, lines string) {
		got, err := ask(ollama.New(ollama.Config{Client: plays(lines)}), hello)
		if _, failed := errors.AsType[*fault.Error](err); err != nil && !failed {
			t.Error(err)
		}
		for i, p := range got {
			if call, ok := p.(llm.ToolCall); ok && (call.ID == "" || !json.Valid(call.Arguments)) {
				t.Errorf("%+v", call)
			}
			if _, ok := p.(llm.End); ok != (err == nil && i == len(got)-1) {
				t.Errorf("%v, %v", got, err)
			}
		}
		if err == nil && len(got) == 0 {
			t.Error("neither an answer nor a fault")
		}
	})
}

// FuzzAddress reads anything as an address: one that is accepted can be asked.
func FuzzAddress(f *testing.F) {
	for _, base := range []string{"", "0.0.0.0", "[::]:8080", "gpu/ollama", "https://ollama.com", "::1", ":", "http://", "a://b"} {
		f.Add(base)
	}
	f.Fuzz(func(t *testing.T, base string) {
		_, err := ask(ollama.New(ollama.Config{Base: base, Client: plays(done)}), hello)
		if f, failed := errors.AsType[*fault.Error](err); err != nil && (!failed || f.Kind != fault.Invalid) {
			t.Errorf("%q: %#v", base, err)
		}
	})
}

// BenchmarkStream reads an answer of a thousand words, by this package and by
// the SDK's client.
func BenchmarkStream(b *testing.B) {
	client := plays(append(strings.Split(strings.Repeat(line(`"content":"word "`)+"\n", 1000), "\n")[:1000], done)...)
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		m := ollama.New(ollama.Config{Client: client})
		for b.Loop() {
			if parts, err := ask(m, hello); err != nil || len(parts) != 1002 {
				b.Fatal(len(parts), err)
			}
		}
	})
	b.Run("by the SDK", func(b *testing.B) {
		b.ReportAllocs()
		sdk := api.NewClient(&url.URL{Scheme: "http", Host: "x.test"}, client)
		for b.Loop() {
			n := 0
			if err := sdk.Chat(b.Context(), &api.ChatRequest{}, func(api.ChatResponse) error { n++; return nil }); err != nil || n != 1001 {
				b.Fatal(n, err)
			}
		}
	})
}
