package api

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/ridethrough/ridethrough/internal/sse"
)

// modelBound is how much of a model's name is read, in bytes. The name goes into keepalives and logs.
const modelBound = 256

// Request is the part of a request that an API reads.
type Request struct {
	Model string // its first 256 bytes; "" if none is named
	Form  Form   // the form that the request asks for
	Leans bool   // it leans on what the server keeps of an earlier request, which no other server has

	Bounds Bounds // what it states of them
}

// Read returns a request's model and form, from its URL and the top-level members of its body: the prompt
// is skipped, not parsed. A body that is not JSON contributes nothing.
func (a *API) Read(u *url.URL, body []byte) Request {
	s := a.Scanner()
	s.Scan(body)
	return a.Request(u, &s)
}

// Request returns a request's model and form, from its URL and what was found in its body.
func (a *API) Request(u *url.URL, body *RequestScanner) Request {
	model, stream := body.model, body.streaming
	if a.is.StreamsByDefault {
		stream = body.streaming || body.unset || body.found&streamMember == 0
	}
	var form Form
	switch {
	case a.is.FormFromURL != nil:
		form = a.is.FormFromURL(u)
	case stream:
		form = a.is.StreamForm
	}
	if at := a.ModelInPath(u.Path); at.Len() > 0 {
		model = u.Path[at.Begin:at.End]
	}
	return Request{Model: strings.ToValidUTF8(model[:min(len(model), modelBound)], ""), Form: form, Leans: body.leans, Bounds: body.bounds}
}

// isReadOnlyPath reports whether a POST to the path asks for no answer and changes nothing.
var isReadOnlyPath = HasPathSuffix(
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
func (a *API) AnswerForm(u *url.URL, contentType string, begin []byte) Form {
	if a.is.StreamForm == AWSEvents && (isType(contentType, contentTypeAWS) || len(begin) > 0 && begin[0] == 0) {
		return AWSEvents // no JSON begins with a zero, and each message does
	}
	if isType(contentType, "text/event-stream") || sse.Begins(begin) {
		return Events
	}
	s := scanner{text: begin}
	switch first := s.peek(); {
	case first == '[' && a.is.Arrays && a.is.FormFromURL(u) != JSON:
		return Array
	case first == '{' && a.is.StreamForm == Lines && (isType(contentType, "application/x-ndjson") || a.is.BeginsLines(begin)):
		return Lines
	}
	return JSON
}

// isType compares a content type without its parameters.
func isType(contentType, want string) bool {
	return strings.HasPrefix(contentType, want) || len(contentType) >= len(want) && strings.EqualFold(contentType[:len(want)], want)
}
