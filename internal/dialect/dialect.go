// Package dialect knows what each provider's API looks like on the wire: which
// request asks for an answer and in which form, where in a stream its content
// begins, what an error and a proper end look like, and which bytes keep a
// waiting client's connection alive without being mistaken for an answer.
//
// It reads and makes bytes and does no I/O. Packages transport and gateway
// bring the connections and the clock. What an error means is package fault's
// to say.
package dialect

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// Dialect is one API's wire form. It is immutable; [Of] and the functions named
// after the APIs give it.
type Dialect struct {
	name             string
	isRequest        func(path string) bool               // tells a request for an answer by its path
	streamForm       Form                                 // what its streams are, where the request does not choose
	frameKind        func(name, data []byte) FrameKind    // of an event's name and data, or of any frame's JSON
	kindByName       func(name []byte) (FrameKind, bool)  // of an event whose name says enough; nil: its events have none
	isPlainContent   func(frame []byte) bool              // tells what is certainly content and no more, at a glance; nil: names tell
	ping             func(state string) string            // between events
	heartbeat        func(Client) string                  // between events; "": none
	errors           errorFormat                          // what an error looks like
	abortsOnError    bool                                 // a stream of events is cut after an error, not ended
	streamsByDefault bool                                 // it streams unless it is told not to
	formFromURL      func(u *url.URL, model *string) Form // reads the form and the model from the URL; nil: they are in the body
}

// all lists the dialects for Of: the first that a path is for takes it.
var all = []*Dialect{&anthropic, &openAIChat, &openAICompletions, &openAIResponses, &gemini, &lmStudio, &ollama}

// Of gives the dialect in which a request asks for an answer; nil: it asks for
// something else. Only the end of the path counts, because relays put their
// own prefix before it.
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

// Name gives the dialect's name: "anthropic", "openai-chat",
// "openai-completions", "openai-responses", "gemini", "ollama", "lmstudio".
func (d *Dialect) Name() string { return d.name }

// Client is what the kind of keepalive depends on.
type Client struct {
	Agent      string // the User-Agent header
	Originator string // the header of that name, by which Codex says what it is
	Model      string // the model that the request asks for
}

// Ping gives the bytes for every 10 to 15 seconds of a hold. Among events they
// are a whole frame; elsewhere a space, which may stand before any JSON. Where
// the dialect allows free text in it, it carries the state for people who look;
// state must be one line, "" gives a fixed word.
func (d *Dialect) Ping(f Form, state string) []byte {
	if f != Events {
		return []byte(" ")
	}
	return []byte(d.ping(state))
}

// Heartbeat gives the frame for every 60 seconds of a hold, for clients whose
// idle timer counts events only; nil: none that this client would bear.
func (d *Dialect) Heartbeat(f Form, c Client) []byte {
	if f != Events || d.heartbeat == nil {
		return nil
	}
	if beat := d.heartbeat(c); beat != "" {
		return []byte(beat)
	}
	return nil
}

// hasPathSuffix tells requests for an answer by what their path ends with.
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

// pingComment is a line that every reader of server-sent events skips, but for
// those of Gemini's clients.
func pingComment(state string) string {
	if state == "" {
		state = "hold"
	}
	return ": " + state + "\n\n"
}

// errorFormat is how a dialect writes an error.
type errorFormat struct {
	body  func(kind, words string) []byte
	event func(kind, words string) string // nil: the body as an event without a name
	types map[fault.Kind]string           // the provider's word for each kind
	other string                          // its word for the kinds that pass by themselves, and for what has none
}

func (e *errorFormat) kind(f *fault.Error) string {
	if kind := e.types[f.Kind]; kind != "" {
		return kind
	}
	return e.other
}

// ErrorBody gives the JSON body that reports a fault in place of an answer.
func (d *Dialect) ErrorBody(f *fault.Error, words string) []byte {
	return d.errors.body(d.errors.kind(f), words)
}

// ErrorEvent gives the bytes that report a fault inside a stream that has
// begun, in the provider's own form with our words; nil: a JSON body has no
// place for one. within tells that frames of the answer are out already, which
// makes a difference in an array.
func (d *Dialect) ErrorEvent(f Form, e *fault.Error, words string, within bool) []byte {
	body := d.ErrorBody(e, words)
	switch {
	case f == JSON:
		return nil
	case f == Lines:
		return append(body, '\n')
	case f == Array && within:
		return append(append([]byte(",\n"), body...), "]\n"...)
	case f == Array:
		return append(append([]byte("["), body...), "]\n"...)
	case d.errors.event != nil:
		return []byte(d.errors.event(d.errors.kind(e), words))
	}
	return []byte("data: " + string(body) + "\n\n")
}

// Aborts tells how a stream ends after its ErrorEvent: true, the connection is
// cut, because a clean end would be taken for a whole answer; false, it ends.
// A JSON body, which has no place for an error, is cut.
func (d *Dialect) Aborts(f Form) bool {
	return f == JSON || f == Array || f == Events && d.abortsOnError
}
