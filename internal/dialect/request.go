package dialect

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/ridethrough/ridethrough/internal/sse"
)

// modelBound is how much of a model's name is read, in bytes. The name goes into keepalives and logs.
const modelBound = 256

// Request is the part of a request that a dialect reads.
type Request struct {
	Model string // its first 256 bytes; "" if none is named
	Form  Form   // the form that the request asks for
}

// Read returns a request's model and form, from its URL and the top-level members of its body: the prompt
// is skipped, not parsed. A body that is not JSON contributes nothing.
func (d *Dialect) Read(u *url.URL, body []byte) Request {
	var s RequestScanner
	s.Scan(body)
	return d.Request(u, &s)
}

// Request returns a request's model and form, from its URL and what was found in its body.
func (d *Dialect) Request(u *url.URL, body *RequestScanner) Request {
	model, stream := body.model, body.streaming
	if d.streamsByDefault {
		stream = body.streaming || body.unset || body.found&streamMember == 0
	}
	var form Form
	switch {
	case d.formFromURL != nil:
		form = d.formFromURL(u)
	case stream:
		form = d.streamForm
	}
	if at := d.ModelInPath(u.Path); at.Len() > 0 {
		model = u.Path[at.Begin:at.End]
	}
	return Request{Model: strings.ToValidUTF8(model[:min(len(model), modelBound)], ""), Form: form}
}

// isReadOnlyPath reports whether a POST to the path asks for no answer and changes nothing.
var isReadOnlyPath = hasPathSuffix(
	"/count_tokens", "/count-tokens", "/input_tokens", "/embeddings", "/moderations", "/rerank", "/tokenize", "/detokenize",
	":countTokens", ":embedContent", ":batchEmbedContents", "/models/count-tokens:rawPredict",
	"/v2/embed", "/api/embed", "/api/show",
)

// Safe reports whether a request that asks for no answer may be repeated: its method promises it, or it is
// a POST that only reads.
func Safe(method, path string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	case http.MethodPost:
		return isReadOnlyPath(path)
	}
	return false
}

// AnswerForm returns the form of the actual answer to a request for u, by its content type and its first
// bytes, since relays get the type wrong. With too few bytes it may return JSON for another form.
func (d *Dialect) AnswerForm(u *url.URL, contentType string, begin []byte) Form {
	if d.streamForm == AWSEvents && (isType(contentType, contentTypeAWS) || len(begin) > 0 && begin[0] == 0) {
		return AWSEvents // no JSON begins with a zero, and each message does
	}
	if isType(contentType, "text/event-stream") || sse.Begins(begin) {
		return Events
	}
	s := scanner{text: begin}
	switch first := s.peek(); {
	case first == '[' && d == &gemini && geminiForm(u) != JSON:
		return Array
	case first == '{' && d.streamForm == Lines && (isType(contentType, "application/x-ndjson") || ollamaContinues(begin)):
		return Lines
	}
	return JSON
}

// isType compares a content type without its parameters.
func isType(contentType, want string) bool {
	return strings.HasPrefix(contentType, want) || len(contentType) >= len(want) && strings.EqualFold(contentType[:len(want)], want)
}
