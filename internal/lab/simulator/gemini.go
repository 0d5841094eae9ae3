package simulator

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The source of what follows: ai.google.dev, "Generating content", "Counting
// tokens", "Models" and "Troubleshooting", and google/rpc/error_details.proto.

// gemini is Google's API, in both of its versions.
func gemini() dialect {
	d := dialect{overload: 503, failure: geminiFailure, denial: geminiDenial, spent: geminiSpent}
	for _, version := range []string{"/v1beta", "/v1"} {
		model := version + "/models/*"
		d.endpoints = append(d.endpoints,
			endpoint{method: "POST", path: model + ":generateContent", generates: true, read: readGemini, whole: geminiWhole},
			endpoint{method: "POST", path: model + ":streamGenerateContent", query: "alt=sse", generates: true, read: streamGemini, whole: geminiWhole, stream: geminiEvents},
			endpoint{method: "POST", path: model + ":streamGenerateContent", generates: true, read: streamGemini, whole: geminiWhole, stream: geminiArray},
			endpoint{method: "POST", path: model + ":countTokens", read: readGemini, whole: geminiCount},
			endpoint{method: "POST", path: model + ":embedContent", read: readGemini, whole: geminiEmbedding},
			endpoint{method: "POST", path: model + ":batchEmbedContents", read: readGemini, whole: geminiEmbeddings},
			endpoint{method: "GET", path: version + "/models", whole: geminiModels},
			endpoint{method: "GET", path: model, whole: geminiModel},
		)
	}
	return d
}

// speaksGemini reports whether a request is meant for this API, which has its verb
// after a colon in the path and its own header for the key.
func speaksGemini(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/v1beta/") || r.Header.Get("x-goog-api-key") != "" ||
		strings.HasPrefix(r.URL.Path, "/v1/models/") && strings.Contains(r.URL.Path, ":")
}

// geminiAnswer returns an answer, or a part of one. finish is why it ends, with its comma; "": it goes on.
func geminiAnswer(c *call, parts, finish string, thoughts, out int) string {
	more := ""
	if thoughts > 0 {
		more += fmt.Sprintf(`"thoughtsTokenCount":%d,`, thoughts)
	}
	if c.cached() > 0 {
		more += fmt.Sprintf(`"cachedContentTokenCount":%d,`, c.cached())
	}
	return fmt.Sprintf(`{"candidates":[{"content":{"parts":[%s],"role":"model"}%s,"index":0}],`+
		`"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":%d,"totalTokenCount":%d,%s`+
		`"promptTokensDetails":[{"modality":"TEXT","tokenCount":%d}]},"modelVersion":%s,"responseId":"resp_%s"}`,
		parts, finish, c.prompt, out, c.prompt+out+thoughts, more, c.prompt, quote(c.model), c.id)
}

// geminiStop returns the finish reason. A malformed call ends an answer without the call.
func geminiStop(c *call) string {
	reason := "STOP"
	for _, b := range c.blocks() {
		if _, ok := b.object(); b.kind == called && !ok {
			reason = "MALFORMED_FUNCTION_CALL"
		}
	}
	switch c.said.Stop {
	case Length:
		reason = "MAX_TOKENS"
	case Refusal:
		reason = "SAFETY"
	}
	return `,"finishReason":"` + reason + `"`
}

func geminiWhole(c *call) string {
	if c.blocked {
		return geminiBlocked(c)
	}
	var parts []string
	for _, b := range c.blocks() {
		if part := geminiPart(c, piece{block: b, text: b.text()}); part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) > 0 && len(c.said.Calls) == 0 && c.thinking() > 0 {
		last := len(parts) - 1
		parts[last] = strings.TrimSuffix(parts[last], "}") + geminiSignature(c) + "}"
	}
	return geminiAnswer(c, strings.Join(parts, ","), geminiStop(c), c.thinking(), c.out()-c.thinking())
}

// geminiSignature returns the member with a part's signature.
func geminiSignature(c *call) string { return `,"thoughtSignature":` + quote(signature(c)) }

// geminiPart returns a piece as a part; "": it is not shown. What belongs to
// reasoning goes back with the first call.
func geminiPart(c *call, p piece) string {
	switch {
	case p.kind == spoken:
		return `{"text":` + quote(p.text) + `}`
	case p.kind == thought && c.reasoning() == shown:
		return `{"text":` + quote(p.text) + `,"thought":true}`
	case p.kind == thought:
		return ""
	}
	arguments, ok := p.object()
	if !ok {
		return ""
	}
	id, sign := "", ""
	if isGemini3(c.model) && !c.said.NoIDs {
		id = fmt.Sprintf(`"id":"call_%s_%d",`, c.id, p.nth)
	}
	if p.nth == 0 && c.thinking() > 0 {
		sign = geminiSignature(c)
	}
	return fmt.Sprintf(`{"functionCall":{%s"name":%s,"args":%s}%s}`, id, quote(p.call.Name), arguments, sign)
}

// isGemini3 reports whether a model has call ids and requires signatures.
func isGemini3(model string) bool { return strings.HasPrefix(model, "gemini-3") }

// geminiChunks returns a stream as JSON objects.
func geminiChunks(c *call) (opening string, content []string, ending string) {
	thoughts, out := 0, 0
	for _, p := range c.inWhole() {
		if p.kind == thought {
			thoughts++
		} else {
			out++
		}
		if part := geminiPart(c, p); part != "" {
			content = append(content, geminiAnswer(c, part, "", thoughts, out))
		}
	}
	last := `{"text":""}`
	if len(c.said.Calls) == 0 && c.thinking() > 0 {
		last = `{"text":""` + geminiSignature(c) + `}`
	}
	return geminiAnswer(c, `{"text":""}`, "", 0, 0), content, geminiAnswer(c, last, geminiStop(c), c.thinking(), c.out()-c.thinking())
}

