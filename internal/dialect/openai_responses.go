package dialect

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// OpenAIResponses returns the Responses API of OpenAI (docs: "Streaming events").
func OpenAIResponses() *Dialect { return &openAIResponses }

var openAIResponses = Dialect{
	name:           "openai-responses",
	isRequest:      hasPathSuffix("/responses", "/responses/compact"),
	streamForm:     Events,
	unseen:         []string{"client_metadata", "metadata"}, // Codex's, in another order in each re-send (0.169.0); OpenAI's tags of a response
	frameKind:      responsesFrameKind,
	output:         responsesOutput,
	refusal:        responsesRefusal,
	kindByName:     responsesKindByName,
	isPlainContent: isResponsesPlainContent,
	prelude:        &responsesPrelude,
	ping:           pingComment,
	comment:        pingComment,
	heartbeat:      responsesHeartbeat,
	errors: errorFormat{
		body:  openAIError,
		event: responsesErrorEvents,
		other: "server_error",
		types: map[fault.Kind]string{
			fault.Quota:       "insufficient_quota",
			fault.RateLimited: "rate_limit_exceeded",
			fault.Auth:        "authentication_error",
			fault.Invalid:     "invalid_request_error",
			fault.Refused:     "permission_error",
			fault.TooLong:     "context_length_exceeded",
		},
	},
}

// responsesKindByName returns the kind of an event by its name.
func responsesKindByName(name []byte) (FrameKind, bool) {
	switch string(name) {
	case "response.created", "response.in_progress", "response.queued", "keepalive":
		return Opening, true
	case "response.completed":
		return Last, true
	case "response.failed", "error":
		return Failure, true
	}
	return Content, bytes.HasSuffix(name, []byte(".delta"))
}

// responsesFrameKind reads the event's name, and its data where necessary.
func responsesFrameKind(name, data []byte) FrameKind {
	name = eventName(name, data)
	if kind, ok := responsesKindByName(name); ok {
		return kind
	}
	switch string(name) {
	case "":
		return Opening
	case "response.output_item.added":
		return itemKind(member(data, "item"))
	case "response.content_part.added", "response.reasoning_summary_part.added":
		return partKind(member(data, "part"))
	case "response.incomplete":
		if isEmpty(member(member(data, "response"), "error")) {
			return Last // a limit set by the request
		}
		return Failure
	}
	return Content
}

// itemKind returns Content if the start of an item carries content already: a message opens empty and
// reasoning without readable text, a call comes with its name.
func itemKind(item []byte) FrameKind {
	switch string(member(item, "type")) {
	case `"reasoning"`:
		return Opening
	case `"message"`:
		if isEmpty(member(item, "content")) {
			return Opening
		}
	}
	return Content
}

func partKind(part []byte) FrameKind {
	for key, value := range members(part) {
		if string(key) != "type" && !isEmpty(value) {
			return Content
		}
	}
	return Opening
}

// isResponsesPlainContent recognizes deltas by the type, which relays put first where they leave the name
// out.
func isResponsesPlainContent(frame []byte) bool {
	rest, ok := bytes.CutPrefix(frame, []byte(`data: {"type":"response.`))
	if !ok {
		return false
	}
	kind, _, ok := bytes.Cut(rest, []byte(`"`))
	return ok && bytes.HasSuffix(kind, []byte(".delta"))
}

// responsesHeartbeat is for Codex only, whose idle timer comments do not reset.
func responsesHeartbeat(c Client) string {
	if !isCodex(c.Agent) && !isCodex(c.Originator) {
		return ""
	}
	return "event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":0}\n\n"
}

func isCodex(name string) bool {
	const codex = "codex"
	return len(name) >= len(codex) && strings.EqualFold(name[:len(codex)], codex)
}

// responsesErrorEvents writes an error as the API does, twice: SDKs look for the first event, Codex for the
// second. The first has everything in two places: the documentation uses one and the API the other.
func responsesErrorEvents(kind, message string) string {
	type detail struct {
		Type    string  `json:"type,omitzero"`
		Code    string  `json:"code"`
		Message string  `json:"message"`
		Param   *string `json:"param"`
	}
	type cause struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	type response struct {
		ID     string   `json:"id"`
		Object string   `json:"object"`
		Status string   `json:"status"`
		Error  cause    `json:"error"`
		Output []string `json:"output"`
	}
	first, _ := json.Marshal(struct {
		detail
		Number int    `json:"sequence_number"`
		Error  detail `json:"error"`
	}{detail{"error", kind, message, nil}, 0, detail{kind, kind, message, nil}})
	second, _ := json.Marshal(struct {
		Type     string   `json:"type"`
		Number   int      `json:"sequence_number"`
		Response response `json:"response"`
	}{"response.failed", 0, response{"", "response", "failed", cause{kind, message}, []string{}}})
	return "event: error\ndata: " + string(first) + "\n\nevent: response.failed\ndata: " + string(second) + "\n\n"
}
