package ollama

import "github.com/ridethrough/ridethrough/internal/api"

// decode reads one line, or a whole answer. The line that is done is an answer even if it is the first: a model was
// loaded, or had no output.
func decode(_, data []byte) (ps api.Parts) {
	for key, value := range api.Members(data) {
		switch string(key) {
		case "error":
			if !api.IsEmpty(value) {
				ps.Add(api.Part{Kind: api.ErrorPart})
			}
		case "message":
			for key, value := range api.Members(value) {
				decodeMember(&ps, key, value)
			}
		case "response", "thinking":
			decodeMember(&ps, key, value)
		case "logprobs":
			ps.AddText(api.LogprobsPart, 0, value)
		case "done":
			if string(value) == "true" {
				decodeEnd(&ps, data)
				return ps
			}
		case "model":
			ps.Model = value
		case "created_at", "remote_model", "remote_host", "completed", "total", "done_reason": // before "done"
		default:
			ps.AddText(api.ExtraPart, 0, value)
		}
	}
	return ps
}

// decodeMember reads a member of a message, in which the reasoning has a name. Calls come whole.
func decodeMember(ps *api.Parts, key, value []byte) {
	p := api.Part{Kind: memberKind(key), Text: value}
	switch {
	case api.IsEmpty(value):
		return
	case p.Kind == api.ToolCallPart:
		for call := range api.Elements(value) {
			function := api.Member(call, "function")
			p.ID, p.Name, p.Text = api.Member(call, "id"), api.Member(function, "name"), api.Member(function, "arguments")
			ps.Add(p)
		}
		return
	case p.Kind == api.ReasoningPart:
		p.Name = key
	}
	ps.Add(p)
}

// memberKind returns what a member of a message is.
func memberKind(key []byte) api.PartKind {
	switch string(key) {
	case "role":
		return api.StartPart
	case "content", "response":
		return api.TextPart
	case "thinking":
		return api.ReasoningPart
	case "tool_calls":
		return api.ToolCallPart
	case "images":
		return api.OtherPart
	}
	return api.ExtraPart
}

// decodeEnd reads why an answer has ended, and its usage. Ollama leaves counts of 0 out, and the durations too where it
// generated nothing because it was asked for nothing, such as to load a model.
func decodeEnd(ps *api.Parts, data []byte) {
	p := api.Part{Kind: api.StopPart, Name: api.Member(data, "done_reason"), Final: true}
	if string(p.Name) == `"stop"` {
		p.Why = api.PlainStop
	}
	ps.Add(p)
	ps.Add(api.Part{Kind: api.EndPart})
	output := api.Member(data, "eval_count")
	ps.Usage = api.Usage{Input: api.Number(api.Member(data, "prompt_eval_count")), Output: api.Number(output), Stated: output != nil || api.Member(data, "total_duration") != nil}
}
