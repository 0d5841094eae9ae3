package simulator

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
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
			{method: "GET", path: "/v1/responses/*", stored: true},
			{method: "POST", path: "/v1/responses/*/cancel", stored: true},
			{method: "POST", path: "/v1/responses/input_tokens", read: readResponses, whole: responsesCount},
			{method: "POST", path: "/v1/embeddings", read: readOpenAI, whole: openaiEmbeddings},
			{method: "GET", path: "/v1/models", whole: openaiModels},
			{method: "GET", path: "/v1/models/*", whole: openaiModel},
		},
		failure:     openaiFailure,
		spent:       openaiSpent,
		denial:      openaiDenial,
		hints:       openaiHints,
		rates:       openaiRates,
		chargesMost: true,
	}
}

func openaiWhole(c *call) string {
	return fmt.Sprintf(`{"id":"chatcmpl-%s","object":"chat.completion","created":%d,"model":%s,`+
		`"choices":[{"index":0,"message":{"role":"assistant",%s,"refusal":null,"annotations":[]},`+
		`"logprobs":null,"finish_reason":%s}],"usage":%s,"service_tier":"default","system_fingerprint":"fp_simulator"}`,
		c.id, c.at.Unix(), quote(c.model), openaiMessage(c), openaiStop(c), openaiUsage(c))
}

// openaiMessage returns the members of a message. Reasoning is a member of compatible servers only.
func openaiMessage(c *call) string {
	message, calls := "", []string{}
	for _, b := range c.blocks() {
		switch {
		case b.kind == called:
			calls = append(calls, "{"+openaiCall(c, b, b.text())+"}")
		case b.kind == thought && c.reasoning() == shown:
			message = `,"reasoning_content":` + quote(b.text())
		}
	}
	if len(calls) > 0 {
		message += `,"tool_calls":[` + strings.Join(calls, ",") + `]`
	}
	if c.text() == "" && len(calls) > 0 {
		return `"content":null` + message
	}
	return `"content":` + quote(c.text()) + message
}

// openaiCall returns the members of a call.
func openaiCall(c *call, b block, arguments string) string {
	id := fmt.Sprintf("call_%s_%d", c.id, b.nth)
	if c.said.NoIDs {
		id = ""
	}
	return fmt.Sprintf(`"id":%s,"type":"function","function":{"name":%s,"arguments":%s}`, quote(id), quote(b.call.Name), quote(arguments))
}

// openaiStop returns the finish reason.
func openaiStop(c *call) string {
	switch {
	case c.said.Stop == Length:
		return `"length"`
	case c.said.Stop == Refusal:
		return `"content_filter"`
	case len(c.said.Calls) > 0:
		return `"tool_calls"`
	}
	return `"stop"`
}

func openaiStream(c *call) stream {
	s := stream{
		media:   eventStream,
		opening: []string{openaiChunk(c, openaiChoice(`{"role":"assistant","content":"","refusal":null}`, "null"), "null")},
		ending:  []string{openaiChunk(c, openaiChoice(`{}`, openaiStop(c)), "null")},
		failure: sse("", openaiFailure(&problem{status: 503})),
	}
	for _, p := range c.inOrder() {
		s.content = append(s.content, openaiPiece(c, p))
	}
	if c.usage {
		s.ending = append(s.ending, openaiChunk(c, "", openaiUsage(c)))
	}
	s.ending = append(s.ending, sse("", "[DONE]"))
	return s
}

// openaiPiece returns a piece in chunks. A call begins with a chunk for its name.
// Reasoning that is not shown has none.
func openaiPiece(c *call, p piece) string {
	delta := func(members string) string {
		return openaiChunk(c, openaiChoice("{"+members+"}", "null"), "null")
	}
	switch {
	case p.kind == spoken:
		return delta(`"content":` + quote(p.text))
	case p.kind == thought && c.reasoning() == shown:
		return delta(`"reasoning_content":` + quote(p.text))
	case p.kind == thought:
		return ""
	}
	some := delta(fmt.Sprintf(`"tool_calls":[{"index":%d,"function":{"arguments":%s}}]`, p.nth, quote(p.text)))
	if p.first {
		return delta(fmt.Sprintf(`"tool_calls":[{"index":%d,%s}]`, p.nth, openaiCall(c, p.block, ""))) + some
	}
	return some
}

