package dialect

import (
	"encoding/json"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// Anthropic returns the Messages API of Anthropic (docs: "Streaming Messages", "Errors").
func Anthropic() *Dialect { return &anthropic }

var anthropic = Dialect{
	name:       "anthropic",
	isRequest:  hasPathSuffix("/v1/messages"),
	streamForm: Events,
	frameKind:  anthropicFrameKind,
	output:     anthropicOutput,
	refusal:    anthropicRefusal,
	kindByName: anthropicKindByName,
	prelude:    &anthropicPrelude,
	ping:       func(string) string { return anthropicPing },
	comment:    func(text string) string { return ": " + text + "\n" + anthropicPing }, // no reader sees an event without data
	heartbeat:  anthropicHeartbeat,
	errors: errorFormat{
		body: anthropicError,
		event: func(kind, message string) string {
			return "event: error\ndata: " + string(anthropicError(kind, message)) + "\n\n"
		},
		other: "overloaded_error",
		limit: "rate_limit_error",
		types: map[fault.Kind]string{
			fault.Quota:   "rate_limit_error",
			fault.Auth:    "authentication_error",
			fault.Invalid: "invalid_request_error",
			fault.Refused: "permission_error",
			fault.TooLong: "request_too_large",
		},
	},
}

const anthropicPing = "event: ping\ndata: {\"type\":\"ping\"}\n\n"

// anthropicKindByName returns the kind of an event by its name.
func anthropicKindByName(name []byte) (FrameKind, bool) {
	switch string(name) {
	case "content_block_delta", "message_delta":
		return Content, true
	case "message_start", "ping", "content_block_stop":
		return Opening, true
	case "message_stop":
		return End, true
	case "error":
		return Failure, true
	}
	return 0, false
}

// anthropicFrameKind reads the event's name, and its data where necessary.
func anthropicFrameKind(name, data []byte) FrameKind {
	name = eventName(name, data)
	switch kind, ok := anthropicKindByName(name); {
	case ok:
		return kind
	case len(name) == 0:
		return Opening
	case string(name) == "content_block_start":
		return blockKind(data)
	}
	return Content
}

// blockKind returns Content if the start of a content block carries content already: a text or thinking
// block opens empty, a tool call comes with its name.
func blockKind(data []byte) FrameKind {
	for key, block := range members(data) {
		if string(key) != "content_block" {
			continue
		}
		for key, value := range members(block) {
			opens := string(key) == "type" && (string(value) == `"text"` || string(value) == `"thinking"`)
			if !opens && !isEmpty(value) {
				return Content
			}
		}
	}
	return Opening
}

// anthropicHeartbeat is for Claude Code only, whose idle timer pings do not reset; the Vercel AI SDK breaks
// on it.
func anthropicHeartbeat(c Client) string {
	if !strings.HasPrefix(c.Agent, "claude-cli/") {
		return ""
	}
	return "event: message_delta\ndata: {\"type\":\"keepalive\"}\n\n"
}

// anthropicError writes an error as the API does. A transient fault is always called overloaded: Claude
// Code answers any other type with a request that is not streamed and that nothing can keep alive.
func anthropicError(kind, message string) []byte {
	type detail struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	body, _ := json.Marshal(struct {
		Type  string `json:"type"`
		Error detail `json:"error"`
	}{"error", detail{kind, message}})
	return body
}
