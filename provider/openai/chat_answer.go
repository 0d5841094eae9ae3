package openai

import (
	"encoding/json"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// chatAnswer reads an answer of Chat Completions. Tool calls are kept until it is complete: servers differ
// in how they mark the end of one.
type chatAnswer struct {
	call          *provider.Call
	calls         callCollector
	model         string
	reason        string // finish_reason; "": none yet
	hasContent    bool   // some of the answer has come
	openReasoning bool   // reasoning that has to be sent back is open
	refused       bool
}

// event handles a chunk of a stream.
func (a *chatAnswer) event(chunk openai.ChatCompletionChunk) (bool, error) {
	if chunk.Model != "" {
		a.model = chunk.Model
	}
	if chunk.JSON.Usage.Valid() {
		a.call.Usage(chatUsage(chunk.Usage))
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 { // only one was requested
			continue
		}
		d := choice.Delta
		if !a.text(d.Content, d.JSON.Content.Raw(), d.Refusal, d.JSON.ExtraFields) {
			return false, nil
		}
		for _, piece := range d.ToolCalls {
			a.calls.add(piece.Index, piece.ID, piece.Function.Name, piece.Function.Arguments)
		}
		if isBrokenOff(choice.FinishReason) {
			return false, streamError(ssestream.Event{Data: []byte(chunk.RawJSON())})
		}
		if choice.FinishReason != "" {
			a.reason = choice.FinishReason
		}
	}
	return true, nil
}

// isBrokenOff reports whether a finish_reason means that the answer broke off: those of OpenRouter,
// DeepSeek and Zhipu.
func isBrokenOff(reason string) bool {
	return reason == "error" || reason == "insufficient_system_resource" || reason == "network_error"
}

// reasoningContent is the field in which DeepSeek and its followers send a model's reasoning, and expect it
// back. It is the signature of that reasoning; others call the field "reasoning" and expect nothing.
const reasoningContent = "reasoning_content"

// text yields the content of a delta or a message. raw is the text as JSON.
func (a *chatAnswer) text(text, raw, refusal string, more map[string]respjson.Field) bool {
	thought := ""
	if len(raw) > 0 && raw[0] == '[' {
		thought, text = contentParts(raw)
	}
	if back := extraField(more, reasoningContent); back != "" {
		thought, a.openReasoning = back, true
	} else if thought == "" {
		thought = extraField(more, "reasoning")
	}
	a.refused = a.refused || refusal != ""
	text += refusal
	a.hasContent = a.hasContent || text+thought != ""
	if thought != "" && !a.call.Yield(llm.Reasoning{Text: thought}) {
		return false
	}
	return text == "" || a.endReasoning() && a.call.Yield(llm.Text{Text: text})
}

// endReasoning ends reasoning that has to be sent back.
func (a *chatAnswer) endReasoning() bool {
	if !a.openReasoning {
		return true
	}
	a.openReasoning = false
	return a.call.Yield(llm.Reasoning{Signature: reasoningContent})
}

// contentParts reads a content in parts, as Mistral's reasoning models send it.
func contentParts(raw string) (thought, text string) {
	type part struct{ Text string }
	var parts []struct {
		part
		Thinking []part
	}
	_ = json.Unmarshal([]byte(raw), &parts) // any other form is empty
	for _, p := range parts {
		text += p.Text
		for _, t := range p.Thinking {
			thought += t.Text
		}
	}
	return thought, text
}

// extraField returns the text in a field that the SDK does not know.
func extraField(fields map[string]respjson.Field, name string) string {
	f, ok := fields[name]
	if !ok {
		return ""
	}
	var text string
	_ = json.Unmarshal([]byte(f.Raw()), &text) // anything but a string is empty
	return text
}

// end yields what was kept back. Without a finish_reason the terminator completes an answer, if there is
// any: alone it is none.
func (a *chatAnswer) end(done bool) error {
	if a.reason == "" && !(done && (a.hasContent || a.calls.any())) {
		return nil // no end: it broke off
	}
	if a.endReasoning() && a.calls.yield(a.call) {
		a.call.End(a.endReason(), a.model)
	}
	return nil
}

// unary handles an unstreamed answer.
func (a *chatAnswer) unary(answer openai.ChatCompletion) error {
	if len(answer.Choices) == 0 {
		return nil
	}
	choice := answer.Choices[0]
	a.model, a.reason = answer.Model, choice.FinishReason
	if isBrokenOff(a.reason) {
		return a.call.ErrorEvent([]byte(answer.RawJSON()), streamError(ssestream.Event{Data: []byte(answer.RawJSON())}))
	}
	if answer.JSON.Usage.Valid() {
		a.call.Usage(chatUsage(answer.Usage))
	}
	message := choice.Message
	a.text(message.Content, message.JSON.Content.Raw(), message.Refusal, message.JSON.ExtraFields)
	for i, call := range message.ToolCalls {
		a.calls.add(int64(i), call.ID, call.Function.Name, call.Function.Arguments)
	}
	a.hasContent = true // a whole body is complete
	return a.end(true)
}

// endReason returns the reason of the end.
func (a *chatAnswer) endReason() llm.Reason {
	switch {
	case a.refused:
		return llm.Refusal
	case a.reason == "" || a.reason == "stop" || a.reason == "tool_calls" || a.reason == "function_call":
		return llm.Stop
	case a.reason == "length":
		return llm.Length
	case a.reason == "content_filter":
		return llm.Refusal
	}
	return llm.Other
}

func chatUsage(u openai.CompletionUsage) llm.Usage {
	return llm.Usage{
		Input:      int(u.PromptTokens),
		Output:     int(u.CompletionTokens),
		CacheRead:  int(u.PromptTokensDetails.CachedTokens),
		CacheWrite: int(u.PromptTokensDetails.CacheWriteTokens),
		Reasoning:  int(u.CompletionTokensDetails.ReasoningTokens),
	}
}
