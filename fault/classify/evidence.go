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

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/sse"
)

// bodyLimit is how much of a body is read, in bytes.
const bodyLimit = 64 << 10

// textLimit is how much of one message is searched for texts, in bytes.
const textLimit = 8 << 10

// Evidence is all that is known about one failed try.
type Evidence struct {
	Status int         // HTTP status, 200 for an event inside a stream; 0: no response
	Header http.Header // nil: none
	Body   []byte      // the body or event, at most 64 KiB; nil: no response
	Event  bool        // it is an event inside a stream
	Err    error       // nil: there was a response
	Now    time.Time

	Provider string // who sent it, such as the name of an upstream; "": not known

	Layers []Layer // the innermost cause first: relays wrap the errors of others in their own

	hint hint
	id   string // the body's request id
	page bool   // the body is a web page

	partial bool // the body broke off
}

// Layer is one level of an error. A relay's error has two: its own and, further in, that of the provider
// after it.
type Layer struct {
	Status  int    // an HTTP status stated in the text; 0: none
	Type    string // such as "invalid_request_error"
	Code    string // such as "context_length_exceeded"
	Reason  string // a status word, a quota id or a reason to stop, such as "RESOURCE_EXHAUSTED"
	Param   string // the parameter named as wrong
	Message string // the text of the error

	folded string // Message and quotas, folded
	claims string // the same without what it denies, and without the paths of URLs
	also   string // a further text beside the message, until it is a layer of its own
	quotas string // the quotas that explain the message
	quoted bool   // found inside a string of another error, or in a sentence
	title  string // stands for the message of an object without one
	within string // the member that holds it, such as "errors"; "": none
}

// Named reports whether any layer has the name as its type, code or reason, compared without case and
// separators.
func (e Evidence) Named(name string) bool {
	want := canonicalName(name)
	return slices.ContainsFunc(e.Layers, func(l Layer) bool {
		return canonicalName(l.Type) == want || canonicalName(l.Code) == want || canonicalName(l.Reason) == want
	})
}

// Says reports whether any layer's message contains the text, compared without case; * stands for at most
// 200 bytes.
func (e Evidence) Says(text string) bool {
	parts := splitPhrases(text)
	return slices.ContainsFunc(e.Layers, func(l Layer) bool { return containsPhrases(l.folded, parts) })
}

// Response returns the evidence of a response that is not an answer.
func Response(status int, header http.Header, body []byte, now time.Time) Evidence {
	e := Evidence{Status: status, Header: header, Body: body[:min(len(body), bodyLimit)], Now: now}
	text := string(bytes.TrimSpace(e.Body))
	if e.page = isPage(text, header); e.page {
		text = pageText(text)
	}
	e.extract(text)
	return e
}

// Event returns the evidence of an event inside a stream, as for [FromEvent].
func Event(event []byte, now time.Time) Evidence {
	e := Evidence{Status: http.StatusOK, Event: true, Body: event[:min(len(event), bodyLimit)], Now: now}
	name, data := eventParts(bytes.TrimSpace(e.Body))
	if e.page = isPage(data, nil); e.page {
		data = pageText(data)
	}
	e.extract(data)
	if strings.HasSuffix(name, "Exception") { // AWS names its errors there
		e.Layers = append(e.Layers, Layer{Type: name})
	}
	return e
}

// Failure returns the evidence of a Go error. The URL in a *url.Error is left out: it may contain a
// key. So are the two addresses of a connection that broke: they mean nothing to a reader.
func Failure(err error, now time.Time) Evidence {
	e := Evidence{Err: err, Now: now}
	text := err.Error()
	if u, ok := errors.AsType[*url.Error](err); ok && u.Err != nil {
		text = u.Err.Error()
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "read" || op.Op == "write") && op.Err != nil {
		text = op.Err.Error()
	}
	e.extract(text[:min(len(text), bodyLimit)])
	return e
}

// eventParts returns the name and the data of a server-sent event. Text in another form is data.
func eventParts(text []byte) (name, data string) {
	if !sse.Begins(text) {
		return "", string(text)
	}
	n, d := sse.Parse(text)
	return string(bytes.TrimSpace(n)), string(d)
}

// extract reads layers, hint and request id from a text.
func (e *Evidence) extract(text string) {
	g := extractor{clock: e.clock(), now: e.Now, layers: make([]Layer, 0, 4)}
	g.text(text, 0)
	g.headers(e.Header)
	for i := range g.layers {
		message := g.layers[i].Message
		if e.Status >= 500 && g.layers[i].Status == 0 {
			g.layers[i].Status = refusalIn(message)
		}
		message = message[:min(len(message), textLimit)] + g.layers[i].quotas
		g.layers[i].folded = fold(message)
		g.layers[i].claims = claimsOf(message, g.layers[i].folded)
	}
	e.Layers, e.id = g.layers, g.id
	e.hint = e.findHint(g.hint)
}

