package dialect

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// OpenAIChat returns the Chat Completions API of OpenAI and of the many servers compatible with it.
func OpenAIChat() *Dialect { return &openAIChat }

var openAIChat = Dialect{
	name:           "openai-chat",
	isRequest:      hasPathSuffix("/chat/completions"),
	streamForm:     Events,
	unseen:         []string{"metadata", "request_id"}, // OpenAI's tags of a stored answer; Z.ai's id, which is to be unique
	modelInPath:    azureDeployment,
	frameKind:      chatFrameKind,
	output:         chatOutput,
	refusal:        chatRefusal,
	isPlainContent: isChatPlainContent,
	prelude:        &chatPrelude,
	ping:           pingComment,
	comment:        pingComment,
	heartbeat:      chatHeartbeat,
	abortsOnError:  true,
	errors:         openAIErrors,
}

// OpenAICompletions returns OpenAI's older completions API, which many servers still have: its output is
// text, not a message.
func OpenAICompletions() *Dialect { return &openAICompletions }

var openAICompletions = Dialect{
	name:           "openai-completions",
	isRequest:      hasPathSuffix("/completions"),
	streamForm:     Events,
	modelInPath:    azureDeployment,
	frameKind:      chatFrameKind,
	output:         chatOutput,
	refusal:        chatRefusal,
	isPlainContent: isChatPlainContent,
	ping:           pingComment,
	comment:        pingComment,
	heartbeat:      completionsHeartbeat,
	abortsOnError:  true,
	errors:         openAIErrors,
}

var openAIErrors = errorFormat{
	body:  openAIError,
	other: "server_error",
	types: map[fault.Kind]string{
		fault.Quota:       "insufficient_quota",
		fault.RateLimited: "rate_limit_error",
		fault.Auth:        "authentication_error",
		fault.Invalid:     "invalid_request_error",
		fault.Refused:     "permission_error",
		fault.TooLong:     "invalid_request_error",
	},
}

// azureDeployment finds the deployment in a path of Azure, which stands in a model's place whatever the body
// says.
func azureDeployment(path string) Span {
	before, rest, ok := strings.Cut(path, deployments)
	deployment, _, below := strings.Cut(rest, "/")
	if !ok || !below {
		return Span{}
	}
	begin := len(before) + len(deployments)
	return Span{begin, begin + len(deployment)}
}

// deployments stands before a deployment in a path of Azure.
const deployments = "/openai/deployments/"

// chatFrameKind reads one chunk. Data that is not a JSON object is content: unknown frames are passed on.
func chatFrameKind(name, data []byte) FrameKind {
	switch {
	case len(data) == 0:
		return Opening
	case string(name) == "error":
		return Failure
	case data[0] != '{':
		return Content
	}
	kind := Opening
	for key, value := range members(data) {
		switch {
		case isErrorMember(key, value):
			return Failure
		case string(key) == "choices":
			for choice := range elements(value) {
				kind = max(kind, choiceKind(choice))
			}
		case string(key) == "usage" && !isEmpty(value):
			kind = max(kind, Content)
		}
	}
	return kind
}

// isChatPlainContent reports that a chunk completes nothing and is not an error: each of its choices has a
// null finish_reason, and no member is an error. Inside a text these words have backslashes before their
// quotes.
func isChatPlainContent(frame []byte) bool {
	const reason, none = `finish_reason":`, "null"
	rest, ok := bytes.CutPrefix(frame, []byte(`data: {"`))
	if !ok || bytes.Contains(rest, []byte(`rror":`)) {
		return false
	}
	found := false
	for i := bytes.Index(rest, []byte(reason)); i >= 0; i = bytes.Index(rest, []byte(reason)) {
		if rest = rest[i+len(reason):]; !bytes.HasPrefix(rest, []byte(none)) {
			return false
		}
		found = true
	}
	return found
}

// choiceKind reads one choice of a chunk: text, or a delta with any content besides the role, is content; a
// finish_reason completes it.
func choiceKind(choice []byte) FrameKind {
	kind := Opening
	for key, value := range members(choice) {
		switch {
		case string(key) == "finish_reason" && !isEmpty(value):
			return Finish
		case string(key) == "delta" && deltaHasContent(value), string(key) == "text" && !isEmpty(value):
			kind = Content
		}
	}
	return kind
}

func deltaHasContent(delta []byte) bool {
	for key, value := range members(delta) {
		if string(key) != "role" && !isEmpty(value) {
			return true
		}
	}
	return false
}

// chatHeartbeat returns a chunk that adds nothing. It has no id, because readers that assemble chunks keep
// the first id and reject another.
func chatHeartbeat(c Client) string {
	model, _ := json.Marshal(c.Model)
	return `data: {"id":"","object":"chat.completion.chunk","created":0,"model":` + string(model) +
		`,"choices":[{"index":0,"delta":{"content":""},"finish_reason":null}]}` + "\n\n"
}

// completionsHeartbeat is the same for the older API.
func completionsHeartbeat(c Client) string {
	model, _ := json.Marshal(c.Model)
	return `data: {"id":"","object":"text_completion","created":0,"model":` + string(model) +
		`,"choices":[{"text":"","index":0,"logprobs":null,"finish_reason":null}]}` + "\n\n"
}

// openAIError writes an error as the API does.
func openAIError(kind, message string) []byte {
	type detail struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	body, _ := json.Marshal(struct {
		Error detail `json:"error"`
	}{detail{Message: message, Type: kind}})
	return body
}
