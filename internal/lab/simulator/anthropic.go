package simulator

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The source of what follows: docs.claude.com, "Messages", "Streaming messages", "Errors" and "Rate limits".

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
		spent:   anthropicSpent,
		denial:  anthropicDenial,
		hints:   anthropicHints,
		rates:   anthropicRates,
	}
}

// speaksAnthropic reports whether a request is meant for this API. Its clients
// have to send anthropic-version.
func speaksAnthropic(r *http.Request) bool {
	return r.Header.Get("anthropic-version") != "" ||
		r.URL.Path == "/v1/messages" || strings.HasPrefix(r.URL.Path, "/v1/messages/")
}

// anthropicMessage returns the message object with its content, stop reason and usage.
func anthropicMessage(c *call, content, stop string, out int) string {
	return fmt.Sprintf(`{"id":"msg_%s","type":"message","role":"assistant","model":%s,"content":[%s],`+
		`"stop_reason":%s,"stop_sequence":null,"usage":{%s,"service_tier":"standard"}}`,
		c.id, quote(c.model), content, stop, anthropicUsage(c, out))
}

// anthropicUsage returns the members of usage. Tokens that are read from or written
// to the cache are not part of input_tokens.
func anthropicUsage(c *call, out int) string {
	read, written := 0, 0
	switch {
	case c.caches && c.repeat:
		read = c.cached()
	case c.caches:
		written = c.prompt / 2
	}
	usage := fmt.Sprintf(`"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d`,
		c.prompt-read-written, written, read, out)
	if c.thinking() > 0 {
		usage += fmt.Sprintf(`,"output_tokens_details":{"thinking_tokens":%d}`, c.thinking())
	}
	return usage
}

// anthropicStop returns the stop reason.
func anthropicStop(c *call) string {
	switch {
	case c.said.Stop == Length:
		return `"max_tokens"`
	case c.said.Stop == Refusal:
		return `"refusal"`
	case len(c.said.Calls) > 0:
		return `"tool_use"`
	}
	return `"end_turn"`
}

func anthropicWhole(c *call) string {
	var content []string
	for _, b := range c.blocks() {
		content = append(content, anthropicBlock(c, b))
	}
	return anthropicMessage(c, strings.Join(content, ","), anthropicStop(c), c.out())
}

// anthropicBlock returns a whole block. Arguments that are not a JSON object become an empty one.
func anthropicBlock(c *call, b block) string {
	switch {
	case b.kind == spoken:
		return `{"type":"text","text":` + quote(b.text()) + `}`
	case b.kind == called:
		input, ok := b.object()
		if !ok {
			input = "{}"
		}
		return anthropicCall(c, b, input)
	case c.reasoning() == sealed:
		return `{"type":"redacted_thinking","data":` + quote(signature(c)) + `}`
	}
	return `{"type":"thinking","thinking":` + quote(b.text()) + `,"signature":` + quote(signature(c)) + `}`
}

// anthropicCall returns a call with its input.
func anthropicCall(c *call, b block, input string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":"toolu_%s_%d","name":%s,"input":%s}`, c.id, b.nth, quote(b.call.Name), input)
}

func anthropicStream(c *call) stream {
	start, content, stop := weave(c.inOrder(), func(p piece) string { return anthropicStart(c, p) }, anthropicDelta,
		func(p piece) string { return anthropicEnd(c, p) })
	begun := *c
	begun.said = Say{}
	return stream{
		media: eventStream,
		opening: []string{
			sse("message_start", `{"type":"message_start","message":`+anthropicMessage(&begun, "", "null", 1)+`}`),
			start,
			sse("ping", `{"type":"ping"}`),
		},
		content: content,
		ending: []string{
			stop,
			sse("message_delta", `{"type":"message_delta","delta":{"stop_reason":`+anthropicStop(c)+`,"stop_sequence":null},`+
				`"usage":{`+anthropicUsage(c, c.out())+`}}`),
			sse("message_stop", `{"type":"message_stop"}`),
		},
		failure: sse("error", anthropicFailure(&problem{status: 529, id: c.id})),
	}
}

