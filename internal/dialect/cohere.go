package dialect

import (
	"bytes"
	"encoding/json"
)

// Cohere returns Cohere's API, version 2 (docs: "Chat with streaming", "Errors").
func Cohere() *Dialect { return &cohere }

var cohere = Dialect{
	name:          "cohere",
	isRequest:     hasPathSuffix("/v2/chat"),
	streamForm:    Events,
	frameKind:     cohereFrameKind,
	output:        cohereOutput,
	kindByName:    cohereKindByName,
	prelude:       &coherePrelude,
	isError:       isCohereErrorMember,
	ping:          pingComment,
	comment:       pingComment,
	abortsOnError: true, // its clients take the last event for an end, whatever its reason
	errors: errorFormat{
		body:  func(_, message string) []byte { return cohereError(message) },
		event: func(_, message string) string { return cohereErrorEvent(message) },
	},
}

// cohereKindByName returns the kind of an event by its name.
func cohereKindByName(name []byte) (FrameKind, bool) {
	switch string(name) {
	case "message-start", "content-start", "content-end", "tool-call-end", "citation-end":
		return Opening, true
	case "content-delta", "tool-call-start", "tool-call-delta":
		return Content, true
	}
	return 0, false
}

// cohereFrameKind reads the event's name, and its data where necessary.
func cohereFrameKind(name, data []byte) FrameKind {
	name = eventName(name, data)
	switch kind, ok := cohereKindByName(name); {
	case ok:
		return kind
	case string(name) == "error", len(name) == 0 && bytes.HasPrefix(member(data, "message"), []byte{'"'}):
		return Failure
	case len(name) == 0:
		return Opening
	case string(name) == "message-end" && isCohereFailure(member(member(data, "delta"), "finish_reason")):
		return Failure
	case string(name) == "message-end":
		return Last
	case string(name) == "tool-plan-delta" && isEmpty(member(member(member(data, "delta"), "message"), "tool_plan")):
		return Opening
	}
	return Content
}

// isCohereFailure reports whether a finish reason is that of an answer that has failed.
func isCohereFailure(reason []byte) bool {
	return string(reason) == `"ERROR"` || string(reason) == `"TIMEOUT"`
}

// isCohereErrorMember reports whether a member makes a body an error: its message is a text and no object, or it
// says that the answer has failed.
func isCohereErrorMember(key, value []byte) bool {
	switch string(key) {
	case "message":
		return value[0] == '"'
	case "finish_reason":
		return isCohereFailure(value)
	}
	return false
}

// cohereOutput reads message-end, or a whole answer.
func cohereOutput(data []byte) Output {
	end := data
	if delta := member(data, "delta"); delta != nil {
		end = delta
	}
	message := member(end, "message")
	if string(member(end, "finish_reason")) != `"COMPLETE"` || !isEmpty(member(message, "content")) || !isEmpty(member(message, "tool_calls")) {
		return SomeOutput
	}
	return outputOf(member(member(member(end, "usage"), "tokens"), "output_tokens"))
}

// cohereError writes an error as the API does.
func cohereError(message string) []byte {
	body, _ := json.Marshal(struct {
		Message string `json:"message"`
	}{message})
	return body
}

// cohereErrorEvent writes the event that ends a failed stream.
func cohereErrorEvent(message string) string {
	type delta struct {
		Error  string `json:"error"`
		Reason string `json:"finish_reason"`
	}
	data, _ := json.Marshal(struct {
		Type  string `json:"type"`
		Delta delta  `json:"delta"`
	}{"message-end", delta{message, "ERROR"}})
	return "event: message-end\ndata: " + string(data) + "\n\n"
}
