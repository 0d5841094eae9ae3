package provider

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/llm"
)

// answer reads an answer of any API into a Call, by the parts that package api decodes. Servers differ in what they
// omit and add: an answer without a terminator or without a reason to stop, calls without ids, and reasoning in members
// of their own are accepted.
type answer struct {
	call  *Call
	is    *dialect
	limit int // of its tokens, as the request states it; 0: it does not

	blocks  blocks          // calls and signatures that are not whole yet
	begun   map[int]bool    // blocks of which some has been yielded
	done    map[int]bool    // blocks that have been yielded from what repeats them
	taken   map[string]bool // ids that the conversation has already
	pending *llm.ToolCall   // it may have a signature
	thought string          // of a whole block, up to its signature

	model       []byte
	usage       api.Usage
	word        string // the API's, for why the model has stopped
	openThought bool   // reasoning that has to be sent back is open
	refused     bool
	unfinished  bool // a frame has said so: relays put the terminator behind whatever they have
	stopped     bool // a clean end may follow
	over        bool // the proper end has come
}

// errNotJSON means that a frame or a body is half of one, or a page.
var errNotJSON = errors.New("the answer is not JSON")

// read reads a response: a stream, or one body, requested or from a server that cannot stream. The first byte decides,
// since servers get the content type wrong.
func (a *answer) read(body io.Reader) error {
	r := bufio.NewReader(body)
	if a.is.form == api.Events && firstByte(r) == '{' {
		text, err := readAll(r)
		if err != nil {
			return err
		}
		return a.readBody(text)
	}
	if err := a.readStream(r); err != nil || a.call.left {
		return err
	}
	if a.stopped {
		a.end()
	}
	return nil
}

// readBody reads an answer in one body, which is complete. An error in its place is the Call's to classify.
func (a *answer) readBody(text []byte) error {
	if !json.Valid(text) {
		return errNotJSON
	}
	if a.is.api.BodyKind(text) == api.Failure {
		return nil
	}
	parts := a.is.api.Decode(api.JSON, text)
	if err := a.frame(&parts); err != nil {
		return err
	}
	if !a.unfinished && (a.stopped || a.word != "" || parts.Choices > 0 || a.call.hasContent) {
		a.end()
	}
	return nil
}

// readStream reads a streamed answer up to its end, and past it where the API's connections are reused then.
func (a *answer) readStream(body io.Reader) error {
	for frame, err := range frames(body, a.is.form) {
		switch {
		case a.over && err == nil:
			continue
		case a.over:
			return nil
		case err == nil:
			err = a.readFrame(frame)
		}
		if err != nil || a.call.left || a.over && !a.is.drains {
			return err
		}
	}
	return nil
}

// readFrame reads a frame of a stream.
func (a *answer) readFrame(frame []byte) error {
	_, data := api.Payload(a.is.form, frame)
	data = bytes.TrimSpace(data)
	parts := a.is.api.Decode(a.is.form, frame)
	for i := range parts.Len() {
		if parts.At(i).Kind == api.ErrorPart {
			return a.call.ErrorEvent(frame, nil)
		}
	}
	switch {
	case len(data) == 0:
		return nil
	case string(data) == "[DONE]":
		a.over = true
		a.stopped = a.stopped || a.is.doneEnds && !a.unfinished && (a.call.hasContent || len(a.blocks) > 0)
		return nil
	case !json.Valid(data):
		return errNotJSON
	}
	a.unfinished = a.unfinished || a.is.api.SaysUnfinished(frame)
	return a.frame(&parts)
}

// frame reads what a frame says. Members of one message have no order: its reasoning comes first.
func (a *answer) frame(parts *api.Parts) error {
	a.note(parts)
	member := reasoningMember(parts)
	for i := range parts.Len() {
		if p := parts.At(i); isReasoningMember(p) && p.Choice == 0 && bytes.Equal(p.Name, member) {
			a.openThought = a.openThought || string(member) == reasoningContent
			a.call.Yield(llm.Reasoning{Text: p.String()})
		}
	}
	for i := range parts.Len() {
		if p := parts.At(i); !isReasoningMember(p) {
			a.part(p, false)
		}
	}
	a.yieldPending()
	if parts.Failure == nil || a.call.left {
		return nil
	}
	err := a.call.ErrorEvent(parts.Failure, nil)
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Unknown && parts.Choices == 0 {
		f.Kind = fault.Refused // the prompt was blocked
	}
	return err
}

