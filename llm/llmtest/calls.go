package llmtest

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/llm"
)

// tools are what the model may call in every case that has tools.
var tools = []llm.Tool{
	{
		Name: "read", Description: "Reads a file.",
		Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`),
	},
	{Name: "now", Description: "Tells the time."},
}

// using returns a request with the tools.
func using(q llm.Request) llm.Request {
	q.Tools = tools
	return q
}

// proper are answers with correct calls.
var proper = []struct {
	name, reply, said string
	want              []llm.ToolCall
}{
	{"one", `call:read{"path":"a.txt"}`, "", []llm.ToolCall{Call("", "read", `{"path":"a.txt"}`)}},
	{"behind text and reasoning", `think:hm+say:"Let me see."+call:read{"path":"a.txt"}`, "Let me see.", []llm.ToolCall{Call("", "read", `{"path":"a.txt"}`)}},
	{"without arguments", `call:now`, "", []llm.ToolCall{Call("", "now", `{}`)}},
	{"with none", `call:now{}`, "", []llm.ToolCall{Call("", "now", `{}`)}},
	{"several", `call:read{"path":"a.txt"}+call:now+call:read{"path":"a.txt"}`, "", []llm.ToolCall{
		Call("", "read", `{"path":"a.txt"}`), Call("", "now", `{}`), Call("", "read", `{"path":"a.txt"}`),
	}},
	{"by turns", `say:Two+call:read{"path":"a very long name"}+call:read{"path":"another one, as long"}+mixed`, "Two", []llm.ToolCall{
		Call("", "read", `{"path":"a very long name"}`), Call("", "read", `{"path":"another one, as long"}`),
	}},
	{"without ids", `call:now+call:now+no-ids`, "", []llm.ToolCall{Call("", "now", `{}`), Call("", "now", `{}`)}},
	{"with anything in them", `call:read{"path":"ä \"b\"\n","deep":{"n":[1.5,null,true]}}`, "", []llm.ToolCall{
		Call("", "read", `{"path":"ä \"b\"\n","deep":{"n":[1.5,null,true]}}`),
	}},
}

// calls tests tool calls.
func (s Suite) calls(t *testing.T) {
	for _, row := range proper {
		s.each(t, row.name, row.reply, func(r *room) {
			q := using(say("Read it."))
			h := r.answer(q)
			if calls := h.Content().Calls(); !slices.EqualFunc(calls, row.want, sameCall) {
				r.Errorf("%s", calls)
			}
			if _, said := words(h); said != row.said || h.End.Reason != llm.Calls || !slices.IsSorted(order(h)) {
				r.Errorf("%#v", h.parts)
			}
			for _, words := range []string{"Reads a file.", `"path"`, "Tells the time."} {
				if !strings.Contains(r.body(), words) {
					r.Errorf("%s is not in %s", words, r.body())
				}
			}
		})
	}
	s.oddCalls(t)
}

// oddCalls tests calls that only some vendors' servers make.
func (s Suite) oddCalls(t *testing.T) {
	s.each(t, "with ids of their own each time", `call:now+no-ids, call:now+no-ids`, func(r *room) {
		q := using(say("When?"))
		first := r.call(r.answer(q)).ID
		if second := r.call(r.answer(q)).ID; first == second {
			r.Errorf("the id %s twice", first)
		}
	})
	long := strings.Repeat("one_word_", 8000) // more than bufio.Scanner takes by itself
	s.each(t, "with very much in them", `say:"`+long+`"+call:read{"path":"`+long+`"}`, func(r *room) {
		q := using(say("Read it."))
		h := r.answer(q)
		if h.Content().Text() != long || !strings.Contains(string(r.call(h).Arguments), long) {
			r.Errorf("%d bytes of text, %d of arguments", len(h.Content().Text()), len(h.Content().Calls()[0].Arguments))
		}
	})
	s.each(t, "that are no JSON", `call:read"{oh"`, func(r *room) {
		q := using(say("Read it."))
		for _, c := range r.ask(r.Context(), q).Content().Calls() { // or a fault, or text: as the vendor has it
			if text := string(c.Arguments); text != `"{oh"` && text != `{}` {
				r.Errorf("arguments %s", text)
			}
		}
	})
}

// order returns the positions of an answer's blocks in the expected order: reasoning, text, calls. A
// signature without text may be anywhere.
func order(h *heard) (places []int) {
	for _, b := range h.Content() {
		switch b := b.(type) {
		case llm.Reasoning:
			if b.Text != "" {
				places = append(places, 0)
			}
		case llm.Text:
			places = append(places, 1)
		case llm.ToolCall:
			places = append(places, 2)
		}
	}
	return places
}

// sameCall compares what two calls say, whatever their ids.
func sameCall(a, b llm.ToolCall) bool {
	var x, y any
	err := errors.Join(json.Unmarshal(a.Arguments, &x), json.Unmarshal(b.Arguments, &y))
	return err == nil && a.Name == b.Name && reflect.DeepEqual(x, y)
}
