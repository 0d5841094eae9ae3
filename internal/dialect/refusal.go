package dialect

import (
	"slices"
	"strings"
)

// Refusal returns the provider's word for it, if a frame before any content, or a whole body, says that the
// model or a filter refuses to answer; "": it does not. An answer that explains its refusal has content.
func (d *Dialect) Refusal(f Form, frame []byte) string {
	if d.refusal == nil {
		return ""
	}
	_, data := payload(f, frame)
	return d.refusal(data)
}

// word returns what a JSON string says, if it is one of these words.
func word(value []byte, words ...string) string {
	if s := strings.Trim(string(value), `"`); slices.Contains(words, s) {
		return s
	}
	return ""
}

// anthropicRefusal reads message_delta, or a whole message.
func anthropicRefusal(data []byte) string {
	end := data
	if delta := member(data, "delta"); delta != nil {
		end = delta
	}
	if !isEmpty(member(data, "content")) {
		return ""
	}
	return word(member(end, "stop_reason"), "refusal")
}

// chatRefusal reads a chunk or a whole completion. Each of its choices must be refused.
func chatRefusal(data []byte) (reason string) {
	for choice := range elements(member(data, "choices")) {
		if deltaHasContent(member(choice, "delta")) || deltaHasContent(member(choice, "message")) || !isEmpty(member(choice, "text")) {
			return ""
		}
		if reason = word(member(choice, "finish_reason"), "content_filter"); reason == "" {
			return ""
		}
	}
	return reason
}

// responsesRefusal reads response.incomplete, or a whole response.
func responsesRefusal(data []byte) string {
	if inner := member(data, "response"); inner != nil {
		data = inner
	}
	if !isEmpty(member(data, "output")) {
		return ""
	}
	return word(member(member(data, "incomplete_details"), "reason"), "content_filter")
}

// converseRefusal reads messageStop, or a whole answer.
func converseRefusal(data []byte) string {
	if !isEmpty(member(member(member(data, "output"), "message"), "content")) {
		return ""
	}
	return word(member(data, "stopReason"), "content_filtered", "guardrail_intervened")
}

// geminiRefusals are the reasons for which the API blocks a prompt or an answer
// (https://ai.google.dev/api/generate-content, BlockReason and FinishReason).
var geminiRefusals = []string{
	"SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "MODEL_ARMOR", "OTHER",
}

// geminiRefusal reads a chunk or a whole answer.
func geminiRefusal(data []byte) (reason string) {
	if inner := member(data, "response"); inner != nil {
		data = inner
	}
	for candidate := range elements(member(data, "candidates")) {
		if hasParts(candidate) {
			return ""
		}
		if reason = word(member(candidate, "finishReason"), geminiRefusals...); reason == "" {
			return ""
		}
	}
	if reason == "" {
		return word(member(member(data, "promptFeedback"), "blockReason"), geminiRefusals...)
	}
	return reason
}

// hasParts reports whether a candidate has content.
func hasParts(candidate []byte) bool {
	for part := range elements(member(member(candidate, "content"), "parts")) {
		if geminiPartKind(part) == Content {
			return true
		}
	}
	return false
}
