package llmtest

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/llm"
)

// conversations tests the requests. The simulator rejects what the vendor
// refuses: a result without its call, a thought without its signature.
func (s Suite) conversations(t *testing.T) {
	s.steps(t)
	s.strangers(t)
}

// steps is about steps with tools.
func (s Suite) steps(t *testing.T) {
	const step = `think:"Let me see."+say:"I look."+call:read{"path":"a.txt"}+call:now`
	s.each(t, "the results of tools go back", step+`, call:now, say:"It is late."`, func(r *room) {
		q := thinking()
		q.System, q.Tools = "Be brief.", tools
		for _, day := range []string{"Monday", "Tuesday"} {
			h := r.answer(q)
			q.Messages = append(q.Messages, llm.AssistantMessage(r.model.Name(), h.Content()...), results(h, day))
		}
		if h := r.answer(q); h.Content().Text() != "It is late." {
			r.Errorf("%#v", h.parts)
		}
		r.says("Be brief.", "Is it so?", "I look.", "a.txt", "no such file", "noon on Monday", "noon on Tuesday")
		r.asked(3)
	})
	s.each(t, "reasoning goes back to who thought", step+", ok", func(r *room) {
		q := using(thinking())
		h := r.answer(q)
		q.Messages = append(q.Messages, llm.AssistantMessage(r.model.Name(), h.Content()...), results(h, "Monday"))
		r.answer(q)
		signed := false
		for _, b := range h.Content() {
			signed = signed || strings.Contains(signature(b), signatures)
		}
		if strings.Contains(r.body(), signatures) != signed {
			r.Errorf("the signature was given: %t. It is not so in %s", signed, r.body())
		}
	})
}

// strangers tests messages of other models.
func (s Suite) strangers(t *testing.T) {
	s.each(t, "another provider's conversation goes on", "ok", func(r *room) {
		q := using(thinking())
		q.Messages = append(q.Messages, foreign...)
		r.answer(q)
		r.says("Is it so?", "I look.", "a.txt", "no such file", "noon")
		if strings.Contains(r.body(), "foreign") || strings.Contains(r.body(), base64.StdEncoding.EncodeToString([]byte("foreign"))[:8]) {
			r.Errorf("what is another's own was sent: %s", r.body())
		}
	})
	s.each(t, "a step without reasoning is continued with reasoning", "ok", func(r *room) {
		q := using(thinking())
		q.Messages = append(q.Messages,
			llm.AssistantMessage(r.model.Name(), Call("c1", "now", `{}`)), llm.ToolMessage(llm.ToolResult{ID: "c1", Name: "now", Output: "noon"}))
		r.answer(q)
		r.says("Is it so?", "noon")
	})
	s.each(t, "what says nothing is no hindrance", "ok", func(r *room) {
		call := Call("c1", "now", `{}`)
		q := using(say("Hi"))
		q.Messages = append(q.Messages,
			llm.AssistantMessage(r.model.Name()), llm.UserMessage("Are you there?"), llm.UserMessage("Well?"),
			llm.AssistantMessage(r.model.Name(), llm.Text{}, call), llm.ToolMessage(llm.ToolResult{ID: "c1", Name: "now"}))
		r.answer(q)
		r.says("Hi", "Are you there?", "Well?")
	})
}

// signatures begins what the simulator signs with, in base64.
var signatures = base64.StdEncoding.EncodeToString([]byte("signature of "))[:16]

// signature returns what has to be sent back with a block.
func signature(b llm.Block) string {
	switch b := b.(type) {
	case llm.Reasoning:
		return b.Signature
	case llm.ToolCall:
		return b.Signature
	}
	return ""
}

// results answers the calls of an answer: it is noon on a day, no file is there.
func results(h *heard, day string) llm.Message {
	var all []llm.ToolResult
	for _, c := range h.Content().Calls() {
		result := llm.ToolResult{ID: c.ID, Name: c.Name, Output: "noon on " + day}
		if c.Name == "read" {
			result.Output, result.Failed = "no such file", true
		}
		all = append(all, result)
	}
	return llm.ToolMessage(all...)
}

// foreign is a step of another provider, with the longest and oddest of ids.
var foreign = []llm.Message{
	llm.AssistantMessage(
		llm.Name{Provider: "elsewhere", Model: "m"},
		llm.Reasoning{Text: "foreign thought", Signature: "foreign:thought"},
		llm.Text{Text: "I look."},
		llm.ToolCall{ID: oddID + "0", Name: "read", Arguments: []byte(`{"path":"a.txt"}`), Signature: "foreign:call"},
		llm.ToolCall{ID: oddID + "1", Name: "now", Arguments: []byte(`"{oh"`)},
	),
	llm.ToolMessage(
		llm.ToolResult{ID: oddID + "0", Name: "read", Output: "no such file", Failed: true},
		llm.ToolResult{ID: oddID + "1", Name: "now", Output: "noon"},
	),
}

// oddID is an id that some servers give and others refuse.
const oddID = "functions.read:0|an id of more than sixty-four characters, with all that some vendors refuse/"

// says reports texts that are not in the last request.
func (r *room) says(texts ...string) {
	r.Helper()
	for _, text := range texts {
		if !strings.Contains(r.body(), text) {
			r.Errorf("%q is not in %s", text, r.body())
		}
	}
}
