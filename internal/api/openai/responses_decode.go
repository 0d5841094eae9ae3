package openai

import (
	"bytes"
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/internal/api"
)

// decodeResponses reads an event, or a whole response.
func decodeResponses(name, data []byte) (ps api.Parts) {
	name = api.EventName(name, data)
	nth := api.Number(api.Member(data, "output_index")) + 1
	switch kind := string(name); kind {
	case "":
		if api.Member(data, "output") == nil {
			ps.Add(api.Part{Kind: api.PingPart})
			break
		}
		decodeResponse(&ps, data)
	case "response.created", "response.in_progress", "response.queued":
		ps.Add(api.Part{Kind: api.StartPart})
	case "response.completed", "response.incomplete":
		response := api.Member(data, "response")
		if kind == "response.incomplete" && !api.IsEmpty(api.Member(response, "error")) {
			ps.Add(api.Part{Kind: api.ErrorPart})
			break
		}
		decodeResponse(&ps, response)
		ps.Add(api.Part{Kind: api.EndPart})
	case "response.failed", "error":
		ps.Add(api.Part{Kind: api.ErrorPart})
	case "response.output_item.added":
		decodeItem(&ps, nth, api.Member(data, "item"))
	case "response.output_item.done":
		decodeWholeItem(&ps, nth, api.Member(data, "item"))
	case "response.content_part.added", "response.reasoning_summary_part.added":
		decodeContentPart(&ps, nth, api.Member(data, "part"))
		if strings.HasPrefix(kind, "response.reasoning") {
			ps.Add(api.Part{Kind: api.OpenPart, Of: api.ReasoningPart, Block: nth})
		}
	case "response.output_text.delta":
		ps.Add(api.Part{Kind: api.TextPart, Block: nth, Text: api.Member(data, "delta")})
		ps.AddText(api.LogprobsPart, nth, api.Member(data, "logprobs"))
	case "response.output_text.annotation.added":
		ps.Add(api.Part{Kind: api.CitationPart, Block: nth})
	default:
		ps.Add(otherEvent(kind, nth, data))
	}
	return ps
}

// otherEvent reads an event that has a part of a block, or repeats one.
func otherEvent(kind string, nth int, data []byte) api.Part {
	p := api.Part{Kind: api.ClosePart, Block: nth, Text: data}
	part, isDelta := strings.CutSuffix(kind, ".delta")
	switch part {
	case "response.reasoning_summary_text", "response.reasoning_text",
		"response.reasoning_summary_text.done", "response.reasoning_text.done", "response.reasoning_summary_part.done":
		p.Of = api.ReasoningPart
	case "response.function_call_arguments", "response.custom_tool_call_input", "response.function_call_arguments.done", "response.custom_tool_call_input.done":
		p.Of = api.ToolInputPart
	case "response.refusal":
		p.Of = api.RefusalPart
	case "response.output_text.done":
		p.Of = api.TextPart
	case "response.content_part.done":
		p.Of = api.OpenPart
	default:
		if !strings.HasPrefix(kind, "response.") {
			return api.Part{Kind: api.PingPart}
		}
		return api.Part{Kind: api.ExtraPart, Block: nth}
	}
	if isDelta {
		return api.Part{Kind: p.Of, Block: nth, Text: api.Member(data, "delta")}
	}
	return p
}

// clientCalls are the items that the client acts on. The provider runs the tools of the others itself.
var clientCalls = []string{
	`"function_call"`, `"custom_tool_call"`, `"local_shell_call"`, `"shell_call"`, `"apply_patch_call"`, `"computer_call"`,
}

// decodeItem reads the start of an item: a message opens empty and reasoning without readable text, a call comes with
// its name.
func decodeItem(ps *api.Parts, nth int, item []byte) {
	p := api.Part{Kind: api.OtherPart, Block: nth}
	switch kind := api.Member(item, "type"); {
	case string(kind) == `"reasoning"`:
		p.Kind, p.Of = api.OpenPart, api.ReasoningPart
	case string(kind) == `"message"` && api.IsEmpty(api.Member(item, "content")):
		p.Kind, p.Of = api.OpenPart, api.TextPart
	case slices.Contains(clientCalls, string(kind)):
		p.Kind, p.ID, p.Name = api.ToolCallPart, api.Member(item, "call_id"), api.Member(item, "name")
	}
	ps.Add(p)
}

