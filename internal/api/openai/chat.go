// Package openai is OpenAI's three APIs, Chat Completions, the older completions and Responses, and the many servers
// compatible with them.
package openai

import (
	"bytes"
	_ "embed"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
)

// Chat returns the Chat Completions API of OpenAI and of the many servers compatible with it.
func Chat() *api.API { return chat }

//go:embed shared.txt
var sharedForms string

//go:embed chat.txt
var chatForms string

//go:embed completions.txt
var completionsForms string

var chat = api.New(api.Definition{
	Name:           "openai-chat",
	IsRequest:      api.HasPathSuffix("/chat/completions"),
	Beside:         []string{"/v1/chat/completions/", "/v1/completions/", "/v1/embeddings/"},
	StreamForm:     api.Events,
	Unseen:         []string{"metadata", "request_id"}, // OpenAI's tags of a stored answer; Z.ai's id, which is to be unique
	ModelInPath:    azureDeployment,
	Decode:         DecodeChat,
	Forms:          []string{sharedForms, chatForms},
	IsPlainContent: isChatPlainContent,
	SaysUnfinished: isChatUnfinished,
	Prelude:        &chatPrelude,
	Continuation:   func() api.Continuation { return new(chatContinuation) },
	Prefills:       true,
	Ping:           api.PingComment,
	Heartbeat:      heartbeat("chat.completion.chunk", `{"index":0,"delta":{"content":""},"finish_reason":null}`),
	HeartbeatWithin: func(beat, id string) string {
		if id == "" {
			return beat
		}
		return strings.Replace(beat, `"id":""`, `"id":`+id, 1)
	},
	AbortsOnError: true,
	Errors:        errors,
})

// Completions returns OpenAI's older completions API, which many servers still have: its output is
// text, not a message.
func Completions() *api.API { return completions }

var completions = api.New(api.Definition{
	Name:           "openai-completions",
	IsRequest:      api.HasPathSuffix("/completions"),
	StreamForm:     api.Events,
	ModelInPath:    azureDeployment,
	Decode:         DecodeChat,
	Forms:          []string{sharedForms, completionsForms},
	IsPlainContent: isChatPlainContent,
	Ping:           api.PingComment,
	Heartbeat:      heartbeat("text_completion", `{"text":"","index":0,"logprobs":null,"finish_reason":null}`),
	AbortsOnError:  true,
	Errors:         errors,
})

var errors = api.ErrorFormat{
	Body:  errorBody,
	Other: "server_error",
	Types: map[fault.Kind]string{
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
func azureDeployment(path string) api.Span {
	before, rest, ok := strings.Cut(path, deployments)
	deployment, _, below := strings.Cut(rest, "/")
	if !ok || !below {
		return api.Span{}
	}
	begin := len(before) + len(deployments)
	return api.Span{Begin: begin, End: begin + len(deployment)}
}

// deployments stands before a deployment in a path of Azure.
const deployments = "/openai/deployments/"

// isChatUnfinished reports whether a chunk says that no reason to finish is known so far. Servers that leave it out
// may never name one.
func isChatUnfinished(frame []byte) bool {
	_, value, found := bytes.Cut(frame, []byte(`"finish_reason":`))
	return found && bytes.HasPrefix(bytes.TrimLeft(value, " "), []byte("null"))
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

// heartbeat returns what writes a chunk that adds nothing. It has no id, because readers that assemble chunks keep the
// first id and reject another.
func heartbeat(object, choice string) func(api.Client) string {
	return func(c api.Client) string {
		return `data: {"id":"","object":"` + object + `","created":0,"model":` + string(api.Quote(c.Model)) +
			`,"choices":[` + choice + "]}\n\n"
	}
}

// errorBody writes an error as the API does.
var errorBody = api.ErrorBody(sharedForms, nil)
