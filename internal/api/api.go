// Package api describes every provider's API in the same terms: which request asks for an answer and in which form,
// where in a stream content begins, how an error and a proper end look, how a waiting client's connection is
// kept alive without being mistaken for an answer, and how an answer that broke off is completed.
//
// What only one API knows is in its folder below, as a [Definition]; package registry lists them. All of them read and
// make bytes: no I/O, no clock. Packages transport and gateway bring the connections and the clock; package
// fault/classify decides what an error means.
//
// It has many files because each question that is asked of every API has its own.
package api

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// Definition is what a folder says of its API.
type Definition struct {
	Name      string
	IsRequest func(path string) bool // whether a request asks for an answer
	Beside    []string               // parts of paths, with a slash after them, at which it answers no model's words

	StreamForm       Form                    // of its streams, where the request does not choose
	StreamsByDefault bool                    // it streams unless the request forbids it
	Arrays           bool                    // a stream may be one JSON array
	BeginsLines      func(begin []byte) bool // whether bytes begin with a line that more lines follow; nil: the content type says so
	FormFromURL      func(u *url.URL) Form   // nil: it is in the body
	ModelInPath      func(path string) Span  // where a path names the model; nil: none does
	Unseen           []string                // members of a request that the model never sees, and that a re-send may change

	Memory    map[string]func(value []byte) bool // members of a request that may lean on what the server keeps of an earlier one, and whether a value does; JSON, cut after 256 bytes
	Bounds    map[string]func(*Bounds, []byte)   // members of a request that bound its answer, and what notes their value; as for Memory
	Forgotten func(message string) []byte        // the body of a 404 that says that it keeps that no longer; nil: it lasts longer than a wait, or clients have no use for it

	Decode         func(name, data []byte) Parts       // an event's name and data, any frame's JSON, or a whole body
	Whole          func(value []byte, first int) Parts // of [API.Whole]; nil: Decode has it all
	SeesError      func(name, data []byte) bool        // whether its SDKs see the error in an event that is one; nil: by a member of that name
	IsError        func(key, value []byte) bool        // whether a member makes a body an error, beside those of all APIs; nil: none does
	IsPlainContent func(frame []byte) bool             // a cheap check for plain content; nil: names are enough
	SaysUnfinished func(frame []byte) bool             // whether a frame says that the answer has not finished, and so another one will; nil: none does
	Note           func(Bounds, Ending) Note           // what is known of an answer beyond what it says; nil: its servers say all
	Prelude        *PreludeRules                       // nil: its answers are not completed

	Forms []string // what it writes, as of [ParseForms]

	Continuation func() Continuation // nil: a text that breaks off is not continued
	Prefills     bool                // it has servers that continue a turn of the model's with which a request ends

	Ping               func(c Client, state string, crlf bool) string                             // between events, whose lines end with CRLF or not
	Comment            func(text string) string                                                   // among events; "": its clients break on one; nil: as Ping
	Heartbeat          func(Client) string                                                        // between events; nil or "": none
	HeartbeatWithin    func(beat, id string) string                                               // the same in an answer that has begun; nil: as Heartbeat
	EndsWithConnection func(c Client, body func(func(part []byte) (more bool)) bool) bool         // of [API.EndsWithConnection]; nil: it never does
	Errors             ErrorFormat                                                                // how it writes errors
	AbortsOnError      bool                                                                       // an event stream is cut after an error, not ended
	FinalBody          func(c Client, message string) []byte                                      // the last error of a client in a form of its own; nil: as any error
	FinalEvent         func(c Client, last *fault.Error, message string) (event []byte, cut bool) // the same in a stream; a nil event: as any error
	BrokenEvent        func(c Client, within bool, body []byte) (event []byte, cut bool)          // for an answer that breaks off; not cut: as any error
}

// API is one API's wire form. It is immutable. Each folder below makes its own.
type API struct{ is Definition }

// New returns the API with this definition.
func New(is Definition) *API { return &API{is} }

// Name returns the API's name: "anthropic", "openai-chat", "openai-completions", "openai-responses",
// "gemini", "gemini-interactions", "anthropic-vertex", "cohere", "ollama", "lmstudio", "bedrock-invoke" or
// "bedrock-converse".
func (a *API) Name() string { return a.is.Name }

// IsRequest reports whether a path is one at which a POST asks for an answer.
func (a *API) IsRequest(path string) bool { return a.is.IsRequest(path) }

// IsBeside reports whether a path is one at which the API answers something else than a model's words.
func (a *API) IsBeside(path string) bool {
	return slices.ContainsFunc(a.is.Beside, func(part string) bool { return strings.Contains(path+"/", part) })
}

// Ping returns the bytes to send every 10 to 15 seconds while a request waits. Among events they are a
// whole frame; elsewhere a space, which may precede any JSON. Where the API allows free text in it, a
// ping carries the state. It must be one line; "" means a fixed word.
func (a *API) Ping(f Form, c Client, state string) []byte { return a.ping(f, c, state, false) }

// ping is Ping among events whose lines end with CRLF or not.
func (a *API) ping(f Form, c Client, state string, crlf bool) []byte {
	if f != Events && f != AWSEvents {
		return []byte(" ")
	}
	return []byte(a.is.Ping(c, state, crlf))
}

// EndsWithConnection reports whether a stream in which a request waits has no other end than that of its
// connection: some clients ask again after a stream that ends without its last part, and lose their turn where the
// chunks break off, as they do when the gateway is killed. body is that of [Client.WithBody].
func (a *API) EndsWithConnection(f Form, c Client, body func(func(part []byte) (more bool)) bool) bool {
	return f == Events && a.is.EndsWithConnection != nil && a.is.EndsWithConnection(c, body)
}

// Comment returns a line of text among the events of a stream, for a reader of the raw stream; none: the form
// or a client of the API has no place for one. The text must be one line.
func (a *API) Comment(f Form, c Client, text string) []byte {
	switch {
	case f != Events && f != AWSEvents:
		return nil
	case a.is.Comment != nil:
		return []byte(a.is.Comment(text))
	}
	return []byte(a.is.Ping(c, text, false))
}

// Heartbeat returns the frame to send every 60 seconds while a request waits, for clients whose idle timer
// counts events only; nil: this client needs or accepts none.
func (a *API) Heartbeat(f Form, c Client) []byte {
	if f != Events && f != AWSEvents || a.is.Heartbeat == nil {
		return nil
	}
	if beat := a.is.Heartbeat(c); beat != "" {
		return []byte(beat)
	}
	return nil
}

// HasPathSuffix returns a function that reports whether a path ends with one of the given suffixes.
func HasPathSuffix(ends ...string) func(string) bool {
	return func(path string) bool {
		for _, end := range ends {
			if strings.HasSuffix(path, end) {
				return true
			}
		}
		return false
	}
}

// BeginsWith returns a function that reports whether a frame begins with a text.
func BeginsWith(text string) func(frame []byte) bool {
	return func(frame []byte) bool { return bytes.HasPrefix(frame, []byte(text)) }
}

// PingComment returns a line that every reader of server-sent events skips, except Gemini's clients and one of Cohere's.
func PingComment(_ Client, state string, _ bool) string {
	if state == "" {
		state = "hold"
	}
	return ": " + state + "\n\n"
}
