package anthropic

import (
	"cmp"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
	"github.com/ridethrough/ridethrough/provider/internal/client"
)

// streamReader reads an answer that streams.
type streamReader struct {
	call    *provider.Call
	blocks  map[int]*openBlock // by index
	tokens  counts
	model   string
	reason  llm.Reason
	stopped bool // message_stop has come
}

// openBlock is a content block that is yielded when it is complete.
type openBlock struct {
	kind      string
	id, name  string // of a tool call
	given     []byte // its arguments, if they come at once
	arguments []byte // if they come in pieces
	signature string // of thinking
}

// frame handles the next event; false: the caller has left.
func (a *streamReader) frame(frame []byte) (more bool, err error) {
	name, data := client.Event(frame)
	if len(data) == 0 {
		return true, nil
	}
	var e event
	if err := client.Unmarshal(data, &e); err != nil {
		return false, err
	}
	e.Type = cmp.Or(e.Type, name)
	return a.event(&e), nil
}

// event handles the next event; false: the caller has left.
func (a *streamReader) event(e *event) bool {
	switch e.Type {
	case "message_start":
		a.model = e.Message.Model
		a.tokens = e.Message.Usage
		a.call.InitialUsage(a.tokens.usage())
	case "content_block_start":
		return a.startBlock(e.Index, &e.Block)
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
func (a *streamReader) startBlock(index int, b *block) bool {
	switch b.Type {
	case typeText:
		return a.call.Yield(llm.Text{Text: b.Text})
	case typeRedacted:
		return a.call.Yield(part(b))
	case typeThinking, typeToolUse:
		if a.blocks == nil {
			a.blocks = map[int]*openBlock{}
		}
		a.blocks[index] = &openBlock{kind: b.Type, id: b.ID, name: b.Name, given: b.Input, signature: b.Signature}
		return a.call.Yield(llm.Reasoning{Text: b.thought()})
	}
	return true
}

// extendBlock yields a piece of a block, or keeps it where only the whole is useful.
func (a *streamReader) extendBlock(index int, d *delta) bool {
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
func (a *streamReader) endBlock(index int) bool {
	b := a.blocks[index]
	delete(a.blocks, index)
	switch {
	case b == nil:
		return true
	case b.kind == typeThinking:
		return a.call.Yield(llm.Reasoning{Signature: b.signature})
	case len(b.arguments) == 0:
		b.arguments = b.given
	}
	return a.call.Yield(llm.ToolCall{ID: b.id, Name: b.name, Arguments: b.arguments})
}

// part returns a block of an unstreamed answer as a part; an unknown one is an empty text.
func part(b *block) llm.Part {
	switch b.Type {
	case typeThinking:
		return llm.Reasoning{Text: b.thought(), Signature: b.Signature}
	case typeRedacted:
		return llm.Reasoning{Signature: redactedPrefix + b.Data}
	case typeToolUse:
		return llm.ToolCall{ID: b.ID, Name: b.Name, Arguments: b.Input}
	}
	return llm.Text{Text: b.Text}
}

// thought returns the text of thinking.
func (b *block) thought() string {
	if b.Thinking == nil {
		return ""
	}
	return *b.Thinking
}

// reason returns why an answer ended.
func reason(stop string) llm.Reason {
	switch stop {
	case "end_turn", "stop_sequence":
		return llm.Stop
	case "tool_use":
		return llm.Calls
	case "max_tokens", "model_context_window_exceeded":
		return llm.Length
	case "refusal":
		return llm.Refusal
	}
	return llm.Other
}

// update sets the counts from message_delta. They are totals, but some may be missing.
func (t *counts) update(u *counts) {
	t.Input = max(t.Input, u.Input)
	t.Read = max(t.Read, u.Read)
	t.Written = max(t.Written, u.Written)
	t.Output = max(t.Output, u.Output)
	t.Details.Thinking = max(t.Details.Thinking, u.Details.Thinking)
}

// usage converts the counts.
func (t *counts) usage() llm.Usage {
	return llm.Usage{
		Input: t.Input + t.Read + t.Written, Output: t.Output,
		CacheRead: t.Read, CacheWrite: t.Written, Reasoning: t.Details.Thinking,
	}
}
