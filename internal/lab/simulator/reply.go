package simulator

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Reply is the answer to one request: Plain, Say, Status, Denial, Silence, Stall, SpentWindow, Cut,
// Drip or Continue.
//
// String returns the reply as Parse reads it.
type Reply interface {
	fmt.Stringer
	play(*exchange)
}

// Plain is a reply that has nothing to set, by its word.
type Plain string

// The plain replies.
const (
	OK    Plain = "ok"    // a normal answer
	Reset Plain = "reset" // breaks the connection before the first byte of an answer

	// Refuse is a refused connection, which uses up the reply. With Transport the dial is refused. On a real
	// listener the client sees a reset: a program cannot refuse what the kernel has accepted. The answer before
	// it closes its connection, so that the next request dials. A request on another open connection gets no
	// answer: the connection is closed.
	Refuse Plain = "refused"

	// ErrorFirst is a stream whose first event is an error, and RoleError one that opens normally and has an error in
	// place of content. The JSON counterpart is an error with status 200.
	ErrorFirst Plain = "error-first"
	RoleError  Plain = "role-error"

	Empty    Plain = "empty"     // status 200 with the right headers and an empty body
	HTML     Plain = "html"      // status 200 with a web page, as a proxy or a captive portal sends it
	Error200 Plain = "error-200" // status 200 with an error as one JSON body, streamed or not
)

// String returns the word.
func (p Plain) String() string { return string(p) }

// Status is an answer with a chosen status.
type Status struct {
	Code   int         // 200 to 599
	Header http.Header // sent with it
	Body   string      // "": the provider's own error for a status from 400 on, otherwise empty
}

// Silence is a normal answer after a time without even headers.
type Silence struct {
	For time.Duration // 0: until the client leaves
}

// Stall is status 200 and the headers at once, and a normal answer after a time.
type Stall struct {
	For time.Duration // 0: until the client leaves
}

// Cut ends an answer early.
type Cut struct {
	After int  // content events that are sent, at most all of them
	Bytes bool // After counts the stream's bytes, from its first; not with Done
	End   Ending
}

// Ending is how a cut answer ends.
type Ending string

// The endings. Dropped, Clean and Silent send half of a JSON body.
const (
	Dropped Ending = ""       // the connection breaks
	Clean   Ending = "clean"  // the HTTP body ends normally, without the API's terminator
	Done    Ending = "done"   // with the API's terminator: a short, complete answer
	Failed  Ending = "error"  // with an error inside the stream; the JSON counterpart is an error with status 200
	Silent  Ending = "silent" // with silence until the client leaves
)

// Drip is a slow normal answer. A JSON body comes in a few pieces.
type Drip struct {
	Every time.Duration // the wait before each word
}

// String returns "drip:200ms".
func (d Drip) String() string { return "drip:" + d.Every.String() }

// String returns "silence" or "silence:30s".
func (s Silence) String() string { return timed("silence", s.For) }

// String returns "stall" or "stall:30s".
func (s Stall) String() string { return timed("stall", s.For) }

// timed returns a word with its time, unless that is 0.
func timed(word string, d time.Duration) string {
	if d == 0 {
		return word
	}
	return word + ":" + d.String()
}

// String returns a cut as Parse reads it, such as "cut:3", "cut:3:clean" or "cut:120b:error".
func (c Cut) String() string {
	word := "cut:" + strconv.Itoa(c.After)
	if c.Bytes {
		word += "b"
	}
	if c.End == Dropped {
		return word
	}
	return word + ":" + string(c.End)
}

// String returns "429;retry-after=7", with the headers sorted by name and the body last.
func (s Status) String() string {
	var b strings.Builder
	b.WriteString(strconv.Itoa(s.Code))
	for _, name := range slices.Sorted(maps.Keys(s.Header)) {
		for _, value := range s.Header[name] {
			b.WriteString(";" + strings.ToLower(name) + "=" + quoted(value))
		}
	}
	if s.Body != "" {
		b.WriteString(";" + bodyKey + "=" + quoted(s.Body))
	}
	return b.String()
}

// String returns "5s-25s", "5s-" without an end, or "5s-25s=503" with a reply.
func (o Outage) String() string {
	word := o.From.String() + "-"
	if o.To != 0 {
		word += o.To.String()
	}
	if o.Reply != nil {
		word += "=" + o.Reply.String()
	}
	return word
}

// outcome returns a reply in short: a status without headers and body, an answer without its text.
func outcome(r Reply) string {
	switch r := r.(type) {
	case Status:
		return strconv.Itoa(r.Code)
	case Say:
		if r.How != nil {
			return r.How.String()
		}
		return "say"
	}
	return r.String()
}