// faultStatus returns the status of the fault: that of the response, or the one that an event or an error's
// text states.
func (e Evidence) faultStatus() int {
	if e.Status != 0 && !e.Event {
		return e.Status
	}
	return e.innermostStatus()
}

// innermostStatus returns the status that the innermost layer with one states, or that of the response.
func (e Evidence) innermostStatus() int {
	for _, l := range e.Layers {
		if l.Status != 0 {
			return l.Status
		}
	}
	return e.Status
}

// code returns the provider's own code: the innermost one.
func (e Evidence) code() string {
	for _, l := range e.Layers {
		for _, name := range []string{l.Code, l.Type, l.Reason} {
			if name != "" && name != "error" && !strings.HasPrefix(name, "response.") {
				return clean(name, 128)
			}
		}
	}
	return ""
}

// message returns the message of the innermost layer with one.
func (e Evidence) message() string {
	for _, l := range e.Layers {
		if l.Message != "" {
			return clean(l.Message, messageLimit)
		}
	}
	for _, l := range e.Layers {
		if strings.HasPrefix(l.Reason, stopName("")) {
			return clean("the answer has ended with "+l.Reason, messageLimit)
		}
	}
	return clean(string(e.Body[:min(len(e.Body), 2*messageLimit)]), messageLimit)
}

// body returns what the provider sent, unless that is the message alone, or a web page, which no provider sends.
func (e Evidence) body() string {
	if len(e.Body) == 0 || e.page {
		return ""
	}
	_, data := eventParts(e.Body[:min(len(e.Body), 2*messageLimit)])
	body := clean(data, messageLimit)
	if body == e.message() {
		return ""
	}
	return body
}

// requestID returns the provider's id of the request: from the headers, or the body.
func (e Evidence) requestID() string {
	for _, name := range [...]string{"Request-Id", "X-Request-Id", "X-Amzn-Requestid"} {
		if id := e.Header.Get(name); id != "" {
			return clean(id, 128)
		}
	}
	return clean(e.id, 128)
}

// isPage reports whether a body is a web page.
func isPage(text string, header http.Header) bool {
	if !strings.HasPrefix(text, "<") {
		return false
	}
	if strings.HasPrefix(header.Get("Content-Type"), "text/html") {
		return true
	}
	start := strings.ToLower(text[:min(len(text), 512)])
	return strings.HasPrefix(start, "<!doctype html") || strings.Contains(start, "<html") || strings.Contains(start, "<head")
}

// pageText returns the visible text of a web page, from its first 16 KiB: without tags, scripts and styles,
// each piece once.
func pageText(html string) string {
	html = html[:min(len(html), 16<<10)]
	var b strings.Builder
	for html != "" {
		text, rest, _ := strings.Cut(html, "<")
		if t := strings.Join(strings.Fields(text), " "); t != "" && !strings.Contains(b.String(), t) {
			if b.Len() > 0 {
				b.WriteString(" · ")
			}
			b.WriteString(t)
		}
		html = afterTag(rest)
		if b.Len() > messageLimit {
			break
		}
	}
	return b.String()
}

// afterTag returns what follows a tag; for scripts and styles, the text after their end.
func afterTag(s string) string {
	name := strings.ToLower(s[:min(len(s), 6)])
	for _, mute := range [...]string{"script", "style"} {
		if strings.HasPrefix(name, mute) {
			if _, rest, ok := strings.Cut(s, "</"); ok {
				s = rest
			}
		}
	}
	_, rest, _ := strings.Cut(s, ">")
	return rest
}

// messageLimit bounds Error.Message, in bytes.
const messageLimit = 2 << 10

// clean returns a text as it may be shown: valid UTF-8 without control characters or credentials, at most
// limit bytes long.
func clean(s string, limit int) string {
	if len(s) > 2*limit {
		s = s[:2*limit]
	}
	if !isPlain(s) {
		s = strings.Map(printable, strings.ToValidUTF8(s, "\uFFFD"))
	}
	s = strings.TrimSpace(s)
	s = fault.Scrub(s)
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}

// isPlain reports whether a text is printable ASCII.
func isPlain(s string) bool {
	for i := range len(s) {
		if (s[i] < ' ' && s[i] != '\n') || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// printable replaces control characters by spaces: terminals would interpret them.
func printable(r rune) rune {
	if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 {
		return ' '
	}
	return r
}
