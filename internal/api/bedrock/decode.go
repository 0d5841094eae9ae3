package bedrock

import (
	"bytes"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/anthropic"
	"github.com/ridethrough/ridethrough/internal/api/openai"
)

// decodeInvoke reads the model's own event in a chunk: Anthropic's, Amazon Nova's or OpenAI's, whose ends are known. A
// clean end may follow any other. Only Anthropic's are completed.
func decodeInvoke(name, data []byte) (ps api.Parts) {
	if len(name) > 0 && string(name) != "chunk" {
		ps.Add(api.Part{Kind: api.PingPart})
		return ps
	}
	for key, value := range api.Members(data) {
		switch string(key) {
		case "type":
			if isAnthropic(value) {
				return anthropic.Decode(nil, data)
			}
		case "choices":
			ps = openai.DecodeChat(nil, data)
			ps.Unfollowed = true
			return ps
		case "messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata":
			ps = decodeConverse(key, value)
			ps.Unfollowed = true
			return ps
		}
		if api.IsErrorMember(key, value) {
			ps.Add(api.Part{Kind: api.ErrorPart})
		}
	}
	ps.Add(api.Part{Kind: api.ExtraPart, Final: true})
	ps.Unfollowed = true
	return ps
}

// isAnthropic reports whether a type is that of one of Anthropic's events, or of its whole messages.
func isAnthropic(kind []byte) bool {
	for _, begin := range [...]string{`"message`, `"content_block_`, `"ping"`, `"error"`} {
		if bytes.HasPrefix(kind, []byte(begin)) {
			return true
		}
	}
	return false
}

// decodeConverse reads an event, or a whole answer. Only tool calls have an event for their start. The usage, in the
// metadata, is the last one.
func decodeConverse(name, data []byte) (ps api.Parts) {
	nth := api.Number(api.Member(data, "contentBlockIndex")) + 1
	switch string(name) {
	case "initial-response", "keepalive":
		ps.Add(api.Part{Kind: api.PingPart})
	case "messageStart":
		ps.Add(api.Part{Kind: api.StartPart})
		ps.Signed = true
	case "contentBlockStart":
		start := api.Member(data, "start")
		if call := api.Member(start, "toolUse"); call != nil {
			ps.Add(api.Part{Kind: api.ToolCallPart, Block: nth, ID: api.Member(call, "toolUseId"), Name: api.Member(call, "name")})
		} else {
			ps.AddText(api.OtherPart, nth, start)
		}
	case "contentBlockDelta":
		for key, value := range api.Members(api.Member(data, "delta")) {
			ps.Add(deltaPart(nth, key, value))
		}
	case "contentBlockStop":
		ps.Add(api.Part{Kind: api.ClosePart, Block: nth})
	case "messageStop":
		addStop(&ps, data)
	case "metadata":
		ps.Add(api.Part{Kind: api.EndPart}) // alone it is no answer
		ps.Usage = converseUsage(data)
	case "":
		decodeWhole(&ps, data)
	default:
		ps.Add(api.Part{Kind: api.ExtraPart})
	}
	return ps
}

// deltaPart returns a part of a block.
func deltaPart(nth int, key, value []byte) api.Part {
	p := api.Part{Kind: api.OtherPart, Block: nth, Text: value}
	switch string(key) {
	case "text":
		p.Kind = api.TextPart
	case "toolUse":
		p.Kind, p.Text = api.ToolInputPart, api.Member(value, "input")
	case "citation":
		p.Kind = api.CitationPart
	case "reasoningContent":
		p.Kind, p.Text = api.ReasoningPart, api.Member(value, "text")
		if signature := api.Member(value, "signature"); api.IsEmpty(p.Text) && signature != nil {
			p.Kind, p.Text = api.SignaturePart, signature
		}
	}
	return p
}

// decodeWhole reads a whole answer.
func decodeWhole(ps *api.Parts, data []byte) {
	if message := api.Member(api.Member(data, "output"), "message"); !api.IsEmpty(api.Member(message, "content")) {
		ps.Add(api.Part{Kind: api.ClosePart, Of: api.OtherPart, Text: message})
	}
	if api.Member(data, "stopReason") != nil {
		addStop(ps, data)
	}
	ps.Usage = converseUsage(data)
}

// addStop adds why an answer has ended.
func addStop(ps *api.Parts, data []byte) {
	p := api.Part{Kind: api.StopPart, Name: api.Member(data, "stopReason"), Final: true}
	switch string(p.Name) {
	case `"end_turn"`:
		p.Why = api.PlainStop
	case `"content_filtered"`, `"guardrail_intervened"`:
		p.Why = api.RefusedStop
	case `"malformed_model_output"`, `"malformed_tool_use"`:
		ps.Failure = []byte(`{"message":"the model's output is malformed","stopReason":` + string(p.Name) + `}`)
	}
	ps.Add(p)
}

// converseUsage returns the usage of an answer.
func converseUsage(data []byte) api.Usage {
	usage := api.Member(data, "usage")
	output := api.Member(usage, "outputTokens")
	input := api.Member(usage, "inputTokens")
	return api.Usage{Input: api.Number(input), Unread: string(input) == "0", Output: api.Number(output), Total: api.Number(api.Member(usage, "totalTokens")), Stated: output != nil}
}
