// Package dialect knows what each provider's API looks like on the wire: which request asks for an answer
// and in which form, where in a stream its content begins, what an error and a proper end look like, and
// which bytes keep a waiting client's connection alive without being mistaken for an answer.
//
// It reads and makes bytes and does no I/O. Packages transport and gateway bring the connections and the
// clock; package fault/classify decides what an error means.
//
// It has many files because each API has its own, and so has each question that is asked of all of them.
package dialect

import (
	"bytes"
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// Dialect is one API's wire form. It is immutable; [Of] and the functions named after the APIs return it.
type Dialect struct {
	name             string
	isRequest        func(path string) bool              // whether a request asks for an answer
	streamForm       Form                                // of its streams, where the request does not choose
	frameKind        func(name, data []byte) FrameKind   // from an event's name and data, or any frame's JSON
	kindByName       func(name []byte) (FrameKind, bool) // from an event's name; nil: events have no names
	output           func(data []byte) Output            // of the end of an answer without content
	refusal          func(data []byte) string            // why the model refuses; nil: it is not told from other ends
	isError          func(key, value []byte) bool        // whether a member makes a body an error, beside those of all APIs; nil: none does
	isPlainContent   func(frame []byte) bool             // a cheap check for plain content; nil: names are enough
	ping             func(state string) string           // between events
	comment          func(text string) string            // among events; nil: its clients break on one
	heartbeat        func(Client) string                 // between events; "": none
	errors           errorFormat                         // how it writes errors
	abortsOnError    bool                                // an event stream is cut after an error, not ended
	prelude          *preludeRules                       // nil: its answers are not completed
	streamsByDefault bool                                // it streams unless the request forbids it
	formFromURL      func(u *url.URL) Form               // nil: it is in the body
	modelInPath      func(path string) Span              // where a path names the model; nil: none does
	unseen           []string                            // members of a request that the model never sees, and that a re-send may change
}

// all lists the dialects in the order in which Of tries them.
var all = []*Dialect{&anthropic, &openAIChat, &openAICompletions, &openAIResponses, &gemini, &anthropicVertex, &cohere, &lmStudio, &ollama, &bedrockInvoke, &bedrockConverse}

// Of returns the dialect in which a request asks for an answer; nil: it asks for something else. Only the
// end of the path counts, because relays put their own prefix before it.
func Of(method, path string) *Dialect {
	if method != http.MethodPost {
		return nil
	}
	for _, d := range all {
		if d.isRequest(path) {
			return d
		}
	}
	return nil
}

// Name returns the dialect's name: "anthropic", "openai-chat", "openai-completions", "openai-responses",
// "gemini", "anthropic-vertex", "cohere", "ollama", "lmstudio", "bedrock-invoke" or "bedrock-converse".
func (d *Dialect) Name() string { return d.name }

// Client identifies the client; its keepalive and its last error depend on it.
type Client struct {
	Agent      string // the User-Agent header
	Originator string // the Originator header, with which Codex identifies itself
	Model      string // the model that the request asks for
}

// Ping returns the bytes to send every 10 to 15 seconds while a request waits. Among events they are a
// whole frame; elsewhere a space, which may precede any JSON. Where the dialect allows free text in it, a
// ping carries the state. It must be one line; "" means a fixed word.
func (d *Dialect) Ping(f Form, state string) []byte {
	if f != Events && f != AWSEvents {
		return []byte(" ")
	}
	return []byte(d.ping(state))
}

// EndsWithConnection reports whether a stream in which a request waits has no other end than that of its
// connection. Gemini CLI asks again after a stream that ends without its last part, and loses its turn where
// the chunks break off, as they do when the gateway is killed.
func (d *Dialect) EndsWithConnection(f Form, c Client) bool {
	return d == &gemini && f == Events && c.agent() == geminiCLI
}

// Comment returns a line of text among the events of a stream, for a reader of the raw stream; nil: the form
// or a client of the dialect has no place for one. The text must be one line.
func (d *Dialect) Comment(f Form, text string) []byte {
	if f != Events && f != AWSEvents || d.comment == nil {
		return nil
	}
	return []byte(d.comment(text))
}

// Heartbeat returns the frame to send every 60 seconds while a request waits, for clients whose idle timer
// counts events only; nil: this client needs or accepts none.
func (d *Dialect) Heartbeat(f Form, c Client) []byte {
	if f != Events && f != AWSEvents || d.heartbeat == nil {
		return nil
	}
	if beat := d.heartbeat(c); beat != "" {
		return []byte(beat)
	}
	return nil
}

// hasPathSuffix returns a function that reports whether a path ends with one of the given suffixes.
func hasPathSuffix(ends ...string) func(string) bool {
	return func(path string) bool {
		for _, end := range ends {
			if strings.HasSuffix(path, end) {
				return true
			}
		}
		return false
	}
}

// pingComment returns a line that every reader of server-sent events skips, except Gemini's clients.
func pingComment(state string) string {
	if state == "" {
		state = "hold"
	}
	return ": " + state + "\n\n"
}

// errorFormat is how a dialect writes an error.
type errorFormat struct {
	body   func(kind, message string) []byte
	header string                            // in which its type is too; "": none
	event  func(kind, message string) string // nil: the body as an event without a name
	types  map[fault.Kind]string             // the provider's name for each kind
	other  string                            // its name for the transient kinds and all others
	limit  string                            // its name for a limit of the client's, in place of an answer; "": that of fault.RateLimited
}

func (e *errorFormat) kind(f *fault.Error) string {
	if kind := e.types[f.Kind]; kind != "" {
		return kind
	}
	return e.other
}

// ErrorBody returns the JSON body that reports a fault in place of an answer.
func (d *Dialect) ErrorBody(f *fault.Error, message string) []byte {
	return d.errors.body(d.errors.kind(f), message)
}

// LimitBody returns the JSON body of a 429 that asks the client to send its request later.
func (d *Dialect) LimitBody(message string) []byte {
	return d.errors.body(cmp.Or(d.errors.limit, d.errors.kind(&fault.Error{Kind: fault.RateLimited})), message)
}

// SetErrorHeader sets the header in which the API repeats the type of an error with this body, if it has one.
func (d *Dialect) SetErrorHeader(h http.Header, body []byte) {
	if kind := bytes.Trim(member(body, "__type"), `"`); d.errors.header != "" && len(kind) > 0 {
		h.Set(d.errors.header, string(kind))
	}
}

// ErrorEvent returns the bytes that report a fault inside a stream that has begun, in the provider's own
// form with the given message; nil: a JSON body has no place for one. within means that frames of the
// answer have been sent, which matters in an array.
func (d *Dialect) ErrorEvent(f Form, e *fault.Error, message string, within bool) []byte {
	body := d.ErrorBody(e, message)
	switch {
	case f == JSON:
		return nil
	case f == AWSEvents:
		return bedrockException(d.errors.kind(e), message)
	case f == Lines:
		return append(body, '\n')
	case f == Array && within:
		return append(append([]byte(",\n"), body...), "]\n"...)
	case f == Array:
		return append(append([]byte("["), body...), "]\n"...)
	case d.errors.event != nil:
		return []byte(d.errors.event(d.errors.kind(e), message))
	}
	return []byte("data: " + string(body) + "\n\n")
}

// Aborts reports how a stream ends after its ErrorEvent: true, the connection is cut, because a clean end
// would be taken for a whole answer; false, it ends. A JSON body, which has no place for an error, is cut.
func (d *Dialect) Aborts(f Form) bool {
	return f == JSON || f == Array || f == Events && d.abortsOnError
}
