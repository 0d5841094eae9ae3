package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// The source of what follows: platform.openai.com, "Chat", "Chat streaming",
// "Completions", "Embeddings", "Models", "Error codes" and "Rate limits".

// openai is the API of OpenAI and of the many servers compatible with it.
func openai() dialect {
	return dialect{
		idHeader: "x-request-id",
		overload: 503,
		endpoints: []endpoint{
			{method: "POST", path: "/v1/chat/completions", generates: true, read: readOpenAI, whole: openaiWhole, stream: openaiStream},
			{method: "POST", path: "/v1/completions", generates: true, read: readOpenAI, whole: openaiText, stream: openaiTextStream},
			{method: "POST", path: "/v1/responses", generates: true, read: readResponses, whole: responsesWhole, stream: responsesStream},
			{method: "POST", path: "/v1/responses/input_tokens", read: readResponses, whole: responsesCount},
			{method: "POST", path: "/v1/embeddings", read: readOpenAI, whole: openaiEmbeddings},
			{method: "GET", path: "/v1/models", whole: openaiModels},
			{method: "GET", path: "/v1/models/*", whole: openaiModel},
		},
		failure: openaiFailure,
		hints:   openaiHints,
	}
}

func readOpenAI(r ask) (call, string) {
	var body struct {
		Model         string
		Stream        bool
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if err := json.Unmarshal(r.body, &body); err != nil {
		return call{}, "We could not parse the JSON body of your request: " + err.Error()
	}
	if body.Model == "" {
		return call{}, "you must provide a model parameter"
	}
	return call{model: body.Model, stream: body.Stream, usage: body.StreamOptions.IncludeUsage}, ""
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
		failure: sse("", openaiFailure(problem{status: 503})),
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

// openaiText is the answer of the older API, whose answers are text and no
// messages.
func openaiText(c call) string {
	return openaiTextObject(c, c.text(), `"stop"`, `,"usage":`+openaiUsage(c))
}

func openaiTextStream(c call) stream {
	s := stream{
		media:   eventStream,
		opening: []string{sse("", openaiTextObject(c, "", "null", ""))},
		ending:  []string{sse("", openaiTextObject(c, "", `"stop"`, "")), sse("", "[DONE]")},
		failure: sse("", openaiFailure(problem{status: 503})),
	}
	for _, word := range c.words {
		s.content = append(s.content, sse("", openaiTextObject(c, word, "null", "")))
	}
	return s
}

func openaiTextObject(c call, text, finish, usage string) string {
	return fmt.Sprintf(`{"id":"cmpl-%s","object":"text_completion","created":%d,"model":%s,`+
		`"choices":[{"text":%s,"index":0,"logprobs":null,"finish_reason":%s}]%s}`,
		c.id, c.at.Unix(), quote(c.model), quote(text), finish, usage)
}

func openaiEmbeddings(c call) string {
	return fmt.Sprintf(`{"object":"list","data":[{"object":"embedding","index":0,"embedding":%s}],"model":%s,`+
		`"usage":{"prompt_tokens":%d,"total_tokens":%d}}`, vector, quote(c.model), c.prompt, c.prompt)
}

func openaiModels(c call) string {
	c.model = "gpt-simulator"
	return `{"object":"list","data":[` + openaiModel(c) + `]}`
}

func openaiModel(c call) string {
	return `{"id":` + quote(c.model) + `,"object":"model","created":1735689600,"owned_by":"simulator"}`
}

func openaiFailure(p problem) string {
	kind, code, usual := openaiError(p.status)
	if p.message == "" {
		p.message = usual
	}
	return fmt.Sprintf(`{"error":{"message":%s,"type":%s,"param":null,"code":%s}}`, quote(p.message), quote(kind), code)
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
