package dialect

import (
	"bytes"
	"encoding/json"

	"github.com/ridethrough/ridethrough/fault"
)

// OpenAIChat gives the Chat Completions API of OpenAI and of the many servers
// compatible with it.
func OpenAIChat() *Dialect { return &openAIChat }

var openAIChat = Dialect{
	name:      "openai-chat",
	path:      "/chat/completions",
	sign:      chatSign,
	ping:      comment,
	heartbeat: chatHeartbeat,
	aborts:    true,
	errors: errorForm{
		before: "data: ",
		body:   openAIError,
		types: map[fault.Kind]string{
			fault.Quota:       "insufficient_quota",
			fault.RateLimited: "rate_limit_error",
			fault.Auth:        "authentication_error",
			fault.Invalid:     "invalid_request_error",
			fault.Refused:     "permission_error",
			fault.TooLong:     "invalid_request_error",
		},
	},
}

// chatSign reads one chunk. Data that is no JSON object is content: what we do
// not know is handed on.
func chatSign(frame []byte) Sign {
	name, data := event(frame)
	switch data = bytes.TrimSpace(data); {
	case len(data) == 0:
		return Opening
	case string(data) == "[DONE]":
		return End
	case string(name) == "error":
		return Failure
	case data[0] != '{':
		return Content
	}
	sign := Opening
	for key, value := range members(data) {
		switch {
		case saysError(key, value):
			return Failure
		case string(key) == "choices":
			for choice := range elements(value) {
				sign = max(sign, choiceSign(choice))
			}
		case string(key) == "usage" && !empty(value):
			sign = max(sign, Content)
		}
	}
	return sign
}

// choiceSign reads one choice of a chunk: a delta with anything besides the
// role that says something is content, a finish_reason completes it.
func choiceSign(choice []byte) Sign {
	sign := Opening
	for key, value := range members(choice) {
		switch {
		case string(key) == "finish_reason" && !empty(value):
			return Finish
		case string(key) == "delta" && deltaSpeaks(value):
			sign = Content
		}
	}
	return sign
}

func deltaSpeaks(delta []byte) bool {
	for key, value := range members(delta) {
		if string(key) != "role" && !empty(value) {
			return true
		}
	}
	return false
}

// comment is a line that every reader of server-sent events skips.
func comment(state string) string {
	if state == "" {
		state = "hold"
	}
	return ": " + state + "\n\n"
}

// chatHeartbeat is a chunk that adds nothing. It has no id, because readers
// that put chunks together keep the first id and refuse another.
func chatHeartbeat(c Client) string {
	model, _ := json.Marshal(c.Model)
	return `data: {"id":"","object":"chat.completion.chunk","created":0,"model":` + string(model) +
		`,"choices":[{"index":0,"delta":{"content":""},"finish_reason":null}]}` + "\n\n"
}

// openAIError writes an error as the API does.
func openAIError(kind, words string) []byte {
	type detail struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	if kind == "" {
		kind = "server_error"
	}
	body, _ := json.Marshal(struct {
		Error detail `json:"error"`
	}{detail{Message: words, Type: kind}})
	return body
}
