package openai

import (
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
	"github.com/ridethrough/ridethrough/provider/internal/client"
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
func (a *chatAnswer) event(data []byte) (bool, error) {
	var chunk chatChunk
	if err := client.Unmarshal(data, &chunk); err != nil {
		return false, err
	}
	if chunk.Model != "" {
		a.model = chunk.Model
	}
	if chunk.Usage != nil {
		a.call.Usage(chunk.Usage.usage())
	}
	for i := range chunk.Choices {
		choice := &chunk.Choices[i]
		if choice.Index != 0 { // only one was requested
			continue
		}
		if !a.text(&choice.Delta) {
			return false, nil
		}
		for _, piece := range choice.Delta.ToolCalls {
			a.calls.add(piece.Index, piece.ID, piece.Function.Name, string(piece.Function.Arguments))
		}
		if isBrokenOff(choice.FinishReason) {
			return false, a.call.ErrorEvent(data, nil)
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

// text yields the content of a delta or a message.
func (a *chatAnswer) text(d *chatDelta) bool {
	thought := d.Content.thought
	if d.ReasoningContent != "" {
		thought, a.openReasoning = d.ReasoningContent, true
	} else if thought == "" {
		thought = d.Reasoning
	}
	a.refused = a.refused || d.Refusal != ""
	text := d.Content.text + d.Refusal
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
func (a *chatAnswer) unary(body []byte) error {
	var answer chatChunk
	if err := client.Unmarshal(body, &answer); err != nil {
		return err
	}
	if len(answer.Choices) == 0 {
		return nil
	}
	choice := &answer.Choices[0]
	a.model, a.reason = answer.Model, choice.FinishReason
	if isBrokenOff(a.reason) {
		return a.call.ErrorEvent(body, nil)
	}
	if answer.Usage != nil {
		a.call.Usage(answer.Usage.usage())
	}
	a.text(&choice.Message)
	for i, call := range choice.Message.ToolCalls {
		a.calls.add(i, call.ID, call.Function.Name, string(call.Function.Arguments))
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

// usage converts the counts.
func (u *chatUsage) usage() llm.Usage {
	return llm.Usage{
		Input:      u.Prompt,
		Output:     u.Completion,
		CacheRead:  u.PromptDetails.Cached,
		CacheWrite: u.PromptDetails.CacheWrite,
		Reasoning:  u.CompletionDetails.Reasoning,
	}
}
