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

// Reply is what the provider does with one request: OK, Say, Status, Denial,
// Refuse, Reset, Silence, ErrorFirst, RoleError, Cut, Empty, HTML, Error200 or
// Drip.
//
// String returns the reply in the words that Parse reads.
type Reply interface {
	fmt.Stringer
	play(*exchange)
}

// OK is a normal answer.
type OK struct{}

// Status is an answer with a status of its own.
type Status struct {
	Code   int         // 200 to 599
	Header http.Header // sent with it
	Body   string      // "": from 400 on the provider's own error for that status, below nothing
}

// Refuse is a connection that does not come about; it takes the reply's turn.
// Where Transport is used the dial is refused. On a real listener the client
// sees a reset: a program cannot refuse what the kernel has accepted. For the
// turn to come, the answer before it ends the connection; a request that comes
// on another connection that was kept alive is closed without a byte.
type Refuse struct{}

// Reset breaks the connection before the first byte of an answer.
type Reset struct{}

// Silence sends nothing, not even headers, and then a normal answer.
type Silence struct {
	For time.Duration // 0: until the client leaves
}

// ErrorFirst is a stream whose first event is an error. The JSON counterpart
// is an error with status 200.
type ErrorFirst struct{}

// RoleError is a stream that opens as always and has an error in place of
// content. The JSON counterpart is an error with status 200.
type RoleError struct{}

// Cut ends an answer early.
type Cut struct {
	After int    // content events that are sent, at most all of them
	End   Ending // how it ends
}

// Ending is the way in which a cut answer ends.
type Ending uint8

// The endings. Dropped and Clean leave half of the body where the answer is
// one JSON body.
const (
	Dropped Ending = iota // the connection breaks
	Clean                 // HTTP ends well, the API's own end is missing
	Done                  // with the API's own end: a short, complete answer
	Failed                // with an error inside the stream; the JSON counterpart is an error with status 200
)

// String returns the ending's word; Dropped, which needs none, has "dropped".
func (e Ending) String() string {
	switch e {
	case Clean:
		return "clean"
	case Done:
		return "done"
	case Failed:
		return "error"
	default:
		return "dropped"
	}
}

// Empty is status 200 with the right headers and not a byte of body.
type Empty struct{}

// HTML is status 200 with a web page, as a proxy or a captive portal sends it.
type HTML struct{}

// Error200 is status 200 with an error as one JSON body, streamed or not.
type Error200 struct{}

// Drip is a normal answer that comes slowly. One JSON body comes in a few
// pieces.
type Drip struct {
	Every time.Duration // the wait before each word
}

// String returns "ok".
func (OK) String() string { return "ok" }

// String returns "refused".
func (Refuse) String() string { return "refused" }

// String returns "reset".
func (Reset) String() string { return "reset" }

// String returns "error-first".
func (ErrorFirst) String() string { return "error-first" }

// String returns "role-error".
func (RoleError) String() string { return "role-error" }

// String returns "empty".
func (Empty) String() string { return "empty" }

// String returns "html".
func (HTML) String() string { return "html" }

// String returns "error-200".
func (Error200) String() string { return "error-200" }

// String returns "drip:200ms".
func (d Drip) String() string { return "drip:" + d.Every.String() }

// String returns "silence" or "silence:30s".
func (s Silence) String() string {
	if s.For == 0 {
		return "silence"
	}
	return "silence:" + s.For.String()
}

// String returns "cut:3", "cut:3:clean", "cut:3:done" or "cut:3:error".
func (c Cut) String() string {
	word := "cut:" + strconv.Itoa(c.After)
	if c.End == Dropped {
		return word
	}
	return word + ":" + c.End.String()
}

// String returns "429;retry-after=7", the headers in order of their names and
// the body as if it were the last of them.
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

// String returns "5s-25s", "5s-" where it does not end, and "5s-25s=503" where
// the reply is not the usual one.
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

// outcome is a reply's short word: a status without what it carries, an answer
// without what it says.
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
