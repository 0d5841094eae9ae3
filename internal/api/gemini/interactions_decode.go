package gemini

import (
	"bytes"
	"slices"

	"github.com/ridethrough/ridethrough/internal/api"
)

// decodeInteractions reads an event, or a whole interaction. What the revision of 2026-05-20 calls a step is a content
// in the one before.
func decodeInteractions(name, data []byte) (ps api.Parts) {
	nth := api.Number(api.Member(data, "index")) + 1
	if kind := api.Member(data, "event_type"); len(name) == 0 && kind != nil {
		name = bytes.Trim(kind, `"`)
	}
	switch string(api.EventName(name, data)) {
	case "":
		decodeInteraction(&ps, data)
	case "interaction.created", "interaction.start":
		ps.Add(api.Part{Kind: api.StartPart})
		// An agent continues when its stream breaks off: another request would have its work done twice.
		ps.AddText(api.ExtraPart, 0, api.Member(api.Member(data, "interaction"), "agent"))
	case "interaction.status_update":
		ps.Add(api.Part{Kind: api.StartPart})
	case "interaction.completed", "interaction.complete":
		decodeInteraction(&ps, api.Member(data, "interaction"))
	case "step.start":
		decodeStep(&ps, nth, api.Member(data, "step"))
	case "content.start":
		decodeStep(&ps, nth, api.Member(data, "content"))
	case "step.delta", "content.delta":
		decodeStepDelta(&ps, nth, api.Member(data, "delta"))
	case "step.stop", "content.stop":
		ps.Add(api.Part{Kind: api.ClosePart, Block: nth})
	case "error":
		ps.Add(failure(api.Member(data, "error")))
	default:
		ps.Add(api.Part{Kind: api.ExtraPart})
	}
	return ps
}

// decodeStep reads the start of a step, which is empty but for a tool call's name. The provider runs all tools but
// functions itself.
func decodeStep(ps *api.Parts, nth int, step []byte) {
	p := api.Part{Kind: api.OpenPart, Block: nth}
	switch string(api.Member(step, "type")) {
	case `"thought"`:
		p.Of = api.ReasoningPart
	case `"model_output"`, `"text"`:
		p.Of = api.TextPart
	case `"function_call"`:
		p = call(nth, step)
	default:
		p.Kind = api.OtherPart
	}
	ps.Add(p)
	ps.AddText(api.OtherPart, nth, api.Member(step, "content"))
	ps.AddText(api.OtherPart, nth, api.Member(step, "summary"))
	ps.AddText(api.TextPart, nth, api.Member(step, "text"))
}

// call returns a tool call.
func call(nth int, step []byte) api.Part {
	return api.Part{Kind: api.ToolCallPart, Block: nth, ID: api.Member(step, "id"), Name: api.Member(step, "name"), Text: api.Member(step, "arguments")}
}

// decodeStepDelta reads a part of a step.
func decodeStepDelta(ps *api.Parts, nth int, delta []byte) {
	switch string(api.Member(delta, "type")) {
	case `"text"`:
		ps.AddText(api.TextPart, nth, api.Member(delta, "text"))
	case `"thought_summary"`:
		ps.AddText(api.ReasoningPart, nth, api.Member(api.Member(delta, "content"), "text"))
	case `"thought_signature"`:
		ps.AddText(api.SignaturePart, nth, api.Member(delta, "signature"))
	case `"arguments_delta"`:
		ps.AddText(api.ToolInputPart, nth, api.Member(delta, "arguments"))
	case `"function_call"`:
		ps.Add(call(nth, delta))
	case `"text_annotation_delta"`:
		ps.Add(api.Part{Kind: api.CitationPart, Block: nth})
	default:
		ps.Add(api.Part{Kind: api.ExtraPart, Block: nth})
	}
}

// decodeInteraction reads an interaction at its end. One in progress is the answer to a request for the background.
func decodeInteraction(ps *api.Parts, interaction []byte) {
	for _, output := range [...]string{"steps", "outputs"} {
		if steps := api.Member(interaction, output); !api.IsEmpty(steps) {
			ps.Add(api.Part{Kind: api.ClosePart, Of: api.OtherPart, Text: steps})
		}
	}
	p := api.Part{Kind: api.StopPart, Name: api.Member(interaction, "status"), Final: true}
	switch string(p.Name) {
	case "":
		ps.AddText(api.ExtraPart, 0, interaction) // is none
		return
	case `"completed"`:
		p.Why = api.PlainStop
	case `"failed"`:
		p.Kind = api.ErrorPart
	}
	ps.Add(p)
	usage := api.Member(interaction, "usage")
	output := api.Member(usage, "total_output_tokens")
	ps.Usage = api.Usage{
		Output: api.Number(output), Reasoning: api.Number(api.Member(usage, "total_thought_tokens")),
		Total: api.Number(api.Member(usage, "total_tokens")), Stated: output != nil,
	}
}

// blocked are the codes of errors by which a model or a filter refuses to answer (api-errors, "Generation blocked").
var blocked = []string{
	`"safety"`, `"recitation"`, `"language"`, `"prohibited_content"`, `"spii"`, `"blocklist"`, `"image_safety"`,
	`"image_prohibited_content"`, `"image_recitation"`, `"image_other"`, `"content_blocked"`,
}

// failure returns what an error says: a refusal is an answer.
func failure(fault []byte) api.Part {
	if code := api.Member(fault, "code"); slices.Contains(blocked, string(code)) {
		return api.Part{Kind: api.StopPart, Name: code, Why: api.RefusedStop, Final: true}
	}
	return api.Part{Kind: api.ErrorPart}
}
