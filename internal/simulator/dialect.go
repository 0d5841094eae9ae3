package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// dialect is one vendor's API on the wire. Each has a file of its own, and a
// row in dialectOf. JSON is written out there as the vendor's pages show it,
// so that the two can be held against each other.
type dialect struct {
	idHeader  string // the header with the request's id
	overload  int    // the status that says "overloaded"
	endpoints []endpoint
	failure   func(status int, message, id string) string // the body of an error; message "": the vendor's usual words
	hints     func(http.Header, window)                   // says how much of a limit is left
}

// endpoint is one method and path of a dialect.
type endpoint struct {
	method, path string
	generates    bool                             // is scripted and limited
	read         func(body []byte) (call, string) // what is asked, or what is wrong with it; nil: any body will do
	whole        func(call) string                // the answer as one JSON body
	stream       func(call) stream                // the answer as a stream; nil: there is none
}

// call is what a request asks for.
type call struct {
	id     string // unique to the request
	at     time.Time
	model  string
	prompt int      // tokens, by a rough measure
	words  []string // the answer, a content event each
	stream bool
	usage  bool // wants usage in its stream
}

// text gives the whole answer.
func (c call) text() string { return strings.Join(c.words, "") }

// stream is an answer in events, as they are on the wire.
type stream struct {
	media   string   // its Content-Type
	opening []string // before content
	content []string // one for each word
	ending  []string // after content, up to the API's own end
	failure string   // the event of an error
}

// window is how much is left of a limit.
type window struct {
	limit, left int
	opens       time.Time     // the next window
	in          time.Duration // the time until then
}

// dialectOf finds the API that a request speaks. What nobody else knows is
// OpenAI's, as most of the world's clients are.
func dialectOf(r *http.Request) dialect {
	if speaksAnthropic(r) {
		return anthropic()
	}
	return openai()
}

// find gives the endpoint for a request.
func (d dialect) find(r *http.Request) (endpoint, bool) {
	for _, e := range d.endpoints {
		if e.method == r.Method && e.path == r.URL.Path {
			return e, true
		}
	}
	return endpoint{}, false
}

// quote gives s as JSON.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil { // a string always has a form in JSON
		panic(err)
	}
	return string(b)
}

// sse gives a server-sent event; name "": without one.
func sse(name, data string) string {
	if name == "" {
		return "data: " + data + "\n\n"
	}
	return fmt.Sprintf("event: %s\ndata: %s\n\n", name, data)
}

// eventStream is the Content-Type of server-sent events.
const eventStream = "text/event-stream; charset=utf-8"
