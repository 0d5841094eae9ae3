package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// The source of what follows: platform.openai.com, "Chat", "Chat streaming",
// "Error codes" and "Rate limits".

// openai is the Chat Completions API.
func openai() dialect {
	return dialect{
		idHeader: "x-request-id",
		overload: 503,
		endpoints: []endpoint{
			{method: "POST", path: "/v1/chat/completions", generates: true, read: readOpenAI, whole: openaiWhole, stream: openaiStream},
			{method: "GET", path: "/v1/models", whole: openaiModels},
		},
		failure: openaiFailure,
		hints:   openaiHints,
	}
}

func readOpenAI(body []byte) (call, string) {
	var ask struct {
		Model         string
		Stream        bool
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if err := json.Unmarshal(body, &ask); err != nil {
		return call{}, "We could not parse the JSON body of your request: " + err.Error()
	}
	if ask.Model == "" {
		return call{}, "you must provide a model parameter"
	}
	return call{model: ask.Model, stream: ask.Stream, usage: ask.StreamOptions.IncludeUsage}, ""
}

func openaiWhole(c call) string {
	return fmt.Sprintf(`{"id":"chatcmpl-%s","object":"chat.completion","created":%d,"model":%s,`+
		`"choices":[{"index":0,"message":{"role":"assistant","content":%s,"refusal":null,"annotations":[]},`+
		`"logprobs":null,"finish_reason":"stop"}],"usage":%s,"service_tier":"default","system_fingerprint":"fp_simulator"}`,
		c.id, c.at.Unix(), quote(c.model), quote(c.text()), openaiUsage(c))
}

func openaiStream(c call) stream {
	s := stream{
		media:   eventStream,
		opening: []string{openaiChunk(c, openaiChoice(`{"role":"assistant","content":"","refusal":null}`, "null"), "null")},
		ending:  []string{openaiChunk(c, openaiChoice(`{}`, `"stop"`), "null")},
		failure: sse("", openaiFailure(503, "", c.id)),
	}
	for _, word := range c.words {
		s.content = append(s.content, openaiChunk(c, openaiChoice(`{"content":`+quote(word)+`}`, "null"), "null"))
	}
	if c.usage {
		s.ending = append(s.ending, openaiChunk(c, "", openaiUsage(c)))
	}
	s.ending = append(s.ending, sse("", "[DONE]"))
	return s
}

// openaiChunk gives one event of a stream. Usage is a member of every chunk
// once it is asked for, and null but in the last.
func openaiChunk(c call, choice, usage string) string {
	member := ""
	if c.usage {
		member = `,"usage":` + usage
	}
	return sse("", fmt.Sprintf(`{"id":"chatcmpl-%s","object":"chat.completion.chunk","created":%d,"model":%s,`+
		`"service_tier":"default","system_fingerprint":"fp_simulator","choices":[%s]%s}`,
		c.id, c.at.Unix(), quote(c.model), choice, member))
}

func openaiChoice(delta, finish string) string {
	return fmt.Sprintf(`{"index":0,"delta":%s,"logprobs":null,"finish_reason":%s}`, delta, finish)
}

func openaiUsage(c call) string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,`+
		`"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},`+
		`"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`,
		c.prompt, len(c.words), c.prompt+len(c.words))
}

func openaiModels(call) string {
	return `{"object":"list","data":[{"id":"gpt-simulator","object":"model","created":1735689600,"owned_by":"simulator"}]}`
}

func openaiFailure(status int, message, _ string) string {
	kind, code, usual := openaiError(status)
	if message == "" {
		message = usual
	}
	return fmt.Sprintf(`{"error":{"message":%s,"type":%s,"param":null,"code":%s}}`, quote(message), quote(kind), code)
}

// openaiError gives the type and the code, as JSON, that go with a status, and
// words in which they come.
func openaiError(status int) (kind, code, message string) {
	switch status {
	case 401:
		return "invalid_request_error", `"invalid_api_key"`, "Incorrect API key provided."
	case 403:
		return "request_forbidden", `"unsupported_country_region_territory"`, "Country, region, or territory not supported"
	case 404:
		return "invalid_request_error", "null", "Invalid URL"
	case 413:
		return "invalid_request_error", "null", "The request is too large."
	case 429:
		return "requests", `"rate_limit_exceeded"`, "Rate limit reached for requests."
	case 503, 529:
		return "service_unavailable_error", `"server_is_overloaded"`, "Our servers are currently overloaded. Please try again later."
	}
	if status >= 500 {
		return "server_error", `"server_error"`, "The server had an error while processing your request. Sorry about that!"
	}
	return "invalid_request_error", "null", "Invalid request"
}

func openaiHints(h http.Header, w window) {
	h.Set("x-ratelimit-limit-requests", strconv.Itoa(w.limit))
	h.Set("x-ratelimit-remaining-requests", strconv.Itoa(w.left))
	in := w.in + time.Millisecond - time.Nanosecond
	h.Set("x-ratelimit-reset-requests", in.Truncate(time.Millisecond).String())
}
