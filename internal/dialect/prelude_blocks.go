package dialect

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"
)

// The preludes of the APIs whose answers are numbered blocks. A block of reasoning ends with a signature. The API
// refuses one that comes back without, and with it the conversation: what was shown of a block that broke off must
// not be kept.

var anthropicPrelude = preludeRules{part: anthropicPart, again: anthropicAgain, close: closeAnthropic}

// anthropicPart reads an event of the Messages API.
func anthropicPart(p *Prelude, name, data []byte) part {
	switch string(eventName(name, data)) {
	case "ping":
		return aside
	case "message_start":
		message := member(data, "message")
		p.signed = strings.Contains(string(member(message, "model")), "claude")
		usage := member(message, "usage")
		for _, count := range [...]string{"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"} {
			p.tokens += number(member(usage, count))
		}
		return opening
	case "content_block_start":
		p.begun++
		return p.anthropicBlock(member(data, "content_block"))
	case "content_block_delta":
		return p.anthropicDelta(member(data, "delta"))
	case "content_block_stop":
		was := p.block
		p.block, p.sealed = noBlock, false
		if was == reasoningBlock {
			return reasoning
		}
	}
	return kept
}

// anthropicBlock reads the start of a block. One of reasoning is shown when there is some.
func (p *Prelude) anthropicBlock(block []byte) part {
	switch string(member(block, "type")) {
	case `"thinking"`, `"redacted_thinking"`:
		p.block = reasoningBlock
		if !isEmpty(member(block, "thinking")) {
			return reasoning
		}
		return opening
	case `"tool_use"`:
		p.block = callBlock
		return calling
	case `"text"`:
		p.block = textBlock
		if isEmpty(member(block, "text")) && isEmpty(member(block, "citations")) {
			return opening
		}
	}
	return kept
}

// anthropicDelta reads a part of a block. A signature is withheld until its block is whole.
func (p *Prelude) anthropicDelta(delta []byte) part {
	switch {
	case p.block == callBlock:
		return calling
	case p.block != reasoningBlock:
	case string(member(delta, "type")) == `"signature_delta"`:
		p.sealed = true
		return opening
	case isEmpty(member(delta, "thinking")):
		return opening
	case !p.sealed:
		return reasoning
	}
	return kept
}

// anthropicAgain leaves the second message_start out and renumbers the blocks.
func anthropicAgain(p *Prelude, _ part, name, data []byte) []byte {
	if string(eventName(name, data)) == "message_start" {
		return nil
	}
	return shifted(data, "index", p.base)
}

// closeAnthropic returns the end of the last block.
func closeAnthropic(p *Prelude) []byte {
	return eventFrame([]byte("content_block_stop"), []byte(`{"type":"content_block_stop","index":`+strconv.Itoa(p.blocks-1)+`}`))
}

// invokePrelude is that of Anthropic's models at Bedrock. The answers of others are not followed.
var invokePrelude = preludeRules{
	part: func(p *Prelude, name, data []byte) part {
		switch {
		case len(name) > 0 && string(name) != "chunk":
			return aside
		case member(data, "type") == nil:
			return kept
		}
		return anthropicPart(p, nil, data)
	},
	again: func(p *Prelude, as part, _, data []byte) []byte { return anthropicAgain(p, as, nil, data) },
	close: func(p *Prelude) []byte {
		_, data := payload(Events, closeAnthropic(p))
		return awsEvent([]byte("chunk"), data)
	},
}

// awsEvent returns an event of an AWS stream. The model's own in a chunk is in base64.
func awsEvent(name, data []byte) []byte {
	if string(name) == "chunk" {
		data = []byte(`{"bytes":"` + base64.StdEncoding.EncodeToString(data) + `"}`)
	}
	return awsFrame("event", string(name), data)
}

var conversePrelude = preludeRules{part: conversePart, again: converseAgain, close: func(p *Prelude) []byte {
	return awsEvent([]byte("contentBlockStop"), []byte(`{"contentBlockIndex":`+strconv.Itoa(p.blocks-1)+`}`))
}}

