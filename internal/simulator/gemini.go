package simulator

import (
	"encoding/json"
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
	d := dialect{overload: 503, failure: geminiFailure, hints: func(http.Header, window) {}}
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

// speaksGemini tells whether a request is meant for this API: its paths have
// the verb after a colon, and its clients send their key in a way of their own.
func speaksGemini(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/v1beta/") || r.Header.Get("x-goog-api-key") != "" ||
		strings.HasPrefix(r.URL.Path, "/v1/models/") && strings.Contains(r.URL.Path, ":")
}

func readGemini(r ask) (call, string) {
	var body map[string]json.RawMessage
	if err := json.Unmarshal(r.body, &body); err != nil {
		return call{}, "Invalid JSON payload received. " + err.Error()
	}
	return call{model: r.model}, ""
}

func streamGemini(r ask) (call, string) {
	c, problem := readGemini(r)
	c.stream = problem == ""
	return c, problem
}

// geminiAnswer gives an answer, or a part of one. finish is why it ends, with
// its comma; "": it goes on.
func geminiAnswer(c call, text, finish string, out int) string {
	return fmt.Sprintf(`{"candidates":[{"content":{"parts":[{"text":%s}],"role":"model"}%s,"index":0}],`+
		`"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":%d,"totalTokenCount":%d,`+
		`"promptTokensDetails":[{"modality":"TEXT","tokenCount":%d}]},"modelVersion":%s,"responseId":"resp_%s"}`,
		quote(text), finish, c.prompt, out, c.prompt+out, c.prompt, quote(c.model), c.id)
}

const geminiStop = `,"finishReason":"STOP"`

func geminiWhole(c call) string { return geminiAnswer(c, c.text(), geminiStop, len(c.words)) }

// geminiChunks gives a stream as JSON objects.
func geminiChunks(c call) (opening string, content []string, ending string) {
	for i, word := range c.words {
		content = append(content, geminiAnswer(c, word, "", i+1))
	}
	return geminiAnswer(c, "", "", 0), content, geminiAnswer(c, "", geminiStop, len(c.words))
}

// geminiEvents is the stream with alt=sse. It has no event that says no more
// than that it is over: the last one has a finishReason.
func geminiEvents(c call) stream {
	opening, content, ending := geminiChunks(c)
	event := func(data string) string { return "data: " + data + "\r\n\r\n" }
	s := stream{
		media:   "text/event-stream",
		opening: []string{event(opening)},
		ending:  []string{event(ending)},
		failure: event(geminiFailure(problem{status: 503})),
	}
	for _, chunk := range content {
		s.content = append(s.content, event(chunk))
	}
	return s
}

// geminiArray is the stream without alt=sse: an array whose elements come one
// by one, the comma with the element behind it.
func geminiArray(c call) stream {
	opening, content, ending := geminiChunks(c)
	failure := geminiFailure(problem{status: 503})
	s := stream{
		media:   "application/json; charset=UTF-8",
		opening: []string{"[" + opening},
		ending:  []string{",\r\n" + ending, "]"},
		failure: "[" + failure + "]",
		broken:  ",\r\n" + failure + "]",
	}
	for _, chunk := range content {
		s.content = append(s.content, ",\r\n"+chunk)
	}
	return s
}

func geminiCount(c call) string {
	return fmt.Sprintf(`{"totalTokens":%d,"promptTokensDetails":[{"modality":"TEXT","tokenCount":%d}]}`, c.prompt, c.prompt)
}

func geminiEmbedding(call) string  { return `{"embedding":{"values":` + vector + `}}` }
func geminiEmbeddings(call) string { return `{"embeddings":[{"values":` + vector + `}]}` }

func geminiModels(c call) string {
	c.model = "gemini-simulator"
	return `{"models":[` + geminiModel(c) + `]}`
}

func geminiModel(c call) string {
	return `{"name":` + quote("models/"+c.model) + `,"version":"001","displayName":"Gemini Simulator","inputTokenLimit":1048576,` +
		`"outputTokenLimit":65536,"supportedGenerationMethods":["generateContent","countTokens"]}`
}

func geminiFailure(p problem) string {
	name, usual := geminiError(p.status)
	details := ""
	if p.status == http.StatusTooManyRequests && p.wait > 0 {
		usual = "You exceeded your current quota, please check your plan and billing details. " +
			"Please retry in " + seconds(p.wait) + "."
		details = geminiWait(p.wait)
	}
	if p.message == "" {
		p.message = usual
	}
	return fmt.Sprintf(`{"error":{"code":%d,"message":%s,"status":%s%s}}`, p.status, quote(p.message), quote(name), details)
}

// geminiWait gives the details of an error that says how long to wait.
func geminiWait(d time.Duration) string {
	return `,"details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{` +
		`"quotaMetric":"generativelanguage.googleapis.com/generate_requests",` +
		`"quotaId":"GenerateRequestsPerMinutePerProjectPerModel","quotaValue":"10"}]},` +
		`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"` + seconds(d) + `"}]`
}

// seconds gives a time in the form of google.protobuf.Duration.
func seconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) + "s" }

// geminiError gives the name that goes with a status, and words in which it
// comes.
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