// openaiChunk returns one event of a stream. If usage was requested, it is a member of
// every chunk, null except in the last.
func openaiChunk(c *call, choice, usage string) string {
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

func openaiUsage(c *call) string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,`+
		`"prompt_tokens_details":{"cached_tokens":%d,"audio_tokens":0},`+
		`"completion_tokens_details":{"reasoning_tokens":%d,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`,
		c.prompt, c.out(), c.prompt+c.out(), c.cached(), c.thinking())
}

// openaiText is the answer of the older completions API, which has no messages.
func openaiText(c *call) string {
	return openaiTextObject(c, c.text(), `"stop"`, `,"usage":`+openaiUsage(c))
}

func openaiTextStream(c *call) stream {
	s := stream{
		media:   eventStream,
		opening: []string{sse("", openaiTextObject(c, "", "null", ""))},
		ending:  []string{sse("", openaiTextObject(c, "", `"stop"`, "")), sse("", "[DONE]")},
		failure: sse("", openaiFailure(&problem{status: 503})),
	}
	for _, word := range inWords(c.text()) {
		s.content = append(s.content, sse("", openaiTextObject(c, word, "null", "")))
	}
	return s
}

func openaiTextObject(c *call, text, finish, usage string) string {
	return fmt.Sprintf(`{"id":"cmpl-%s","object":"text_completion","created":%d,"model":%s,`+
		`"choices":[{"text":%s,"index":0,"logprobs":null,"finish_reason":%s}]%s}`,
		c.id, c.at.Unix(), quote(c.model), quote(text), finish, usage)
}

func openaiEmbeddings(c *call) string {
	return fmt.Sprintf(`{"object":"list","data":[{"object":"embedding","index":0,"embedding":%s}],"model":%s,`+
		`"usage":{"prompt_tokens":%d,"total_tokens":%d}}`, vector, quote(c.model), c.prompt, c.prompt)
}

func openaiModels(*call) string {
	return `{"object":"list","data":[` + openaiModel(&call{model: "gpt-simulator"}) + `]}`
}

func openaiModel(c *call) string {
	return `{"id":` + quote(c.model) + `,"object":"model","created":1735689600,"owned_by":"simulator"}`
}

func openaiFailure(p *problem) string {
	kind, code, usual := openaiError(p.status)
	param := "null"
	if p.code != "" {
		code = quote(p.code)
	}
	if p.param != "" {
		param = quote(p.param)
	}
	return fmt.Sprintf(`{"error":{"message":%s,"type":%s,"param":%s,"code":%s}}`, quote(cmp.Or(p.message, usual)), quote(cmp.Or(p.kind, kind)), param, code)
}

// openaiError returns the type, the code as JSON, and the usual message of a status.
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

// openaiDenial returns the error of a denial.
func openaiDenial(d Denial, x *exchange) *problem {
	newer := x.endpoint.path == "/v1/responses"
	switch {
	case d == TooLong && newer:
		return &problem{
			status: http.StatusBadRequest, param: "input", code: "context_length_exceeded",
			message: "Your input exceeds the context window of this model. Please adjust your input and try again.",
		}
	case d == TooLong:
		return &problem{
			status: http.StatusBadRequest, param: "messages", code: "context_length_exceeded",
			message: "This model's maximum context length is 128000 tokens. However, your messages resulted in 130536 tokens. " +
				"Please reduce the length of the messages.",
		}
	case d == Spent:
		return &problem{
			status: http.StatusTooManyRequests, kind: "insufficient_quota", code: "insufficient_quota",
			message: "You exceeded your current quota, please check your plan and billing details. For more information on this error, " +
				"read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
		}
	case d == KeyEcho:
		return &problem{
			status: http.StatusUnauthorized, code: "invalid_api_key", message: "Incorrect API key provided: " + keyOf(x.r) +
				". You can find your API key at https://platform.openai.com/account/api-keys.",
		}
	case d == noImages:
		return bad("Invalid content type. image_url is only supported by certain models.").about("messages.[0].content.[0].type")
	case d == Blocked:
		return &problem{
			status: http.StatusBadRequest, code: "invalid_prompt", message: "Invalid prompt: your prompt was flagged as potentially violating " +
				"our usage policy. Please try again with a different prompt: https://platform.openai.com/docs/guides/reasoning#advice-on-prompting",
		}
	case newer:
		return &problem{
			status: http.StatusBadRequest, param: "model", code: "model_not_found",
			message: "The requested model '" + x.call.model + "' does not exist.",
		}
	}
	return &problem{
		status: http.StatusNotFound, code: "model_not_found",
		message: "The model `" + x.call.model + "` does not exist or you do not have access to it.",
	}
}

func openaiHints(h http.Header, w window) {
	h.Set("x-ratelimit-limit-requests", strconv.Itoa(w.limit))
	h.Set("x-ratelimit-remaining-requests", strconv.Itoa(w.left))
	in := w.in + time.Millisecond - time.Nanosecond
	h.Set("x-ratelimit-reset-requests", in.Truncate(time.Millisecond).String())
}
