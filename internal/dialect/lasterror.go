package dialect

import (
	"net/http"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// agent is a client with a loop of its own around its requests. Each has its own reasons to send a failed
// request again, measured in docs/holding.md; X-Should-Retry is read by none of them but Claude Code.
type agent uint8

// The agents.
const (
	otherClient agent = iota
	claudeCode
	codexAgent
	geminiCLI
	qwenCode
	opencode  // goes by the words of an error, whatever its status
	vercelSDK // of cline and many others
)

// agent returns the agent that a client is.
func (c Client) agent() agent {
	if isCodex(c.Agent) || isCodex(c.Originator) {
		return codexAgent
	}
	for _, known := range [...]struct {
		prefix string
		agent  agent
	}{
		{"claude-cli/", claudeCode},
		{"GeminiCLI", geminiCLI},
		{"QwenCode/", qwenCode},
		{"opencode/", opencode},
		{"ai-sdk/", vercelSDK},
	} {
		if strings.HasPrefix(c.Agent, known.prefix) {
			return known.agent
		}
	}
	return otherClient
}

// FinalStatus returns the status under which a client takes an error for the last word: an agent that would
// send the request again at a 429, a 5xx and the like gets 402 for an empty account and else 400. It is the
// provider's status for everybody else.
func (c Client) FinalStatus(status int, k fault.Kind) int {
	a := c.agent()
	again := status == http.StatusTooManyRequests || status == http.StatusRequestTimeout ||
		status == http.StatusConflict || status >= http.StatusInternalServerError
	switch {
	case !again || a == otherClient:
		return status
	case k != fault.Quota:
		return http.StatusBadRequest
	case a == opencode || a == vercelSDK || a == qwenCode:
		return http.StatusPaymentRequired
	}
	return status // they know an empty account
}

// ReadsWords reports whether a client goes by the words of an error, so that the provider's own body may
// have it send the request again.
func (c Client) ReadsWords() bool { return c.agent() == opencode }

// FinalBody returns the JSON body of an error that is the last word, under [Client.FinalStatus].
func (d *Dialect) FinalBody(c Client, f *fault.Error, message string) []byte {
	last := d.finalFault(c, f)
	if last != f && (d == &anthropic || d == &anthropicVertex) && c.agent() == claudeCode {
		// At any other 400 it leaves out one feature after the other and sends six requests (2.1.330).
		return anthropicError("billing_error", message)
	}
	return d.ErrorBody(last, c.finalText(message))
}

// finalFault returns the fault with the kind under which it is the client's last one.
func (d *Dialect) finalFault(c Client, f *fault.Error) *fault.Error {
	passes := fault.Transient.Has(f.Kind) || f.Kind == fault.Unknown
	if c.agent() != otherClient && (passes || c.finalText(d.errors.kind(f)) != d.errors.kind(f)) {
		return &fault.Error{Kind: fault.Invalid}
	}
	return f
}

// asksAgain are the words on which opencode sends a request again (its session/retry.ts, 1.18.33).
var asksAgain = []string{
	"429", "500", "502", "503", "504", "524",
	"rate increased too quickly", "rate limit", "rate-limit", "rate_limit", "too many requests", "too_many_requests",
	"overloaded", "unavailable", "exhausted", "internal error", "internal_error", "internal server error",
	"server error", "server_error", "server-error", "provider returned error", "provider_returned_error",
	"terminated", "fetch failed", "failed to fetch", "network error", "network-error", "network_error", "upstream connect",
	"connection error", "connection refused", "connection lost", "socket connection was closed", "socket hang up",
	"reset before headers", "getaddrinfo", "enotfound", "eai_again", "econnrefused", "econnreset", "etimedout",
	"timeout", "timed out", "time out", "try your request again", "retry your request",
	"try again later", "try again in", "at capacity",
}

// beginsAskAgain reports whether a text, in lower case, begins with one of those words.
func beginsAskAgain(lower string) bool {
	for _, word := range asksAgain {
		if strings.HasPrefix(lower, word) {
			return true
		}
	}
	return false
}

// finalText returns a message with which the client does not send the request again. The words stay: an
// invisible word joiner behind the first letter keeps them from being found.
func (c Client) finalText(message string) string {
	lower := strings.ToLower(message)
	if !c.ReadsWords() || len(lower) != len(message) {
		return message
	}
	var b strings.Builder
	for i := range len(message) {
		b.WriteByte(message[i])
		if beginsAskAgain(lower[i:]) {
			b.WriteString("\u2060")
		}
	}
	return b.String()
}

// FinalEvent returns the bytes that report a fault in a stream that has begun, in the form in which the
// client takes it for the last word, and whether the connection is cut after them instead of ended. They are
// nil where a form has no place for an error. within is that of [Dialect.ErrorEvent].
func (d *Dialect) FinalEvent(c Client, f Form, e *fault.Error, message string, within bool) (event []byte, cut bool) {
	a := c.agent()
	switch {
	case f != Events:
	case d == &openAIResponses && (a == codexAgent || a == opencode) && d.finalFault(c, e).Kind == fault.Invalid:
		return []byte(responsesErrorEvents("invalid_prompt", c.finalText(message))), false
	case d == &gemini && a == geminiCLI:
		return geminiError("FAILED_PRECONDITION", message), true
	case a == opencode:
		return d.ErrorEvent(f, d.finalFault(c, e), c.finalText(message), within), false
	}
	return d.ErrorEvent(f, e, message, within), d.Aborts(f)
}

// BrokenEvent is FinalEvent for an answer that breaks off: the client may send the request again.
func (d *Dialect) BrokenEvent(c Client, f Form, e *fault.Error, message string, within bool) (event []byte, cut bool) {
	if d == &gemini && f == Events && c.agent() == geminiCLI {
		return d.ErrorBody(e, message), true // it reads an error only as JSON of its own
	}
	return d.ErrorEvent(f, e, message, within), d.Aborts(f)
}

// ClosingEvent is FinalEvent for a stream that ends with the gateway: the client is to send the request again.
func (d *Dialect) ClosingEvent(c Client, f Form, e *fault.Error, message string, within bool) (event []byte, cut bool) {
	if f == Events && c.agent() == qwenCode {
		return nil, true // it takes any error event for the last word
	}
	return d.BrokenEvent(c, f, e, message, within)
}
