package gemini

import (
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/internal/api"
)

// decode reads a chunk, or a whole answer. One without candidates is an answer too if it carries why the prompt was
// blocked, or usage.
func decode(name, data []byte) (ps api.Parts) {
	switch {
	case len(data) == 0:
		return ps
	case data[0] != '{':
		ps.Add(api.Part{Kind: api.ExtraPart})
		return ps
	}
	var feedback []byte
	bare := false
	for key, value := range api.Members(data) {
		switch {
		case api.IsErrorMember(key, value):
			ps.Add(api.Part{Kind: api.ErrorPart})
		case string(key) == "response":
			return decode(name, value)
		case string(key) == "candidates":
			bare = true
			for candidate := range api.Elements(value) {
				decodeCandidate(&ps, ps.Choices, candidate)
				ps.Choices++
			}
		case string(key) == "promptFeedback":
			feedback = value
		case string(key) == "usageMetadata":
			bare = true
			ps.Usage = usage(value)
		case string(key) == "modelVersion":
			ps.Model = value
		}
	}
	ps.Checkpoint = checkpoint(data) != nil
	switch {
	case feedback != nil && ps.Choices > 0:
		ps.Add(api.Part{Kind: api.BesidePart})
	case feedback != nil:
		reason := api.Member(feedback, "blockReason")
		ps.Add(stop(reason))
		if !api.IsEmpty(reason) {
			ps.Failure = blockedPrompt(reason, api.Member(feedback, "blockReasonMessage"))
		}
	case bare && ps.Choices == 0:
		ps.Add(api.Part{Kind: api.UsagePart, Final: true})
	}
	return ps
}

// usage reads the counts. Those of 0 are left out, and reasoning is beside the output.
func usage(counts []byte) api.Usage {
	count := func(name string) int { return api.Number(api.Member(counts, name)) }
	return api.Usage{
		Unread: string(api.Member(counts, "promptTokenCount")) == "0",
		Input:  count("promptTokenCount") + count("toolUsePromptTokenCount"), CacheRead: count("cachedContentTokenCount"),
		Output: count("candidatesTokenCount"), Reasoning: count("thoughtsTokenCount"), Total: count("totalTokenCount"), Stated: true,
	}
}

// blockedPrompt returns the error of a prompt that was blocked.
func blockedPrompt(reason, message []byte) []byte {
	if api.IsEmpty(message) {
		message = api.Quote("the prompt was blocked: " + api.TextOf(reason))
	}
	return api.Object{{Key: "error", Value: api.Object{{Key: "message", Value: message}, {Key: "status", Value: reason}}.JSON()}}.JSON()
}

// failures are the finish reasons of failed answers, and what they mean.
var failures = map[string]string{
	`"MALFORMED_FUNCTION_CALL"`:   "the model made a malformed tool call",
	`"UNEXPECTED_TOOL_CALL"`:      "the model made a malformed tool call",
	`"TOO_MANY_TOOL_CALLS"`:       "the model made too many tool calls",
	`"MALFORMED_RESPONSE"`:        "the model's answer is malformed",
	`"NO_IMAGE"`:                  "the model made no image",
	`"MISSING_THOUGHT_SIGNATURE"`: "a thought in the request lacks its signature",
}

// faultOf returns the error of a failed answer.
func faultOf(reason []byte, message string) []byte {
	return []byte(`{"error":{"message":"` + message + `"},"candidates":[{"finishReason":` + string(reason) + `}]}`)
}

// decodeCandidate reads one candidate: parts with any content are content, a finishReason completes it.
func decodeCandidate(ps *api.Parts, nth int, candidate []byte) {
	if nth > 0 {
		ps.Add(api.Part{Kind: api.StartPart, Choice: nth})
	}
	for key, value := range api.Members(candidate) {
		switch string(key) {
		case "finishReason":
			if !api.IsEmpty(value) && string(value) != `"FINISH_REASON_UNSPECIFIED"` {
				p := stop(value)
				p.Choice = nth
				ps.Add(p)
				if message := failures[string(value)]; message != "" {
					ps.Failure = faultOf(value, message)
				}
			}
		case "content":
			for piece := range api.Elements(api.Member(value, "parts")) {
				decodePart(ps, nth, piece)
			}
		case "groundingMetadata", "citationMetadata", "urlContextMetadata":
			ps.AddText(api.CitationPart, 0, value)
		case "logprobsResult":
			ps.AddText(api.LogprobsPart, 0, value)
		}
	}
}

// decodePart reads a part of a candidate. A signature comes last. It may carry anything besides the mark of a thought.
func decodePart(ps *api.Parts, nth int, part []byte) {
	signature := api.Part{Kind: api.ExtraPart, Of: api.SignaturePart, Choice: nth, Text: api.Member(part, "thoughtSignature")}
	if call := api.Member(part, "functionCall"); call != nil {
		ps.Add(api.Part{Kind: api.ToolCallPart, Choice: nth, ID: api.Member(call, "id"), Name: api.Member(call, "name"), Text: api.Member(call, "args")})
		if !api.IsEmpty(signature.Text) {
			ps.Add(signature)
		}
		return
	}
	thought := string(api.Member(part, "thought")) == "true"
	for key, value := range api.Members(part) {
		p := api.Part{Kind: api.OtherPart, Choice: nth, Text: value}
		switch {
		case string(key) == "text":
			p.Kind = api.TextPart
		case string(key) == "thought" || string(key) == "thoughtSignature" || string(value) == "null":
			continue
		}
		switch {
		case p.Kind == api.TextPart && api.IsEmpty(value):
			continue
		case thought:
			p.Kind = api.ReasoningPart
		}
		ps.Add(p)
	}
	if thought {
		signature.Kind = api.ReasoningPart
	}
	if !api.IsEmpty(signature.Text) {
		ps.Add(signature)
	}
}

// refusals are the reasons for which the API blocks a prompt or an answer
// (https://ai.google.dev/api/generate-content, BlockReason and FinishReason).
var refusals = []string{
	"SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION", "LANGUAGE", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT",
	"IMAGE_RECITATION", "MODEL_ARMOR", "OTHER",
}

// stop returns the end of an answer for a reason.
func stop(reason []byte) api.Part {
	p := api.Part{Kind: api.StopPart, Name: reason, Final: true}
	switch word := strings.Trim(string(reason), `"`); {
	case word == "STOP":
		p.Why = api.PlainStop
	case slices.Contains(refusals, word):
		p.Why = api.RefusedStop
	}
	return p
}