// decodeWholeItem reads an item at its end. That of reasoning, which the client would keep, is withheld until the next
// item is: the API refuses one without the item that it led to.
func decodeWholeItem(ps *api.Parts, nth int, item []byte) {
	p := api.Part{Kind: api.ClosePart, Of: api.TextPart, Block: nth, Text: item}
	switch kind := api.Member(item, "type"); {
	case string(kind) == `"reasoning"`:
		p.Kind, p.Of = api.SignaturePart, 0
	case slices.Contains(clientCalls, string(kind)):
		p.Of = api.ToolInputPart
	}
	ps.Add(p)
}

// decodeContentPart reads the start of a part of an item, which is empty but from some servers.
func decodeContentPart(ps *api.Parts, nth int, part []byte) {
	for key, value := range api.Members(part) {
		if string(key) != "type" && !api.IsEmpty(value) {
			ps.Add(api.Part{Kind: api.ClosePart, Of: api.OpenPart, Block: nth, Text: value})
		}
	}
}

// decodeResponse reads a whole response.
func decodeResponse(ps *api.Parts, response []byte) {
	if output := api.Member(response, "output"); !api.IsEmpty(output) {
		ps.Add(api.Part{Kind: api.ClosePart, Of: api.OtherPart, Text: output})
	}
	reason := api.Member(api.Member(response, "incomplete_details"), "reason")
	p := api.Part{Kind: api.StopPart, Name: reason, Final: true}
	switch status := api.Member(response, "status"); {
	case string(reason) == `"content_filter"`:
		p.Why = api.RefusedStop
	case string(status) == `"completed"`:
		p.Why = api.PlainStop
	case string(status) == `"incomplete"` && api.IsEmpty(reason):
		p.Name = status
	case string(status) != `"incomplete"` && !api.IsEmpty(status):
		p.Why = api.UnfinishedStop
	}
	ps.Add(p)
	ps.Model = api.Member(response, "model")
	ps.Usage = decodeUsage(api.Member(response, "usage"), "input_tokens", "output_tokens")
}

// decodeOutput reads an item that is whole, or a list of them.
func decodeOutput(output []byte, first int) (ps api.Parts) {
	if !bytes.HasPrefix(output, []byte("[")) {
		decodeOutputItem(&ps, first, output)
		return ps
	}
	for item := range api.Elements(output) {
		decodeOutputItem(&ps, first, item)
		first++
	}
	return ps
}

// decodeOutputItem reads an item that is whole. The text of reasoning is its summary or, from open models, all of it.
func decodeOutputItem(ps *api.Parts, nth int, item []byte) {
	kind := string(api.Member(item, "type"))
	switch kind {
	case `"reasoning"`:
		for _, list := range [...]string{"summary", "content"} {
			for part := range api.Elements(api.Member(item, list)) {
				ps.Add(api.Part{Kind: api.OpenPart, Of: api.ReasoningPart, Block: nth})
				ps.AddText(api.ReasoningPart, nth, api.Member(part, "text"))
			}
		}
		ps.AddText(api.SignaturePart, nth, api.Member(item, "encrypted_content"))
	case `"function_call"`:
		id := api.Member(item, "call_id")
		if api.IsEmpty(id) {
			id = api.Member(item, "id")
		}
		ps.Add(api.Part{Kind: api.ToolCallPart, Block: nth, ID: id, Name: api.Member(item, "name"), Text: api.Member(item, "arguments")})
	case `"message"`:
		for part := range api.Elements(api.Member(item, "content")) {
			ps.AddText(api.TextPart, nth, api.Member(part, "text"))
			ps.AddText(api.RefusalPart, nth, api.Member(part, "refusal"))
		}
	default:
		return
	}
	ps.Add(api.Part{Kind: api.ClosePart, Block: nth})
}
