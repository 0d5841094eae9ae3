package anthropic

import (
	"cmp"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// streamReader reads an answer that streams.
type streamReader struct {
	call    *provider.Call
	blocks  map[int64]*block // open blocks by index
	tokens  tokenCounts
	model   string
	reason  llm.Reason
	stopped bool // message_stop has come
}

// block is a content block that is yielded when it is complete.
type block struct {
	kind      string
	id, name  string // of a tool call
	given     string // its arguments, if they come at once
	arguments []byte // if they come in pieces
	signature string // of thinking
}

// event handles the next event; false: the caller has left.
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

// startBlock begins a block. What another vendor's API puts into its start is yielded like a delta.
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

// extendBlock yields a piece of a block, or keeps it where only the whole is useful.
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

// endBlock yields what is useful only when it is complete.
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

// part returns a block of an unstreamed answer as a part; an unknown one is an empty text.
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

// reason returns why an answer ended.
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

// tokenCounts is an answer's usage as the API counts: input excludes cache reads and writes.
type tokenCounts struct{ input, read, written, output, thought int64 }

// start sets the counts from message_start.
func (b *tokenCounts) start(u *sdk.Usage) {
	*b = tokenCounts{u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens, u.OutputTokensDetails.ThinkingTokens}
}

// update sets the counts from message_delta. They are totals, but some may be missing.
func (b *tokenCounts) update(u *sdk.MessageDeltaUsage) {
	b.input = max(b.input, u.InputTokens)
	b.read = max(b.read, u.CacheReadInputTokens)
	b.written = max(b.written, u.CacheCreationInputTokens)
	b.output = max(b.output, u.OutputTokens)
	b.thought = max(b.thought, u.OutputTokensDetails.ThinkingTokens)
}

// usage converts the counts.
func (b tokenCounts) usage() llm.Usage {
	return llm.Usage{
		Input: int(b.input + b.read + b.written), Output: int(b.output),
		CacheRead: int(b.read), CacheWrite: int(b.written), Reasoning: int(b.thought),
	}
}
