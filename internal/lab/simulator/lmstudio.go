package simulator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// The source of what follows: lmstudio.ai, "LM Studio REST API", "Chat with a model", "Streaming events" and
// "REST API v0", and for the words of errors the reports in lmstudio-ai/lmstudio-bug-tracker.

// lmStudio is LM Studio's own API, version 1.
func lmStudio() dialect {
	return dialect{
		overload: 503,
		endpoints: []endpoint{
			{method: "POST", path: "/api/v1/chat", generates: true, read: readLMStudio, whole: lmStudioWhole, stream: lmStudioStream},
			{method: "GET", path: "/api/v1/models", whole: lmStudioModels},
		},
		failure: lmStudioFailure,
		denial:  lmStudioDenial,
	}
}

// speaksLMStudio reports whether a request is meant for this API.
func speaksLMStudio(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api/v1/") }

func readLMStudio(r ask, c *call) *problem {
	var body struct {
		Model  string
		Stream bool
	}
	if err := json.Unmarshal(r.body, &body); err != nil {
		return bad("%v", err)
	}
	if body.Model == "" {
		return bad(`"model" is required`)
	}
	*c = call{model: body.Model, stream: body.Stream}
	return nil
}

func lmStudioWhole(c *call) string { return lmStudioResult(c, c.blocks(), c.out()) }

// lmStudioResult returns the result of an answer. The server calls tools itself, so
// there are no calls for the client.
func lmStudioResult(c *call, blocks []block, out int) string {
	var output []string
	for _, b := range blocks {
		if kind := lmStudioKind(c, b); kind != "" {
			output = append(output, fmt.Sprintf(`{"type":%s,"content":%s}`, quote(kind), quote(b.text())))
		}
	}
	return fmt.Sprintf(`{"model_instance_id":%s,"output":[%s],"stats":{"input_tokens":%d,"total_output_tokens":%d,`+
		`"reasoning_output_tokens":%d,"tokens_per_second":43.73,"time_to_first_token_seconds":0.781},"response_id":"resp_%s"}`,
		quote(c.model), strings.Join(output, ","), c.prompt, out, min(out, c.thinking()), c.id)
}

// lmStudioKind returns the type of a block, or "" if it is not shown.
func lmStudioKind(c *call, b block) string {
	switch {
	case b.kind == spoken:
		return "message"
	case b.kind == thought && c.reasoning() == shown:
		return "reasoning"
	}
	return ""
}

// lmStudioStream returns an answer in events. chat.end follows even an error.
func lmStudioStream(c *call) stream {
	end := func(blocks []block, out int) string {
		return sse("chat.end", `{"type":"chat.end","result":`+lmStudioResult(c, blocks, out)+`}`)
	}
	bare := func(kind string) string { return sse(kind, `{"type":`+quote(kind)+`}`) }
	event := func(what string, more func(kind string) string) func(piece) string {
		return func(p piece) string {
			if kind := lmStudioKind(c, p.block); kind != "" {
				return more(kind + what)
			}
			return ""
		}
	}
	start, content, stop := weave(c.inWhole(), event(".start", bare), func(p piece) string {
		return event(".delta", func(kind string) string {
			return sse(kind, `{"type":`+quote(kind)+`,"content":`+quote(p.text)+`}`)
		})(p)
	}, event(".end", bare))
	return stream{
		media: eventStream,
		opening: []string{
			sse("chat.start", `{"type":"chat.start","model_instance_id":`+quote(c.model)+`}`),
			bare("prompt_processing.start"),
			sse("prompt_processing.progress", `{"type":"prompt_processing.progress","progress":0.5}`),
			bare("prompt_processing.end"),
			start,
		},
		content: content,
		ending:  []string{stop, end(c.blocks(), c.out())},
		failure: sse("error", `{"type":"error",`+lmStudioFailure(&problem{status: 503})[1:]) + end(nil, 0),
	}
}

func lmStudioModels(*call) string {
	return `{"models":[{"type":"llm","publisher":"simulator","key":"simulator","display_name":"Simulator","architecture":"simulator",` +
		`"quantization":{"name":"Q4_0","bits_per_weight":4},"size_bytes":1000000000,"params_string":"1B",` +
		`"loaded_instances":[{"id":"simulator","config":{"context_length":4096}}],"max_context_length":32768,"format":"gguf",` +
		`"capabilities":{"vision":false,"trained_for_tool_use":false},"description":null}]}`
}

func lmStudioFailure(p *problem) string {
	kind, usual := lmStudioError(p.status)
	return fmt.Sprintf(`{"error":{"type":%s,"message":%s}}`, quote(kind), quote(cmp.Or(p.message, usual)))
}

// lmStudioError returns the type and the usual message of a status.
func lmStudioError(status int) (kind, message string) {
	switch {
	case status == 401:
		return "invalid_request", "Malformed LM Studio API token provided"
	case status == 404:
		return "model_not_found", "No models loaded. Please load a model in the developer page or use the 'lms load' command."
	case status == 429:
		return "rate_limited", "Too many requests are queued for this model."
	case status == 503 || status == 529:
		return "internal_error", "Model is unloaded."
	case status >= 500:
		return "internal_error", "The model has crashed without additional information. (Exit code: 6)"
	}
	return "invalid_request", "Invalid request"
}

// lmStudioOld is version 0: OpenAI's API with more about the model, and with named error events.
func lmStudioOld() dialect {
	d := openai()
	d.idHeader = ""
	d.endpoints = []endpoint{
		{method: "POST", path: "/api/v0/chat/completions", generates: true, read: readOpenAI, whole: lmStudioOldChat, stream: lmStudioOldStream},
		{method: "POST", path: "/api/v0/completions", generates: true, read: readOpenAI, whole: openaiText, stream: openaiTextStream},
		{method: "POST", path: "/api/v0/embeddings", read: readOpenAI, whole: openaiEmbeddings},
		{method: "GET", path: "/api/v0/models", whole: lmStudioOldModels},
		{method: "GET", path: "/api/v0/models/*", whole: lmStudioOldModel},
	}
	d.failure, d.denial, d.hints = lmStudioOldFailure, lmStudioDenial, func(http.Header, window) {}
	return d
}

// lmStudioLikeOpenAI is its API for OpenAI's clients, with its own errors.
func lmStudioLikeOpenAI() dialect {
	d := openai()
	d.idHeader = ""
	d.endpoints = []endpoint{
		{method: "POST", path: "/v1/chat/completions", generates: true, read: readOpenAI, whole: openaiWhole, stream: lmStudioOldStream},
		{method: "POST", path: "/v1/completions", generates: true, read: readOpenAI, whole: openaiText, stream: openaiTextStream},
		{method: "POST", path: "/v1/responses", generates: true, read: readResponses, whole: responsesWhole, stream: responsesStream},
		{method: "POST", path: "/v1/embeddings", read: readOpenAI, whole: openaiEmbeddings},
		{method: "GET", path: "/v1/models", whole: openaiModels},
	}
	d.failure, d.denial, d.hints = lmStudioOldFailure, lmStudioDenial, func(http.Header, window) {}
	return d
}

// speaksLMStudioLikeOpenAI reports whether a request is meant for that. Only LM
// Studio's default port distinguishes it from OpenAI's.
func speaksLMStudioLikeOpenAI(r *http.Request) bool { return strings.HasSuffix(r.Host, ":1234") }

// speaksLMStudioOld reports whether a request is meant for version 0.
func speaksLMStudioOld(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api/v0/") }

const lmStudioOldStats = `,"stats":{"tokens_per_second":51.4,"time_to_first_token":0.111,"generation_time":0.954,"stop_reason":"eosFound"},` +
	`"model_info":{"arch":"simulator","quant":"Q4_K_M","format":"gguf","context_length":4096},` +
	`"runtime":{"name":"simulator","version":"1.3.0","supported_formats":["gguf"]}}`

func lmStudioOldChat(c *call) string {
	return strings.TrimSuffix(openaiWhole(c), "}") + lmStudioOldStats
}

func lmStudioOldStream(c *call) stream {
	s := openaiStream(c)
	_, message := lmStudioError(503)
	s.failure = sse("error", `{"error":{"message":`+quote(message)+`},"message":`+quote(message)+`}`)
	return s
}

func lmStudioOldModels(*call) string {
	return `{"object":"list","data":[` + lmStudioOldModel(&call{model: "simulator"}) + `]}`
}

func lmStudioOldModel(c *call) string {
	return `{"id":` + quote(c.model) + `,"object":"model","type":"llm","publisher":"simulator","arch":"simulator",` +
		`"compatibility_type":"gguf","quantization":"Q4_K_M","state":"loaded","max_context_length":131072}`
}

// lmStudioOldFailure returns an error: mostly a string where OpenAI has an object.
func lmStudioOldFailure(p *problem) string {
	if p.status < http.StatusInternalServerError {
		return openaiFailure(p)
	}
	_, usual := lmStudioError(p.status)
	return `{"error":` + quote(cmp.Or(p.message, usual)) + `}`
}

// lmStudioDenial returns the error of a denial. A local server has no account and no
// policy; OpenAI's errors are used for these.
func lmStudioDenial(d Denial, x *exchange) *problem {
	switch d {
	case TooLong:
		return bad("The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 11278>= n_ctx: 4096). " +
			"Try to load the model with a larger context length, or provide a shorter input.")
	case noImages:
		return bad("Model does not support images. Please use a model that does.")
	case noModel:
		return &problem{
			status: http.StatusNotFound, param: "model", code: "model_not_found",
			message: "No models loaded. Please load a model in the developer page or use the 'lms load' command.",
		}
	}
	return openaiDenial(d, x)
}
