package dialect

import (
	"encoding/json"

	"github.com/ridethrough/ridethrough/fault"
)

// LMStudio returns LM Studio's own REST API, version 1 (docs: "Streaming events"). Its version 0, and the
// API below /v1, is OpenAI's.
func LMStudio() *Dialect { return &lmStudio }

var lmStudio = Dialect{
	name:          "lmstudio",
	isRequest:     hasPathSuffix("/api/v1/chat"),
	streamForm:    Events,
	frameKind:     lmStudioFrameKind,
	output:        lmStudioOutput,
	kindByName:    lmStudioKindByName,
	prelude:       &lmStudioPrelude,
	ping:          pingComment,
	comment:       pingComment,
	abortsOnError: true,
	errors: errorFormat{
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

// lmStudioKindByName returns the kind of an event by its name. Loading the model and reading the prompt
// come before the answer; chat.end repeats all of it.
func lmStudioKindByName(name []byte) (FrameKind, bool) {
	switch string(name) {
	case "message.delta", "reasoning.delta":
		return Content, true
	case "chat.start", "model_load.start", "model_load.progress", "model_load.end",
		"prompt_processing.start", "prompt_processing.progress", "prompt_processing.end",
		"reasoning.start", "reasoning.end", "message.start", "message.end":
		return Opening, true
	case "chat.end":
		return Last, true
	case "error":
		return Failure, true
	}
	return 0, false
}

func lmStudioFrameKind(name, data []byte) FrameKind {
	name = eventName(name, data)
	switch kind, ok := lmStudioKindByName(name); {
	case ok:
		return kind
	case len(name) == 0:
		return Opening
	}
	return Content
}

type lmStudioDetail struct {
	Type    string  `json:"type"`
	Message string  `json:"message"`
	Code    *string `json:"code"`
	Param   *string `json:"param"`
}

// lmStudioError writes an error as the API does.
func lmStudioError(kind, message string) []byte {
	body, _ := json.Marshal(struct {
		Error lmStudioDetail `json:"error"`
	}{lmStudioDetail{Type: kind, Message: message}})
	return body
}

func lmStudioEvent(kind, message string) string {
	data, _ := json.Marshal(struct {
		Type  string         `json:"type"`
		Error lmStudioDetail `json:"error"`
	}{"error", lmStudioDetail{Type: kind, Message: message}})
	return "event: error\ndata: " + string(data) + "\n\n"
}