// note notes the model and the usage. The counts are totals, but some may be missing.
func (a *answer) note(parts *api.Parts) {
	if !api.IsEmpty(parts.Model) && !bytes.Equal(parts.Model, a.model) {
		a.model = bytes.Clone(parts.Model)
	}
	u, t := parts.Usage, &a.usage
	if u == (api.Usage{}) {
		return
	}
	t.Input, t.CacheRead, t.CacheWrite = max(t.Input, u.Input), max(t.CacheRead, u.CacheRead), max(t.CacheWrite, u.CacheWrite)
	t.Output, t.Thoughts, t.Reasoning = max(t.Output, u.Output), max(t.Thoughts, u.Thoughts), max(t.Reasoning, u.Reasoning)
	now := llm.Usage{
		Input: t.Input, Output: t.Output + t.Reasoning, CacheRead: t.CacheRead, CacheWrite: t.CacheWrite, Reasoning: t.Reasoning + t.Thoughts,
	}
	switch {
	case now == llm.Usage{}:
	case u.Stated:
		a.call.Usage(now)
	default:
		a.call.InitialUsage(now)
	}
}

// isReasoningMember reports whether a part is reasoning in a member whose name differs between servers.
func isReasoningMember(p *api.Part) bool { return p.Kind == api.ReasoningPart && p.Name != nil }

// reasoningContent is the member in which DeepSeek and its followers send a model's reasoning, and expect it back. It is
// the signature of that reasoning; others name the member differently and expect nothing.
const reasoningContent = "reasoning_content"

// reasoningMember returns the name of the member whose reasoning counts: some servers send it in two.
func reasoningMember(parts *api.Parts) (name []byte) {
	for i := range parts.Len() {
		switch p := parts.At(i); {
		case !isReasoningMember(p) || string(p.Name) == "reasoning_details":
		case name == nil || string(p.Name) == reasoningContent:
			name = p.Name
		}
	}
	return name
}

// part yields a part, or keeps it where only the whole is useful. whole means that it is from what repeats a block: what
// has been yielded of it is left out.
func (a *answer) part(p *api.Part, whole bool) {
	if p.Choice > 0 || whole && a.done[p.Block] { // only one answer was requested
		return
	}
	if p.Kind == api.SignaturePart || p.Of == api.SignaturePart {
		a.signature(p)
		return
	}
	a.yieldPending()
	switch p.Kind {
	case api.OpenPart:
		a.separate(p, whole)
	case api.TextPart, api.RefusalPart:
		text, thought := p.Said()
		a.refused = a.refused || p.Kind == api.RefusalPart
		if a.begins(p.Block, whole) {
			a.call.Yield(llm.Reasoning{Text: thought})
			a.text(text)
		}
	case api.ReasoningPart:
		switch {
		case !a.begins(p.Block, whole):
		case whole:
			a.thought += p.String()
		default:
			a.call.Yield(llm.Reasoning{Text: p.String()})
		}
	case api.ToolCallPart, api.ToolInputPart:
		a.toolCall(p, whole)
	case api.ClosePart:
		if p.Of != 0 {
			a.whole(p)
		} else {
			a.close(p.Block, whole)
		}
	case api.StopPart:
		a.unfinished = a.unfinished || p.Why == api.UnfinishedStop
		a.stopped = a.stopped || p.Final && p.Why != api.UnfinishedStop
		a.word = cmp.Or(api.TextOf(p.Name), a.word)
	case api.EndPart:
		a.over, a.stopped = true, true
	}
}

// whole yields what has not been yielded of blocks that a part repeats.
func (a *answer) whole(p *api.Part) {
	parts := a.is.api.Whole(p)
	for i := range parts.Len() {
		a.part(parts.At(i), true)
	}
}

// begins reports whether some of a block is to be yielded, and notes it: a whole one repeats what has streamed.
func (a *answer) begins(block int, whole bool) bool {
	if whole {
		return !a.begun[block]
	}
	if block > 0 {
		a.begun[block] = true
	}
	return true
}

// separate begins a further paragraph of reasoning.
func (a *answer) separate(p *api.Part, whole bool) {
	switch {
	case p.Of != api.ReasoningPart:
	case whole && a.thought != "":
		a.thought += "\n\n"
	case !whole && a.begun[p.Block]:
		a.call.Yield(llm.Reasoning{Text: "\n\n"})
	}
}

