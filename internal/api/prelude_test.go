package api_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/anthropic"
	"github.com/ridethrough/ridethrough/internal/api/openai"
)

// thought returns a chunk with reasoning, and said one with text.
func thought(text string) string {
	return `data: {"id":"1","choices":[{"index":0,"delta":{"reasoning_content":` + text + `},"finish_reason":null}]}` + "\n\n"
}

func said(text string) string {
	return `data: {"id":"1","choices":[{"index":0,"delta":{"content":` + text + `},"finish_reason":null}]}` + "\n\n"
}

// sent feeds frames to a prelude one by one, and returns what the client is sent of each.
func sent(p *api.Prelude, frames ...string) (all []string) {
	for _, f := range frames {
		send, failed := p.Add([]byte(f))
		text := string(send)
		if failed {
			text += "FAILED"
		}
		all = append(all, text)
	}
	return all
}

func newPrelude(t *testing.T, d *api.API) *api.Prelude {
	t.Helper()
	p := new(api.Prelude)
	if !p.Begin(d, api.Events, api.Client{}) {
		t.Fatalf("%s: Begin reports false, want true", d.Name())
	}
	return p
}

// Reasoning passes as it comes, whatever is in it, and what only looks like more of it is seen.
func TestPrelude_ReasoningPassesUntilSomethingIsKept(t *testing.T) {
	const (
		end  = `data: {"id":"1","choices":[{"index":0,"delta":{"reasoning_content":"f"},"finish_reason":"stop"}]}` + "\n\n"
		both = `data: {"id":"1","choices":[{"index":0,"delta":{"reasoning_content":"f","content":"g"},"finish_reason":null}]}` + "\n\n"
		oops = `data: {"error":{"message":"Overloaded"}}` + "\n\n"
	)
	reasoning := []string{thought(`"a"`), thought(`"bc"`), thought(`"d\""`), thought(`"e\\"`), thought(`"\"},\"f"`), thought(`"f"`), thought(`"f"`)}
	for _, tt := range []struct {
		name, last string
		over, fail bool
	}{
		{"more", thought(`"g"`), false, false},
		{"text", said(`"g"`), true, false},
		{"the end", end, true, false},
		{"both", both, true, false},
		{"an error", oops, false, true},
		{"a call", `data: {"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":""}}]},"finish_reason":null}]}` + "\n\n", false, false},
	} {
		p := newPrelude(t, openai.Chat())
		if got, want := strings.Join(sent(p, reasoning...), ""), strings.Join(reasoning, ""); got != want || !p.Restartable() {
			t.Errorf("%s: sent %q, restartable %v, want %q", tt.name, got, p.Restartable(), want)
		}
		last := sent(p, tt.last)[0]
		if p.IsOver() != tt.over || p.Restartable() == tt.over || strings.HasSuffix(last, "FAILED") != tt.fail {
			t.Errorf("%s: over %v, restartable %v, sent %q", tt.name, p.IsOver(), p.Restartable(), last)
		}
		if tt.over && last != tt.last || tt.name == "a call" && last != "" {
			t.Errorf("%s: sent %q", tt.name, last)
		}
	}
}

// The second answer has the first one's id, and neither its role nor more reasoning.
func TestPrelude_RestartJoinsTwoAnswers(t *testing.T) {
	p := newPrelude(t, openai.Chat())
	sent(p, thought(`"a"`), thought(`"b"`))
	p.Restart()
	second := strings.NewReplacer(`"id":"1"`, `"id":"2"`)
	got := strings.Join(sent(p,
		`data: {"id":"2","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`+"\n\n",
		second.Replace(thought(`"c"`)), second.Replace(said(`"d"`)), second.Replace(said(`"e"`)), "data: [DONE]\n\n"), "")
	if want := said(`"d"`) + said(`"e"`) + "data: [DONE]\n\n"; got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
}

// A tool call larger than the bound is passed on as it comes.
func TestPrelude_WithholdsNoMoreThanItsBound(t *testing.T) {
	p := newPrelude(t, anthropic.Messages())
	start := "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}}\n\n"
	delta := "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"" + strings.Repeat("x", 1<<16) + "\"}}\n\n"
	want, got := start, strings.Join(sent(p, start), "")
	for range 20 {
		want += delta
		got += strings.Join(sent(p, delta), "")
		if p.Withheld() > api.MaxWithheld {
			t.Fatalf("%d bytes are withheld, want at most %d", p.Withheld(), api.MaxWithheld)
		}
	}
	if got != want || p.Restartable() {
		t.Errorf("sent %d bytes, restartable %v, want %d and false", len(got), p.Restartable(), len(want))
	}
}

// TestPrelude_SendsTheSameHoweverItComes checks that no frame is lost or moved where frames are withheld, with those
// that are of no answer among them, and that what is withheld for a moment only is not copied.
func TestPrelude_SendsTheSameHoweverItComes(t *testing.T) {
	const (
		comment = ": ping\n\n"
		calls   = `data: {"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"%"}}]},"finish_reason":null}]}` + "\n\n"
		end     = `data: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n"
	)
	role := said(`""`)
	for _, tt := range []struct {
		name   string
		frames []string
		want   string // "": what comes, in that order
		copied bool
	}{
		{"text", []string{role, said(`"a"`), said(`"b"`), said(`"c"`)}, "", false},
		{"reasoning", []string{role, thought(`"a"`), thought(`"b"`), said(`"c"`)}, "", false},
		{"a call", []string{role, calls, strings.Replace(calls, "%", "!", 1), end}, "", false},
		{"a comment first", []string{comment, role, said(`"a"`)}, "", false},
		{"a comment among it", []string{role, calls, comment, calls, end}, "", false},
		{"a comment before it", []string{role, comment, calls, calls, end}, comment + role + calls + calls + end, true},
		{"text and a call", []string{role, said(`"a"`), said(`"b"`), calls, comment, calls, end}, "", false},
	} {
		all := strings.Join(tt.frames, "")
		want := cmp.Or(tt.want, all)
		for size := 1; size <= len(all); size++ {
			p, got := newPrelude(t, openai.Chat()), ""
			for part := range slices.Chunk([]byte(all), size) {
				send, _ := p.Add(part)
				got += string(send)
			}
			if got += string(p.End()); got != want {
				t.Errorf("%s, %d bytes at a time: sent %q, want %q", tt.name, size, got, want)
			}
		}
		in := []byte(all)
		if send, _ := newPrelude(t, openai.Chat()).Add(in); (&send[0] != &in[0]) != tt.copied {
			t.Errorf("%s, at once: sent a copy: %t, want %t", tt.name, !tt.copied, tt.copied)
		}
	}
}
