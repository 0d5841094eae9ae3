package cohere

import (
	"bytes"

	"github.com/ridethrough/ridethrough/internal/api"
)

// decode reads an event, or a whole answer. Tool calls are numbered by themselves.
func decode(name, data []byte) (ps api.Parts) {
	name = api.EventName(name, data)
	delta := api.Member(data, "delta")
	message := api.Member(delta, "message")
	nth := api.Number(api.Member(data, "index")) + 1
	switch string(name) {
	case "":
		decodeUnnamed(&ps, data)
	case "error":
		ps.Add(api.Part{Kind: api.ErrorPart})
	case "debug": // the prompt, as the model was given it
		ps.Add(api.Part{Kind: api.PingPart})
	case "message-start":
		ps.Add(api.Part{Kind: api.StartPart})
	case "message-end":
		decodeEnd(&ps, delta)
		ps.Add(api.Part{Kind: api.EndPart})
	case "content-start":
		content := api.Member(message, "content")
		p := api.Part{Kind: api.OpenPart, Of: api.TextPart, Block: nth}
		if string(api.Member(content, "type")) == `"thinking"` {
			p.Of = api.ReasoningPart
		}
		ps.Add(p)
		ps.AddText(api.TextPart, nth, api.Member(content, "text"))
	case "content-delta":
		content := api.Member(message, "content")
		if thought := api.Member(content, "thinking"); thought != nil {
			ps.Add(api.Part{Kind: api.ReasoningPart, Block: nth, Text: thought})
		} else {
			ps.Add(api.Part{Kind: api.TextPart, Block: nth, Text: api.Member(content, "text")})
		}
	case "content-end":
		ps.Add(api.Part{Kind: api.ClosePart, Block: nth})
	case "tool-plan-delta":
		ps.AddText(api.ExtraPart, 0, api.Member(message, "tool_plan"))
	case "tool-call-start":
		ps.Add(call(api.ToolCallPart, message))
	case "tool-call-delta":
		ps.Add(call(api.ToolInputPart, message))
	case "tool-call-end":
		ps.Add(api.Part{Kind: api.ClosePart, Of: api.ToolInputPart})
	case "citation-end":
		ps.Add(api.Part{Kind: api.BesidePart})
	default:
		ps.Add(api.Part{Kind: api.ExtraPart})
	}
	return ps
}

// call returns a part of a tool call.
func call(kind api.PartKind, message []byte) api.Part {
	call := api.Member(message, "tool_calls")
	function := api.Member(call, "function")
	return api.Part{Kind: kind, ID: api.Member(call, "id"), Name: api.Member(function, "name"), Text: api.Member(function, "arguments")}
}

// decodeUnnamed reads what is no event: an error, whose message is a text, or a whole answer.
func decodeUnnamed(ps *api.Parts, data []byte) {
	message := api.Member(data, "message")
	switch {
	case bytes.HasPrefix(message, []byte{'"'}):
		ps.Add(api.Part{Kind: api.ErrorPart})
	case api.Member(data, "finish_reason") != nil:
		if content := api.Member(message, "content"); !api.IsEmpty(content) || !api.IsEmpty(api.Member(message, "tool_calls")) {
			ps.Add(api.Part{Kind: api.ClosePart, Of: api.OtherPart, Text: message})
		}
		decodeEnd(ps, data)
	case len(data) > 0:
		ps.Add(api.Part{Kind: api.BesidePart})
	}
}

// decodeEnd reads why an answer has ended, and its usage.
func decodeEnd(ps *api.Parts, end []byte) {
	p := api.Part{Kind: api.StopPart, Name: api.Member(end, "finish_reason"), Final: true}
	switch {
	case isFailure(p.Name):
		p.Kind = api.ErrorPart
	case string(p.Name) == `"COMPLETE"`:
		p.Why = api.PlainStop
	}
	ps.Add(p)
	output := api.Member(api.Member(api.Member(end, "usage"), "tokens"), "output_tokens")
	ps.Usage = api.Usage{Output: api.Number(output), Stated: output != nil}
}
