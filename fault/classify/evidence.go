package classify

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// bodyLimit is how much of a body is looked at, in bytes: an error says what it
// has to say long before.
const bodyLimit = 64 << 10

// heard is how much of one message is searched for sentences, in bytes.
const heard = 8 << 10

// Evidence is all that is known about one failed try. What the body says is
// taken out of it once, into Layers.
type Evidence struct {
	Status int         // HTTP status, 200 for an event inside a stream; 0: there was no answer
	Header http.Header // nil: none
	Body   []byte      // what was read of the body or event, at most 64 KiB; nil: there was no answer
	Event  bool        // it came inside a stream
	Err    error       // nil: there was an answer
	Now    time.Time
	Layers []Layer // what it says, the innermost cause first; relays wrap the errors of others in their own

	hint hint
	id   string // the body's request id
}

// Layer is what one level of an error says. A relay's error has two: its own
// and, further in, that of the provider behind it.
type Layer struct {
	Status  int    // an HTTP status that the text itself states; 0: none
	Type    string // such as "invalid_request_error"
	Code    string // such as "context_length_exceeded"
	Reason  string // a reason, a status word, a quota id or a finish reason, such as "RESOURCE_EXHAUSTED" or "finish_reason error"
	Param   string // the parameter that is at fault
	Message string // the sentence

	folded string // Message and quotas, folded
	quotas string // the quotas that explain the message
	quoted bool   // it was found inside a string of another error, or in a sentence
}

// Named tells whether any layer bears the name as its type, code or reason,
// compared without case and separators.
func (e Evidence) Named(name string) bool {
	want := canonical(name)
	return slices.ContainsFunc(e.Layers, func(l Layer) bool {
		return canonical(l.Type) == want || canonical(l.Code) == want || canonical(l.Reason) == want
	})
}

// Says tells whether any layer's message has the words in it, compared without
// case; * stands for anything of at most 200 bytes.
func (e Evidence) Says(words string) bool {
	parts := cut(words)
	return slices.ContainsFunc(e.Layers, func(l Layer) bool { return contains(l.folded, parts) })
}

// respond is the evidence of a response.
func respond(status int, header http.Header, body []byte, now time.Time) Evidence {
	e := Evidence{Status: status, Header: header, Body: body[:min(len(body), bodyLimit)], Now: now}
	text := string(bytes.TrimSpace(e.Body))
	if isPage(text, header) {
		text = pageText(text)
	}
	e.read(text)
	return e
}

// overhear is the evidence of an event inside a stream.
func overhear(event []byte, now time.Time) Evidence {
	e := Evidence{Status: http.StatusOK, Event: true, Body: event[:min(len(event), bodyLimit)], Now: now}
	name, data := eventParts(string(bytes.TrimSpace(e.Body)))
	e.read(data)
	if strings.HasSuffix(name, "Exception") { // AWS names its errors there
		e.Layers = append(e.Layers, Layer{Type: name})
	}
	return e
}

// catch is the evidence of a Go error. The address in a *url.Error is left out:
// it is no part of what went wrong, and may carry a key. So are the two ends of
// a connection that broke: the one that people know is named elsewhere, the
// other means nothing to them.
func catch(err error, now time.Time) Evidence {
	e := Evidence{Err: err, Now: now}
	text := err.Error()
	if u, ok := errors.AsType[*url.Error](err); ok && u.Err != nil {
		text = u.Err.Error()
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "read" || op.Op == "write") && op.Err != nil {
		text = op.Err.Error()
	}
	e.read(text[:min(len(text), bodyLimit)])
	return e
}

// eventParts gives the name and the data of a server-sent event; what is none is
// data.
func eventParts(text string) (name, data string) {
	if !strings.HasPrefix(text, "data:") && !strings.HasPrefix(text, "event:") && !strings.HasPrefix(text, "id:") {
		return "", text
	}
	var lines []string
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\r\n")
		if d, ok := strings.CutPrefix(l, "data:"); ok {
			lines = append(lines, strings.TrimPrefix(d, " "))
		} else if n, ok := strings.CutPrefix(l, "event:"); ok {
			name = strings.TrimSpace(n)
		}
	}
	return name, strings.Join(lines, "\n")
}

// read takes out of a text what the judges ask for.
func (e *Evidence) read(text string) {
	g := gatherer{now: e.Now, layers: make([]Layer, 0, 4)}
	g.headers(e.Header)
	g.text(text, 0)
	for i := range g.layers {
		said := g.layers[i].Message
		g.layers[i].folded = fold(said[:min(len(said), heard)] + g.layers[i].quotas)
	}
	e.Layers, e.id = g.layers, g.id
	e.hint = e.findHint(g.hint)
}

// stated is the status that the fault carries: that of the response, or what an
// event or an error's text states itself.
func (e Evidence) stated() int {
	if e.Status != 0 && !e.Event {
		return e.Status
	}
	return e.innermostStatus()
}

// innermostStatus is the status that the innermost layer with one states, or
// that of the response.
func (e Evidence) innermostStatus() int {
	for _, l := range e.Layers {
		if l.Status != 0 {
			return l.Status
		}
	}
	return e.Status
}

// code is the provider's own word: the innermost one.
func (e Evidence) code() string {
	for _, l := range e.Layers {
		for _, word := range []string{l.Code, l.Type, l.Reason} {
			if word != "" && word != "error" && !strings.HasPrefix(word, "response.") {
				return clean(word, 128)
			}
		}
	}
	return ""
}

// sentence is what the innermost layer with a message says.
func (e Evidence) sentence() string {
	for _, l := range e.Layers {
		if l.Message != "" {
			return clean(l.Message, messageLimit)
		}
	}
	return clean(string(e.Body[:min(len(e.Body), 2*messageLimit)]), messageLimit)
}

// requestID is the provider's id of the request: from the headers, or the body.
func (e Evidence) requestID() string {
	for _, name := range [...]string{"Request-Id", "X-Request-Id", "X-Amzn-Requestid"} {
		if id := e.Header.Get(name); id != "" {
			return clean(id, 128)
		}
	}
	return clean(e.id, 128)
}
