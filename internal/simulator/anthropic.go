package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The source of what follows: docs.claude.com, "Messages", "Streaming
// messages", "Errors" and "Rate limits".

// anthropic is the Messages API.
func anthropic() dialect {
	return dialect{
		idHeader: "request-id",
		overload: 529,
		endpoints: []endpoint{
			{method: "POST", path: "/v1/messages", generates: true, read: readAnthropic, whole: anthropicWhole, stream: anthropicStream},
			{method: "POST", path: "/v1/messages/count_tokens", read: readAnthropic, whole: anthropicCount},
			{method: "GET", path: "/v1/models", whole: anthropicModels},
			{method: "GET", path: "/v1/models/*", whole: anthropicModel},
		},
		failure: anthropicFailure,
		hints:   anthropicHints,
	}
}

// speaksAnthropic tells whether a request is meant for this API. Its clients
// have to send anthropic-version.
func speaksAnthropic(r *http.Request) bool {
	return r.Header.Get("anthropic-version") != "" ||
		r.URL.Path == "/v1/messages" || strings.HasPrefix(r.URL.Path, "/v1/messages/")
}

func readAnthropic(r ask) (call, string) {
	var body struct {
		Model  string
		Stream bool
	}
	if err := json.Unmarshal(r.body, &body); err != nil {
		return call{}, "The request body is not valid JSON: " + err.Error()
	}
	if body.Model == "" {
		return call{}, "model: Field required"
	}
	return call{model: body.Model, stream: body.Stream}, ""
}

// anthropicMessage gives the message object with its content, stop reason and
// tokens out.
func anthropicMessage(c call, content, stop string, out int) string {
	return fmt.Sprintf(`{"id":"msg_%s","type":"message","role":"assistant","model":%s,"content":[%s],`+
		`"stop_reason":%s,"stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":0,`+
		`"cache_read_input_tokens":0,"output_tokens":%d,"service_tier":"standard"}}`,
		c.id, quote(c.model), content, stop, c.prompt, out)
}

func anthropicWhole(c call) string {
	content := `{"type":"text","text":` + quote(c.text()) + `}`
	return anthropicMessage(c, content, `"end_turn"`, len(c.words))
}

func anthropicStream(c call) stream {
	s := stream{
		media: eventStream,
		opening: []string{
			sse("message_start", `{"type":"message_start","message":`+anthropicMessage(c, "", "null", 1)+`}`),
			sse("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`),
			sse("ping", `{"type":"ping"}`),
		},
		ending: []string{
			sse("content_block_stop", `{"type":"content_block_stop","index":0}`),
			sse("message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},`+
				`"usage":{"input_tokens":%d,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":%d}}`,
				c.prompt, len(c.words))),
			sse("message_stop", `{"type":"message_stop"}`),
		},
		failure: sse("error", anthropicFailure(problem{status: 529, id: c.id})),
	}
	for _, word := range c.words {
		s.content = append(s.content, sse("content_block_delta",
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":`+quote(word)+`}}`))
	}
	return s
}

func anthropicCount(c call) string {
	return fmt.Sprintf(`{"input_tokens":%d}`, c.prompt)
}

func anthropicModels(c call) string {
	c.model = "claude-simulator"
	return `{"data":[` + anthropicModel(c) + `],"has_more":false,"first_id":"claude-simulator","last_id":"claude-simulator"}`
}

func anthropicModel(c call) string {
	return `{"type":"model","id":` + quote(c.model) + `,"display_name":"Claude Simulator","created_at":"2025-01-01T00:00:00Z"}`
}

func anthropicFailure(p problem) string {
	kind, usual := anthropicError(p.status)
	if p.message == "" {
		p.message = usual
	}
	return fmt.Sprintf(`{"type":"error","error":{"type":%s,"message":%s},"request_id":"req_%s"}`,
		quote(kind), quote(p.message), p.id)
}

// anthropicError gives the type that goes with a status, and words in which
// it comes.
func anthropicError(status int) (kind, message string) {
	switch status {
	case 401:
		return "authentication_error", "invalid x-api-key"
	case 402:
		return "billing_error", "Your organization's billing needs attention."
	case 403:
		return "permission_error", "Your API key does not have permission to use the specified resource."
	case 404:
		return "not_found_error", "Not found"
	case 413:
		return "request_too_large", "Request exceeds the maximum size"
	case 429:
		return "rate_limit_error", "This request would exceed your organization's rate limit."
	case 504:
		return "timeout_error", "Request timed out"
	case 529:
		return "overloaded_error", "Overloaded"
	}
	if status >= 500 {
		return "api_error", "Internal server error"
	}
	return "invalid_request_error", "Invalid request"
}

func anthropicHints(h http.Header, w window) {
	h.Set("anthropic-ratelimit-requests-limit", strconv.Itoa(w.limit))
	h.Set("anthropic-ratelimit-requests-remaining", strconv.Itoa(w.left))
	h.Set("anthropic-ratelimit-requests-reset", roundUp(w.opens).UTC().Format(time.RFC3339))
}

// roundUp moves t to the next whole second, so that who obeys it to the second
// does not come early.
func roundUp(t time.Time) time.Time {
	return t.Add(time.Second - time.Nanosecond).Truncate(time.Second)
}
