// Package preamble is what a gateway tells another layer of this project ahead of an answer: why the request
// waits, until when, and what happens next. It is the first part of the response. The answer follows it in the
// same response, with its own status and headers, so that a wait costs neither of them.
//
// A client that can read it says so in a header. It needs no second connection, no token and no polling, and a
// proxy on the way sees a response that streams. The package is for both sides: gateways write by [Writer],
// and transports read by [Caller].
package preamble

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ridethrough/ridethrough/turn"
)

// Headers between a client and a gateway.
const (
	Accept  = "X-Ridethrough-Accept"   // of a request whose client can read a preamble: [Type]
	MaxWait = "X-Ridethrough-Max-Wait" // of a request: the longest total wait, such as "10m"
	Call    = "X-Ridethrough-Call"     // of a response: the request's number; of a preamble: with a secret that permits commands
	Command = "X-Ridethrough-Command"  // of a request that only has a command for the one in Call: [RetryNow]
)

// Type is the Content-Type of a response that begins with a preamble: lines of JSON, each an event of the request
// with its type, or empty to keep the connection alive. The last one has the type "answer", and the status and the
// headers of the answer, whose body follows.
const Type = "application/vnd.ridethrough.preamble"

// RetryNow is the command that ends a wait.
const RetryNow = "now"

// answerType is the type of the last line.
const answerType = "answer"

// head is the last line, and of the others the type.
type head struct {
	Type   string      `json:"type"`
	Status int         `json:"status,omitzero"`
	Header http.Header `json:"header,omitzero"`
}

// line returns an event as a line.
func line(e turn.Event) []byte {
	members, err := turn.Marshal(e)
	if err != nil || len(members) < len("{}") {
		return nil // no event is one
	}
	text, _ := json.Marshal(head{Type: turn.Type(e)}) // strings always have a form in JSON
	if text = text[:len(text)-1]; string(members) != "{}" {
		text = append(text, ',')
	}
	return append(append(text, members[1:]...), '\n')
}

// Peer is what has answered at an address: a gateway of this project, or another server, which gets no header that is
// for gateways. The zero Peer has not answered. Its methods may be called concurrently.
type Peer struct{ shown atomic.Int32 }

// What a Peer has shown to be; 0: nothing yet.
const (
	isGateway = iota + 1
	isOther
)

// MayBeGateway reports whether a request for an address gets the headers for gateways: its answers have shown that it is
// one, or it has not answered yet and is no provider's own.
func (p *Peer) MayBeGateway(to *url.URL) bool {
	switch p.shown.Load() {
	case isGateway:
		return true
	case isOther:
		return false
	}
	return !strings.HasPrefix(to.Host, "bedrock-runtime") &&
		!slices.ContainsFunc(providers, func(end string) bool { return strings.HasSuffix(to.Host, end) })
}

// Note notes what a response shows. An error without the header of a gateway may be that of a proxy on the way.
func (p *Peer) Note(resp *http.Response) {
	shows := int32(isOther)
	if resp.Header[Call] != nil {
		shows = isGateway
	} else if resp.StatusCode != http.StatusOK {
		return
	}
	if p.shown.Load() != shows { // which is faster than to store it each time
		p.shown.Store(shows)
	}
}

// providers are the ends of the hosts at which providers and local servers serve their APIs.
var providers = []string{
	"api.anthropic.com", "api.openai.com", "chatgpt.com", ".googleapis.com", ".openai.azure.com", ".services.ai.azure.com",
	"api.cohere.com", "openrouter.ai", "api.mistral.ai", "api.groq.com", "api.deepseek.com", "api.x.ai", "api.together.ai", "api.together.xyz",
	"api.fireworks.ai", "api.cerebras.ai", "api.perplexity.ai", "router.huggingface.co", "api.moonshot.ai", "api.z.ai", "dashscope.aliyuncs.com",
	"api.nvidia.com", "models.github.ai", ".githubcopilot.com", "ai-gateway.vercel.sh", "gateway.ai.cloudflare.com", "ollama.com",
	"127.0.0.1:11434", "localhost:11434", "127.0.0.1:1234", "localhost:1234",
}

// Accepted reports whether the client of a request can read a preamble.
func Accepted(h http.Header) bool { return slices.Contains(h[Accept], Type) }

// Writer writes an answer, behind a preamble once that has begun. [Writer.Tell] may be called concurrently, the
// other methods only one after the other.
type Writer struct {
	http.ResponseWriter
	answer http.Header // of the answer behind a preamble; nil: none has begun

	mu      sync.Mutex
	pending []byte // lines that have not been written
}

// Unwrap returns the writer below, for http.ResponseController.
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Begin writes the headers of a response with a preamble. call identifies the request for commands.
func (w *Writer) Begin(call string) {
	h := w.ResponseWriter.Header()
	w.answer = h.Clone()
	h.Set("Content-Type", Type)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	h.Set(Call, call)
	w.ResponseWriter.WriteHeader(http.StatusOK)
}

// Tell adds an event to the preamble.
func (w *Writer) Tell(e turn.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = append(w.pending, line(e)...)
}

// Take returns the lines that are to be written next: an empty one if there are no others.
func (w *Writer) Take() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := w.pending
	if w.pending = nil; lines == nil {
		return []byte("\n")
	}
	return lines
}

// Pending reports whether there are lines that have not been written.
func (w *Writer) Pending() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pending != nil
}

// Header returns the headers of the answer.
func (w *Writer) Header() http.Header {
	if w.answer != nil {
		return w.answer
	}
	return w.ResponseWriter.Header()
}

// WriteHeader begins the answer. It ends the preamble, if that has begun.
func (w *Writer) WriteHeader(status int) {
	if w.answer == nil {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	last, _ := json.Marshal(head{answerType, status, w.answer})            // strings always have a form in JSON
	_, _ = w.ResponseWriter.Write(append(append(w.Take(), last...), '\n')) // the client may have disconnected
}
