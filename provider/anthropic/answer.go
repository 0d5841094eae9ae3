package anthropic

import (
	"cmp"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// streamReader is an answer that streams.
type streamReader struct {
	call    *provider.Call
	blocks  map[int64]*block // that have begun and not ended, by their index
	tokens  tokenCounts
	model   string
	reason  llm.Reason
	stopped bool // message_stop has come
}

// block is what has come of a content block that is handed on at its end.
type block struct {
	kind      string
	id, name  string // of a tool call
	given     string // its arguments, where they come at once
	arguments []byte // where they come piece by piece
	signature string // of thinking
}

// event takes the next event; false: nobody wants more.
func (a *streamReader) event(e *sdk.MessageStreamEventUnion) bool {
	switch e.Type {
	case "message_start":
		a.model = e.Message.Model
		a.tokens.start(&e.Message.Usage)
		a.call.InitialUsage(a.tokens.usage())
	case "content_block_start":
		return a.startBlock(e.Index, &e.ContentBlock)
	case "content_block_delta":
		return a.extendBlock(e.Index, &e.Delta)
	case "content_block_stop":
		return a.endBlock(e.Index)
	case "message_delta":
		a.tokens.update(&e.Usage)
		a.call.Usage(a.tokens.usage())
		a.reason = reason(e.Delta.StopReason)
	case "message_stop":
		a.stopped = true
		a.call.End(cmp.Or(a.reason, llm.Other), a.model)
	}
	return true
}

// startBlock begins a block. What an API of another vendor puts into its start is
// handed on like a delta.
func (a *streamReader) startBlock(index int64, b *sdk.ContentBlockStartEventContentBlockUnion) bool {
	switch b.Type {
	case "text":
		return a.call.Yield(llm.Text{Text: b.Text})
	case "redacted_thinking":
		return a.call.Yield(llm.Reasoning{Signature: redactedPrefix + b.Data})
	case "thinking", "tool_use":
		if a.blocks == nil {
			a.blocks = map[int64]*block{}
		}
		a.blocks[index] = &block{kind: b.Type, id: b.ID, name: b.Name, given: b.JSON.Input.Raw(), signature: b.Signature}
		return a.call.Yield(llm.Reasoning{Text: b.Thinking})
	}
	return true
}

// extendBlock hands on a piece of a block, or keeps it where only the whole is of use.
func (a *streamReader) extendBlock(index int64, d *sdk.MessageStreamEventUnionDelta) bool {
	switch d.Type {
	case "text_delta":
		return a.call.Yield(llm.Text{Text: d.Text})
	case "thinking_delta":
		return a.call.Yield(llm.Reasoning{Text: d.Thinking})
	}
	if b := a.blocks[index]; b != nil {
		b.arguments = append(b.arguments, d.PartialJSON...)
		b.signature += d.Signature
	}
	return true
}

// endBlock hands on what is only of use when it is whole.
func (a *streamReader) endBlock(index int64) bool {
	b := a.blocks[index]
	delete(a.blocks, index)
	switch {
	case b == nil:
		return true
	case b.kind == "thinking":
		return a.call.Yield(llm.Reasoning{Signature: b.signature})
	case len(b.arguments) == 0:
		b.arguments = []byte(b.given)
	}
	return a.call.Yield(llm.ToolCall{ID: b.id, Name: b.name, Arguments: b.arguments})
}

// part gives a block of an answer in one piece; empty text: nothing that we know.
func part(b *sdk.ContentBlockUnion) llm.Part {
	switch b.Type {
	case "thinking":
		return llm.Reasoning{Text: b.Thinking, Signature: b.Signature}
	case "redacted_thinking":
		return llm.Reasoning{Signature: redactedPrefix + b.Data}
	case "tool_use":
		return llm.ToolCall{ID: b.ID, Name: b.Name, Arguments: b.Input}
	}
	return llm.Text{Text: b.Text}
}

// reason gives why an answer has ended.
func reason(r sdk.StopReason) llm.Reason {
	switch r {
	case sdk.StopReasonEndTurn, sdk.StopReasonStopSequence:
		return llm.Stop
	case sdk.StopReasonToolUse:
		return llm.Calls
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return llm.Length
	case sdk.StopReasonRefusal:
		return llm.Refusal
	}
	return llm.Other
}

// tokenCounts is what an answer costs, as the API counts: what was read from a cache or
// written to one is no input.
type tokenCounts struct{ input, read, written, output, thought int64 }

// start takes what message_start says.
func (b *tokenCounts) start(u *sdk.Usage) {
	*b = tokenCounts{u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens, u.OutputTokensDetails.ThinkingTokens}
}

// update takes what message_delta says. It is the sum so far, but need not say
// all again.
func (b *tokenCounts) update(u *sdk.MessageDeltaUsage) {
	b.input = max(b.input, u.InputTokens)
	b.read = max(b.read, u.CacheReadInputTokens)
	b.written = max(b.written, u.CacheCreationInputTokens)
	b.output = max(b.output, u.OutputTokens)
	b.thought = max(b.thought, u.OutputTokensDetails.ThinkingTokens)
}

// usage gives the bill in our terms.
func (b tokenCounts) usage() llm.Usage {
	return llm.Usage{
		Input: int(b.input + b.read + b.written), Output: int(b.output),
		CacheRead: int(b.read), CacheWrite: int(b.written), Reasoning: int(b.thought),
	}
}
