package openai

import (
	"bytes"
	"slices"

	"github.com/ridethrough/ridethrough/internal/api"
)

// DecodeChat reads a chunk, or a whole completion.
func DecodeChat(name, data []byte) (ps api.Parts) {
	switch {
	case len(data) == 0:
		return ps
	case string(name) == "error":
		ps.Add(api.Part{Kind: api.ErrorPart})
		return ps
	case data[0] != '{': // unknown frames are passed on
		ps.Add(api.Part{Kind: api.ExtraPart})
		return ps
	}
	for key, value := range api.Members(data) {
		switch {
		case api.IsErrorMember(key, value):
			ps.Add(api.Part{Kind: api.ErrorPart})
		case string(key) == "id":
			ps.ID = value
		case string(key) == "model":
			ps.Model = value
		case string(key) == "choices":
			for choice := range api.Elements(value) {
				ps.Choices++
				decodeChoice(&ps, choice, data)
			}
		case string(key) == "usage" && !api.IsEmpty(value):
			ps.Usage = decodeUsage(value, "prompt_tokens", "completion_tokens")
			ps.Add(api.Part{Kind: api.UsagePart})
		}
	}
	return ps
}

// decodeUsage reads the counts, whose names differ between the APIs.
func decodeUsage(usage []byte, input, output string) (u api.Usage) {
	for key, value := range api.Members(usage) {
		switch string(key) {
		case input:
			u.Input, u.Unread = api.Number(value), string(value) == "0"
		case output:
			u.Output, u.Stated = api.Number(value), true
		case "total_tokens":
			u.Total = api.Number(value)
		case "prompt_tokens_details", "input_tokens_details":
			u.CacheRead, u.CacheWrite = api.Number(api.Member(value, "cached_tokens")), api.Number(api.Member(value, "cache_write_tokens"))
		case "completion_tokens_details", "output_tokens_details":
			u.Thoughts = api.Number(api.Member(value, "reasoning_tokens"))
		}
	}
	return u
}

// decodeChoice reads one choice: text, or a delta with any content besides the role, is content; a finish_reason
// completes it.
func decodeChoice(ps *api.Parts, choice, data []byte) {
	nth := api.Number(api.Member(choice, "index"))
	for key, value := range api.Members(choice) {
		p := api.Part{Choice: nth, Text: value}
		switch string(key) {
		case "delta", "message":
			decodeMessage(ps, nth, value, string(key) == "message")
			continue
		case "index", "native_finish_reason", "content_filter_results":
			continue
		case "error": // OpenRouter
			if !api.IsEmpty(value) {
				ps.Failure = data
			}
			continue
		case "finish_reason":
			p = api.Part{Kind: api.StopPart, Choice: nth, Name: value, Why: chatStops[string(value)], Final: true}
			if slices.Contains(chatFailures, string(value)) {
				ps.Failure = data
			}
		case "text":
			p.Kind = api.TextPart
		case "logprobs":
			p.Kind = api.LogprobsPart
		default:
			p.Kind = api.BesidePart
		}
		if !api.IsEmpty(value) {
			ps.Add(p)
		}
	}
}

// chatStops are the reasons to finish that matter.
var chatStops = map[string]api.StopReason{`"stop"`: api.PlainStop, `"content_filter"`: api.RefusedStop}

// chatFailures are the reasons that mean that the answer broke off: those of OpenRouter, DeepSeek, Zhipu, and of vLLM
// and SGLang.
var chatFailures = []string{`"error"`, `"insufficient_system_resource"`, `"network_error"`, `"abort"`}

// decodeMessage reads a message, or a part of one. Servers differ in the name of the reasoning.
func decodeMessage(ps *api.Parts, nth int, message []byte, whole bool) {
	for key, value := range api.Members(message) {
		if api.IsEmpty(value) {
			continue
		}
		p := api.Part{Choice: nth, Text: value}
		switch string(key) {
		case "role":
			p.Kind = api.StartPart
		case "content":
			p.Kind = api.TextPart
		case "reasoning_content", "reasoning", "reasoning_text":
			p.Kind, p.Name = api.ReasoningPart, key
		case "reasoning_details":
			p.Kind, p.Name = detailsKind(value), key
		case "tool_calls":
			decodeCalls(ps, nth, value, whole)
			continue
		case "function_call":
			p.Kind = api.ToolCallPart
		case "annotations":
			p.Kind = api.CitationPart
		case "refusal":
			p.Kind = api.RefusalPart
		case "audio":
			p.Kind = api.OtherPart
		default:
			p.Kind = api.ExtraPart
		}
		ps.Add(p)
	}
}

// decodeCalls reads tool calls, or parts of them. Those of a whole message have no numbers.
func decodeCalls(ps *api.Parts, nth int, calls []byte, whole bool) {
	at := 0
	for call := range api.Elements(calls) {
		function := api.Member(call, "function")
		p := api.Part{Kind: api.ToolInputPart, Choice: nth, Block: api.Number(api.Member(call, "index")) + 1, Text: api.Member(function, "arguments")}
		if at++; whole {
			p.Block = at
		}
		if p.ID, p.Name = api.Member(call, "id"), api.Member(function, "name"); !api.IsEmpty(p.ID) || !api.IsEmpty(p.Name) {
			p.Kind = api.ToolCallPart
		}
		ps.Add(p)
	}
}

// detailsKind returns the kind of OpenRouter's details: of those that the model's vendor wants back as they were, none
// can be left out.
func detailsKind(details []byte) api.PartKind {
	for detail := range api.Elements(details) {
		for key, value := range api.Members(detail) {
			switch string(key) {
			case "signature", "data":
				if !api.IsEmpty(value) {
					return api.ExtraPart
				}
			case "format":
				if bytes.HasPrefix(value, []byte(`"anthropic`)) {
					return api.ExtraPart
				}
			}
		}
	}
	return api.ReasoningPart
}
