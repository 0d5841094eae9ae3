package simulator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// The source of what follows: docs.cohere.com, "Chat API (v2)", "A guide to streaming responses" and "Errors".

// cohere is Cohere's API, version 2.
func cohere() dialect {
	return dialect{
		idHeader: "x-debug-trace-id",
		overload: 503,
		endpoints: []endpoint{
			{method: "POST", path: "/v2/chat", generates: true, read: readCohere, whole: cohereWhole, stream: cohereStream},
		},
		failure: cohereFailure,
		denial:  cohereDenial,
	}
}

// speaksCohere reports whether a request is meant for this API.
func speaksCohere(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v2/") }

// readCohere reads a request.
func readCohere(r ask, c *call) *problem {
	var body struct {
		Model    string
		Stream   bool
		Messages []struct{ Role string }
	}
	switch err := json.Unmarshal(r.body, &body); {
	case err != nil:
		return bad("invalid request: %v", err)
	case body.Model == "":
		return bad("invalid request: model is required")
	case len(body.Messages) == 0:
		return bad("invalid request: list of messages must not be empty")
	}
	*c = call{model: body.Model, stream: body.Stream, view: shown}
	c.repeat = slices.ContainsFunc(body.Messages, func(m struct{ Role string }) bool { return m.Role == "assistant" })
	return nil
}

// cohereStop returns the finish reason.
func cohereStop(c *call) string {
	switch {
	case c.said.Stop == Length:
		return "MAX_TOKENS"
	case len(c.said.Calls) > 0:
		return "TOOL_CALL"
	}
	return "COMPLETE"
}

// cohereEnd returns the members that end an answer.
func cohereEnd(c *call) string {
	return fmt.Sprintf(`"finish_reason":"%s","usage":{"billed_units":{"input_tokens":%d,"output_tokens":%d},"tokens":{"input_tokens":%d,"output_tokens":%d}}`,
		cohereStop(c), c.prompt, c.out(), c.prompt, c.out())
}

func cohereWhole(c *call) string {
	var content, calls []string
	for _, b := range c.blocks() {
		switch b.kind {
		case spoken:
			content = append(content, `{"type":"text","text":`+quote(b.text())+`}`)
		case called:
			calls = append(calls, cohereCall(c, b, b.text()))
		default:
			content = append(content, `{"type":"thinking","thinking":`+quote(b.text())+`}`)
		}
	}
	message := `"role":"assistant","content":[` + strings.Join(content, ",") + `]`
	if len(calls) > 0 {
		message += `,"tool_calls":[` + strings.Join(calls, ",") + `]`
	}
	return fmt.Sprintf(`{"id":"%s","message":{%s},%s}`, c.id, message, cohereEnd(c))
}

// cohereCall returns a call with its arguments.
func cohereCall(c *call, b block, arguments string) string {
	return fmt.Sprintf(`{"id":"call_%s_%d","type":"function","function":{"name":%s,"arguments":%s}}`, c.id, b.nth, quote(b.call.Name), quote(arguments))
}

func cohereStream(c *call) stream {
	start, content, stop := weave(c.inOrder(), func(p piece) string { return cohereStart(c, p) }, cohereDelta, cohereStopOf)
	return stream{
		media: eventStream,
		opening: []string{
			cohereEvent("message-start", `"id":"`+c.id+`","delta":{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}}`),
			start,
		},
		content: content,
		ending:  []string{stop, cohereEvent("message-end", `"delta":{`+cohereEnd(c)+`}`), sse("", "[DONE]")},
		failure: cohereEvent("message-end", `"delta":{"finish_reason":"ERROR","error":"internal server error, please try again later"}`),
	}
}

// cohereStart opens a block.
func cohereStart(c *call, p piece) string {
	switch p.kind {
	case spoken:
		return cohereEvent("content-start", fmt.Sprintf(`"index":%d,"delta":{"message":{"content":{"type":"text","text":""}}}`, p.index))
	case called:
		return cohereEvent("tool-call-start", fmt.Sprintf(`"index":%d,"delta":{"message":{"tool_calls":%s}}`, p.nth, cohereCall(c, p.block, "")))
	}
	return cohereEvent("content-start", fmt.Sprintf(`"index":%d,"delta":{"message":{"content":{"type":"thinking","thinking":""}}}`, p.index))
}

// cohereDelta returns a delta of a block.
func cohereDelta(p piece) string {
	text := quote(p.text)
	switch p.kind {
	case spoken:
		return cohereEvent("content-delta", fmt.Sprintf(`"index":%d,"delta":{"message":{"content":{"text":%s}}}`, p.index, text))
	case called:
		return cohereEvent("tool-call-delta", fmt.Sprintf(`"index":%d,"delta":{"message":{"tool_calls":{"function":{"arguments":%s}}}}`, p.nth, text))
	}
	return cohereEvent("content-delta", fmt.Sprintf(`"index":%d,"delta":{"message":{"content":{"thinking":%s}}}`, p.index, text))
}

// cohereStopOf closes a block.
func cohereStopOf(p piece) string {
	if p.kind == called {
		return cohereEvent("tool-call-end", fmt.Sprintf(`"index":%d`, p.nth))
	}
	return cohereEvent("content-end", fmt.Sprintf(`"index":%d`, p.index))
}

func cohereEvent(name, members string) string {
	return sse(name, `{"type":"`+name+`",`+members+`}`)
}

func cohereFailure(p *problem) string {
	return `{"id":"` + p.id + `","message":` + quote(cmp.Or(p.message, cohereError(p.status))) + `}`
}

// cohereError returns the usual message of a status.
func cohereError(status int) string {
	switch status {
	case 401:
		return "invalid api token"
	case 403:
		return "this API key is not permitted to use this endpoint"
	case 404:
		return "resource not found"
	case 413:
		return "the request body is too large"
	case 429:
		return "You are past the per minute request limit, please wait and try again later."
	case 503:
		return "service unavailable, please try again later"
	}
	if status >= 500 {
		return "internal server error, this has been reported to our developers"
	}
	return "invalid request"
}

// cohereDenial returns the error of a denial.
func cohereDenial(d Denial, x *exchange) *problem {
	switch d {
	case TooLong:
		return bad("too many tokens: total number of tokens in the prompt cannot exceed 128000 - received 130536")
	case Spent:
		return &problem{status: http.StatusTooManyRequests, message: "You are using a Trial key, which is limited to 1000 API calls / month. " +
			"You can continue to use the Trial key for free or upgrade to a Production key with higher rate limits at 'https://dashboard.cohere.com/api-keys'."}
	case KeyEcho:
		return &problem{status: http.StatusUnauthorized, message: "invalid api token: " + keyOf(x.r)}
	case noImages:
		return bad("model '%s' does not support image input", x.call.model)
	case Blocked:
		return bad("invalid request: the prompt was blocked by our safety policy")
	}
	return &problem{status: http.StatusNotFound, message: "model '" + x.call.model + "' not found, make sure the correct model ID was used and that you have access to the model."}
}
