package anthropic

import (
	"strings"

	"github.com/ridethrough/ridethrough/internal/api"
)

// Decode reads an event, or a whole message.
func Decode(name, data []byte) (ps api.Parts) {
	switch string(api.EventName(name, data)) {
	case "":
		if len(data) > 0 {
			ps.Add(api.Part{Kind: api.BesidePart})
		}
	case "ping":
		ps.Add(api.Part{Kind: api.PingPart})
	case "message_start":
		decodeStart(&ps, api.Member(data, "message"))
	case "content_block_start":
		decodeBlock(&ps, number(data), api.Member(data, "content_block"))
	case "content_block_delta":
		decodeDelta(&ps, number(data), api.Member(data, "delta"))
	case "content_block_stop":
		ps.Add(api.Part{Kind: api.ClosePart, Block: number(data)})
	case "message_delta":
		delta := api.Member(data, "delta")
		if delta == nil { // a keepalive
			ps.Add(api.Part{Kind: api.ExtraPart})
			break
		}
		decodeEnd(&ps, delta, data)
	case "message_stop":
		ps.Add(api.Part{Kind: api.EndPart})
	case "error":
		ps.Add(api.Part{Kind: api.ErrorPart})
	case "message":
		if content := api.Member(data, "content"); !api.IsEmpty(content) {
			ps.Add(api.Part{Kind: api.ClosePart, Of: api.OtherPart, Text: content})
		}
		decodeEnd(&ps, data, data)
		ps.Model = api.Member(data, "model")
	default:
		ps.Add(api.Part{Kind: api.ExtraPart})
	}
	return ps
}

// number returns the number of an event's block.
func number(data []byte) int { return api.Number(api.Member(data, "index")) + 1 }

// decodeStart reads the message with which a stream begins.
func decodeStart(ps *api.Parts, message []byte) {
	ps.Add(api.Part{Kind: api.StartPart})
	ps.Model = api.Member(message, "model")
	ps.Signed = strings.Contains(string(ps.Model), "claude")
	ps.Usage = usage(api.Member(message, "usage"))
	ps.Usage.Stated, ps.Usage.Total = false, ps.Usage.Input+ps.Usage.Output // it is not known yet
}

// usage reads the counts. The API's input is without what the cache has.
func usage(counts []byte) (u api.Usage) {
	for key, value := range api.Members(counts) {
		switch string(key) {
		case "input_tokens":
			u.Input, u.Unread = u.Input+api.Number(value), string(value) == "0"
		case "cache_creation_input_tokens":
			u.CacheWrite = api.Number(value)
		case "cache_read_input_tokens":
			u.CacheRead = api.Number(value)
		case "output_tokens":
			u.Output, u.Stated = api.Number(value), true
		case "output_tokens_details":
			u.Thoughts = api.Number(api.Member(value, "thinking_tokens"))
		}
	}
	u.Input += u.CacheWrite + u.CacheRead
	return u
}

// decodeContent reads blocks that are whole.
func decodeContent(content []byte, first int) (ps api.Parts) {
	for block := range api.Elements(content) {
		decodeBlock(&ps, first, block)
		ps.Add(api.Part{Kind: api.ClosePart, Block: first})
		first++
	}
	return ps
}

// decodeBlock reads the start of a block: one of text or thinking opens empty, a tool call comes with its name.
func decodeBlock(ps *api.Parts, nth int, block []byte) {
	switch string(api.Member(block, "type")) {
	case `"text"`:
		ps.Add(api.Part{Kind: api.OpenPart, Of: api.TextPart, Block: nth})
		ps.AddText(api.TextPart, nth, api.Member(block, "text"))
		ps.AddText(api.CitationPart, nth, api.Member(block, "citations"))
	case `"thinking"`, `"redacted_thinking"`:
		ps.Add(api.Part{Kind: api.OpenPart, Of: api.ReasoningPart, Block: nth})
		ps.AddText(api.ReasoningPart, nth, api.Member(block, "thinking"))
		ps.AddText(api.SignaturePart, nth, api.Member(block, "signature"))
		if data := api.Member(block, "data"); !api.IsEmpty(data) {
			ps.Add(api.Part{Kind: api.SignaturePart, Of: api.OtherPart, Block: nth, Text: data})
		}
	case `"tool_use"`:
		ps.Add(api.Part{Kind: api.ToolCallPart, Block: nth, ID: api.Member(block, "id"), Name: api.Member(block, "name"), Text: api.Member(block, "input")})
	default:
		ps.Add(api.Part{Kind: api.OtherPart, Block: nth})
	}
}

// decodeDelta reads a part of a block.
func decodeDelta(ps *api.Parts, nth int, delta []byte) {
	before := ps.Len()
	for key, value := range api.Members(delta) {
		kind := api.PingPart
		switch string(key) {
		case "text":
			kind = api.TextPart
		case "thinking":
			kind = api.ReasoningPart
		case "signature":
			kind = api.SignaturePart
		case "partial_json":
			kind = api.ToolInputPart
		case "citation":
			kind = api.CitationPart
		default:
			continue
		}
		ps.Add(api.Part{Kind: kind, Block: nth, Text: value})
	}
	if ps.Len() == before {
		ps.Add(api.Part{Kind: api.ExtraPart, Block: nth})
	}
}

// decodeEnd reads why a message has ended, and its usage.
func decodeEnd(ps *api.Parts, end, data []byte) {
	p := api.Part{Kind: api.StopPart, Name: api.Member(end, "stop_reason")}
	switch string(p.Name) {
	case `"end_turn"`:
		p.Why = api.PlainStop
	case `"refusal"`:
		p.Why = api.RefusedStop
	}
	ps.Add(p)
	ps.Usage = usage(api.Member(data, "usage"))
}
