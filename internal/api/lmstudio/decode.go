package lmstudio

import "github.com/ridethrough/ridethrough/internal/api"

// decode reads an event, or a whole answer. Loading the model and reading the prompt come before the answer; chat.end
// repeats all of it. The server runs its tools itself.
func decode(name, data []byte) (ps api.Parts) {
	switch string(api.EventName(name, data)) {
	case "":
		decodeEnd(&ps, data)
	case "chat.start", "model_load.start", "model_load.progress", "model_load.end",
		"prompt_processing.start", "prompt_processing.progress", "prompt_processing.end":
		ps.Add(api.Part{Kind: api.StartPart})
	case "reasoning.start":
		ps.Add(api.Part{Kind: api.OpenPart, Of: api.ReasoningPart})
	case "message.start":
		ps.Add(api.Part{Kind: api.OpenPart, Of: api.TextPart})
	case "reasoning.delta":
		ps.Add(api.Part{Kind: api.ReasoningPart, Text: api.Member(data, "content")})
	case "message.delta":
		ps.Add(api.Part{Kind: api.TextPart, Text: api.Member(data, "content")})
	case "reasoning.end", "message.end":
		ps.Add(api.Part{Kind: api.ClosePart})
	case "chat.end":
		if decodeEnd(&ps, api.Member(data, "result")); ps.Len() == 0 {
			ps.Add(api.Part{Kind: api.StopPart})
		}
		ps.Add(api.Part{Kind: api.EndPart})
	case "error":
		ps.Add(api.Part{Kind: api.ErrorPart})
	default:
		ps.Add(api.Part{Kind: api.ExtraPart})
	}
	return ps
}

// decodeEnd reads a whole answer.
func decodeEnd(ps *api.Parts, answer []byte) {
	output := api.Member(answer, "output")
	switch {
	case output == nil:
		return
	case !api.IsEmpty(output):
		ps.Add(api.Part{Kind: api.ClosePart, Of: api.OtherPart, Text: output})
	}
	ps.Add(api.Part{Kind: api.StopPart, Why: api.PlainStop})
	tokens := api.Member(api.Member(answer, "stats"), "total_output_tokens")
	ps.Usage = api.Usage{Output: api.Number(tokens), Stated: tokens != nil}
}