// anthropicStart opens an empty block. A call's first delta is empty too.
func anthropicStart(c *call, p piece) string {
	empty, first := `{"type":"text","text":""}`, ""
	switch {
	case p.kind == called:
		empty = anthropicCall(c, p.block, "{}")
		if p.text != "" {
			first = anthropicDelta(piece{block: p.block})
		}
	case p.kind == thought && c.reasoning() == sealed:
		empty = anthropicBlock(c, p.block)
	case p.kind == thought:
		empty = `{"type":"thinking","thinking":"","signature":""}`
	}
	return sse("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, p.index, empty)) + first
}

// anthropicDelta returns a delta of a block, or "" for reasoning that is not shown.
func anthropicDelta(p piece) string {
	delta := `{"type":"text_delta","text":` + quote(p.text) + `}`
	switch {
	case p.kind == called:
		delta = `{"type":"input_json_delta","partial_json":` + quote(p.text) + `}`
	case p.kind == thought && p.text == "":
		return ""
	case p.kind == thought:
		delta = `{"type":"thinking_delta","thinking":` + quote(p.text) + `}`
	}
	return anthropicChange(p.index, delta)
}

// anthropicEnd closes a block, after its signature if it has one.
func anthropicEnd(c *call, p piece) string {
	stop := sse("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, p.index))
	if p.kind == thought && c.reasoning() != sealed {
		return anthropicChange(p.index, `{"type":"signature_delta","signature":`+quote(signature(c))+`}`) + stop
	}
	return stop
}

func anthropicChange(index int, delta string) string {
	return sse("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, delta))
}

func anthropicCount(c *call) string {
	return fmt.Sprintf(`{"input_tokens":%d}`, c.prompt)
}

func anthropicModels(*call) string {
	return `{"data":[` + anthropicModel(&call{model: "claude-simulator"}) + `],"has_more":false,"first_id":"claude-simulator","last_id":"claude-simulator"}`
}

func anthropicModel(c *call) string {
	return `{"type":"model","id":` + quote(c.model) + `,"display_name":"Claude Simulator","created_at":"2025-01-01T00:00:00Z"}`
}

func anthropicFailure(p *problem) string {
	kind, usual := anthropicError(p.status)
	return fmt.Sprintf(`{"type":"error","error":{"type":%s,"message":%s},"request_id":"req_%s"}`,
		quote(cmp.Or(p.kind, kind)), quote(cmp.Or(p.message, usual)), p.id)
}

// anthropicError returns the type and the usual message of a status.
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

// anthropicDenial returns the error of a denial.
func anthropicDenial(d Denial, x *exchange) *problem {
	switch d {
	case TooLong:
		return bad("prompt is too long: 208310 tokens > 200000 maximum")
	case Spent:
		return bad("Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.")
	case KeyEcho:
		return &problem{status: http.StatusUnauthorized, message: "invalid x-api-key: " + keyOf(x.r)}
	case Blocked:
		return bad("Output blocked by content filtering policy")
	case noImages:
		return bad("'%s' does not support image input.", x.call.model)
	}
	return &problem{status: http.StatusNotFound, message: "model: " + x.call.model}
}

func anthropicHints(h http.Header, w window) {
	h.Set("anthropic-ratelimit-requests-limit", strconv.Itoa(w.limit))
	h.Set("anthropic-ratelimit-requests-remaining", strconv.Itoa(w.left))
	h.Set("anthropic-ratelimit-requests-reset", roundUp(w.opens).UTC().Format(time.RFC3339))
}

// roundUp rounds t up to a second, so that a client that obeys it is not early.
func roundUp(t time.Time) time.Time {
	return t.Add(time.Second - time.Nanosecond).Truncate(time.Second)
}
