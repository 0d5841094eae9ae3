package dialect

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// Anthropic gives the Messages API of Anthropic (docs: "Streaming Messages",
// "Errors").
func Anthropic() *Dialect { return &anthropic }

var anthropic = Dialect{
	name:      "anthropic",
	path:      "/v1/messages",
	sign:      anthropicSign,
	ping:      func(string) string { return "event: ping\ndata: {\"type\":\"ping\"}\n\n" },
	heartbeat: anthropicHeartbeat,
	errors: errorForm{
		before: "event: error\ndata: ",
		body:   anthropicError,
		types: map[fault.Kind]string{
			fault.Quota:   "rate_limit_error",
			fault.Auth:    "authentication_error",
			fault.Invalid: "invalid_request_error",
			fault.Refused: "permission_error",
			fault.TooLong: "request_too_large",
		},
	},
}

// anthropicSign reads the event's name, or the type in its data where a relay
// leaves the name out.
func anthropicSign(frame []byte) Sign {
	name, ok := firstName(frame)
	if !ok {
		var data []byte
		if name, data = event(frame); len(name) == 0 {
			name = typeOf(data)
		}
	}
	switch string(name) {
	case "content_block_delta":
		return Content
	case "", "message_start", "ping", "content_block_stop":
		return Opening
	case "content_block_start":
		_, data := event(frame)
		return blockSign(data)
	case "message_stop":
		return End
	case "error":
		return Failure
	}
	return Content
}

// firstName gives the name of an event that begins with it, as the API's own
// do, without looking at the rest.
func firstName(frame []byte) (name []byte, ok bool) {
	rest, ok := bytes.CutPrefix(frame, []byte("event: "))
	if !ok {
		return nil, false
	}
	name, _, ok = bytes.Cut(rest, []byte("\n"))
	return bytes.TrimSuffix(name, []byte("\r")), ok
}

// blockSign tells whether the start of a content block shows anything yet: a
// text or thinking block opens empty, a tool call comes with its name.
func blockSign(data []byte) Sign {
	for key, block := range members(data) {
		if string(key) != "content_block" {
			continue
		}
		for key, value := range members(block) {
			opens := string(key) == "type" && (string(value) == `"text"` || string(value) == `"thinking"`)
			if !opens && !empty(value) {
				return Content
			}
		}
	}
	return Opening
}

// typeOf gives the top-level type of a JSON object; nil: none.
func typeOf(object []byte) []byte {
	for key, value := range members(object) {
		if string(key) == "type" && len(value) > 1 && value[0] == '"' {
			return value[1 : len(value)-1]
		}
	}
	return nil
}

// anthropicHeartbeat is for Claude Code only, whose idle timer pings do not
// reset; the Vercel AI SDK breaks on it.
func anthropicHeartbeat(c Client) string {
	if !strings.HasPrefix(c.Agent, "claude-cli/") {
		return ""
	}
	return "event: message_delta\ndata: {\"type\":\"keepalive\"}\n\n"
}

// anthropicError writes an error as the API does. What passes by itself is
// always called overloaded: Claude Code answers any other type with a request
// that is not streamed and that nothing can keep alive.
func anthropicError(kind, words string) []byte {
	type detail struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	if kind == "" {
		kind = "overloaded_error"
	}
	body, _ := json.Marshal(struct {
		Type  string `json:"type"`
		Error detail `json:"error"`
	}{"error", detail{kind, words}})
	return body
}