// text yields text, after the end of reasoning that has to be sent back.
func (a *answer) text(text string) {
	if text != "" {
		a.endReasoning()
		a.call.Yield(llm.Text{Text: text})
	}
}

// endReasoning ends reasoning that has to be sent back.
func (a *answer) endReasoning() {
	if a.openThought {
		a.openThought = false
		a.call.Yield(llm.Reasoning{Signature: reasoningContent})
	}
}

// signature takes a signature: of a call, of a block that ends later, or of what came before.
func (a *answer) signature(p *api.Part) {
	switch text := p.String(); {
	case p.Text[0] == '{':
		a.whole(p)
	case p.Of == api.OtherPart:
		a.call.Yield(llm.Reasoning{Signature: redactedPrefix + text})
	case a.pending != nil:
		a.pending.Signature = text
	case p.Block == 0:
		a.call.Yield(llm.Reasoning{Signature: text})
	default:
		a.blocks.sign(p.Block, text)
	}
}

// toolCall takes a call, or a piece of one. Those without a number come whole.
func (a *answer) toolCall(p *api.Part, whole bool) {
	id, name := api.TextOf(p.ID), api.TextOf(p.Name)
	switch {
	case p.Block > 0:
		if whole {
			a.blocks.take(p.Block)
		}
		a.blocks.add(p.Block, id, name, p.Text)
	case id+name != "":
		a.pending = &llm.ToolCall{ID: id, Name: name, Arguments: bytes.Clone(argumentsOf(p.Text))}
	}
}

// yieldPending yields a call to which no signature comes any more.
func (a *answer) yieldPending() {
	if call := a.pending; call != nil {
		a.pending = nil
		a.yieldCall(*call)
	}
}

// yieldCall yields a call. A duplicate id is replaced: some servers start counting again in each answer.
func (a *answer) yieldCall(call llm.ToolCall) {
	if a.taken[call.ID] {
		call.ID = ""
	}
	a.taken[call.ID] = true
	a.call.Yield(call)
}

// close yields what is useful only when a block is complete.
func (a *answer) close(block int, whole bool) {
	b := a.blocks.take(block)
	thought := a.thought
	a.thought = ""
	delete(a.begun, block)
	if whole {
		a.done[block] = true
	}
	a.call.Yield(llm.Reasoning{Text: thought, Signature: b.signature})
	if b.id+b.name != "" {
		a.yieldCall(llm.ToolCall{ID: b.id, Name: b.name, Arguments: b.arguments})
	}
}

// end yields what was kept back, and notes the proper end. Where nothing marks the end of a call, calls are kept until
// the answer is complete.
func (a *answer) end() {
	a.endReasoning()
	if a.is.doneEnds {
		for _, b := range a.blocks {
			a.yieldCall(llm.ToolCall{ID: b.id, Name: b.name, Arguments: b.arguments})
		}
	}
	reason := a.is.silent
	if a.word != "" {
		reason = cmp.Or(reasons[a.word], llm.Other)
	}
	switch {
	case reason != llm.Stop:
	case a.refused:
		reason = llm.Refusal
	case a.is.api.Note(api.Bounds{Output: a.limit}, api.Ending{Read: true, Stopped: true, Plain: true, Usage: a.usage}) == api.AtLimit:
		reason = llm.Length
	}
	a.call.End(reason, api.TextOf(a.model))
}

// reasons are the words of all APIs for why an answer has ended. Others are [llm.Other].
var reasons = map[string]llm.Reason{
	"end_turn": llm.Stop, "stop_sequence": llm.Stop, "stop": llm.Stop, "tool_calls": llm.Stop, "function_call": llm.Stop, "STOP": llm.Stop,
	"tool_use":   llm.Calls,
	"max_tokens": llm.Length, "model_context_window_exceeded": llm.Length, "length": llm.Length, "max_output_tokens": llm.Length,
	"MAX_TOKENS": llm.Length, "CONTINUATION": llm.Length,
	"refusal": llm.Refusal, "content_filter": llm.Refusal, "SAFETY": llm.Refusal, "RECITATION": llm.Refusal, "BLOCKLIST": llm.Refusal,
	"PROHIBITED_CONTENT": llm.Refusal, "SPII": llm.Refusal, "LANGUAGE": llm.Refusal, "IMAGE_SAFETY": llm.Refusal,
	"IMAGE_PROHIBITED_CONTENT": llm.Refusal, "IMAGE_RECITATION": llm.Refusal, "MODEL_ARMOR": llm.Refusal,
}
