package dialect

import (
	"encoding/json"

	"github.com/ridethrough/ridethrough/fault"
)

// LMStudio gives LM Studio's own REST API, version 1 (docs: "Streaming
// events"). Its version 0, and what it serves below /v1, is OpenAI's.
func LMStudio() *Dialect { return &lmStudio }

var lmStudio = Dialect{
	name:    "lmstudio",
	asks:    suffix("/api/v1/chat"),
	streams: Events,
	sign:    lmStudioSign,
	plain:   lmStudioPlain,
	ping:    comment,
	aborts:  true,
	errors: errorForm{
		body:  lmStudioError,
		event: lmStudioEvent,
		other: "internal_error",
		types: map[fault.Kind]string{
			fault.Auth:    "authentication_error",
			fault.Invalid: "invalid_request",
			fault.Refused: "invalid_request",
			fault.TooLong: "invalid_request",
		},
	},
}

// lmStudioSign reads the event's name. Loading the model and reading the prompt
// come before the answer; chat.end repeats all of it.
func lmStudioSign(name, data []byte) Sign {
	switch string(nameOf(name, data)) {
	case "", "chat.start", "model_load.start", "model_load.progress", "model_load.end",
		"prompt_processing.start", "prompt_processing.progress", "prompt_processing.end",
		"reasoning.start", "reasoning.end", "message.start", "message.end":
		return Opening
	case "chat.end":
		return Last
	case "error":
		return Failure
	}
	return Content
}

func lmStudioPlain(frame []byte) bool {
	return named(frame, "message", ".delta") || named(frame, "reasoning", ".delta")
}

type lmStudioDetail struct {
	Type    string  `json:"type"`
	Message string  `json:"message"`
	Code    *string `json:"code"`
	Param   *string `json:"param"`
}

// lmStudioError writes an error as the API does.
func lmStudioError(kind, words string) []byte {
	body, _ := json.Marshal(struct {
		Error lmStudioDetail `json:"error"`
	}{lmStudioDetail{Type: kind, Message: words}})
	return body
}

func lmStudioEvent(kind, words string) string {
	data, _ := json.Marshal(struct {
		Type  string         `json:"type"`
		Error lmStudioDetail `json:"error"`
	}{"error", lmStudioDetail{Type: kind, Message: words}})
	return "event: error\ndata: " + string(data) + "\n\n"
}
