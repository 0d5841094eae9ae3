package dialect

import (
	"bytes"
	"slices"
	"strconv"
)

// The preludes of the other APIs.

var chatPrelude = preludeRules{part: chatPart, again: chatAgain}

// chatPart reads a chunk. That a tool call is whole is not known before the chunk that completes the answer.
func chatPart(p *Prelude, _, data []byte) part {
	as := opening
	for key, value := range members(data) {
		switch string(key) {
		case "id":
			if p.id == "" {
				p.id = string(value)
			}
		case "choices":
			for choice := range elements(value) {
				as = max(as, p.chatChoice(choice))
			}
		}
	}
	if data[0] != '{' {
		return kept
	}
	return as
}

// chatChoice reads a choice of a chunk. An answer with several is not followed.
func (p *Prelude) chatChoice(choice []byte) part {
	as := opening
	for key, value := range members(choice) {
		switch string(key) {
		case "index":
			if string(value) != "0" {
				return kept
			}
		case "finish_reason":
			if !isEmpty(value) {
				return kept
			}
		case "delta":
			for key, value := range members(value) {
				if !isEmpty(value) {
					as = max(as, chatDelta(key, value))
				}
			}
		case "logprobs", "native_finish_reason", "content_filter_results":
		default:
			if !isEmpty(value) {
				return kept
			}
		}
	}
	if as == calling {
		p.block = callBlock
	}
	return as
}

// chatDelta reads a member of a delta. Servers differ in the name of the reasoning.
func chatDelta(key, value []byte) part {
	switch string(key) {
	case "role":
		return opening
	case "reasoning_content", "reasoning", "reasoning_text":
		return reasoning
	case "reasoning_details":
		for detail := range elements(value) {
			if isSignedDetail(detail) {
				return kept
			}
		}
		return reasoning
	case "tool_calls", "function_call":
		return calling
	}
	return kept
}

// isSignedDetail reports whether a detail of OpenRouter's is reasoning that the model's vendor wants back as it was.
func isSignedDetail(detail []byte) bool {
	for key, value := range members(detail) {
		switch string(key) {
		case "signature", "data":
			if !isEmpty(value) {
				return true
			}
		case "format":
			if bytes.HasPrefix(value, []byte(`"anthropic`)) {
				return true
			}
		}
	}
	return false
}

// chatAgain leaves the second reasoning out, which readers would append to the first, and keeps the first id:
// readers that assemble chunks reject another. Some append roles too.
func chatAgain(p *Prelude, as part, _, data []byte) []byte {
	if as == reasoning || as == opening {
		return nil
	}
	return edited(data, func(key, value []byte) []byte {
		switch {
		case string(key) == "id" && p.id != "":
			return []byte(p.id)
		case string(key) == "choices":
			return editedElements(value, func(choice []byte) []byte { return withoutMembers(choice, "delta", chatRepeats...) })
		}
		return value
	})
}

// chatRepeats are the members of a delta that an answer has once.
var chatRepeats = []string{"role", "reasoning_content", "reasoning", "reasoning_text", "reasoning_details"}

// editedElements returns an array with other elements.
func editedElements(array []byte, edit func([]byte) []byte) []byte {
	out := []byte{'['}
	for element := range elements(array) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, edit(element)...)
	}
	return append(out, ']')
}

// withoutMembers returns an object without some members of an object in it.
func withoutMembers(object []byte, in string, names ...string) []byte {
	return edited(object, func(key, value []byte) []byte {
		if string(key) != in {
			return value
		}
		return edited(value, func(key, value []byte) []byte {
			if slices.Contains(names, string(key)) {
				return nil
			}
			return value
		})
	})
}

var responsesPrelude = preludeRules{part: responsesPart, again: responsesAgain}

// responsesPart reads an event of the Responses API. The end of an item of reasoning, which the client would keep,
// is withheld until the next item is: the API refuses one without the item that it led to.
func responsesPart(p *Prelude, name, data []byte) part {
	name = eventName(name, data)
	switch string(name) {
	case "response.created", "response.in_progress", "response.queued", "response.content_part.added",
		"response.reasoning_summary_part.added":
		return opening
	case "response.output_item.added", "response.output_item.done":
		return p.responsesItem(member(data, "item"), string(name) == "response.output_item.done")
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta", "response.reasoning_summary_text.done",
		"response.reasoning_text.done", "response.reasoning_summary_part.done":
		if p.sealed {
			return kept
		}
		p.block, p.begun = reasoningBlock, max(p.begun, number(member(data, "output_index"))+1)
		return reasoning
	case "response.function_call_arguments.delta", "response.function_call_arguments.done",
		"response.custom_tool_call_input.delta", "response.custom_tool_call_input.done":
		return calling
	case "response.content_part.done":
		if p.block == reasoningBlock && !p.sealed {
			return reasoning
		}
	}
	if !bytes.HasPrefix(name, []byte("response.")) {
		return aside
	}
	return kept
}