// conversePart reads an event of ConverseStream. Only tool calls have an event for their start.
func conversePart(p *Prelude, name, data []byte) part {
	switch string(name) {
	case "initial-response", "keepalive":
		return aside
	case "messageStart":
		p.signed = true
		return opening
	case "contentBlockStart":
		if start := member(data, "start"); member(start, "toolUse") != nil {
			p.block, p.begun = callBlock, number(member(data, "contentBlockIndex"))+1
			return calling
		} else if isEmpty(start) {
			return opening
		}
	case "contentBlockDelta":
		return p.converseDelta(data)
	case "contentBlockStop":
		was := p.block
		p.block, p.sealed = noBlock, false
		if was == reasoningBlock {
			return reasoning
		}
	}
	return kept
}

// converseDelta reads a part of a block.
func (p *Prelude) converseDelta(data []byte) part {
	if p.block == callBlock {
		return calling
	}
	thought := member(member(data, "delta"), "reasoningContent")
	if thought == nil {
		return kept
	}
	p.block, p.begun = reasoningBlock, number(member(data, "contentBlockIndex"))+1
	if isEmpty(member(thought, "text")) {
		p.sealed = p.sealed || member(thought, "signature") != nil
		return opening
	} else if p.sealed {
		return kept
	}
	return reasoning
}

// converseAgain leaves the second messageStart out and renumbers the blocks.
func converseAgain(p *Prelude, _ part, name, data []byte) []byte {
	if string(name) == "messageStart" {
		return nil
	}
	return shifted(data, "contentBlockIndex", p.base)
}

var coherePrelude = preludeRules{part: coherePart, again: cohereAgain, close: func(p *Prelude) []byte {
	return eventFrame([]byte("content-end"), []byte(`{"type":"content-end","index":`+strconv.Itoa(p.blocks-1)+`}`))
}}

// coherePart reads an event of Cohere's API, whose reasoning has no signature. Tool calls are numbered by
// themselves.
func coherePart(p *Prelude, name, data []byte) part {
	switch string(eventName(name, data)) {
	case "message-start":
		return opening
	case "content-start":
		content := member(member(member(data, "delta"), "message"), "content")
		p.begun++
		switch {
		case string(member(content, "type")) == `"thinking"`:
			p.block = reasoningBlock
		case isEmpty(member(content, "text")):
			p.block = textBlock
		default:
			return kept
		}
		return opening
	case "content-delta":
		switch thought := member(member(member(member(data, "delta"), "message"), "content"), "thinking"); {
		case p.block == reasoningBlock && !isEmpty(thought):
			return reasoning
		case p.block == reasoningBlock:
			return opening
		}
	case "content-end":
		if p.block == reasoningBlock {
			p.block = noBlock
			return reasoning
		}
	case "tool-call-start":
		p.block = callBlock
		return calling
	case "tool-call-delta":
		return calling
	}
	return kept
}

// cohereAgain leaves the second message-start out and renumbers the blocks.
func cohereAgain(p *Prelude, _ part, name, data []byte) []byte {
	name = eventName(name, data)
	switch {
	case string(name) == "message-start":
		return nil
	case bytes.HasPrefix(name, []byte("content-")):
		return shifted(data, "index", p.base)
	}
	return data
}

// number returns the value of a JSON number that is whole; 0: it is none.
func number(value []byte) int {
	n, err := strconv.Atoi(string(value))
	if err != nil {
		return 0
	}
	return n
}

// shifted returns an object with a number raised, where it has it.
func shifted(object []byte, name string, by int) []byte {
	if by == 0 {
		return object
	}
	return edited(object, func(key, value []byte) []byte {
		if string(key) != name {
			return value
		}
		return strconv.AppendInt(nil, int64(number(value)+by), 10)
	})
}

// edited returns an object with other values for its members; nil leaves one out.
func edited(object []byte, edit func(key, value []byte) []byte) []byte {
	out := append(make([]byte, 0, len(object)+16), '{')
	for key, value := range members(object) {
		if value = edit(key, value); value == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(append(out, '"'), key...), `":`...), value...)
	}
	return append(out, '}')
}