// geminiEvents is the stream with alt=sse. It has no terminator: the last event has a finishReason.
func geminiEvents(c *call) stream {
	event := func(data string) string { return "data: " + data + "\r\n\r\n" }
	s := stream{media: "text/event-stream", failure: event(geminiFailure(&problem{status: 503}))}
	if c.blocked {
		s.opening = []string{event(geminiBlocked(c))}
		return s
	}
	opening, content, ending := geminiChunks(c)
	s.opening, s.ending = []string{event(opening)}, []string{event(ending)}
	for _, chunk := range content {
		s.content = append(s.content, event(chunk))
	}
	return s
}

// geminiArray is the stream without alt=sse: an array whose elements come one
// by one, the comma with the element behind it.
func geminiArray(c *call) stream {
	failure := geminiFailure(&problem{status: 503})
	s := stream{
		media:   "application/json; charset=UTF-8",
		failure: "[" + failure + "]",
		broken:  func([]string) string { return ",\r\n" + failure + "]" },
	}
	if c.blocked {
		s.opening = []string{"[" + geminiBlocked(c) + "]"}
		return s
	}
	opening, content, ending := geminiChunks(c)
	s.opening, s.ending = []string{"[" + opening}, []string{",\r\n" + ending, "]"}
	for _, chunk := range content {
		s.content = append(s.content, ",\r\n"+chunk)
	}
	return s
}

// geminiBlocked returns the answer to a blocked prompt.
func geminiBlocked(c *call) string {
	return fmt.Sprintf(`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":%d,"totalTokenCount":%d},`+
		`"modelVersion":%s,"responseId":"resp_%s"}`, c.prompt, c.prompt, quote(c.model), c.id)
}

func geminiCount(c *call) string {
	return fmt.Sprintf(`{"totalTokens":%d,"promptTokensDetails":[{"modality":"TEXT","tokenCount":%d}]}`, c.prompt, c.prompt)
}

func geminiEmbedding(*call) string  { return `{"embedding":{"values":` + vector + `}}` }
func geminiEmbeddings(*call) string { return `{"embeddings":[{"values":` + vector + `}]}` }

func geminiModels(*call) string {
	return `{"models":[` + geminiModel(&call{model: "gemini-simulator"}) + `]}`
}

func geminiModel(c *call) string {
	return `{"name":` + quote("models/"+c.model) + `,"version":"001","displayName":"Gemini Simulator","inputTokenLimit":1048576,` +
		`"outputTokenLimit":65536,"supportedGenerationMethods":["generateContent","countTokens"]}`
}

func geminiFailure(p *problem) string {
	name, usual := geminiError(p.status)
	details := p.details
	if p.status == http.StatusTooManyRequests && p.wait > 0 {
		usual = "You exceeded your current quota, please check your plan and billing details. " +
			"Please retry in " + seconds(p.wait) + "."
		details = geminiWait("GenerateRequestsPerMinutePerProjectPerModel", p.wait)
	}
	return fmt.Sprintf(`{"error":{"code":%d,"message":%s,"status":%s%s}}`, p.status, quote(cmp.Or(p.message, usual)), quote(name), details)
}

// geminiWait returns the details of an error with a retry delay.
func geminiWait(quota string, d time.Duration) string {
	return `,"details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{` +
		`"quotaMetric":"generativelanguage.googleapis.com/generate_requests",` +
		`"quotaId":"` + quota + `","quotaValue":"10"}]},` +
		`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"` + seconds(d) + `"}]`
}

// seconds formats a time as google.protobuf.Duration.
func seconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) + "s" }

// geminiError returns the name that goes with a status, and words in which it comes.
func geminiError(status int) (name, message string) {
	switch status {
	case 401:
		return "UNAUTHENTICATED", "Request had invalid authentication credentials."
	case 403:
		return "PERMISSION_DENIED", "Your API key doesn't have the required permissions."
	case 404:
		return "NOT_FOUND", "The requested resource wasn't found."
	case 409:
		return "ABORTED", "The operation was aborted."
	case 429:
		return "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."
	case 499:
		return "CANCELLED", "The operation was cancelled."
	case 501:
		return "UNIMPLEMENTED", "Operation is not implemented, or supported, or enabled."
	case 503, 529:
		return "UNAVAILABLE", "The model is overloaded. Please try again later."
	case 504:
		return "DEADLINE_EXCEEDED", "The request timed out. Please try again."
	}
	if status >= 500 {
		return "INTERNAL", "An internal error has occurred. Please retry."
	}
	return "INVALID_ARGUMENT", "Request contains an invalid argument."
}

// geminiDenial returns the words for what a status alone does not say. A prompt
// that is blocked has an answer of its own.
func geminiDenial(d Denial, x *exchange) *problem {
	switch d {
	case TooLong:
		return bad("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).")
	case Spent:
		return &problem{
			status: http.StatusTooManyRequests, details: geminiWait("GenerateRequestsPerDayPerProjectPerModel", 12*time.Hour),
			message: "You exceeded your current quota, please check your plan and billing details.",
		}
	case KeyEcho:
		return &problem{status: http.StatusUnauthorized, message: "API key not valid: " + keyOf(x.r) + ". Please pass a valid API key."}
	case Blocked:
		return nil
	case noImages:
		return bad("Image input modality is not enabled for models/%s", x.call.model)
	}
	return &problem{
		status: http.StatusNotFound, message: "models/" + x.call.model + " is not found for API version v1beta, or is not supported for " +
			"generateContent. Call ListModels to see the list of available models and their supported methods.",
	}
}