// responsesItem reads the start or the end of an item.
func (p *Prelude) responsesItem(item []byte, whole bool) part {
	switch kind := string(member(item, "type")); {
	case kind == `"reasoning"`:
		p.sealed = p.sealed || whole
		return opening
	case whole:
	case kind == `"function_call"`, kind == `"custom_tool_call"`:
		p.block = callBlock
		return calling
	case kind == `"message"` && isEmpty(member(item, "content")):
		return opening
	}
	return kept
}

// responsesAgain leaves the second start out and renumbers events and items.
func responsesAgain(p *Prelude, _ part, name, data []byte) []byte {
	switch string(eventName(name, data)) {
	case "response.created", "response.in_progress", "response.queued":
		return nil
	}
	return edited(data, func(key, value []byte) []byte {
		switch string(key) {
		case "sequence_number":
			return strconv.AppendInt(nil, int64(p.frames), 10)
		case "output_index":
			return strconv.AppendInt(nil, int64(number(value)+p.base), 10)
		}
		return value
	})
}

// geminiPrelude has no blocks: each part of an answer stands for itself.
var geminiPrelude = preludeRules{
	part:  geminiPart,
	again: func(_ *Prelude, _ part, _, data []byte) []byte { return data },
}

// geminiPart reads a chunk.
func geminiPart(p *Prelude, name, data []byte) part {
	as, candidates := opening, 0
	for key, value := range members(data) {
		switch string(key) {
		case "response":
			return geminiPart(p, name, value)
		case "candidates":
			for candidate := range elements(value) {
				candidates++
				as = max(as, p.geminiCandidate(candidate))
			}
		case "usageMetadata":
			p.tokens = number(member(value, "totalTokenCount"))
		case "promptFeedback":
			as = kept
		}
	}
	if candidates > 1 || data[0] != '{' {
		return kept
	}
	return as
}

// geminiCandidate reads a candidate of a chunk.
func (p *Prelude) geminiCandidate(candidate []byte) part {
	as := opening
	for key, value := range members(candidate) {
		switch string(key) {
		case "finishReason":
			return kept
		case "content":
			for piece := range elements(member(value, "parts")) {
				as = max(as, geminiPiece(piece))
			}
		}
	}
	if as == calling {
		p.block = callBlock
	}
	return as
}

// geminiPiece reads a part of a candidate. A function call is whole unless it says that more of it comes.
func geminiPiece(piece []byte) part {
	thought, as := false, opening
	for key, value := range members(piece) {
		switch string(key) {
		case "thought":
			thought = string(value) == "true"
		case "functionCall":
			if string(member(value, "willContinue")) != "true" {
				return kept
			}
			as = calling
		default:
			if !isEmpty(value) {
				as = max(as, kept)
			}
		}
	}
	if thought && as == kept {
		return reasoning
	}
	return as
}

var ollamaPrelude = preludeRules{part: ollamaPart, again: ollamaAgain}

// ollamaPart reads a line. A tool call is whole in it.
func ollamaPart(_ *Prelude, _, data []byte) part {
	as := opening
	for key, value := range members(data) {
		switch string(key) {
		case "message":
			for key, value := range members(value) {
				if !isEmpty(value) && string(key) != "role" {
					as = max(as, ollamaMember(key))
				}
			}
		case "done":
			if string(value) == "true" {
				return kept
			}
		case "thinking", "response":
			if !isEmpty(value) {
				as = max(as, ollamaMember(key))
			}
		}
	}
	return as
}

func ollamaMember(key []byte) part {
	if string(key) == "thinking" {
		return reasoning
	}
	return kept
}

// ollamaAgain leaves the second reasoning out, which readers would append to the first.
func ollamaAgain(_ *Prelude, as part, _, data []byte) []byte {
	if as == reasoning || as == opening {
		return nil
	}
	if member(data, "thinking") == nil && member(member(data, "message"), "thinking") == nil {
		return data
	}
	return edited(withoutMembers(data, "message", "thinking"), func(key, value []byte) []byte {
		if string(key) == "thinking" {
			return nil
		}
		return value
	})
}

var lmStudioPrelude = preludeRules{part: lmStudioPart, again: lmStudioAgain, close: func(*Prelude) []byte {
	return eventFrame([]byte("reasoning.end"), []byte(`{"type":"reasoning.end"}`))
}}

// lmStudioPart reads an event of LM Studio's, which runs its tools itself.
func lmStudioPart(p *Prelude, name, data []byte) part {
	switch string(eventName(name, data)) {
	case "chat.start", "model_load.start", "model_load.progress", "model_load.end", "prompt_processing.start",
		"prompt_processing.progress", "prompt_processing.end", "message.start":
		return opening
	case "reasoning.start":
		p.block = reasoningBlock
		return opening
	case "reasoning.delta":
		return reasoning
	case "reasoning.end":
		p.block = noBlock
		return reasoning
	}
	return kept
}

// lmStudioAgain leaves the second start out.
func lmStudioAgain(_ *Prelude, _ part, name, data []byte) []byte {
	switch string(eventName(name, data)) {
	case "chat.start", "model_load.start", "model_load.progress", "model_load.end", "prompt_processing.start",
		"prompt_processing.progress", "prompt_processing.end":
		return nil
	}
	return data
}
