package llmtest

import (
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/llm"
)

// answers tests text, reasoning, ends and usage.
func (s Suite) answers(t *testing.T) {
	s.texts(t)
	s.thoughts(t)
	s.ends(t)
	s.each(t, "usage", `think:"Let me see."+say:"Two files."+call:read{"path":"a.txt"}, ok`, s.usage)
}

// texts tests text.
func (s Suite) texts(t *testing.T) {
	s.each(t, "text", "ok", func(r *room) {
		h := r.answer(say("Hi"))
		if h.Content().Text() != "one two three" || h.End.Reason != llm.Stop {
			r.Errorf("%#v", h.parts)
		}
		if _, first := h.parts[0].(llm.Text); !first || !r.whole && count[llm.Text](h) != 3 {
			r.Errorf("it does not come as it streams: %#v", h.parts)
		}
		r.asked(1)
		kind := r.wire.answered().header.Get("Content-Type")
		if streams := !strings.HasPrefix(kind, "application/json"); streams == r.whole {
			r.Errorf("the answer is %s", kind)
		}
	})
	s.each(t, "nothing to say", `say:""`, func(r *room) {
		if h := r.answer(say("Hi")); h.End.Reason != llm.Stop || len(h.Content()) > 0 {
			r.Errorf("%#v", h.parts)
		}
	})
	s.each(t, "a shorter text", "cut:2:done", func(r *room) {
		if h := r.answer(say("Hi")); h.Content().Text() != "one two " || h.Usage.Output != 2 {
			r.Errorf("%#v", h.parts)
		}
	})
}

// thoughts tests reasoning.
func (s Suite) thoughts(t *testing.T) {
	s.each(t, "reasoning", `think:"Let me see."+say:"Yes, it is."`, func(r *room) {
		h := r.answer(thinking())
		thought, said := words(h)
		if shown := thought == "Let me see."; shown == s.Sealed || said != "Yes, it is." || h.End.Reason != llm.Stop {
			r.Errorf("%q, %q, %#v", thought, said, h.End)
		}
		if !r.whole && !s.Sealed && count[llm.Reasoning](h) < 3 {
			r.Errorf("reasoning does not come as it streams: %#v", h.parts)
		}
		if s.Sealed && signature(h.Content()[0]) == "" {
			r.Errorf("nothing is given to be sent back: %#v", h.parts)
		}
	})
	s.each(t, "reasoning that is hidden", `think:"Let me see."+hidden+say:Yes`, func(r *room) {
		if thought, said := words(r.answer(thinking())); thought != "" || said != "Yes" {
			r.Errorf("%q, %q", thought, said)
		}
	})
	s.each(t, "an answer without reasoning although it was asked for", "ok", func(r *room) {
		if thought, said := words(r.answer(thinking())); thought != "" || said != "one two three" {
			r.Errorf("%q, %q", thought, said)
		}
	})
}

// ends tests answers that end early.
func (s Suite) ends(t *testing.T) {
	s.each(t, "an answer that is too long", `say:"one two"+stop:length`, func(r *room) {
		q := say("Hi")
		q.MaxTokens = 7777
		if h := r.answer(q); h.End.Reason != llm.Length || h.Content().Text() != "one two" {
			r.Errorf("%#v", h.parts)
		}
		if !strings.Contains(r.body(), "7777") {
			r.Errorf("the bound is not in %s", r.body())
		}
	})
	if s.Unfiltered {
		return
	}
	s.each(t, "an answer that is cut off by a filter", `say:"one two"+stop:refusal`, func(r *room) {
		if h := r.answer(say("Hi")); h.End.Reason != llm.Refusal {
			r.Errorf("%#v", h.End)
		}
	})
}

// usage tests usage: the simulator counts a word as a token,
// eight characters of arguments as well, and four of a prompt.
func (s Suite) usage(r *room) {
	q := using(thinking())
	h := r.answer(q)
	prompt := 1 + len(r.body())/4
	if h.Usage.Input != prompt || h.Usage.Output != 7 || h.Usage.CacheRead != 0 {
		r.Errorf("%+v for a prompt of %d and an answer of 7", h.Usage, prompt)
	}
	if h.Usage.Reasoning != 3 && !s.Uncounted {
		r.Errorf("%+v for a reasoning of 3", h.Usage)
	}
	id := r.call(h).ID
	q.Messages = append(q.Messages, llm.AssistantMessage(r.model.Name(), h.Content()...), llm.ToolMessage(llm.ToolResult{ID: id, Name: "read", Output: "a"}))
	h = r.answer(q)
	prompt = 1 + len(r.body())/4
	if h.Usage.Input != prompt || h.Usage.Output != 3 || h.Usage.CacheRead != prompt/2 && !s.Uncounted {
		r.Errorf("%+v for a prompt of %d, half of it known", h.Usage, prompt)
	}
}

// thinking returns a request for an answer with reasoning.
func thinking() llm.Request {
	q := say("Is it so?")
	q.Effort = llm.High
	return q
}

// words returns the reasoning and the text of an answer.
func words(h *heard) (thought, said string) {
	for _, b := range h.Content() {
		if r, ok := b.(llm.Reasoning); ok {
			thought += r.Text
		}
	}
	return thought, h.Content().Text()
}

// count counts the parts of a type.
func count[P llm.Part](h *heard) (n int) {
	for _, p := range h.parts {
		if _, ok := p.(P); ok {
			n++
		}
	}
	return n
}
